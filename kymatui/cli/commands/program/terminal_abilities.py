"""What the terminal can show: a screen at all, characters beyond ASCII, colours of its own choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from kymatui.errors import UsageError
from kymatui.settings.config_file import Settings

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
