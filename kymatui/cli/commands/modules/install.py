"""`kymatui install|upgrade NAME`, `kymatui plan NAME --out FILE`, `kymatui apply FILE`, `kymatui check NAME`."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import (
    FORMATS,
    CommandContext,
    ProgressPrinter,
    add_clusters,
    add_fetching,
    add_intent,
    add_running,
    add_source,
    cancellable,
    intent_of,
    open_context,
    refuse_managed,
)
from kymatui.cli.output.plan_changes import change_counts, changes_text, counts, from_to, plan_json
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import document, markdown, say, table
from kymatui.errors import KymatuiError, OutdatedError, PartlyDoneError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.engine.apply.applier import ApplyOutcome
    from kymatui.engine.apply.drift_check import DriftedField, ObjectDrift
    from kymatui.engine.inventory.inventory import Inventory
    from kymatui.engine.plans.plan import Intent, Plan


@dataclass(frozen=True, slots=True)
class InstallCommand:
    """`install` and `upgrade`: the same plan, but an upgrade needs something to be there."""

    upgrade: bool = False

    def configure(self, parser: argparse.ArgumentParser) -> None:
        several = "*" if self.upgrade else "+"
        what = "a module, or the name of a release; several are one plan"
        parser.add_argument("names", metavar="NAME", nargs=several, help=what)
        parser.set_defaults(devel=False, creates_namespace=not self.upgrade)
        if self.upgrade:
            parser.add_argument("--all", action="store_true", help="everything that is outdated, as one plan")
            parser.add_argument("--devel", action="store_true", help="pre-releases count as newer versions, too")
            parser.add_argument(
                "--reset-values",
                dest="keeps_values",
                action="store_false",
                help="forget the values that a chart was given so far (default: they stay beneath those given here)",
            )
        add_source(parser)
        add_intent(parser)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.commands.modules.upgrade import upgrade_all

        every = self.upgrade and args.all
        names = list(dict.fromkeys(args.names))
        if every == bool(names):
            raise UsageError("name a module, or say --all")
        if len(names) != 1:
            refuse_words_for_one(args)
        with open_context(args, once=args.dry_run) as place:
            if every:
                return upgrade_all(place)
            return self._one(place, names[0]) if len(names) == 1 else self._several(place, names)

    def _one(self, place: CommandContext, name: str) -> int:
        for _ in range(_ATTEMPTS):
            try:
                return confirm_and_apply(place, self._planned(place, name), just_made=place.args.yes)
            except OutdatedError as error:  # nothing was written: somebody else was faster
                if not place.args.yes:
                    raise  # whoever has looked at a plan shall look at the next one, too
                say(f"kymatui: {error}; it is planned anew", sys.stderr)
        return confirm_and_apply(place, self._planned(place, name), just_made=place.args.yes)

    def _planned(self, place: CommandContext, name: str) -> Plan:
        return plan_install(place, name, *self._source(place, name), must_exist=self.upgrade)

    def _source(self, place: CommandContext, name: str) -> tuple[ModuleSource, str]:
        """An upgrade goes on with what the installation came from."""
        from kymatui.cli.commands.modules.upgrade import recorded_source

        return recorded_source(place, name) if self.upgrade else (place.source, place.namespace)

    def _several(self, place: CommandContext, names: Sequence[str]) -> int:
        from kymatui.cli.commands.modules.install_batch import InstallOrder, install_batch

        orders = [InstallOrder(name, *self._source(place, name)) for name in names]
        return install_batch(place, "upgrade" if self.upgrade else "install", orders)


class PlanCommand:
    """A plan as a file, for `kymatui apply`."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the module, or the name of the release")
        parser.add_argument(
            "--out",
            metavar="FILE",
            help="save the plan with all objects, Secrets too; as YAML in a .yaml file",
        )
        parser.set_defaults(creates_namespace=True)
        add_source(parser)
        add_intent(parser)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.commands.modules.upgrade import recorded_source

        with open_context(args, once=True) as place:
            args.keeps_values = place.source.is_catalog  # a chart that is not named is that of the release
            came = recorded_source(place, args.name) if place.source.is_catalog else (place.source, place.namespace)
            plan = plan_install(place, args.name, *came)
            if args.out:
                from kymatui.adapters.files.plan_files import save_plan

                save_plan(Path(args.out), plan)
                say(f"the plan is kept in {args.out}: `kymatui apply {args.out}` carries it out", sys.stderr)
            _show(place, plan, args.output, "planned")
            return RefusedError.exit_code if plan.blockers else 0


