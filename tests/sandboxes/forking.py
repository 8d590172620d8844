"""Copies of this process, which must have no threads."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

PATIENCE = 30.0
_CHILDREN: set[int] = set()


def fork(work: Callable[[], None]) -> int:
    """A copy of this process does the work, and ends; returns its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _CHILDREN.clear()
        _work(work)
    _CHILDREN.add(child)
    return child


def _work(work: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 (the copy ends here, whatever happens)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def reap() -> None:
    """Takes leave of copies that have ended."""
    for child in tuple(_CHILDREN):
        if os.waitpid(child, os.WNOHANG)[0]:
            _CHILDREN.discard(child)


def end_all() -> None:
    """Waits for the copies, whose connections have ended, too; what stays is ended by force."""
    until = time.monotonic() + PATIENCE
    while _CHILDREN and time.monotonic() < until:
        reap()
        time.sleep(0.02)
    for child in tuple(_CHILDREN):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
