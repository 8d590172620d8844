"""What the program does to reach its servers, for who waits for the first answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from msgspec import Struct


class DialPhase(StrEnum):
    """How far a connection is: its name is looked up, then it is opened (TCP, TLS, the tunnel of a proxy)."""

    RESOLVING = "resolving"
    CONNECTING = "connecting"


class Dial(Struct, eq=False):
    """One connection that is being opened; of a proxy, `host` is the proxy's."""

    host: str
    phase: DialPhase = DialPhase.CONNECTING

    def __str__(self) -> str:
        return f"Resolving {self.host}" if self.phase is DialPhase.RESOLVING else f"Connecting to {self.host}"


class Dials:
    """The connections that are being opened, of all threads."""

    def __init__(self) -> None:
        self._running: list[Dial] = []
        self._lock = threading.Lock()
        self.resolved: set[str] = set()

    @property
    def oldest(self) -> Dial | None:
        with self._lock:
            return self._running[0] if self._running else None

    @contextmanager
    def entered(self, host: str) -> Iterator[Dial]:
        """Count a connection as being opened for a block."""
        dial = Dial(host)
        with self._lock:
            self._running.append(dial)
        try:
            yield dial
        finally:
            with self._lock:
                self._running.remove(dial)


DIALS: Final = Dials()
