"""`kymatui` without a command: the terminal UI on the cluster of the current context."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec.structs import replace

from kymatui.cli.cluster_options import uses_contexts
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.terminal import raw_stream
from kymatui.cli.session_arguments import is_remote, open_configured_session, remote_options_of, session_options_of
from kymatui.errors import KymatuiError, UsageError
from kymatui.settings.config_file import Settings

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
    from kymatui.sessions.contexts import KubeContexts
    from kymatui.sessions.control_plane.remote_session import RemoteSession
    from kymatui.ui.application.kymatui_app import KymatuiApp
    from kymatui.ui.navigation.history import OtherView

S = TypeVar("S", "CatalogSession", "RemoteSession")


def run(args: argparse.Namespace) -> int:
    """Show the screen, and then the one that a person switches to."""
    while True:
        chosen: list[OtherView] = []
        status = _show_view(args, chosen.append)
        if not chosen:
            return status
        from kymatui.ui.navigation.history import ViewKind

        args = argparse.Namespace(**vars(args))
        view = chosen[0]
        args.contexts = [] if view.kind is ViewKind.CONTEXTS else None
        args.remote = "" if view.kind is ViewKind.RUNTIMES else None
        args.context = view.context or None
        for name in ("user", "namespace", "kcp_context", "kcp_kubeconfig", "skr_context", "skr_kubeconfig"):
            setattr(args, name, None)


def _show_view(args: argparse.Namespace, switch: Callable[[OtherView], None]) -> int:
    if uses_contexts(args):
        return _show_contexts(args, switch)
    if getattr(args, "remote", None) is not None or is_remote(args):
        return _show_fleet(args, switch)
    from kymatui.sessions.contexts import KubeContexts

    options, settings = session_options_of(args)

    def connect() -> CatalogSession:
        return _with_namespace(open_configured_session(options, settings), args)

    contexts = KubeContexts(
        lambda: options, settings, lambda chosen: open_configured_session(chosen, settings), reopen=connect
    )
    return show(args, settings, connect, options, contexts, switch=switch)


def _show_contexts(args: argparse.Namespace, switch: Callable[[OtherView], None]) -> int:
    from kymatui.adapters.files.context_memory import ContextMemory
    from kymatui.sessions.contexts import KubeContexts, list_entries, select_entries

    options, settings = session_options_of(args)
    entries = select_entries(list_entries(options, settings, ContextMemory().used()), args.contexts, settings)

    def connect() -> Any:
        from kymatui.sessions.context_fleet import ContextFleet

        return ContextFleet(options, entries)

    contexts = KubeContexts(lambda: options, settings, lambda chosen: open_configured_session(chosen, settings))
    return show(args, settings, connect, options, contexts, view="contexts", switch=switch)


def _show_fleet(args: argparse.Namespace, switch: Callable[[OtherView], None]) -> int:
    from kymatui.sessions.contexts import KubeContexts

    options, settings = remote_options_of(args)
    forced, _ = session_options_of(args)

    def connect() -> RemoteSession:
        return _with_namespace(_open_fleet(options), args)

    def open_context(chosen: SessionOptions) -> RemoteSession:
        """Open the fleet of a context; a runtime that the command line names is one of its own control plane."""
        if chosen.context != options.control.context:
            return _open_fleet(replace(options, control=chosen, runtime="", by_hand=None))
        shut = chosen.read_only or options.control.read_only
        return _open_fleet(replace(options, control=replace(chosen, read_only=shut)))

    contexts = KubeContexts(
        lambda: replace(options.control, read_only=forced.read_only), settings, open_context, reopen=connect
    )
    return show(args, settings, connect, options.control, contexts, view="fleet", switch=switch)


def _open_fleet(options: RemoteOptions) -> RemoteSession:
    from kymatui.sessions.control_plane.remote_session import RemoteSession

    return RemoteSession(options)


def _with_namespace(session: S, args: argparse.Namespace) -> S:
    """Return the session; close one whose cluster does not have the namespace, and raise why."""
    try:
        require_namespace(session.cluster, args)
    except KymatuiError:
        session.close()
        raise
    return session


def show(
    args: argparse.Namespace,
    settings: Settings,
    connect: Callable[[], CatalogSession | RemoteSession],
    options: SessionOptions,
    contexts: KubeContexts,
    *,
    view: str = "modules",
    switch: Callable[[OtherView], None] | None = None,
) -> int:
    """Run the screen until it is left; `switch` gets the view that a person wants in its place.

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
    with splash_screen(ascii_only=settings.ascii, view=view):
        if not getattr(args, "theme", None):
            settings = replace(settings, theme=theme_for_colours(settings.theme, _colour_system()))
        more = {} if view == "modules" else {"allow_fleet_writes": bool(getattr(args, "allow_fleet_writes", None))}
        app = _app(view)(
            opening,
            **more,
            context=options.context,
            namespace=options.namespace,
            read_only=options.read_only,
            audit=bool(getattr(args, "audit", None)),
            settings=settings,
            contexts=contexts,
        )
        app.may_switch = switch is not None
    result = app.run(mouse=settings.mouse and not getattr(args, "no_mouse", False))
    if app.fatal is not None:
        raise app.fatal
    if app.other_view is not None and switch is not None:
        switch(app.other_view)
        return 0
    status = app.return_code or result or 0
    if not status and not app.contexts.previous:
        _require_success(opened, app.view.failure)
    return status


