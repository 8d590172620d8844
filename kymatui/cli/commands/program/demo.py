"""`kymatui demo`: the screen on an embedded cluster, for whoever has nothing but Python."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.session_arguments import open_configured_session, session_options_of
from kymatui.errors import ConfigurationError, UsageError
from kymatui.sandbox.door import MAX_KYMAS, start_sandbox
from kymatui.sessions.contexts import KubeContexts
from kymatui.ui.terminal.themes import styles_dir

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import SessionOptions
    from kymatui.sessions.control_plane.remote_session import RemoteSession


def configure(parser: argparse.ArgumentParser) -> None:
    options = {
        "--check": "print the catalog (or the fleet) as a table and exit; tests the installation",
        "--remote": "start two clusters: a control plane with a small fleet, and a runtime",
    }
    add_options(parser, options)
    add_option(parser, "--fleet N", "start two clusters: a control plane with N Kymas, and a runtime", type=int)
    add_options(parser, {"--allow-fleet-writes": "allow edits of several marked runtimes at the same time"})
    add_option(parser, "--ascii", "use only ASCII characters and borders", default=argparse.SUPPRESS)
    add_option(
        parser, "--audit", "open the terminal UI read-only and count the requests sent", default=argparse.SUPPRESS
    )


def run(args: argparse.Namespace) -> int:
    if args.fleet is not None and not 1 <= args.fleet <= MAX_KYMAS:
        raise UsageError(f"--fleet must be between 1 and {MAX_KYMAS}, not {args.fleet}")
    return _check(args) if args.check else _show(args)


def _is_fleet(args: argparse.Namespace) -> bool:
    return args.remote or args.fleet is not None


def _show(args: argparse.Namespace) -> int:
    """Paint the screen while the cluster starts.

    Whoever leaves before it has started leaves nothing behind: the folder is this process's, and the cluster ends with
    it.
    """
    from tempfile import TemporaryDirectory

    from kymatui.cli.commands.program.screen import show
    from kymatui.sessions.cluster.session_options import RemoteOptions
    from kymatui.sessions.control_plane.remote_session import RemoteSession

    options, settings = session_options_of(args)
    fleet = _is_fleet(args)
    started: list[SessionOptions] = []

    def connect() -> CatalogSession | RemoteSession:
        path = Path(folder, "kubeconfig")
        sandbox = running.enter_context(start_sandbox(kubeconfig=path, clusters=_clusters(args), fleet=args.fleet))
        started.append(_on(options, sandbox.kubeconfig))
        return opened(started[-1])

    def running_options() -> SessionOptions:
        if not started:  # the contexts of the person's own kubeconfig are none of the demo's
            raise ConfigurationError("the cluster of the demo is starting")
        return started[-1]

    def opened(chosen: SessionOptions) -> CatalogSession | RemoteSession:
        return RemoteSession(RemoteOptions(chosen)) if fleet else open_configured_session(chosen, settings)

    with TemporaryDirectory(prefix="kymatui-demo-", ignore_cleanup_errors=True) as folder, ExitStack() as running:
        contexts = KubeContexts(running_options, settings, opened)
        view = "fleet" if fleet else "modules"
        return show(args, settings, connect, replace(options, context=_clusters(args)[0]), contexts, view=view)


def _clusters(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the contexts of the embedded clusters; the first is the one that the header, plans and backups name."""
    return ("kcp", "skr") if _is_fleet(args) else ("sandbox",)


def _on(options: SessionOptions, kubeconfig: Path) -> SessionOptions:
    """Return the same wishes for the embedded cluster, whose kubeconfig has one context."""
    return replace(options, kubeconfig=str(kubeconfig), context="")


def _check(args: argparse.Namespace) -> int:
    """Start the cluster, wait until it is at rest, open the screen unseen, and print the catalog.

    An installation without its stylesheets, or whose screen does not show the modules, fails.
    """
    from kymatui.cli.commands.program.screen_check import PATIENCE_SECONDS, require_fleet, require_screen
    from kymatui.cli.main import main
    from kymatui.sessions.cluster.session_options import RemoteOptions
    from kymatui.sessions.control_plane.remote_session import RemoteSession

    styles_dir()  # what is missing here is told before a cluster is started
    options, settings = session_options_of(args)
    mode = ["--read-only"] if options.read_only else []
    with start_sandbox(settled=True, clusters=_clusters(args), fleet=args.fleet) as sandbox:
        if _is_fleet(args):
            timeout = PATIENCE_SECONDS + (args.fleet or 0) / 100
            require_fleet(lambda: RemoteSession(RemoteOptions(_on(options, sandbox.kubeconfig))), timeout)
            return main(["fleet", "--kubeconfig", str(sandbox.kubeconfig), *mode])
        require_screen(lambda: open_configured_session(_on(options, sandbox.kubeconfig), settings))
        return main(["catalog", "--kubeconfig", str(sandbox.kubeconfig), "--timeout", "60", *mode])