class ApplyCommand:
    """Carries out a plan from a file, unless the cluster has moved on."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("plan", metavar="PLAN", help="a file of `kymatui plan --out`")
        parser.set_defaults(creates_namespace=True)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.adapters.files.plan_files import read_plan

        with open_context(args, once=args.dry_run) as place:
            plan = read_plan(Path(args.plan))
            refuse_managed(place, plan.bundle.name, direct=True)  # whoever made the plan has insisted, or need not
            return confirm_and_apply(place, plan)


class CheckCommand:
    """Whether what is installed still is what its source says, field by field."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the module, or the name of the release")
        parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="default: table")
        add_source(parser)
        add_fetching(parser)
        add_clusters(parser)
        parser.set_defaults(
            direct=True,
            force=False,
            prune=True,
            prune_definitions=False,
            prune_namespaces=False,
            policy="CreateAndDelete",
        )

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.engine.apply.drift_check import check, not_ready
        from kymatui.engine.jobs.run import SystemClock

        with open_context(args, once=True) as place:
            last = _pin_version(place, args)
            source, namespace = self._source(place, args)
            report = check(intent_of(place, args.name, source, namespace), place.cluster, SystemClock())
        waiting = list(not_ready(report))
        if args.output in ("json", "yaml"):
            found = [_drift_json(drift, field) for drift in report.drifts for field in (drift.fields or (None,))]
            state = {"installed": report.installed, "unfinished": report.plan.unfinished}
            state |= {"consistent": report.consistent, "ready": report.ready}
            say(document({"name": args.name, **state, "drift": found, "notReady": waiting}, args.output))
        else:
            draw = markdown if args.output == "md" else table
            known = report.installed or report.plan.unfinished  # of what was never there nothing is missing
            drifts = report.drifts if known else ()
            rows = [_drifted(drift, field) for drift in drifts for field in (drift.fields or (None,))]
            parts = [draw(("FINDING", "OBJECT", "PATH", "SHOULD BE → IS", "WRITTEN BY"), rows)] if rows else []
            parts += [f"not ready: {words}" for words in waiting]
            if report.installed and report.plan.unfinished:
                parts.append(_unfinished(last))
            same = f"kymatui install {args.name}" if place.source.is_catalog else "the same install command"
            mend = (
                f"`{same} --force` puts it right" if place.source.is_catalog else f"{same} with --force puts it right"
            )
            absent = f"{args.name} is not installed by kymatui; `{same}` installs it"
            absent += f", `kymatui upgrade {args.name}` adopts what is there" if place.source.is_catalog else ""
            words = "is as it should be" if report.consistent else f"is not as it should be; {mend}"
            say("\n\n".join([*parts, f"{args.name} {words}" if report.installed else absent]))
        return 0 if report.ready else RefusedError.exit_code

    @staticmethod
    def _source(place: CommandContext, args: argparse.Namespace) -> tuple[ModuleSource, str]:
        """A chart that is not named is the one that is written down, with the values that it was given."""
        from kymatui.cli.commands.modules.upgrade import recorded_source

        args.keeps_values = not place.source.chart
        return recorded_source(place, args.name)


def _drifted(drift: ObjectDrift, field: DriftedField | None) -> list[str]:
    """One line of a check; of Secrets it says where, and not what."""
    if field is None:
        return [drift.finding.value, str(drift.ref), drift.reason, "", ""]
    change = "" if _is_secret(drift) else from_to(field.wanted, field.found)
    return [drift.finding.value, str(drift.ref), field.path, change, field.manager]


