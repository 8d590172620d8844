"""`kymatui windows [RUNTIME]`: maintenance windows and the upgrades that wait for them, what is pending first."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from kymatui.cli.cluster_options import add_cluster_options, add_option, add_remote_options
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.output.listing import Listing, ListPrinter
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.fleet.maintenance import Maintenance, pending_count
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.lists.control_plane import WINDOW_COLUMNS, WindowEntry


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "runtime RUNTIME", "name, shoot or ID of one runtime (default: all)", nargs="?")
    add_list_output(parser)
    add_list_timeout(parser)
    add_option(parser, "--waiting", "only runtimes with an upgrade that needs downtime")
    add_option(
        parser, "--policy FILE", "lifecycle-manager's maintenance policy (default: as configured, else the cluster's)"
    )
    add_cluster_options(parser)
    add_remote_options(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.session_arguments import remote_options_of
    from kymatui.sessions.reports.maintenance import read_maintenance

    options, _ = remote_options_of(args, args.runtime or "", read_only=True)
    printer = ListPrinter(args)
    for maintenances, notes in read_again(args, lambda: read_maintenance(options, args.policy or "", time.time())):
        printer.note(*notes)
        printer.show(
            _listing(
                [
                    maintenance
                    for maintenance in maintenances
                    if maintenance.upgrades or maintenance.unknown is not None or not args.waiting
                ]
            )
        )
    return 0


def _listing(maintenances: Sequence[Maintenance]) -> Listing[Maintenance]:
    many = format_count(len(maintenances), "runtime")
    return Listing(
        columns=WINDOW_COLUMNS,
        entries=maintenances,
        rows=lambda maintenance: [
            WindowEntry(maintenance, upgrade, time.time()) for upgrade in maintenance.upgrades or (None,)
        ],
        document=lambda listed: {"runtimes": [_json(maintenance) for maintenance in listed]},
        item=_json,
        name=lambda maintenance: maintenance.ref.name,
        below=(f"{many}, {pending_count(maintenances)} with upgrades that need downtime",),
    )


def _json(maintenance: Maintenance) -> dict[str, Any]:
    return {
        "runtime": maintenance.ref.name,
        "namespace": maintenance.ref.namespace,
        "window": _window(maintenance.window),
        "open": maintenance.open,
        "skipsWindows": maintenance.skips,
        "upgrades": [
            {
                "module": upgrade.module,
                "installed": upgrade.installed or None,
                "desired": upgrade.offered or None,
                "offered": upgrade.offered or None,  # deprecated: `desired`
                "standing": upgrade.waiting.value,
            }
            for upgrade in maintenance.upgrades
        ]
        if maintenance.unknown is None
        else None,
        "unknown": {} if maintenance.unknown is None else {"upgrades": unknown_json(maintenance.unknown)},
    }


def _window(window: MaintenanceWindow | None) -> dict[str, str] | None:
    if window is None:
        return None
    edges = {"begin": window.begin, "end": window.end}
    return {name: format_time(edge) for name, edge in edges.items()}
