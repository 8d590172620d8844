"""Worker threads that take keys from a queue and reconcile them, one thread for each key at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kymatui.errors import CancelledError, KymatuiError
from kymatui.operator.framework.work_queue import WorkQueue

K = TypeVar("K", bound=Hashable)

Reconcile = Callable[[K, threading.Event], float | None]
"""A function that reconciles a key as far as possible now, and stops soon once the event is set.

It returns the seconds until the next reconciliation without a change, or None. A KymatuiError is a temporary failure,
which is retried with increasing delays. A CancelledError while the workers go on drops the key.
"""

OnFailure = Callable[[K, KymatuiError, float], None]
"""A function that gets every failure, with the seconds until the next try."""

WORKERS: Final = 4
SLOW: Final = 2.0
"""Seconds after which a worker counts as held, such as by a server that does not answer."""
MOST_RELIEFS: Final = 64
_RELIEF_IDLE: Final = 10.0  # seconds after which a relief without work ends


class Workers(Generic[K]):
    """The workers of a queue; any error but KymatuiError is a bug that stops all, and `join` raises it."""

    def __init__(
        self, name: str, queue: WorkQueue[K], reconcile: Reconcile[K], told: OnFailure[K], *, workers: int = WORKERS
    ) -> None:
        self._name = name
        self._queue = queue
        self._reconcile = reconcile
        self._told = told
        self._stop = threading.Event()
        self._defect: BaseException | None = None
        self._lock = threading.Lock()
        self._size = workers
        self._busy: dict[threading.Thread, float] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(workers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def relieve(self) -> None:
        """Start a worker in the place of each that is held, if keys wait. Call it every second or so."""
        if not len(self._queue) or self._stop.is_set():
            return
        late = time.monotonic() - SLOW
        with self._lock:
            self._threads = [one for one in self._threads if one.is_alive()]
            held = sum(since <= late for since in self._busy.values())
            missing = min(self._size + held, self._size + MOST_RELIEFS) - len(self._threads)
            reliefs = [
                threading.Thread(target=self._work, args=(_RELIEF_IDLE,), name=f"{self._name}-relief", daemon=True)
                for _ in range(missing)
            ]
            self._threads += reliefs
        for thread in reliefs:
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
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        if self._defect is not None:
            raise self._defect
        return not any(thread.is_alive() for thread in threads)

    def _work(self, idle: float | None = None) -> None:
        while (key := self._queue.take(idle)) is not None:
            self._mark(time.monotonic())
            try:
                self._turn(key)
            except CancelledError:
                if self._stop.is_set():
                    return
                self._queue.forget(key)
            except BaseException as error:  # noqa: BLE001 (`join` raises it in the caller's thread)
                self._defect = error
                self.stop()
                return
            finally:
                self._mark(None)
                self._queue.done(key)

    def _mark(self, since: float | None) -> None:
        with self._lock:
            if since is None:
                self._busy.pop(threading.current_thread(), None)
            else:
                self._busy[threading.current_thread()] = since

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
