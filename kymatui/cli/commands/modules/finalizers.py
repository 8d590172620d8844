"""`kymatui finalizers NAME`: what holds the deletion of a module up; letting go of one finalizer is a last resort."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.confirmation import confirm_by_typing
from kymatui.cli.options.direct_install import add_clusters, open_context
from kymatui.cli.options.fetching import add_fetching
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.listing import Listing, ListPrinter, is_table, render_document
from kymatui.cli.output.plan_header import plan_text
from kymatui.cli.output.printing import print_line, print_text, wrapped
from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.errors import RefusedError, UnknownNameError, UsageError, did_you_mean, nearest_names

if TYPE_CHECKING:
    from kymatui.actions.finalizers import BlockedObject
    from kymatui.engine.deletion.deletion_state import DeletionState


class FinalizersCommand:
    """Lists what is held; with --object and --remove it takes one finalizer from one object."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="name of the module or the release")
        group = parser.add_argument_group(
            "remove one finalizer (last resort)",
            "the cleanup of the finalizer is skipped: objects outside of the cluster can be left behind",
        )
        group.add_argument(
            "--object", metavar="[NS/]NAME", help="full name of the object; KIND:[NS/]NAME if the name is not unique"
        )
        group.add_argument("--remove", metavar="FINALIZER", help="finalizer to remove")
        group.add_argument(
            "--typed", metavar="[NS/]NAME", help="name of the object again, to confirm without a terminal"
        )
        add_list_output(parser)
        add_list_timeout(parser)
        add_fetching(parser)
        add_clusters(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.actions.finalizers import blocked_objects, remove_finalizer
        from kymatui.sessions.deletions import deletions_of

        if bool(args.object) != bool(args.remove):
            raise UsageError(
                "--object and --remove must be used together", hint="they name one finalizer of one object"
            )
        args.listed_within = args.timeout
        with open_context(args, once=not args.watch) as place:
            deletions = deletions_of(place.session, place.cluster)

            def blocked() -> tuple[DeletionState, tuple[BlockedObject, ...]]:
                seen = deletions.read_state(args.name, place.namespace)
                place.require_module(seen)
                if seen.found is None and (refusal := place.catalog.choice_refusal):
                    raise RefusedError(refusal, hint="use --remote RUNTIME")
                return seen, blocked_objects(seen, place.cluster)

            if not args.remove:
                printer = ListPrinter(args)
                for now in read_again(args, blocked):
                    printer.show(_listing(*now))
                return 0
            try:
                one = _one(blocked()[1], args.object, args.name)
            except UnknownNameError:
                if getattr(args, "resumed_job", None) is None:
                    raise
                print_line(f"no changes: the deletion of {args.object} is no longer blocked")
                return 0
            summary = summarize_actions(["change"])
            print_text(plan_text(place.target, summary, wrapped(_warning(one, args.remove)), "table"), sys.stderr)
            name = args.typed
            if name is None:
                name = confirm_by_typing(
                    place.target, f"Remove {args.remove} from {one.ref}", one.typed, f"--typed {one.typed}"
                )
            title = f"remove {args.remove} from {one.ref}"
            with recorded_job(args, job_cluster(place.session), "finalizers", [args.name], title) as (job, _):
                is_gone = remove_finalizer(place.cluster, one, args.remove, name, job.journal)
            target = place.target.document
        if args.output == "name":
            print_line(one.typed)
        elif is_table(args.output):
            print_line(f"{one.ref} {'deleted' if is_gone else 'still has other finalizers'}")
        else:
            removed = {"name": args.name, "object": str(one.ref), "finalizer": args.remove, "gone": is_gone}
            print_text(render_document({"target": target, **removed, "outcome": "done"}, args.output))
        return 0


FINALIZERS = FinalizersCommand()


def _one(found: tuple[BlockedObject, ...], wanted: str, module: str) -> BlockedObject:
    kind, _, name = wanted.rpartition(":")
    matching = [one for one in found if one.typed == name and kind in ("", one.ref.kind.kind)]
    if not matching:
        near = nearest_names(name, [one.typed for one in found])
        raise UnknownNameError(
            f"{module} has no object {wanted} whose deletion is blocked{did_you_mean(near)}",
            hint=f"`kymatui finalizers {module}` lists the blocked objects",
        )
    if len(matching) > 1:
        kinds = ", ".join(one.ref.kind.kind for one in matching)
        raise UsageError(f"several objects have the name {wanted}: {kinds}", hint="use --object KIND:[NS/]NAME")
    return matching[0]


def _warning(one: BlockedObject, finalizer: str) -> str:
    return (
        f"Finalizer {finalizer} blocks the deletion of {one.ref}. "
        f"{sanitize(one.expected[:1].upper() + one.expected[1:])}.\n"
        "Without it the object is deleted immediately, and the cleanup is skipped: resources outside of the "
        "cluster can be left behind."
    )


def _listing(seen: DeletionState, found: Sequence[BlockedObject]) -> Listing[BlockedObject]:
    module, reasons = seen.module, dict.fromkeys(sanitize(one.expected) for one in found)
    if found and seen.blocking:
        reasons[f"`kymatui delete {module} --cascade --dry-run` lists what would be deleted"] = None
    return Listing(
        header=("OBJECT", "DELETING FOR", "FINALIZER", "SET BY"),
        entries=found,
        lines=lambda one: [(str(one.ref), _since(one), name, owner or "unknown") for name, owner in one.finalizers],
        document=lambda objects: {"name": module, "held": [_json(one) for one in objects]},
        item=_json,
        name=lambda one: one.typed,
        below=tuple(reasons),
        empty=f"no finalizer blocks the deletion of {module}",
    )


def _since(one: BlockedObject) -> str:
    return format_duration(max(0.0, time.time() - one.since)) if one.since is not None else ""


def _json(one: BlockedObject) -> dict[str, object]:
    return {
        "object": str(one.ref),
        "name": one.typed,
        "deleted": one.since,
        "finalizers": [{"name": name, "setBy": owner or None} for name, owner in one.finalizers],
        "expected": one.expected,
    }
