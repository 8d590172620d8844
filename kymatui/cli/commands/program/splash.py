"""The frame's first words while the screen is still being loaded: whoever types the command is answered at once.

The screen's toolkit alone takes most of the time until the first paint; these few bytes need none of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kymatui.cli.output.terminal import raw_stream

_ALTERNATE, _NORMAL = "\x1b[?1049h", "\x1b[?1049l"
_NO_CURSOR, _CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR: Final = "\x1b[2J\x1b[H"


@contextmanager
def splash_screen(*, ascii_only: bool, place: str = "modules") -> Iterator[None]:
    """Show the words until the screen paints over them; an error on the way finds the terminal as it was."""
    if os.environ.get("TERM", "dumb") == "dumb":
        yield
        return
    sign = ">" if ascii_only or "utf" not in (sys.stderr.encoding or "").lower() else "›"
    _write(f"{_ALTERNATE}{_NO_CURSOR}{_CLEAR} kymatui {sign} {place}   starting")
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