def _is_secret(drift: ObjectDrift) -> bool:
    return drift.ref.kind.kind == "Secret" and not drift.ref.kind.group


def _drift_json(drift: ObjectDrift, field: DriftedField | None) -> dict[str, Any]:
    """The same with whole values; of Secrets they are left out, and `hidden` says so."""
    shown = field is not None and not _is_secret(drift)
    return {
        "finding": drift.finding.value,
        "object": str(drift.ref),
        "reason": drift.reason or None,
        "path": field.path if field is not None else None,
        "want": field.wanted if field is not None and shown else None,
        "is": field.found if field is not None and shown else None,
        "hidden": field is not None and not shown,
        "manager": (field.manager or None) if field is not None else None,
        "since": (field.since or None) if field is not None else None,
    }


def _unfinished(known: Inventory | None) -> str:
    """Why an installation is not what would be installed, beside its objects."""
    if known is None or not known.finished:
        return "an installation of it was cut off or failed, and none has come to its end since"
    if not known.digest:
        return "helm installed it last; kymatui would write a revision of its own"
    return "it was installed with another chart, other values, hooks or notes, or from another place"


def _pin_version(place: CommandContext, args: argparse.Namespace) -> Inventory | None:
    """What is installed is compared with its own version, not with the newest; what that is."""
    from kymatui.cli.commands.modules.upgrade import find_installed_as

    known = find_installed_as(place, args.name)
    if known is not None and not args.version and not args.file and not args.kustomize:
        args.version = known.version
    return known


_ATTEMPTS = 4
INSTALL, UPGRADE = InstallCommand(), InstallCommand(upgrade=True)
PLAN, APPLY, CHECK = PlanCommand(), ApplyCommand(), CheckCommand()


def refuse_words_for_one(args: argparse.Namespace) -> None:
    """Raises UsageError where a source is named, which several modules cannot have in common."""
    given = ("version", "file", "chart", "repo", "kustomize", "values", "set", "set_string", "set_json")
    if said := next((word for word in given if getattr(args, word)), ""):
        word = said.replace("_", "-")
        raise UsageError(f"--{word} is about one module", hint="name that alone")


def plan_install(
    place: CommandContext, name: str, source: ModuleSource, namespace: str, *, must_exist: bool = False
) -> Plan:
    """The plan of what a command line wants; see `intent_of`."""
    from kymatui.domain.plans.direct_install import is_downgrade
    from kymatui.engine.apply.planner import plan, read_previous_inventory
    from kymatui.engine.jobs.run import SystemClock

    intent = intent_of(place, name, source, namespace)
    known = read_previous_inventory(place.cluster, SystemClock(), intent.bundle)
    if must_exist and known is None:
        intent = _adopting(place, name, intent)
    there = known.version if known is not None else intent.adopted_version
    if is_downgrade(there, intent.bundle.version) and not place.args.allow_downgrade:
        raise RefusedError(
            f"{name} {there} is installed, and {intent.bundle.version} is lower",
            hint="--allow-downgrade goes on all the same",
        )
    return plan(intent, place.cluster, SystemClock())


def _adopting(place: CommandContext, name: str, intent: Intent) -> Intent:
    """Return the intent of an upgrade that adopts what kymatui did not install. Raises RefusedError."""
    from kymatui.actions.modules.adopt import adopt_intent
    from kymatui.domain.catalog.catalog import build_catalog
    from kymatui.domain.modules.presence import Presence
    from kymatui.domain.snapshot.cluster_index import index_cluster

    snapshot = place.session.snapshot()
    row = build_catalog(snapshot, time.time(), memory=place.memory).row(name)
    if row is None or row.presence in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        raise RefusedError(f"{name} is not installed", hint=f"`kymatui install {name}` installs it")
    return adopt_intent(intent, row, index_cluster(snapshot, memory=place.memory).shelf, place.blobs)


