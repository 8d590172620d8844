"""`kymatui` without a command: the terminal UI on the cluster of the current context."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.settings.loading import Settings, load_settings
from kymatui.settings.schema import THEME_NAMES

if TYPE_CHECKING:
    from kymatui.ui.link import Session
    from kymatui.wiring import SessionOptions


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("screen")
    group.add_argument("--theme", choices=THEME_NAMES, default=None, help="default: dark, or the configuration's")
    group.add_argument("--ascii", action="store_true", default=None, help="only ASCII signs and borders")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")


def run(args: argparse.Namespace) -> int:
    from kymatui.wiring.options import SessionOptions

    settings = load_settings(os.environ)
    options = SessionOptions.of(args)
    options = configured(options, settings)
    return show(args, settings, lambda: connected(options, settings), options)


def configured(options: SessionOptions, settings: Settings) -> SessionOptions:
    """What the configuration adds to the words of the command line, whatever the context."""
    catalogs = (*options.catalogs, *settings.catalogs)
    return replace(options, read_only=options.read_only or settings.read_only, catalogs=catalogs)


def connected(options: SessionOptions, settings: Settings) -> Session:
    """Opens the session; a context that the configuration makes read-only is opened so before anything is sent."""
    from kymatui.wiring import open_session

    session = open_session(options)
    if settings.context(session.name).read_only and not options.read_only:
        session.close()
        session = open_session(replace(options, read_only=True))
    return session


def show(args: argparse.Namespace, settings: Settings, connect: Callable[[], Session], options: SessionOptions) -> int:
    """Runs the screen until it is left; an error that ended it is raised on the terminal that is there again."""
    from kymatui.ui.app import KymatuiApp

    app = KymatuiApp(
        connect,
        context=options.context,
        namespace=options.namespace,
        read_only=options.read_only,
        settings=replace(
            settings,
            theme=getattr(args, "theme", None) or settings.theme,
            ascii=bool(getattr(args, "ascii", None)) or settings.ascii,
        ),
    )
    result = app.run(mouse=settings.mouse and not getattr(args, "no_mouse", False))
    if app.fatal is not None:
        raise app.fatal
    return app.return_code or result or 0
