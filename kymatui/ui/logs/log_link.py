"""From the threads that read containers to a screen: lines go into a ring, and a mailbox wakes the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from kymatui.actions.logs import LogFeed, LogStatus
from kymatui.domain.logs.log_lines import LogRing, PodLogLine
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource
from kymatui.engine.cluster.ports import Cluster
from kymatui.ui.connection.mailbox import Mailbox

_CHANGED = "changed"


class LogLink:
    """The ring of a screen and the feed that fills it; hold `lock` to read the ring."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """Take what is called on the event loop after changes, at most 4 times a second."""
        self.ring = LogRing()
        self.lock = threading.Lock()
        self.states: dict[LogSource, LogStatus] = {}
        self._mailbox = Mailbox(lambda values: changed())
        self._sink: _RingSink | None = None
        self._feed: LogFeed | None = None

    @property
    def is_reading(self) -> bool:
        return self._feed is not None

    def open(self) -> None:
        """Bind to the running event loop."""
        self._mailbox.open()

    def start(self, cluster: Cluster, options: LogOptions) -> None:
        """Read with these options; drop what was read with others."""
        self.stop()
        self._sink = _RingSink(self)
        self._feed = LogFeed(cluster, options, self._sink)

    def follow(self, sources: Iterable[LogSource]) -> int:
        """Read these containers, too; return how many are too many."""
        return self._feed.follow(sources) if self._feed is not None else 0

    def stop(self) -> None:
        """End the threads and drop the lines."""
        with self.lock:
            if self._sink is not None:
                self._sink.is_current = False
            self.ring.clear()
            self.states = {}
        if self._feed is not None:
            self._feed.close()
        self._feed = self._sink = None

    def close(self) -> None:
        self.stop()
        self._mailbox.close()

    def changed(self) -> None:
        """Wake the screen; called from any thread."""
        self._mailbox.put(_CHANGED, True)


class _RingSink:
    """Takes lines for the ring until another feed takes its place."""

    def __init__(self, link: LogLink) -> None:
        self._link = link
        self.is_current = True

    def add(self, lines: Sequence[PodLogLine]) -> None:
        link = self._link
        with link.lock:
            if not self.is_current:
                return
            link.ring.add(lines)
        link.changed()

    def report(self, source: LogSource, status: LogStatus) -> None:
        link = self._link
        with link.lock:
            if not self.is_current:
                return
            link.states[source] = status
        link.changed()
