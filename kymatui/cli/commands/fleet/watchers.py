"""`kymatui watchers [RUNTIME]`: whether what changes in a runtime reaches the control plane; exit status 2 if not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kymatui.cli.commands.fleet.compare import configure_runtime
from kymatui.cli.output.printing import document, markdown, say, table
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.domain.remote.watcher_chains import WatcherChain

_HEADER = ("WATCHER", "WATCHES", "LINK", "OBJECT", "HEALTH", "WHY")


def configure(parser: argparse.ArgumentParser) -> None:
    configure_runtime(parser, runtime="?")


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.session_arguments import remote_options_of
    from kymatui.composition.reports.watcher_report import read_chains
    from kymatui.domain.remote.watcher_chains import LinkHealth

    options, _ = remote_options_of(args, args.runtime or "", read_only=True)
    found = read_chains(options, args.timeout)
    say(_text(found, args.output))
    return 0 if all(chain.health is LinkHealth.WHOLE for chain in found) else RefusedError.exit_code


def _text(found: Sequence[WatcherChain], form: str) -> str:
    from kymatui.domain.remote.watcher_chains import LinkHealth, chain_json

    if form in ("json", "yaml"):
        return document({"watchers": [chain_json(chain) for chain in found]}, form)
    if not found:
        return (
            "no Watchers in the control plane: lifecycle-manager learns of changes in runtimes only when it reconciles"
        )
    rows = [
        (chain.watcher, chain.watches, link.what, link.object, link.health.label, link.why)
        for chain in found
        for link in chain.links
    ]
    whole = sum(chain.health is LinkHealth.WHOLE for chain in found)
    drawn = (markdown if form == "md" else table)(_HEADER, rows)
    return f"{drawn}\n\n{whole} of {format_count(len(found), 'chain')} healthy"
