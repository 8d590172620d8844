"""The same work on many things side by side, never on more than a given number at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kymatui.errors import CancelledError

T = TypeVar("T")
R = TypeVar("R")

WIDTH = 12
"""How many requests are under way at a time where nothing else is said."""


def each(items: Sequence[T], work: Callable[[T], R], cancel: threading.Event, width: int = WIDTH) -> list[R]:
    """The results in the order of the items. The first failure is raised once what had begun is done.

    After a failure, or once `cancel` is set (CancelledError), nothing new is begun.
    """
    if len(items) <= 1 or width <= 1:
        return [_unless_cancelled(work, item, cancel) for item in items]
    failed = threading.Event()

    def guarded(item: T) -> R:
        if failed.is_set():
            raise CancelledError("left out after a failure")
        try:
            return _unless_cancelled(work, item, cancel)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(min(width, len(items)), thread_name_prefix="engine") as pool:
        futures = [pool.submit(guarded, item) for item in items]
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise next((error for error in errors if not isinstance(error, CancelledError)), errors[0])
    return [future.result() for future in futures]


def _unless_cancelled(work: Callable[[T], R], item: T, cancel: threading.Event) -> R:
    if cancel.is_set():
        raise CancelledError("stopped between two steps")
    return work(item)
