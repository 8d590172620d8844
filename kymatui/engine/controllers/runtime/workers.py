"""Threads that take keys from a queue and reconcile them, one key in one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kymatui.engine.controllers.runtime.work_queue import WorkQueue
from kymatui.errors import CancelledError, KymatuiError

K = TypeVar("K", bound=Hashable)

Reconcile = Callable[[K, threading.Event], float | None]
"""Looks at what is asked for under a key and makes it so as far as it goes now; must stop soon once the event is set.

Returns the seconds after which to look again even if nothing changes, or None. A KymatuiError is a failure that may
pass: it is tried again, later from time to time.
"""

OnFailure = Callable[[K, KymatuiError, float], None]
"""Hears of every failure, with the seconds until the next try."""

WORKERS: Final = 4


class Workers(Generic[K]):
    """Reconciles what a queue hands out. Any error but KymatuiError is a defect: it ends all; `join` raises it."""

    def __init__(
        self, name: str, queue: WorkQueue[K], reconcile: Reconcile[K], told: OnFailure[K], *, workers: int = WORKERS
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._told = told
        self._stop = threading.Event()
        self._defect: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(workers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Asks all to end; what is under way sees it in its event."""
        self._stop.set()
        self._queue.close()

    @property
    def ended(self) -> bool:
        """Whether nobody works any more: stopped, or ended by a defect, which `join` raises."""
        return self._stop.is_set()

    def join(self, seconds: float | None = None) -> bool:
        """Waits for the end of all; whether they have ended. Raises the defect that ended them, if one did."""
        for thread in self._threads:
            thread.join(seconds)
        if self._defect is not None:
            raise self._defect
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            try:
                self._turn(key)
            except CancelledError:
                return
            except BaseException as error:  # noqa: BLE001 (told by `join`, in the thread of whoever asks)
                self._defect = error
                self.stop()
                return
            finally:
                self._queue.done(key)

    def _turn(self, key: K) -> None:
        try:
            again = self._reconcile(key, self._stop)
        except CancelledError:
            raise
        except KymatuiError as error:
            self._told(key, error, self._queue.retry(key))
            return
        self._queue.forget(key)
        if again is not None:
            self._queue.add_after(key, again)
