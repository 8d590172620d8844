"""`kymatui fleet` and `kymatui matrix`: the runtimes of a control plane, and their modules by version.

`kymatui fleet export FILE` writes what decides about their modules, for `kymatui whatif --fleet FILE`.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.cli.cluster_options import add_cluster_options, add_remote_options
from kymatui.cli.options.fleet_filters import add_fleet_filters, choose, read_selected_fleet, require_drift
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.options.unknown_names import require_in_fleet
from kymatui.cli.output.listing import Listing, ListPrinter
from kymatui.cli.output.printing import print_line
from kymatui.domain.catalog.catalog_json import actor_json, unknown_json
from kymatui.domain.fleet.pending_actions import RuntimeReason, runtime_reason
from kymatui.domain.fleet.runtimes import (
    GROUPS,
    Fleet,
    Runtime,
    RuntimeModule,
    VersionCounts,
    reported_actor,
    version_matrix,
    worst_first,
)
from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource
from kymatui.domain.versions.messages import drift_words
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kymatui.sessions.cluster.session_options import SessionOptions

REPORTED = VersionSource.REPORTED.value
_HEADER = ("RUNTIME", "SHOOT", "REGION", "PLAN", "CHANNEL", "STATE", "MODULES", "DRIFT", "WORST MODULE", "AGE")
_WIDE = ("REASON", "WHO ACTS")


class FleetCommand(Struct, frozen=True):
    """`fleet` lists runtimes, `matrix` counts versions of modules over them."""

    matrix: bool = False

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_list_output(parser)
        add_list_timeout(parser)
        add_fleet_filters(parser)
        if self.matrix:
            parser.add_argument("modules", nargs="*", metavar="MODULE", help="only these modules (default: all)")
        else:
            parser.add_argument(
                "what",
                nargs="?",
                choices=("export",),
                help="export: write to FILE what decides which modules each runtime gets, for `kymatui whatif`",
            )
            parser.add_argument("file", nargs="?", metavar="FILE", help="with export: FILE.json or FILE.json.gz")
            parser.add_argument(
                "--hash-ids", action="store_true", help="with export: replace names and IDs of runtimes by hashes"
            )
            parser.add_argument("--group", choices=GROUPS, help="count runtimes instead of listing them")
        add_cluster_options(parser)
        add_remote_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.session_arguments import remote_options_of

        control = remote_options_of(args)[0].control
        if not self.matrix and args.what:
            return _export(args, control)
        printer = ListPrinter(args)
        for cluster, fleet, notes in read_again(args, lambda: read_selected_fleet(control, args.selector)):
            require_drift(fleet, args)
            chosen = choose(fleet, control, args)
            printer.note(*notes, *(f"{item.ref} is malformed: {item.reason}" for item in fleet.malformed))
            if self.matrix:
                rows = version_matrix(chosen)
                missing = {*args.modules} - {row.module for row in rows}
                require_in_fleet(control, sorted(missing), ())
                printer.show(_matrix(cluster, [row for row in rows if not args.modules or row.module in args.modules]))
            elif args.group:
                printer.show(_groups(cluster, chosen, args.group))
            else:
                listing = _runtimes(cluster, worst_first(chosen), fleet.unknown_drift)
                notes = (*_why_none(fleet, chosen, args.module), *_where_messages_are(chosen, args.output))
                printer.show(replace(listing, below=(*listing.below, *notes)))
        return 0


FLEET, MATRIX = FleetCommand(), FleetCommand(matrix=True)


def _export(args: argparse.Namespace, control: SessionOptions) -> int:
    """Write the fleet to a file. The key of the hashes is random and not kept, so nobody can compute them again."""
    import secrets

    from kymatui.sessions.reports.what_if import export_fleet

    if not args.file:
        raise UsageError("missing FILE", hint="example: `kymatui fleet export fleet.json.gz`")
    key = secrets.token_bytes(32) if args.hash_ids else b""
    fleet = export_fleet(args.file, control, args.selector, time.time(), key)
    print_line(f"{args.file}: {format_count(len(fleet.kymas), 'runtime')}, no Secrets, no annotations, no messages")
    return 0


def _runtimes(cluster: str, runtimes: Sequence[Runtime], unknown: UnknownFact | None) -> Listing[Runtime]:
    why = {runtime.ref: runtime_reason(runtime, unknown_drift=unknown) for runtime in runtimes}
    problems = sum(runtime.has_problem for runtime in runtimes)
    is_known = unknown is None and not any(runtime.unknown_drift and not runtime.has_problem for runtime in runtimes)
    more = "" if is_known else "+"
    total = format_count(len(runtimes), "runtime")
    return Listing(
        header=(*_HEADER, *_WIDE),
        wide=_WIDE,
        entries=runtimes,
        lines=lambda runtime: (_row(runtime, why[runtime.ref], unknown),),
        document=lambda listed: {
            "cluster": cluster,
            "runtimes": [_json(runtime, why[runtime.ref], unknown) for runtime in listed],
            "counts": {"runtimes": len(runtimes), "withProblems": problems if is_known else None},
            "unknown": {} if unknown is None else {"drift": unknown_json(unknown)},
        },
        item=lambda runtime: _json(runtime, why[runtime.ref], unknown),
        name=lambda runtime: runtime.name,
        below=(f"{total}, {problems}{more} with problems (reported by their Kymas)",),
    )


def _why_none(fleet: Fleet, chosen: Sequence[Runtime], module: str | None) -> Iterator[str]:
    """Yield which versions of a module runtimes report, where none reports the wanted one."""
    name, _, version = (module or "").partition("@")
    if chosen or not version:
        return
    row = next((row for row in version_matrix(fleet.runtimes) if row.module == name), None)
    if row is not None:
        yield f"no runtime that matches reports {name} {version}; reported: {_counts(row)}"


def _where_messages_are(chosen: Sequence[Runtime], form: str) -> Iterator[str]:
    """Yield where to read why modules are not ready: their Kymas have no message for most of them."""
    quiet = (State.READY, State.UNMANAGED)
    if form == "wide" and any(
        module.state not in quiet and not module.message for run in chosen for module in run.modules
    ):
        yield "messages of modules are in their Manifests: `kymatui module MODULE --remote RUNTIME`"


def _row(runtime: Runtime, why: RuntimeReason, unknown: UnknownFact | None) -> list[str]:
    worst = runtime.worst
    state = f"{runtime.state} (skipped)" if runtime.skipped else runtime.state
    return [
        runtime.name,
        runtime.shoot,
        runtime.region,
        runtime.plan,
        runtime.channel,
        f"{state} (deleting)" if runtime.deleting else state,
        str(len(runtime.modules)),
        unknown.gap.value if unknown is not None else runtime.drift_words,
        f"{worst.name} {_what_is_wrong(worst)}" if worst is not None else "",
        format_duration(time.time() - runtime.created) if runtime.created is not None else "",
        why.text,
        why.actor.value,
    ]


def _what_is_wrong(module: RuntimeModule) -> str:
    return drift_words(module.drift) if module.drifts and module.state is State.READY else module.state.value


def _json(runtime: Runtime, why: RuntimeReason, unknown: UnknownFact | None) -> dict[str, Any]:
    return {
        "name": runtime.name,
        "namespace": runtime.ref.namespace,
        "shoot": runtime.shoot or None,
        "region": runtime.region or None,
        "platformRegion": runtime.platform_region or None,
        "plan": runtime.plan or None,
        "globalAccount": runtime.account or None,
        "channel": runtime.channel or None,
        "state": runtime.state or None,
        "deleting": runtime.deleting,
        "skipped": runtime.skipped,
        "reason": why.text if why.state is not None else None,
        "actor": actor_json(why.actor),
        "unknown": {"actor": unknown_json(_NOT_READ)} if why.actor is Actor.UNKNOWN else {},
        "problem": runtime.has_problem or (None if unknown is not None or runtime.unknown_drift else False),
        "modules": [_module_json(module, runtime, unknown) for module in runtime.modules],
    }


def _module_json(module: RuntimeModule, runtime: Runtime, unknown: UnknownFact | None) -> dict[str, Any]:
    """Return what the Kyma reports of a module: its sources say that the runtime itself was not read."""
    actor = reported_actor(runtime, module)
    return {
        "name": module.name,
        "channel": module.channel or None,
        "channelSource": REPORTED,
        "version": module.version or None,
        "versionSource": REPORTED if module.version else None,
        "desired": module.desired or None,
        "drifts": None if unknown is not None or module.unknown_drift else module.drifts,
        "drift": (DriftKind.UNKNOWN if unknown is not None else module.drift.kind).value,
        "state": module.state.value,
        "stateSource": StateSource.KYMA.value,
        "maintenance": module.maintenance,
        "actor": actor_json(actor),
        "actorSource": REPORTED,
        "unknown": {"actor": unknown_json(_NOT_READ)} if actor is Actor.UNKNOWN else {},
    }


_NOT_READ: Final = UnknownFact(ListGap.UNKNOWN, (), "the runtime was not read; `kymatui module` reads it")


def _groups(cluster: str, runtimes: Sequence[Runtime], group: str) -> Listing[tuple[str, int]]:
    counts = Fleet(tuple(runtimes), ()).count(group)
    return Listing(
        header=(group.upper(), "RUNTIMES"),
        entries=[*counts.items()],
        lines=lambda pair: ((pair[0], str(pair[1])),),
        document=lambda listed: {"cluster": cluster, "group": group, "counts": dict(listed)},
        name=lambda pair: pair[0],
    )


def _matrix(cluster: str, rows: Sequence[VersionCounts]) -> Listing[VersionCounts]:
    return Listing(
        header=("MODULE", "RUNTIMES", "REPORTED VERSIONS"),
        entries=rows,
        lines=lambda row: ((row.module, str(row.total), _counts(row)),),
        document=lambda listed: {"cluster": cluster, "versionSource": REPORTED, "modules": _versions(listed)},
        name=lambda row: row.module,
    )


def _versions(rows: Sequence[VersionCounts]) -> dict[str, dict[str, int]]:
    return {row.module: {version or "unknown": count for version, count in row.counts} for row in rows}


def _counts(row: VersionCounts) -> str:
    return ", ".join(f"{version or 'unknown'}: {count}" for version, count in row.counts)
