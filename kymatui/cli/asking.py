"""The question before something is written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kymatui.errors import CancelledError, RefusedError


@contextmanager
def untouched() -> Iterator[None]:
    """While nothing is written: whoever interrupts is told that there is nothing to tidy up."""
    try:
        yield
    except KeyboardInterrupt:
        raise CancelledError("interrupted; nothing was changed") from None


def confirm(question: str, *, yes: bool) -> None:
    """Asks on standard error, unless it was said beforehand; RefusedError for anything but a yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError("nobody can be asked here, and nothing was changed", hint="--yes goes on without asking")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError("not confirmed; nothing was changed")
