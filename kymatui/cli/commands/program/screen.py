"""`kymatui` without a command: the terminal UI on the cluster of the current context."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.cli.commands.program.splash import splash_screen
from kymatui.cli.commands.program.terminal_abilities import require_screen, settings_for_locale, theme_for_colours
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.session_arguments import (
    is_remote,
    open_configured_session,
    remote_options_of,
    session_options_of,
)
from kymatui.errors import KymatuiError, UsageError
from kymatui.settings.config_file import Settings

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
    from kymatui.sessions.contexts import KubeContexts
    from kymatui.sessions.control_plane.remote_session import RemoteSession
    from kymatui.ui.application.kymatui_app import KymatuiApp


def run(args: argparse.Namespace) -> int:
    if getattr(args, "remote", None) is not None or is_remote(args):
        return _show_fleet(args)
    from kymatui.sessions.contexts import KubeContexts

    options, settings = session_options_of(args)

    def connect() -> CatalogSession:
        return _connected(args, options, settings)

    contexts = KubeContexts(
        lambda: options, settings, lambda chosen: open_configured_session(chosen, settings), reopen=connect
    )
    return show(args, settings, connect, options, contexts)


def _connected(args: argparse.Namespace, options: SessionOptions, settings: Settings) -> CatalogSession:
    session = open_configured_session(options, settings)
    _require_namespace(session, args)
    return session


def _show_fleet(args: argparse.Namespace) -> int:
    from kymatui.sessions.contexts import KubeContexts

    options, settings = remote_options_of(args)
    forced, _ = session_options_of(args)

    def connect() -> RemoteSession:
        return _connected_fleet(args, options)

    def open_context(chosen: SessionOptions) -> RemoteSession:
        """Open the fleet of a context; a runtime that the command line names is one of its own control plane."""
        if chosen.context != options.control.context:
            return _open_fleet(replace(options, control=chosen, runtime="", by_hand=None))
        shut = chosen.read_only or options.control.read_only
        return _open_fleet(replace(options, control=replace(chosen, read_only=shut)))

    contexts = KubeContexts(
        lambda: replace(options.control, read_only=forced.read_only),
        settings,
        open_context,
        reopen=connect,
    )
    return show(args, settings, connect, options.control, contexts, fleet=True)


def _open_fleet(options: RemoteOptions) -> RemoteSession:
    from kymatui.sessions.control_plane.remote_session import open_remote

    return open_remote(options)


def _connected_fleet(args: argparse.Namespace, options: RemoteOptions) -> RemoteSession:
    session = _open_fleet(options)
    _require_namespace(session, args)
    return session


def _require_namespace(session: CatalogSession | RemoteSession, args: argparse.Namespace) -> None:
    """Close a session whose cluster does not have the namespace, and raise why."""
    try:
        require_namespace(session.cluster, args)
    except KymatuiError:
        session.close()
        raise


def show(
    args: argparse.Namespace,
    settings: Settings,
    connect: Callable[[], CatalogSession | RemoteSession],
    options: SessionOptions,
    contexts: KubeContexts,
    *,
    fleet: bool = False,
) -> int:
    """Run the screen until it is left.

    What ended it, or kept it from showing anything of Kyma until it was left, is raised on the terminal that is there
    again.
    """
    _require_terminal()
    if getattr(args, "color", "auto") == "never":
        os.environ["NO_COLOR"] = "1"  # which the screen's library reads
    # while lists are read in other threads, the screen gets its turn five times as soon
    sys.setswitchinterval(0.001)
    opened: list[CatalogSession | RemoteSession] = []

    def opening() -> Any:
        opened.append(connect())
        return opened[-1]

    settings = replace(
        settings,
        theme=getattr(args, "theme", None) or settings.theme,
        ascii=bool(getattr(args, "ascii", None)) or settings.ascii,
    )
    settings = settings_for_locale(settings)
    with splash_screen(ascii_only=settings.ascii, place="fleet" if fleet else "modules"):
        if not getattr(args, "theme", None):
            settings = replace(settings, theme=theme_for_colours(settings.theme, _colour_system()))
        more = {"allow_fleet_writes": bool(getattr(args, "allow_fleet_writes", None))} if fleet else {}
        app = _app(fleet=fleet)(
            opening,
            **more,
            context=options.context,
            namespace=options.namespace,
            read_only=options.read_only,
            audit=bool(getattr(args, "audit", None)),
            settings=settings,
            contexts=contexts,
        )
    result = app.run(mouse=settings.mouse and not getattr(args, "no_mouse", False))
    if app.fatal is not None:
        raise app.fatal
    status = app.return_code or result or 0
    if not status and not app.contexts.previous:
        _require_success(opened, app.view.failure)
    return status


def _app(*, fleet: bool) -> Callable[..., KymatuiApp]:
    if fleet:
        from kymatui.ui.application.fleet_app import FleetApp

        return FleetApp
    from kymatui.ui.application.kymatui_app import KymatuiApp

    return KymatuiApp


def _colour_system() -> str | None:
    """Return rich's name of the colours that the screen draws with."""
    from rich.console import Console

    return Console(force_terminal=True).color_system


def _require_terminal() -> None:
    """Require a terminal on all three streams; the screen is drawn on standard error."""
    named = (("input", sys.stdin), ("output", sys.stdout), ("error", sys.stderr))
    others = [name for name, stream in named if stream is None or not stream.isatty()]
    if others:
        raise UsageError(
            f"the screen needs a terminal; not a terminal: standard {', '.join(others)}",
            hint="`kymatui catalog` prints the modules without a terminal",
        )
    require_screen()


def _require_success(opened: Sequence[CatalogSession | RemoteSession], failure: KymatuiError | None) -> None:
    """Raise what is still wrong when the screen is left, where it never came to show anything."""
    if not opened:
        if failure is not None:
            raise failure
        return
    session = opened[-1]
    try:
        session.require_kyma()
    except KymatuiError as error:
        raise session.failure or error from None
