"""The crossing from threads to the loop delivers the latest of each key, in few deliveries."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Mapping

from kymatui.ui.connection.mailbox import Mailbox


class Reader:
    def __init__(self) -> None:
        self.deliveries: list[dict[str, object]] = []
        self.arrived = asyncio.Event()

    def __call__(self, values: Mapping[str, object]) -> None:
        self.deliveries.append(dict(values))
        self.arrived.set()

    async def next(self) -> dict[str, object]:
        await asyncio.wait_for(self.arrived.wait(), 60)
        self.arrived.clear()
        return self.deliveries[-1]


async def test_values_put_before_the_loop_runs_are_delivered_on_opening() -> None:
    reader = Reader()
    box = Mailbox(reader, interval=0)
    box.put("a", 1)
    box.open()
    assert await reader.next() == {"a": 1}


async def test_a_burst_is_one_delivery_with_the_latest_value() -> None:
    reader = Reader()
    box = Mailbox(reader, interval=0)
    box.open()
    for number in range(1000):
        box.put("a", number)
    assert await reader.next() == {"a": 999}
    assert len(reader.deliveries) == 1


async def test_threads_may_put_at_the_same_time() -> None:
    reader = Reader()
    box = Mailbox(reader, interval=0)
    box.open()
    threads = [threading.Thread(target=box.put, args=(str(n), n)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen: dict[str, object] = {}
    while len(seen) < 20:
        seen |= await reader.next()
    assert seen == {str(n): n for n in range(20)}


async def test_after_closing_nothing_arrives() -> None:
    reader = Reader()
    box = Mailbox(reader, interval=0)
    box.open()
    box.close()
    box.put("a", 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert reader.deliveries == []


PLACE = contextvars.ContextVar("PLACE", default="nowhere")


async def test_what_is_delivered_runs_where_the_box_was_opened() -> None:
    places: list[str] = []
    arrived = asyncio.Event()

    def deliver(values: Mapping[str, object]) -> None:
        places.append(PLACE.get())
        arrived.set()

    box = Mailbox(deliver, interval=0)
    PLACE.set("here")
    box.open()
    thread = threading.Thread(target=box.put, args=("a", 1))
    thread.start()
    await asyncio.wait_for(arrived.wait(), 60)
    thread.join()
    assert places == ["here"]
