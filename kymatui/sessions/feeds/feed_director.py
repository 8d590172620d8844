"""The thread of a session that decides which kinds are watched, again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.errors import KymatuiError, as_kymatui_error, is_busy

if TYPE_CHECKING:
    from kymatui.adapters.kube.watch.watch_cache import ChangeBell
    from kymatui.sessions.feeds.feeds import Feeds

_LOOK = 0.5
_BACKOFF: Final = Backoff(0.5, 30.0)
"""Seconds between two checks of a condition that may also become true with time."""


class FeedDirector:
    """Calls `arrange` in a thread of its own: at the start, after `wake`, and after the seconds of `pause`.

    An error of `arrange` becomes `failure` and the state of the `feeds` without a watch, and rings the `bell`; it is
    tried again after 0.5 to 30 s.
    """

    def __init__(
        self,
        name: str,
        arrange: Callable[[], None],
        pause: Callable[[], float | None],
        feeds: Feeds,
        bell: ChangeBell,
    ) -> None:
        self._arrange = arrange
        self._pause = pause
        self._feeds = feeds
        self._bell = bell
        self._due = threading.Event()
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.failure: KymatuiError | None = None

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    @property
    def is_due(self) -> bool:
        """Return whether another call of `arrange` is asked for."""
        return self._due.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Ask for another call of `arrange`, now."""
        self._due.set()

    def notify(self) -> None:
        """Let `wait` look at its condition again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        self._closed.set()
        self._due.set()
        self.notify()

    def wait(self, complete: Callable[[], bool], timeout: float) -> bool:
        """Wait until `complete`; return False if that takes longer than `timeout` seconds, or after `close`.

        Raise `failure`: at once where time does not heal it (credentials, a broken plugin, no connection), else at the
        end of the time.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while not complete():
                left = deadline - time.monotonic()
                if self.failure is not None and (left <= 0 or not is_busy(self.failure)):
                    raise self.failure
                if left <= 0 or self.is_closed:
                    return False
                self._changed.wait(min(left, _LOOK))
        return True

    def _run(self) -> None:
        attempt = 0
        while not self.is_closed:
            self._due.clear()
            try:
                self._arrange()
                self.failure, attempt = None, 0
            except Exception as error:  # noqa: BLE001 (a dead thread would leave the screen at "loading")
                attempt += 1
                self.failure = as_kymatui_error(error)
                self._feeds.failed(self.failure)
                self._bell.ring()
            self.notify()
            self._due.wait(_BACKOFF.delay(attempt - 1) if attempt else self._pause())
