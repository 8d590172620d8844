"""Tests that change what all of them share: each does so in a copy of the process, which ends with it."""

from __future__ import annotations

import functools
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import ParamSpec

import pytest

_Given = ParamSpec("_Given")


def separate(test: Callable[_Given, None]) -> Callable[_Given, None]:
    """The test sees its fixtures as they are, and whatever it does to them no other test sees.

    It must not need the threads of the process, which its copy has not got.
    """
    if not hasattr(os, "fork"):
        return pytest.mark.skip("this system cannot fork")(test)

    @functools.wraps(test)
    def in_a_copy(*given: _Given.args, **named: _Given.kwargs) -> None:
        complaint = _complaint_of(lambda: test(*given, **named))
        if complaint:
            pytest.fail(complaint, pytrace=False)

    return in_a_copy


def _complaint_of(work: Callable[[], None]) -> str:
    """What the work raised in a copy of this process; empty when it did not."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which the work does not need
        child = os.fork()
    if not child:
        _work(work, writing)
    os.close(writing)
    try:
        with os.fdopen(reading) as said:
            complaint = said.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return complaint or (f"the copy ended with {status}" if status else "")


def _work(work: Callable[[], None], writing: int) -> None:
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 (the copy ends here, whatever happens)
        with os.fdopen(writing, "w", errors="replace") as saying:
            saying.write(traceback.format_exc())
    finally:
        os._exit(code)
