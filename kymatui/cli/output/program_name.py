"""The words that started kymatui: `kymatui`, or `kubectl kymatui` for the plugin; help and hints repeat them."""

from __future__ import annotations

from typing import Final

from kymatui.patterns import deferred

PLUGIN: Final = "kubectl kymatui"
_IN_TEXT = deferred(r"`kymatui (?=[a-z-])")
_IN_EXAMPLE = deferred(r"(?<![\w./-])kymatui(?=\s)")


class _Program:
    """The name of this process."""

    name = "kymatui"


PROGRAM = _Program()


def as_started(text: str) -> str:
    """Return a text in which commands between backticks begin with the words that started this process."""
    return text if PROGRAM.name == "kymatui" else _IN_TEXT.sub(f"`{PROGRAM.name} ", text)


def example_as_started(line: str) -> str:
    """Return an example with the words that started this process."""
    return line if PROGRAM.name == "kymatui" else _IN_EXAMPLE.sub(PROGRAM.name, line, count=1)
