"""Parallel work on many items with a limited number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from kymatui.errors import CancelledError, KymatuiError


def attempt(call: Callable[[], T], failed: list[KymatuiError]) -> T | None:
    """Return what the call returns; None after an error, which is added to `failed`. Raise CancelledError."""
    try:
        return call()
    except CancelledError:
        raise
    except KymatuiError as error:
        failed.append(error)
        return None


T = TypeVar("T")
R = TypeVar("R")

WIDTH = 8
"""Default number of parallel requests; more make a busy machine slower, not faster."""

_LOOK = 0.05  # seconds between checks of the cancel event
_GRACE = 1.0  # seconds for running requests, so that they end before the next run starts
_LOCAL = threading.local()


def run_for_each(
    items: Sequence[T], work: Callable[[T], R], cancel: threading.Event | None, width: int = WIDTH
) -> list[R]:
    """Return the results in the order of the items.

    After the first failure, no new item is started, and the failure is raised once the running ones end. Once
    `cancel` is set, CancelledError is raised within a second; requests that are still running end by their own
    timeouts. Without a `cancel`, `work` ends each item itself. An exception in the caller's thread, such as
    KeyboardInterrupt, waits for nothing, and no thread keeps the process from its end.
    """
    if len(items) <= 1 or width <= 1:
        return [_unless_cancelled(work, item, cancel) for item in items]
    return _Crew(items, work, cancel).run(min(width, len(items)))


def is_pool_thread() -> bool:
    """Return whether this thread works for `run_for_each`, whose caller handles cancellation."""
    return getattr(_LOCAL, "watched", False)


def _unless_cancelled(work: Callable[[T], R], item: T, cancel: threading.Event | None) -> R:
    if cancel is not None and cancel.is_set():
        raise CancelledError("stopped between two steps")
    return work(item)


@contextmanager
def cancelled_after(seconds: float) -> Iterator[threading.Event]:
    """Give a block an event that is set after some seconds, unless the block has ended."""
    cancel = threading.Event()
    timer = threading.Timer(seconds, cancel.set)
    timer.daemon = True
    timer.start()
    try:
        yield cancel
    finally:
        timer.cancel()


class _Crew(Generic[T, R]):
    """The threads that process the items one after the other."""

    def __init__(self, items: Sequence[T], work: Callable[[T], R], cancel: threading.Event | None) -> None:
        self._items = items
        self._work = work
        self._cancel = cancel
        self._lock = threading.Lock()
        self._next = 0
        self._results: dict[int, R] = {}
        self._errors: list[BaseException] = []

    def run(self, width: int) -> list[R]:
        ended = threading.Semaphore(0)
        for _ in range(width):
            work = partial(copy_context().run, self._take_turns, ended)  # requests keep the caller's bounds
            threading.Thread(target=work, name="engine", daemon=True).start()
        for _ in range(width):
            grace = _GRACE
            while not ended.acquire(timeout=_LOOK):
                grace -= _LOOK if self._cancel is not None and self._cancel.is_set() else 0.0
                if grace <= 0:
                    raise CancelledError("stopped")
        if self._errors:
            try:
                raise next((error for error in self._errors if not isinstance(error, CancelledError)), self._errors[0])
            finally:
                self._errors.clear()  # the traceback's frames refer to the crew: break the cycle
        return [self._results[number] for number in range(len(self._items))]

    def _take_turns(self, ended: threading.Semaphore) -> None:
        _LOCAL.watched = self._cancel is not None
        try:
            while (number := self._draw()) is not None:
                self._results[number] = _unless_cancelled(self._work, self._items[number], self._cancel)
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            with self._lock:
                self._errors.append(error)
        finally:
            ended.release()

    def _draw(self) -> int | None:
        with self._lock:
            if self._errors or self._next >= len(self._items):
                return None
            self._next += 1
            return self._next - 1


def report_defect(error: Exception) -> None:
    """Report a bug like one that ends a thread, with its traceback on stderr; the thread continues with other work."""
    thread = threading.current_thread()
    threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
