"""`kymatui watchers [RUNTIME]`: whether what changes in a runtime reaches the control plane; exit status 2 if not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kymatui.cli.commands.fleet.compare import configure_runtime
from kymatui.cli.options.listing import read_again
from kymatui.cli.output.listing import Listing, ListPrinter
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.remote.watcher_chains import LinkHealth, WatcherChain, chain_json
from kymatui.errors import RefusedError
from kymatui.lists.control_plane import WATCHER_COLUMNS, LinkEntry


def configure(parser: argparse.ArgumentParser) -> None:
    configure_runtime(parser, runtime="?")


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.session_arguments import remote_options_of
    from kymatui.sessions.reports.maintenance import read_chains

    options, _ = remote_options_of(args, args.runtime or "", read_only=True)
    printer, status = ListPrinter(args), 0
    for chains in read_again(args, lambda: read_chains(options, args.timeout)):
        printer.show(_listing(chains))
        status = 0 if all(chain.health is LinkHealth.HEALTHY for chain in chains) else RefusedError.exit_code
    return status


def _listing(chains: Sequence[WatcherChain]) -> Listing[WatcherChain]:
    healthy = sum(chain.health is LinkHealth.HEALTHY for chain in chains)
    return Listing(
        columns=WATCHER_COLUMNS,
        entries=chains,
        rows=lambda chain: [LinkEntry(chain, link) for link in chain.links],
        document=lambda listed: {"watchers": [chain_json(chain) for chain in listed]},
        item=chain_json,
        name=lambda chain: chain.watcher,
        below=(f"{healthy} of {format_count(len(chains), 'chain')} healthy",),
        empty="no Watchers in the control plane: changes in runtimes are noticed only at the next reconciliation",
    )
