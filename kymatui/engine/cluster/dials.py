"""What the program does to reach its servers, for who waits for the first answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.engine.cluster.logins import LOGINS


class DialPhase(StrEnum):
    """How far a connection is: its name is looked up, it is opened (TCP, TLS, a proxy's tunnel), then it answers."""

    RESOLVING = "resolving"
    CONNECTING = "connecting"
    LISTING = "listing"
    WAITING = "waiting"


_OPENING: Final = (DialPhase.RESOLVING, DialPhase.CONNECTING)
_LINKS: Final = {DialPhase.CONNECTING: " to", DialPhase.LISTING: " the kinds of", DialPhase.WAITING: " for"}


class Dial(Struct, eq=False):
    """One server that is being reached; of a proxy, `host` is the proxy's. LISTING has a context, and counts lists."""

    host: str
    phase: DialPhase = DialPhase.CONNECTING
    count: Callable[[], tuple[int, int]] | None = None

    def __str__(self) -> str:
        listed, total = self.count() if self.count else (0, 0)
        share = f" ({listed} of {total} listed)" if total else ""
        return f"{self.phase.capitalize()}{_LINKS.get(self.phase, '')} {self.host}{share}"


class Dials:
    """The servers that are being reached, of all threads."""

    def __init__(self) -> None:
        self._running: list[Dial] = []
        self._lock = threading.Lock()
        self.resolved: set[str] = set()

    @property
    def oldest(self) -> Dial | None:
        """Return the connection that has been opening for longest."""
        return next((dial for dial in self._present() if dial.phase in _OPENING), None)

    def _present(self) -> tuple[Dial, ...]:
        with self._lock:
            return tuple(self._running)

    @property
    def step(self) -> str:
        """Return what a command waits for now: a login, a connection, lists, or an answer; "" for nothing."""
        dials = self._present()
        lists = [dial for dial in dials if dial.phase is DialPhase.LISTING]
        step = next(filter(None, (LOGINS.oldest, self.oldest, *lists, *dials)), None)
        others = f"; {len(lists)} contexts at the same time" if len(lists) > 1 else ""
        return f"{step}{others}" if step else ""

    @contextmanager
    def entered(
        self, host: str, phase: DialPhase = DialPhase.CONNECTING, count: Callable[[], tuple[int, int]] | None = None
    ) -> Iterator[Dial]:
        """Count a server as being reached for a block."""
        dial = Dial(host, phase, count)
        with self._lock:
            self._running.append(dial)
        try:
            yield dial
        finally:
            with self._lock:
                self._running.remove(dial)


DIALS: Final = Dials()