def confirm_and_apply(place: CommandContext, plan: Plan, *, just_made: bool = False) -> int:
    """Shows the plan, asks, and does it; the exit status. See `applying.apply` for `just_made`."""
    from kymatui.composition.modules.apply_plan import begin_plan
    from kymatui.engine.apply.applier import apply
    from kymatui.engine.apply.plan_refusals import group_reasons, plan_title
    from kymatui.engine.jobs.run import RunLimits

    args, form = place.args, place.args.output
    if plan.changes_nothing:
        return _look_on(place, plan, just_made=just_made)
    if plan.blockers:
        _show(place, plan, form, "refused")
        said = "; ".join(group_reasons(plan.blockers))
        raise RefusedError(f"{plan_title(plan)} cannot be installed: {said}", hint=_way_out(plan))
    if args.dry_run:
        return _show(place, plan, form, "planned")
    if form == "table":
        say(plan_text(place.target, changes_text(plan, "table"), "table"), sys.stderr)
    verb = plan.deed.capitalize()
    confirm(
        place.target,
        f"{verb} {plan.bundle.name} {plan.bundle.version}".rstrip(),
        change_counts(plan.steps),
        yes=args.yes,
    )
    limits = RunLimits(ready=args.timeout, hooks=args.timeout, gone=args.timeout)
    with cancellable() as cancel:
        try:
            with begin_plan(plan, place.cluster, cancel, ProgressPrinter(), limits) as run:
                outcome = apply(plan, run, wait=args.wait, just_made=just_made)
        except KymatuiError:
            if form != "table":
                _show(place, plan, form, "unfinished")
            raise
    return _done(place, plan, outcome, form)


def _look_on(place: CommandContext, plan: Plan, *, just_made: bool) -> int:
    """Nothing is to be written; what is not ready yet is waited for all the same."""
    from kymatui.engine.apply.applier import apply
    from kymatui.engine.jobs.run import RunLimits, begin
    from kymatui.engine.jobs.wait import NotReadyError

    args = place.args
    if not (args.dry_run or place.cluster.read_only):
        limits = RunLimits(ready=args.timeout)
        with cancellable() as cancel, begin(place.cluster, cancel=cancel, tell=ProgressPrinter(), limits=limits) as run:
            try:
                apply(plan, run, wait=args.wait, just_made=just_made)
            except NotReadyError as error:
                if args.output != "table":
                    _show(place, plan, args.output, "unfinished")
                raise PartlyDoneError(f"nothing was to be written; {error}", hint=error.hint) from error
    return _show(place, plan, args.output, "unchanged")


def _way_out(plan: Plan) -> str:
    """What can be done where others own fields: nothing was changed so far."""
    owners = dict.fromkeys(conflict.manager for step in plan.blockers for conflict in step.conflicts)
    if not owners:
        return "nothing was changed"
    return f"nothing was changed; --force takes the fields over from {', '.join(owners)}"


def _done(place: CommandContext, plan: Plan, outcome: ApplyOutcome, form: str) -> int:
    from kymatui.engine.plans.plan import Action

    if form != "table":
        return _show(place, plan, form, "done")
    version = f" {plan.bundle.version}" if plan.bundle.version else ""
    say(
        f"{plan.bundle.name}{version}: {len(outcome.written)} written, {len(outcome.deleted)} deleted, "
        f"{len(plan.of(Action.SAME))} same"
    )
    notes = plan.bundle.release.notes if plan.bundle.release is not None else ""
    if notes:
        say(f"\n{notes}")
    return 0


def _show(place: CommandContext, plan: Plan, form: str, outcome: str) -> int:
    if form in ("json", "yaml"):
        say(plan_document(place.target, plan_json(plan, outcome), form))
    elif outcome == "unchanged":
        say(f"{plan.bundle.name}: everything is as it should be ({counts(plan.steps)})")
    else:
        say(plan_text(place.target, changes_text(plan, form), form))
    return 0
