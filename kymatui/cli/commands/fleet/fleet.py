"""`kymatui fleet`, `matrix`, `waits`: the runtimes of a control plane, their modules by version, and what waits.

`kymatui fleet export FILE` writes what decides about their modules, for `kymatui whatif --fleet FILE`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.cli.cluster_options import add_cluster_options, add_contexts, add_option, add_remote_options, uses_contexts
from kymatui.cli.options.fleet_filters import add_fleet_filters, choose, is_chosen, read_selected_fleet, require_drift
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.options.unknown_names import require_in_fleet, require_states
from kymatui.cli.output.listing import Listing, ListPrinter
from kymatui.cli.output.printing import print_line
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.fleet.clusters import FleetCluster, InstalledVersions, installed_versions
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot
from kymatui.domain.fleet.pending_actions import pending_actions
from kymatui.domain.fleet.runtimes import GROUPS, Fleet, Runtime, VersionCounts, group_name, version_matrix, worst_first
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.errors import KymatuiError, PartlyDoneError, UnknownNameError, UsageError
from kymatui.lists.columns import row_document
from kymatui.lists.fleet import (
    CLUSTER_COLUMNS,
    GROUP_COLUMNS,
    INSTALLED_COLUMNS,
    REPORTED,
    RUNTIME_COLUMNS,
    VERSION_COLUMNS,
    WAIT_COLUMNS,
    GroupEntry,
    RuntimeEntry,
    WaitEntry,
    clusters_worst_first,
    contexts_by_version,
    version_counts,
)

if TYPE_CHECKING:
    from kymatui.sessions.cluster.session_options import SessionOptions


class FleetListing(Enum):
    """What a command lists of a fleet: its runtimes, counts of module versions, or the modules that wait."""

    RUNTIMES = auto()
    MATRIX = auto()
    WAITS = auto()


class FleetCommand(Struct, frozen=True):
    """`fleet`, `matrix` or `waits`: one view of the runtimes that the same filters choose."""

    view: FleetListing

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_list_output(parser)
        add_list_timeout(parser)
        add_fleet_filters(parser)
        if self.view is FleetListing.MATRIX:
            add_option(parser, "modules MODULE", "only these modules (default: all)", nargs="*")
        elif self.view is FleetListing.RUNTIMES:
            add_option(
                parser,
                "what",
                "export: write to FILE what decides which modules each runtime gets, for `kymatui whatif`",
                nargs="?",
                choices=("export",),
            )
            add_option(parser, "file FILE", "with export: FILE.json or FILE.json.gz", nargs="?")
            add_option(parser, "--hash-ids", "with export: replace names and IDs of runtimes by hashes")
            add_option(parser, "--group", "count runtimes instead of listing them", choices=GROUPS)
        if self.view is not FleetListing.WAITS:
            add_contexts(parser, "list the clusters of these contexts of the kubeconfig, without a control plane")
        add_cluster_options(parser)
        add_remote_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.session_arguments import remote_options_of

        if uses_contexts(args):
            return self._run_contexts(args)

        control = remote_options_of(args)[0].control
        if self.view is FleetListing.RUNTIMES and args.what:
            return _export(args, control)
        printer = ListPrinter(args)
        for cluster, fleet, notes in read_again(args, lambda: read_selected_fleet(control, args.selector)):
            require_drift(fleet, args)
            chosen = choose(fleet, control, args)
            if self.view is FleetListing.WAITS:
                from kymatui.sessions.control_plane.fleet_lists import fleet_picture

                printer.note(*notes)
                printer.show(_waits(fleet_picture(control, cluster, fleet, chosen)))
                continue
            printer.note(*notes, *(f"{item.ref} is malformed: {item.reason}" for item in fleet.malformed))
            if self.view is FleetListing.MATRIX:
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

    def _run_contexts(self, args: argparse.Namespace) -> int:
        """List the clusters of contexts, or their modules by version; one that cannot be read is a row, too."""
        for name in ("selector", "what"):
            if getattr(args, name, None):
                raise UsageError(f"{'--selector' if name == 'selector' else 'export'} needs a control plane")
        printer, status = ListPrinter(args), 0
        for clusters in read_again(args, lambda: _read_clusters(args), limited=False):
            unread = [cluster for cluster in clusters if not cluster.is_read]
            status = 0 if not unread else KymatuiError.exit_code if len(unread) == len(clusters) else _PARTLY
            runtimes = [cluster.as_runtime() for cluster in clusters]
            require_states(args.state or (), Fleet(tuple(runtimes), ()))
            pairs = zip(clusters, runtimes, strict=True)
            chosen = [(cluster, runtime) for cluster, runtime in pairs if is_chosen(runtime, args)]
            if self.view is FleetListing.MATRIX:
                printer.show(_installed_matrix([cluster for cluster, _ in chosen], args.modules))
                printer.note(*(sanitize(f"{cluster.context} not read: {cluster.reason}") for cluster in unread))
            elif args.group:
                printer.show(_groups("", [runtime for _, runtime in chosen], args.group, "CONTEXTS"))
            else:
                printer.show(_clusters([cluster for cluster, _ in chosen]))
        return status


_PARTLY = PartlyDoneError.exit_code
FLEET, MATRIX, WAITS = map(FleetCommand, FleetListing)


def _export(args: argparse.Namespace, control: SessionOptions) -> int:
    """Write the fleet to a file. The key of the hashes is random and not kept, so nobody can compute them again."""
    from kymatui.sessions.reports.what_if import export_fleet

    if not args.file:
        raise UsageError("missing FILE", hint="example: `kymatui fleet export fleet.json.gz`")
    key = os.urandom(32) if args.hash_ids else b""
    fleet = export_fleet(args.file, control, args.selector, time.time(), key)
    print_line(f"{args.file}: {format_count(len(fleet.kymas), 'runtime')}, no Secrets, no annotations, no messages")
    return 0


def _runtimes(cluster: str, runtimes: Sequence[Runtime], unknown: UnknownFact | None) -> Listing[RuntimeEntry]:
    problems = sum(runtime.has_problem for runtime in runtimes)
    is_known = unknown is None and not any(runtime.unknown_drift and not runtime.has_problem for runtime in runtimes)
    more = "" if is_known else "+"
    total = format_count(len(runtimes), "runtime")
    return Listing(
        columns=RUNTIME_COLUMNS,
        entries=[RuntimeEntry(runtime, unknown) for runtime in runtimes],
        document=lambda listed: {
            "cluster": cluster,
            "runtimes": [row_document(RUNTIME_COLUMNS, entry) for entry in listed],
            "counts": {"runtimes": len(runtimes), "withProblems": problems if is_known else None},
            "unknown": {} if unknown is None else {"drift": unknown_json(unknown)},
        },
        item=lambda entry: row_document(RUNTIME_COLUMNS, entry),
        name=lambda entry: entry.runtime.name,
        below=(f"{total}, {problems}{more} with problems (reported by their Kymas)",),
    )


def _waits(picture: FleetSnapshot) -> Listing[WaitEntry]:
    waits, unknown = [WaitEntry(wait) for wait in pending_actions(picture)], picture.unknown_manifests
    runtimes = len({entry.wait.runtime for entry in waits})
    counts = f"{format_count(len(picture.runtimes), 'runtime')}, {runtimes} with something that waits"
    return Listing(
        columns=WAIT_COLUMNS,
        entries=waits,
        document=lambda listed: {
            "cluster": picture.cluster,
            "waits": [row_document(WAIT_COLUMNS, entry) for entry in listed],
            "unknown": {} if unknown is None else {"waits": unknown_json(unknown)},
        },
        item=lambda entry: row_document(WAIT_COLUMNS, entry),
        name=lambda entry: "/".join(filter(None, (entry.wait.runtime[1], entry.wait.module))),
        below=(counts, *([f"Manifests: {unknown}"] if unknown is not None else [])),
        empty=f"nothing waits\n\n{counts}",
    )


def _why_none(fleet: Fleet, chosen: Sequence[Runtime], module: str | None) -> Iterator[str]:
    """Yield which versions of a module runtimes report, where none reports the wanted one."""
    name, _, version = (module or "").partition("@")
    if chosen or not version:
        return
    row = next((row for row in version_matrix(fleet.runtimes) if row.module == name), None)
    if row is not None:
        yield f"no runtime that matches reports {name} {version}; reported: {version_counts(row)}"


def _where_messages_are(chosen: Sequence[Runtime], form: str) -> Iterator[str]:
    """Yield where to read why modules are not ready: their Kymas have no message for most of them."""
    quiet = (State.READY, State.UNMANAGED)
    if form == "wide" and any(
        module.state not in quiet and not module.message for run in chosen for module in run.modules
    ):
        yield "messages of modules are in their Manifests: `kymatui module MODULE --remote RUNTIME`"


def _read_clusters(args: argparse.Namespace) -> list[FleetCluster]:
    from kymatui.cli.options.contexts import read_each
    from kymatui.sessions.context_reader import failed_cluster, read_cluster

    answers = read_each(args, read_cluster)
    failed = (failed_cluster(entry, error) for entry, error in answers.failures.values())
    return clusters_worst_first((*answers.results.values(), *failed))


def _clusters(clusters: Sequence[FleetCluster]) -> Listing[FleetCluster]:
    problems, unread = (
        sum(cluster.has_problem for cluster in clusters),
        sum(not cluster.is_read for cluster in clusters),
    )
    counts = [format_count(len(clusters), "context"), f"{problems} with problems"]
    counts += [f"{unread} not read"] if unread else []
    counts += [f"{updates} with updates"] if (updates := sum(bool(cluster.updates) for cluster in clusters)) else []
    return Listing(
        columns=CLUSTER_COLUMNS,
        entries=clusters,
        document=lambda listed: {
            "contexts": [row_document(CLUSTER_COLUMNS, cluster) for cluster in listed],
            "counts": {"contexts": len(clusters), "withProblems": problems, "notRead": unread},
        },
        item=lambda cluster: row_document(CLUSTER_COLUMNS, cluster),
        name=lambda cluster: cluster.context,
        below=(", ".join(counts),),
        empty="no context matches the options",
    )


def _installed_matrix(clusters: Sequence[FleetCluster], modules: Sequence[str]) -> Listing[InstalledVersions]:
    rows = installed_versions(clusters)
    for name in modules:
        if name not in (known := [row.module for row in rows]):
            raise UnknownNameError.near("module", name, known, where="in these contexts")
    return Listing(
        columns=INSTALLED_COLUMNS,
        entries=[row for row in rows if not modules or row.module in modules],
        document=lambda listed: {
            "contexts": [cluster.context for cluster in clusters],
            "modules": {
                row.module: {version or "unknown": names for version, names in contexts_by_version(row).items()}
                for row in listed
            },
        },
        name=lambda row: row.module,
        empty="no context has modules",
    )


def _groups(cluster: str, runtimes: Sequence[Runtime], group: str, counted: str = "RUNTIMES") -> Listing[GroupEntry]:
    first, count, *others = GROUP_COLUMNS
    entries = (
        GroupEntry(name, tuple(runtime for runtime in runtimes if group_name(runtime, group) == name))
        for name in Fleet(tuple(runtimes), ()).count(group)
    )
    return Listing(
        columns=(replace(first, title=group.upper()), replace(count, title=counted), *others),
        entries=list(entries),
        document=lambda listed: {
            "cluster": cluster,
            "group": group,
            "counts": {entry.name: len(entry.runtimes) for entry in listed},
        },
        name=lambda entry: entry.name,
    )


def _matrix(cluster: str, rows: Sequence[VersionCounts]) -> Listing[VersionCounts]:
    return Listing(
        columns=VERSION_COLUMNS,
        entries=rows,
        document=lambda listed: {"cluster": cluster, "versionSource": REPORTED, "modules": _versions(listed)},
        name=lambda row: row.module,
    )


def _versions(rows: Sequence[VersionCounts]) -> dict[str, dict[str, int]]:
    return {row.module: {version or "unknown": count for version, count in row.counts} for row in rows}
