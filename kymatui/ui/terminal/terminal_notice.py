"""Notifications that terminals pass on to the desktop."""

from __future__ import annotations

from typing import Any, Final

from textual.app import App

_MOST: Final = 200  # characters of a title or text


def terminal_notice(kind: str, title: str, text: str) -> str:
    """Return the escape sequence of a notification, "" for "off".

    iTerm2, kitty and WezTerm know OSC 9, foot and urxvt OSC 777. Control characters and separators are left out.
    """
    title, text = (_plain(part) for part in (title, text))
    if kind == "osc9":
        return f"\x1b]9;{title}: {text}\x07"
    return f"\x1b]777;notify;{title};{text}\x07" if kind == "osc777" else ""


def write_notice(app: App[Any], kind: str, text: str) -> None:
    """Write a notification to the terminal of an app; nothing where it has none or `kind` is "off"."""
    sequence = terminal_notice(kind, app.title, text)
    if sequence and app._driver is not None:  # as Textual itself writes OSC 52; it has no public way
        app._driver.write(sequence)


def _plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable() and letter != ";")[:_MOST]
