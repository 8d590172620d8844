"""A call that can be left behind: sockets cannot be interrupted while they connect, but nobody has to wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kymatui.errors import CancelledError

T = TypeVar("T")
_LOOK = 0.05


def run_abandonable(call: Callable[[], T], cancel: threading.Event) -> T:
    """Runs `call` in a thread of its own and returns what it returns; raises CancelledError once `cancel` is set.

    The thread that is left behind ends by the timeouts of its own socket, and its result is dropped.
    """
    done = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 (it is raised again in the thread that waits)
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="kube-request", daemon=True).start()
    while not done.wait(_LOOK):
        if cancel.is_set():
            raise CancelledError("stopped while waiting for the server")
    if errors:
        raise errors.pop()  # not one that a frame of its own traceback holds: both would stay
    return results[0]
