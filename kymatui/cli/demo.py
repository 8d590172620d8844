"""`kymatui demo`: the screen on an embedded cluster, for whoever has nothing but Python."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.cli.connecting import connected, wanted

if TYPE_CHECKING:
    from kymatui.wiring import CatalogSession, SessionOptions


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="print the catalog as a table and leave")
    parser.add_argument("--audit", action="store_true", default=argparse.SUPPRESS, help="the screen that cannot write")


def run(args: argparse.Namespace) -> int:
    return _check(args) if args.check else _show(args)


def _show(args: argparse.Namespace) -> int:
    """The screen paints while the cluster starts.

    Whoever leaves before it has started leaves nothing behind: the folder is this process's, and the cluster ends with
    it.
    """
    from tempfile import TemporaryDirectory

    from kymatui.cli.screen import show
    from kymatui.wiring.sandbox import start_sandbox

    options, settings = wanted(args)

    def connect() -> CatalogSession:
        sandbox = running.enter_context(start_sandbox(kubeconfig=Path(folder, "kubeconfig")))
        return connected(_on(options, sandbox.kubeconfig), settings)

    with TemporaryDirectory(prefix="kymatui-demo-", ignore_cleanup_errors=True) as folder, ExitStack() as running:
        return show(args, settings, connect, replace(options, context="demo"))


def _on(options: SessionOptions, kubeconfig: Path) -> SessionOptions:
    """The same wishes for the embedded cluster, whose kubeconfig has one context."""
    return replace(options, kubeconfig=str(kubeconfig), context="")


def _check(args: argparse.Namespace) -> int:
    """Starts the cluster, waits until everything in it has come to rest, opens the screen unseen, prints the catalog.

    An installation without its stylesheets, or whose screen does not show the modules, fails.
    """
    from kymatui.cli.looking import require_screen
    from kymatui.cli.main import main
    from kymatui.wiring.sandbox import start_sandbox

    options, settings = wanted(args)
    with start_sandbox(settled=True) as sandbox:
        require_screen(lambda: connected(_on(options, sandbox.kubeconfig), settings))
        mode = ["--read-only"] if options.read_only else []
        return main(["catalog", "--kubeconfig", str(sandbox.kubeconfig), "--timeout", "60", *mode])
