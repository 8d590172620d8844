"""Reading from servers that may never answer, without keeping the program from ending."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from textual.dom import DOMNode

from kymatui.errors import KymatuiError, as_kymatui_error

Found = TypeVar("Found")


async def read_remote(call: Callable[[], Found]) -> Found:
    """Run a call that only reads, in a thread of its own; return its result or raise its error.

    Unlike the threads of the event loop, which are awaited when the program ends, it is left alone then.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    answer: asyncio.Future[Found] = loop.create_future()

    def settle(value: Found | None, error: BaseException | None) -> None:
        if answer.done():  # cancelled
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)  # type: ignore[arg-type]  # None only if that is the result

    def work() -> None:
        outcome: Found | None = None
        failure: BaseException | None = None
        try:
            outcome = context.run(call)
        except BaseException as error:  # noqa: BLE001 (raised again for the caller)
            failure = error
        try:
            loop.call_soon_threadsafe(settle, outcome, failure)
        except RuntimeError:  # the loop has ended, and nobody waits
            return

    threading.Thread(target=work, name="remote reading", daemon=True).start()
    return await answer


class LatestReading(Generic[Found]):
    """Reads one after the other for a widget; of what is asked for meanwhile only the newest is read.

    `take` gets each result, or why there is none, while the widget is there.
    """

    def __init__(self, widget: DOMNode, take: Callable[[Found | KymatuiError], None]) -> None:
        self._widget = widget
        self._take = take
        self._next: Callable[[], Found] | None = None
        self._reads = False

    def ask(self, call: Callable[[], Found]) -> None:
        """Read in a thread, now or once the present reading has ended."""
        self._next = call
        if not self._reads:
            self._reads = True
            self._widget.run_worker(self._run(), exit_on_error=False)

    async def _run(self) -> None:
        outcome: Found | KymatuiError
        try:
            while (call := self._next) is not None:
                self._next = None
                try:
                    outcome = await read_remote(call)
                except Exception as error:  # noqa: BLE001 (else the widget would load for ever)
                    outcome = as_kymatui_error(error)
                if self._widget.is_attached:
                    self._take(outcome)
        finally:
            self._reads = False
