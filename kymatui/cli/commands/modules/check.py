"""`kymatui check NAME`: whether what is installed still is what its source says, field by field."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from kymatui.cli.cluster_options import add_contexts, add_fetching, add_option, add_output, uses_contexts
from kymatui.cli.commands.modules.upgrade import find_installed_as, recorded_source
from kymatui.cli.options.direct_install import (
    FORMATS,
    CommandContext,
    add_clusters,
    add_source,
    install_request,
    open_context,
)
from kymatui.cli.output.plan_changes import from_to
from kymatui.cli.output.printing import document, markdown, paragraph, print_text, table
from kymatui.domain.gitops import git_document, git_warnings
from kymatui.domain.installed import SourceKind, install_command, is_deleted_elsewhere, is_local, source_of
from kymatui.domain.inventories import Inventory, InventoryState
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import UNFINISHED
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.plans.plan import Intent, Plan
from kymatui.engine.sources.chart_lookup import ChartLocation, chart_location
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.domain.catalog.rows import ModuleRow
    from kymatui.engine.apply.planner import DriftedField, DriftReport, ObjectDrift


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module or the release")
    add_output(parser, FORMATS)
    add_source(parser)
    add_fetching(parser)
    add_clusters(parser)
    add_contexts(parser)
    parser.set_defaults(
        direct=True, force=False, prune=True, prune_definitions=False, prune_namespaces=False, policy="CreateAndDelete"
    )


def run(args: argparse.Namespace) -> int:
    if uses_contexts(args):
        from kymatui.cli.options.contexts import print_each

        return print_each(args, lambda own, session: _check(CommandContext(own, session, "")))
    with open_context(args, once=True) as context:
        return _check(context)


def _check(context: CommandContext) -> int:
    """Print how what is installed differs; return the exit status."""
    from kymatui.actions.modules.install_plan import Adoption, install_intent
    from kymatui.engine.apply.planner import check, not_ready
    from kymatui.engine.jobs.run import SystemClock

    args = context.args
    context.port.read_once()
    _refuse_managed(context, args.name)
    last = _pin_version(context, args)
    stored = _stored_release(context, last)
    row = context.catalog.row(args.name)
    explained = row is not None and (row.presence in UNFINISHED or is_deleted_elsewhere(row.run))
    unfinished = row.reason.text if row is not None and explained else ""
    presence = row.presence.value if row is not None else None
    if stored is None:
        source, namespace = _recorded_file(context, last) or recorded_source(context, args.name, "check")
        request = install_request(context, args.name, source, namespace, Adoption.NEVER)
    intent = Intent(stored) if stored is not None else install_intent(context.port, request)
    report = check(intent, context.cluster, SystemClock())
    waiting = list(not_ready(report))
    changed_by = _other_version(row, last, report)
    if args.output in ("json", "yaml"):
        differences = [_drift_json(drift, field) for drift in report.drifts for field in (drift.fields or (None,))]
        state: dict[str, Any] = {"installed": report.installed, "unfinished": report.plan.unfinished}
        state["presence"] = presence
        state |= {"consistent": report.consistent, "ready": report.ready}
        print_text(
            document(
                {
                    "name": args.name,
                    **state,
                    "drift": differences,
                    "notReady": waiting,
                    "otherVersion": to_builtins(changed_by),
                    "git": [git_document(change) for change in report.plan.git],
                },
                args.output,
            )
        )
    else:
        draw = markdown if args.output == "md" else table
        known = report.installed or report.plan.unfinished  # of what was never there nothing is missing
        drifts = report.drifts if known else ()
        rows = [_drifted(drift, field) for drift in drifts for field in (drift.fields or (None,))]
        parts = [draw(("FINDING", "OBJECT", "PATH", "EXPECTED → ACTUAL", "FIELD MANAGER"), rows)] if rows else []
        parts += [f"not ready: {words}" for words in waiting]
        if report.installed and report.plan.unfinished and not unfinished:
            parts.append(_unfinished(last, report.plan))
        parts += [unfinished] if unfinished else []
        parts += [changed_by.message(args.name)] if changed_by is not None else []
        parts += [paragraph(f"warning: {text}", args.output) for text in git_warnings(report.plan.git)]
        in_catalog = context.source.is_catalog
        absent = _absent(args.name, f"kymatui install {args.name}" if in_catalog else _SAME, in_catalog=in_catalog)
        repair = "" if report.consistent else _repair(args, report, last if in_catalog else None)
        origin = "source" if stored is None else "stored release"
        words = f"differs from its {origin}; {repair}" if repair else f"matches its {origin}"
        verdict = paragraph(f"{args.name} {words}", args.output) if report.installed else absent
        print_text("\n\n".join([*parts, *([] if unfinished and not report.installed else [verdict])]))
    return 0 if report.ready else RefusedError.exit_code


def _refuse_managed(context: CommandContext, name: str) -> None:
    """Raise RefusedError for a module of lifecycle-manager, of which kymatui has no installation to compare."""
    row = context.catalog.row(name)
    if row is not None and (row.managed or row.mandatory):
        raise RefusedError(
            f"{name} is managed by {row.keeper}; `check` compares only what kymatui installed",
            hint=f"`kymatui audit --module {name}` lists changed fields, `kymatui module {name}` versions and state",
        )


def _stored_release(context: CommandContext, known: Inventory | None) -> Bundle | None:
    """Return the deployed revision of a chart that cannot be fetched again, None for everything else."""
    source = context.source
    if known is None or not (known.chart and known.deployed) or not source.is_catalog or source.has_values:
        return None
    if isinstance(chart_location(known.origin), ChartLocation) or context.args.version != known.version:
        return None
    return ReleaseStore(context.cluster, known.name, known.namespace, time.time).bundle_of(known.deployed)[0]


def _recorded_file(context: CommandContext, known: Inventory | None) -> tuple[ModuleSource, str] | None:
    """Return the recorded file or kustomization of what no catalog offers, None for everything else.

    Raises RefusedError for a path that this machine does not have.
    """
    from kymatui.actions.modules.module_sources import ModuleSource

    kind = source_of(known) if known is not None else None
    row = context.catalog.row(known.name) if known is not None else None
    if known is None or kind not in (SourceKind.FILE, SourceKind.KUSTOMIZATION) or not context.source.is_catalog:
        return None
    if row is None or row.offers:
        return None
    address, option = known.origin.address, "--file" if kind is SourceKind.FILE else "--kustomize"
    if is_local(known) and not Path(address.partition("//")[0]).exists():
        raise RefusedError(
            f"{known.name} came from {address}, a path on the machine where it was installed",
            hint=f"run `kymatui check {known.name} {option} PATH`",
        )
    source = ModuleSource(file=address) if kind is SourceKind.FILE else ModuleSource(kustomization=address)
    return source, known.namespace


def _drifted(drift: ObjectDrift, field: DriftedField | None) -> list[str]:
    """Return the lines of a check; for Secrets the path without the content."""
    if field is None:
        return [drift.finding.value, str(drift.ref), drift.reason, "", ""]
    change = "" if _is_secret(drift) else from_to(field.expected, field.actual)
    return [drift.finding.value, str(drift.ref), field.path, change, field.manager]


def _is_secret(drift: ObjectDrift) -> bool:
    return drift.ref.kind.kind == "Secret" and not drift.ref.kind.group


def _drift_json(drift: ObjectDrift, field: DriftedField | None) -> dict[str, Any]:
    """Return the same with whole values; of Secrets they are left out, and `hidden` says so."""
    shown = field is not None and not _is_secret(drift)
    return {
        "finding": drift.finding.value,
        "object": str(drift.ref),
        "reason": drift.reason or None,
        "path": field.path if field is not None else None,
        "want": field.expected if field is not None and shown else None,
        "is": field.actual if field is not None and shown else None,
        "hidden": field is not None and not shown,
        "manager": (field.manager or None) if field is not None else None,
        "since": (field.since or None) if field is not None else None,
    }


class OtherVersion(Struct, frozen=True):
    """A running version that is not the recorded one, and the field managers that wrote it."""

    recorded: str
    running: str
    managers: tuple[str, ...]

    def message(self, name: str) -> str:
        changed = f"{' and '.join(self.managers)} changed {name} from {self.recorded} to {self.running}"
        return f"{changed}; `kymatui adopt {name}` adopts that version"


def _other_version(row: ModuleRow | None, known: Inventory | None, report: DriftReport) -> OtherVersion | None:
    """Return the version that another tool installed; an image tag may differ from the version without any."""
    if row is None or known is None or not known.version or known.state is not InventoryState.INSTALLED:
        return None
    if not row.installed or same_version(row.installed, known.version):
        return None
    fields = [field for drift in report.drifts if drift.ref == row.manager for field in drift.fields]
    managers = tuple(sorted({field.manager for field in fields} - {""}))
    return OtherVersion(known.version, row.installed, managers) if managers else None


_SAME: Final = "the same install command"


def _repair(args: argparse.Namespace, report: DriftReport, known: Inventory | None) -> str:
    """Return what repairs a difference: the recorded source once more, None for one of the options."""
    options = f"--force{' --override-gitops' if report.plan.git else ''}"
    if known is None:
        return f"{_SAME} with {options} repairs it"
    return f"`{install_command(replace(known, version=args.version or known.version))} {options}` repairs it"


def _absent(name: str, install: str, *, in_catalog: bool) -> str:
    """Return that nothing is installed, and what installs or adopts the module."""
    adopts = f", `kymatui upgrade {name}` adopts an installation of another tool" if in_catalog else ""
    return f"{name} is not installed by kymatui; `{install}` installs it{adopts}"


def _unfinished(known: Inventory | None, plan: Plan) -> str:
    """Return why an installation is not what would be installed, beside its objects."""
    if known is None or not known.digest:
        tool = next((str(step.git) for step in plan.steps if step.git is not None), "helm")
        return f"{tool} installed the last revision; kymatui would write a new one"
    return "installed from another source, or with another chart, other values, hooks or notes"


def _pin_version(context: CommandContext, args: argparse.Namespace) -> Inventory | None:
    """Return the installation, and compare with its version instead of the newest."""
    known = find_installed_as(context, args.name)
    if known is not None and not (args.version or args.file or args.kustomize or args.component):
        args.version = known.version
    return known
