"""Reading from servers that may never answer, without keeping the program from ending."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


async def read_remote(call: Callable[[], Found]) -> Found:
    """Run a call that only reads, in a thread of its own; return its result or raise its error.

    Unlike the threads of the event loop, which are awaited when the program ends, it is left alone then.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    answer: asyncio.Future[Found] = loop.create_future()

    def settle(found: Found | None, error: BaseException | None) -> None:
        if answer.done():  # cancelled
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(found)  # type: ignore[arg-type]  # None only if that is the result

    def work() -> None:
        found: Found | None = None
        failure: BaseException | None = None
        try:
            found = context.run(call)
        except BaseException as error:  # noqa: BLE001 (raised again for the caller)
            failure = error
        try:
            loop.call_soon_threadsafe(settle, found, failure)
        except RuntimeError:  # the loop has ended, and nobody waits
            return

    threading.Thread(target=work, name="remote reading", daemon=True).start()
    return await answer
