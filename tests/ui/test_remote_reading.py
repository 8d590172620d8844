"""Registries that never answer keep neither the screen nor the end of the program waiting."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kymatui.errors import RegistryError
from kymatui.ui.connection.remote_reading import read_remote


def test_the_end_of_the_loop_does_not_wait_for_a_silent_server() -> None:
    answers = threading.Event()  # never set while the loop runs

    async def leave() -> None:
        reading = asyncio.ensure_future(read_remote(lambda: answers.wait(60)))
        await asyncio.sleep(0)
        reading.cancel()

    ended = threading.Event()

    def run() -> None:
        asyncio.run(leave())
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert ended.wait(20), "the loop waits for the thread"
    answers.set()  # the thread finds no loop, and ends


async def test_results_and_errors_are_those_of_the_call() -> None:
    def fails() -> str:
        raise RegistryError("no answer")

    assert await read_remote(lambda: threading.current_thread().daemon) is True
    assert await read_remote(lambda: ()) == ()
    with pytest.raises(RegistryError, match="no answer"):
        await read_remote(fails)
