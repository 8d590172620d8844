"""`kymatui demo`: the screen on an embedded cluster, for whoever has nothing but Python."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.settings.loading import load_settings

if TYPE_CHECKING:
    from kymatui.ui.link import Session
    from kymatui.wiring import SessionOptions


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="print the catalog as a table and leave")


def run(args: argparse.Namespace) -> int:
    return _check() if args.check else _show(args)


def _show(args: argparse.Namespace) -> int:
    """The screen paints while the cluster starts."""
    from kymatui.cli.screen import show
    from kymatui.wiring.options import SessionOptions, read_only_wanted
    from kymatui.wiring.sandbox import start_sandbox

    read_only = bool(getattr(args, "read_only", False)) or read_only_wanted()

    def connect() -> Session:
        from kymatui.wiring import open_session

        sandbox = running.enter_context(start_sandbox())
        return open_session(_options(sandbox.kubeconfig, read_only=read_only))

    with ExitStack() as running:
        return show(args, load_settings(os.environ), connect, SessionOptions(context="demo", read_only=read_only))


def _options(kubeconfig: Path, *, read_only: bool = False) -> SessionOptions:
    from kymatui.wiring.options import SessionOptions

    return SessionOptions(kubeconfig=str(kubeconfig), read_only=read_only)


def _check() -> int:
    """Starts the cluster, waits until everything in it has come to rest, opens the screen unseen, prints the catalog.

    An installation without its stylesheets, or whose screen does not show the modules, fails.
    """
    from kymatui.cli.looking import require_screen
    from kymatui.cli.main import main
    from kymatui.wiring import open_session
    from kymatui.wiring.sandbox import start_sandbox

    with start_sandbox(settled=True) as sandbox:
        require_screen(lambda: open_session(_options(sandbox.kubeconfig)))
        return main(["--kubeconfig", str(sandbox.kubeconfig), "catalog", "--timeout", "60"])
