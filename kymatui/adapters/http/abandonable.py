"""Abandonable calls: a connecting socket cannot be interrupted, but its caller can stop waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kymatui.errors import CancelledError

T = TypeVar("T")
_LOOK = 0.05  # seconds until a cancellation is noticed


def run_abandonable(
    call: Callable[[], T], cancel: threading.Event, drop: Callable[[T], None] = lambda result: None
) -> T:
    """Run `call` in its own thread and return its result. Raise CancelledError once `cancel` is set.

    The abandoned thread ends by its socket timeouts, and its result is given to `drop`.
    """
    done, lock = threading.Event(), threading.Lock()
    is_abandoned = False
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found = call()
            with lock:
                if not is_abandoned:
                    results.append(found)
                    return
            drop(found)
        except BaseException as error:  # noqa: BLE001 (it is raised again in the thread that waits)
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="kube-request", daemon=True).start()
    while not done.wait(_LOOK):
        if not cancel.is_set():
            continue
        with lock:
            is_abandoned = True
        for found in results:  # it came at the last moment
            drop(found)
        raise CancelledError("stopped while waiting for the server")
    if errors:
        raise errors.pop()  # pop it: an error and a frame of its own traceback would keep each other alive
    return results[0]
