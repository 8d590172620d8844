"""The options of `kymatui` without a command; `--version` and `--help` need them, and not what opens the screen."""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_contexts, add_option, add_remote_options
from kymatui.settings import THEME_NAMES


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("screen")
    add_option(group, "--theme", "theme (default: the configured theme, else dark)", choices=THEME_NAMES, default=None)
    add_option(group, "--ascii", "use only ASCII characters and borders", default=None)
    add_option(group, "--audit", "read-only, with all screens and plans; counts the requests sent")
    add_option(group, "--no-mouse", "do not use the mouse")
    add_option(
        group,
        "--remote RUNTIME",
        "open the fleet of a control plane, or one runtime: Kyma name, shoot or runtime ID",
        nargs="?",
        const="",
        default=None,
    )
    add_option(group, "--allow-fleet-writes", "with --remote: allow edits of several marked runtimes at the same time")
    add_contexts(parser, "open the clusters of these contexts of the kubeconfig as a fleet")
    add_remote_options(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.cli.commands.program.screen import run

    return run(args)
