"""The options of `kymatui` without a command; `--version` and `--help` need them, and not what opens the screen."""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_contexts, add_remote_options
from kymatui.settings import THEME_NAMES


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("screen")
    group.add_argument(
        "--theme", choices=THEME_NAMES, default=None, help="theme (default: the configured theme, else dark)"
    )
    group.add_argument("--ascii", action="store_true", default=None, help="use only ASCII characters and borders")
    group.add_argument(
        "--audit", action="store_true", help="read-only, with all screens and plans; counts the requests sent"
    )
    group.add_argument("--no-mouse", action="store_true", help="do not use the mouse")
    group.add_argument(
        "--remote",
        metavar="RUNTIME",
        nargs="?",
        const="",
        default=None,
        help="open the fleet of a control plane, or one runtime: Kyma name, shoot or runtime ID",
    )
    group.add_argument(
        "--allow-fleet-writes",
        action="store_true",
        help="with --remote: allow edits of several marked runtimes at the same time",
    )
    add_contexts(parser, "open the clusters of these contexts of the kubeconfig as a fleet")
    add_remote_options(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.commands.program.screen import run

    return run(args)
