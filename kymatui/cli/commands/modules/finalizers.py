"""`kymatui finalizers NAME`: what holds the deletion of a module up; letting go of one finalizer is a last resort.

With --object and --remove it takes one finalizer from one object.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kymatui.actions.jobs import job_cluster
from kymatui.cli.cluster_options import add_fetching, add_option
from kymatui.cli.options.direct_install import add_clusters, open_context
from kymatui.cli.options.editing import confirm_by_typing
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.listing import Listing, ListPrinter, is_table, render_document
from kymatui.cli.output.plan_changes import plan_text
from kymatui.cli.output.printing import print_line, print_text, wrapped
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.errors import UnknownNameError, UsageError, did_you_mean, nearest_names
from kymatui.lists.columns import Cell, ListColumn

if TYPE_CHECKING:
    from kymatui.actions.finalizers import BlockedObject
    from kymatui.engine.deletion.deletion_state import DeletionState


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module or the release")
    group = parser.add_argument_group(
        "remove one finalizer (last resort)",
        "the cleanup of the finalizer is skipped: objects outside of the cluster can be left behind",
    )
    add_option(group, "--object [NS/]NAME", "full name of the object; KIND:[NS/]NAME if the name is not unique")
    add_option(group, "--remove FINALIZER", "finalizer to remove")
    add_option(group, "--dry-run", "print what would be removed, change nothing")
    add_option(group, "--typed [NS/]NAME", "name of the object again, to confirm without a terminal")
    add_list_output(parser)
    add_list_timeout(parser)
    add_fetching(parser)
    add_clusters(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.actions.finalizers import blocked_objects, remove_finalizer, require_right, require_runtime
    from kymatui.sessions.deletions import deletions_of

    if bool(args.object) != bool(args.remove):
        raise UsageError("--object and --remove must be used together", hint="they name one finalizer of one object")
    args.listed_within = args.timeout
    with open_context(args, once=not args.watch) as context:
        deletions = deletions_of(context.session, context.cluster)

        def blocked() -> tuple[DeletionState, tuple[BlockedObject, ...]]:
            with optional_requests():  # the kind of the object that is chosen is enough
                state = deletions.read_state(args.name, context.namespace)
            context.require_module(state)
            require_runtime(context.catalog, state)
            return state, blocked_objects(state, context.cluster, deletions.manifests_on)

        if not args.remove:
            printer = ListPrinter(args)
            for now in read_again(args, blocked):
                printer.show(_listing(*now))
            return 0
        try:
            blocked_object = _one(blocked()[1], args.object, args.name)
        except UnknownNameError:
            if getattr(args, "resumed_job", None) is None:
                raise
            print_line(f"no changes: the deletion of {args.object} is no longer blocked")
            return 0
        summary = summarize_actions(["change"])
        print_text(
            plan_text(context.target, summary, wrapped(_warning(blocked_object, args.remove)), "table"), sys.stderr
        )
        require_right(blocked_object, args.name, args.remove)
        outcome, is_gone, typed = "planned", False, blocked_object.typed
        if not args.dry_run:
            title, name = f"remove {args.remove} from {blocked_object.ref}", args.typed
            if name is None:
                name = confirm_by_typing(context.target, f"R{title[1:]}", typed, f"--typed {typed}")
            with recorded_job(args, job_cluster(context.session), "finalizers", [args.name], title) as (job, _):
                is_gone = remove_finalizer(blocked_object, args.remove, name, job.journal)
            outcome = "done"
        target = context.target.document
    if args.output == "name":
        print_line(typed)
    elif not is_table(args.output):
        removed = {"name": args.name, "object": str(blocked_object.ref), "finalizer": args.remove, "gone": is_gone}
        print_text(render_document({"target": target, **removed, "outcome": outcome}, args.output))
    elif not args.dry_run:
        print_line(f"{blocked_object.ref} {'deleted' if is_gone else 'still has other finalizers'}")
    return 0


def _one(blocked_objects: tuple[BlockedObject, ...], object_name: str, module: str) -> BlockedObject:
    kind, _, name = object_name.rpartition(":")
    matching = [
        blocked_object
        for blocked_object in blocked_objects
        if blocked_object.typed == name and kind in ("", blocked_object.ref.kind.kind)
    ]
    if not matching:
        near = nearest_names(name, [blocked_object.typed for blocked_object in blocked_objects])
        raise UnknownNameError(
            f"{module} has no object {object_name} whose deletion is blocked{did_you_mean(near)}",
            hint=f"`kymatui finalizers {module}` lists the blocked objects",
        )
    if len(matching) > 1:
        kinds = ", ".join(blocked_object.ref.kind.kind for blocked_object in matching)
        raise UsageError(f"several objects have the name {object_name}: {kinds}", hint="use --object KIND:[NS/]NAME")
    return matching[0]


def _warning(blocked_object: BlockedObject, finalizer: str) -> str:
    return (
        f"Finalizer {finalizer} blocks the deletion of {blocked_object.ref}. "
        f"{sanitize(blocked_object.expected[:1].upper() + blocked_object.expected[1:])}.\n"
        "Without it the object is deleted immediately, and the cleanup is skipped: resources outside of the "
        "cluster can be left behind."
    )


def _listing(state: DeletionState, blocked_objects: Sequence[BlockedObject]) -> Listing[BlockedObject]:
    module, reasons = (
        state.module,
        dict.fromkeys(sanitize(blocked_object.expected) for blocked_object in blocked_objects),
    )
    if blocked_objects and state.blocking:
        reasons[f"`kymatui delete {module} --cascade --dry-run` lists what would be deleted"] = None
    return Listing(
        columns=_COLUMNS,
        entries=blocked_objects,
        rows=lambda item: [(item, name, owner) for name, owner in item.finalizers],
        document=lambda objects: {"name": module, "held": [_json(blocked_object) for blocked_object in objects]},
        item=_json,
        name=lambda blocked_object: blocked_object.typed,
        below=tuple(reasons),
        empty=f"no finalizer blocks the deletion of {module}",
    )


_Held = tuple["BlockedObject", str, str]
"""An object, one of its finalizers, and who set that."""
_COLUMNS: Final = (
    ListColumn[_Held]("object", "OBJECT", cell=lambda held: Cell(str(held[0].ref))),
    ListColumn[_Held](
        "age", "DELETING FOR", cell=lambda held: Cell("", order=-(held[0].since or 0), since=held[0].since)
    ),
    ListColumn[_Held]("finalizer", "FINALIZER", cell=lambda held: Cell(held[1])),
    ListColumn[_Held]("owner", "SET BY", cell=lambda held: Cell(held[2] or "unknown")),
)


def _json(blocked_object: BlockedObject) -> dict[str, object]:
    return {
        "object": str(blocked_object.ref),
        "name": blocked_object.typed,
        "deleted": blocked_object.since,
        "finalizers": [{"name": name, "setBy": owner or None} for name, owner in blocked_object.finalizers],
        "expected": blocked_object.expected,
    }
