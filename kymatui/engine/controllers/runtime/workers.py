"""Worker threads that take keys from a queue and reconcile them, one thread for each key at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kymatui.engine.controllers.runtime.work_queue import WorkQueue
from kymatui.errors import CancelledError, KymatuiError

K = TypeVar("K", bound=Hashable)

Reconcile = Callable[[K, threading.Event], float | None]
"""A function that reconciles a key as far as possible now, and stops soon once the event is set.

It returns the seconds until the next reconciliation without a change, or None. A KymatuiError is a temporary failure,
which is retried with increasing delays.
"""

OnFailure = Callable[[K, KymatuiError, float], None]
"""A function that gets every failure, with the seconds until the next try."""

WORKERS: Final = 4


class Workers(Generic[K]):
    """The workers of a queue; any error but KymatuiError is a bug that stops all, and `join` raises it."""

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
        """Ask all workers to stop; running reconciliations see the event."""
        self._stop.set()
        self._queue.close()

    @property
    def ended(self) -> bool:
        """Return whether the workers have stopped; after a bug, `join` raises its error."""
        return self._stop.is_set()

    def join(self, seconds: float | None = None) -> bool:
        """Wait for all workers; return whether they have ended. Raises the error of a bug."""
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
            except BaseException as error:  # noqa: BLE001 (`join` raises it in the caller's thread)
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
