"""`kymatui` without a command: the terminal UI on the cluster of the current context."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.cli.connecting import connected, wanted
from kymatui.settings.loading import Settings
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
    options, settings = wanted(args)
    return show(args, settings, lambda: connected(options, settings), options)


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
