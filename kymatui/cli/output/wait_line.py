"""What a command waits for, in one line on the terminal below its output, if the wait is longer than a second."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final, TextIO

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.engine.cluster.dials import DIALS

_ERASE: Final = "\r\x1b[2K"
_QUIET: Final = 1.0  # seconds of a wait that a person does not notice


class WaitLine:
    """The line; all that goes through the door to the terminal erases it first."""

    def __init__(self, stream: TextIO, step: Callable[[], str] = lambda: DIALS.step) -> None:
        self._stream, self._step = stream, step
        self._lock = threading.RLock()
        self._is_drawn, self._is_free = False, True
        self._closed = threading.Event()

    def start(self) -> Callable[[str], AbstractContextManager[object]]:
        """Begin, and return what all output has to pass."""
        threading.Thread(target=self._follow, name="wait-line", daemon=True).start()
        return self.hidden

    def _follow(self) -> None:
        since = time.monotonic()
        while not self._closed.wait(0.2):
            step, now = self._step(), time.monotonic()
            since = since if step else now
            self.draw(f"{step} … {now - since:.0f} s" if now - since > _QUIET else "")

    def draw(self, text: str) -> None:
        """Draw the line in the place of the last one; nothing behind a prompt, where a person types."""
        with self._lock, suppress(OSError, ValueError):
            if not self._is_free or self._closed.is_set() or not (text or self._is_drawn):
                return
            self._stream.write(f"{_ERASE}{sanitize(text)[: shutil.get_terminal_size().columns - 1]}")
            self._stream.flush()
            self._is_drawn = bool(text)

    @contextmanager
    def hidden(self, text: str) -> Iterator[None]:
        """Erase the line, and keep it from being drawn while `text` is written; "" is the end of the line."""
        with self._lock:
            self.draw("")
            if text:
                self._is_free = text.endswith("\n")
            else:
                self._closed.set()
            yield