def _app(view: str) -> Callable[..., KymatuiApp]:
    if view == "contexts":
        from kymatui.ui.application.contexts_app import ContextsApp

        return ContextsApp
    if view == "fleet":
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


_ALTERNATE, _NORMAL = "\x1b[?1049h", "\x1b[?1049l"
_NO_CURSOR, _CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR: Final = "\x1b[2J\x1b[H"


@contextmanager
def splash_screen(*, ascii_only: bool, view: str = "modules") -> Iterator[None]:
    """Show the words until the screen paints over them; an error on the way finds the terminal as it was."""
    if os.environ.get("TERM", "dumb") == "dumb":
        yield
        return
    sign = ">" if ascii_only or "utf" not in (sys.stderr.encoding or "").lower() else "›"
    _write(f"{_ALTERNATE}{_NO_CURSOR}{_CLEAR} kymatui {sign} {view}   starting")
    try:
        yield
    except BaseException:
        _write(_CURSOR + _NORMAL)
        raise


def _write(text: str) -> None:
    """Write to standard error, on which the screen is drawn; the screen reports a closed terminal."""
    try:
        stream = raw_stream(sys.stderr)
        stream.write(text)
        stream.flush()
    except OSError:
        return


# What the terminal can show: a screen at all, characters beyond ASCII, colours of its own choice.


_WITHOUT_SCREEN: Final = ("dumb", "unknown")
_LOCALE: Final = ("LC_ALL", "LC_CTYPE", "LANG")
_OWN_COLOURS: Final = ("terminal", "mono")
"""Themes that 8 and 16 colours can show."""


def require_screen(environment: Mapping[str, str] = os.environ) -> None:
    """Raise UsageError for a terminal that cannot place its cursor, such as a shell in Emacs."""
    if (name := environment.get("TERM", "")) in _WITHOUT_SCREEN:
        raise UsageError(
            f"the terminal cannot display a screen (TERM={name})",
            hint="`kymatui catalog` prints the modules; or set TERM as your terminal needs it, such as xterm-256color",
        )


def settings_for_locale(settings: Settings) -> Settings:
    """Return the settings with ASCII only where the locale has no UTF-8, unless KYMATUI_ASCII decides."""
    if has_utf8() or os.environ.get("KYMATUI_ASCII"):
        return settings
    return replace(settings, ascii=True)


def theme_for_colours(theme: str, colours: str | None) -> str:
    """Return the theme for a terminal; `colours` is rich's name of its colour system.

    With 8 or 16 colours it is the terminal's own, as the colours of other themes would fold into each other.
    """
    return "terminal" if colours == "standard" and theme not in _OWN_COLOURS else theme


def has_utf8(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the locale's characters are UTF-8; without any locale they are taken to be so."""
    name = next((value for variable in _LOCALE if (value := environment.get(variable))), "")
    _, _, codeset = name.partition("@")[0].partition(".")
    if codeset:
        return codeset.lower().replace("-", "") == "utf8"
    return name not in ("C", "POSIX")
