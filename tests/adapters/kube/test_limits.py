"""Servers that mean harm: every answer ends, is bounded, and is an error that names what was too much."""

from __future__ import annotations

import contextlib
import gzip
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.adapters.http import response_body
from kymatui.adapters.http.response_body import json_weight
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects import decoder
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.decoder import BudgetClaim, MemoryBudget, open_budget
from kymatui.adapters.kube.transport import streams
from kymatui.adapters.kube.transport import transport as transports
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.adapters.kube.watch.watch_cache import NewestStore, RowStore, Store
from kymatui.errors import KymatuiError, OversizedAnswerError, ServerError, UnreachableError
from kymatui.json_input import levels_of
from tests.adapters import hostile
from tests.adapters.clusters import Exchange, serving, transport

KYMA = ApiResource("operator.kyma-project.io", "v1beta2", "Kyma", "kymas", True, ("list", "watch"))
GET = Request("GET", "/apis/operator.kyma-project.io/v1beta2/kymas")


def send(attack: Callable[[Exchange], Any], request: Request = GET) -> bytes:
    with serving(attack) as address:
        return transport(address).send(request).body


def listed(attack: Callable[[Exchange], Any]) -> int:
    with serving(attack) as address:
        return len(Client(transport(address)).list(KYMA).items)


def packed(body: bytes, encoding: str = "gzip", status: int = 200) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body, {"Content-Encoding": encoding})


def test_an_answer_is_bounded_in_bytes_after_decompression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "LARGEST_ANSWER", 100_000)
    assert send(packed(gzip.compress(b" " * 100_000))) == b" " * 100_000
    with pytest.raises(OversizedAnswerError, match=r"to GET /apis/.* is larger than 97 KiB"):
        send(packed(gzip.compress(b" " * 100_001)))
    with pytest.raises(OversizedAnswerError):
        send(lambda exchange: exchange.answer(200, b" " * 100_001))


def test_gzip_of_several_members_is_read_and_damaged_gzip_is_an_error() -> None:
    assert send(packed(gzip.compress(b"[1,") + gzip.compress(b"2]"))) == b"[1,2]"
    for damaged in (gzip.compress(b"[1]")[:-4], b"\x1f\x8b\x08rubbish and more of it", b"no gzip at all"):
        with pytest.raises(ServerError, match="gzip"):
            send(packed(damaged))


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "rot13"])
def test_encodings_that_were_not_asked_for_are_not_read(encoding: str) -> None:
    with pytest.raises(ServerError, match="which was not requested"):
        send(packed(b"x", encoding))


def test_what_is_small_as_text_and_large_as_objects_is_not_decoded() -> None:
    with pytest.raises(OversizedAnswerError, match="would need more than 48 MiB of memory"):
        send(packed(gzip.compress(b"[" + b"{}," * 300_000 + b"{}]", 1)))


def test_the_body_of_an_error_is_bounded() -> None:
    with pytest.raises(OversizedAnswerError, match="512 KiB"):
        send(packed(gzip.compress(b" " * 600_000), status=500))


def test_a_page_that_is_too_large_is_read_in_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large objects of real clusters are listed all the same."""
    monkeypatch.setattr(transports, "LARGEST_ANSWER", 100_000)
    items = [hostile.thing(GET.path, f"a{number}", spec={"text": "x" * 6000}) for number in range(40)]
    asked = []

    def respond(exchange: Exchange) -> None:
        limit, begin = int(exchange.query["limit"]), int(exchange.query.get("continue", 0))
        asked.append(limit)
        token = str(begin + limit) if begin + limit < len(items) else ""
        exchange.json(hostile.listing(exchange.path, items[begin : begin + limit], token))

    assert listed(respond) == 40
    assert asked == [500, 50, *[5] * 8]


def test_a_single_object_that_is_too_large_ends_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "LARGEST_ANSWER", 10_000)
    asked = []

    def respond(exchange: Exchange) -> None:
        asked.append(exchange.query["limit"])
        exchange.answer(200, b" " * 20_000)

    with pytest.raises(OversizedAnswerError):
        listed(respond)
    assert asked == ["500", "50", "5", "1"]


def test_a_continue_token_that_repeats_ends_the_list() -> None:
    count = [0]

    def respond(exchange: Exchange) -> None:
        count[0] += 1
        hostile.repeated_token(exchange)

    with pytest.raises(ServerError, match="a continue token was repeated"):
        listed(respond)
    assert count[0] == 2


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [
        ("MOST_PAGES", 5, "more than 5 pages"),
        ("MOST_OBJECTS", 90, "more than 90 objects"),
        ("LIST_SECONDS", 0, "seconds"),
    ],
)
def test_an_endless_list_ends(monkeypatch: pytest.MonkeyPatch, limit: str, most: int, message: str) -> None:
    monkeypatch.setattr(decoder, limit, most)
    with pytest.raises(OversizedAnswerError, match=message):
        listed(hostile.endless_list)


def test_pages_without_objects_that_promise_more_end_the_list() -> None:
    numbers = iter(range(1000))
    with pytest.raises(ServerError, match="11 pages in a row are empty"):
        listed(lambda exchange: exchange.json(hostile.listing(exchange.path, [], f"t{next(numbers)}")))


def test_an_endless_list_of_large_pages_is_bounded_by_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(hostile.endless_list) as address:
        client = Client(transport(address))
        client.ledger = MemoryBudget(1_000_000, address)
        with pytest.raises(OversizedAnswerError, match=f"the objects of {address} take more than"):
            client.list(KYMA)
        assert client.ledger.kept == 0, "what was dropped does not count"


@pytest.mark.parametrize(
    "answer", [{}, {"kind": "KymaList"}, {"kind": "Status", "items": []}, {"kind": "KymaList", "items": {}}]
)
def test_an_answer_that_is_no_list_is_not_an_empty_list(answer: dict[str, Any]) -> None:
    with pytest.raises(ServerError, match=r"http://\S+ to GET /apis/\S+ cannot be read: .*(items|kind)"):
        listed(lambda exchange: exchange.json(answer))


def test_a_null_list_of_go_is_empty() -> None:
    assert listed(lambda exchange: exchange.json({"kind": "KymaList", "metadata": {}, "items": None})) == 0


@pytest.mark.parametrize("body", [b"[" * 50_000, b'{"a":' * 50_000, b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"])
def test_answers_that_nest_too_deep_are_errors(body: bytes) -> None:
    with serving(lambda exchange: exchange.answer(200, body)) as address, pytest.raises(ServerError):
        Client(transport(address)).version()


def test_depth_and_weight() -> None:
    value: Any = 0
    for _ in range(response_body.DEEPEST):
        value = [{"a": 1}, value]
    assert (levels_of([value]), levels_of(value[1])) == (response_body.DEEPEST + 2, response_body.DEEPEST)
    assert json_weight(b'{"a":[1,2]}') == 11 + 180 + 64 + 70
    assert json_weight("ü".encode()) == 8


# time


def test_an_answer_that_drips_is_left_by_its_deadline() -> None:
    """Each byte comes before the timeout of the socket; neither head nor body nor a trailer holds the reader."""
    over = threading.Event()

    def drip(exchange: Exchange, drop: bytes) -> None:
        while not over.wait(0.05):
            exchange.send(drop)

    def body(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "application/json", "Content-Length": "1000000"})
        drip(exchange, b" ")

    def head(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\n")
        drip(exchange, b"X")

    def interim(exchange: Exchange) -> None:
        drip(exchange, b"HTTP/1.1 100 Continue\r\n\r\n")

    def trailer(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.send(b"2\r\n{}\r\n0\r\n")
        drip(exchange, b"X: y\r\n")

    try:
        for attack in (body, head, interim, trailer):
            began = time.monotonic()
            with pytest.raises(UnreachableError, match="did not answer"), serving(attack) as address:
                transport(address).send(Request("POST", GET.path, body=b"", timeout=(1.0, 5.0), lasts=0.3))
            assert time.monotonic() - began < 30, attack.__name__  # without a deadline it never ends
    finally:
        over.set()


# watches


def lines(attack: Callable[[Exchange], Any]) -> list[bytes]:
    with serving(attack) as address:
        stream = transport(address).stream(Request("GET", GET.path, [("watch", "true")]))
        try:
            return list(stream.lines())
        finally:
            stream.close()


def test_a_line_of_a_watch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LARGEST_LINE", 100_000)
    with pytest.raises(OversizedAnswerError, match="has a line of more than 97 KiB"):
        lines(hostile.endless_line)


def test_a_line_that_drips_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "EVENT_SECONDS", 0.2)

    def respond(exchange: Exchange) -> None:
        exchange.begin_stream()
        for _ in range(100):
            exchange.send(b"1\r\nx\r\n")
            time.sleep(0.02)

    with pytest.raises(ServerError, match="did not end within"):
        lines(respond)


def test_a_packed_watch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LARGEST_LINE", 100_000)
    with pytest.raises(OversizedAnswerError):
        lines(packed(gzip.compress(b"x" * 200_000)))


# what is kept


def test_stores_count_what_they_keep() -> None:
    ledger = MemoryBudget(100_000)
    store = Store(lambda: None, ledger=ledger)
    item = {"metadata": {"name": "a"}}
    store.put(("", "a"), item)
    first = ledger.kept
    store.put(("", "a"), item)
    assert ledger.kept == first > 100
    store.put(("", "b"), item)
    assert ledger.kept == 2 * first
    store.replace({("", "c"): item})
    assert ledger.kept == first
    store.drop(("", "c"))
    assert ledger.kept == 0
    store.put(("", "a"), item)
    store.close()
    assert ledger.kept == 0


def test_a_store_that_is_full_keeps_what_it_has() -> None:
    store = Store(lambda: None, ledger=MemoryBudget(10_000))
    store.put(("", "a"), {"a": 1})
    with pytest.raises(OversizedAnswerError):
        store.put(("", "b"), {"a": "x" * 20_000})
    with pytest.raises(OversizedAnswerError):
        store.replace({("", "b"): {"a": "x" * 20_000}})
    assert store.values() == ({"a": 1},)


def test_newest_objects_and_rows_count_what_is_left_of_them() -> None:
    ledger = MemoryBudget(1 << 20)
    newest = NewestStore(lambda: None, 10, ledger=ledger)
    for number in range(100):
        newest.put(("", str(number)), {"lastTimestamp": f"{number:04}"})
    assert len(newest.values()) <= 13
    assert ledger.kept < 14 * 300
    newest.close()
    rows = RowStore(lambda: None, lambda item: item["metadata"]["name"], ledger=ledger)
    rows.arrive({("", "a"): rows.keep({"metadata": {"name": "a" * 1000}})})
    assert 1000 < ledger.kept < 1100


def test_one_hostile_runtime_leaves_room_for_the_control_plane_and_is_forgotten_when_it_goes() -> None:
    """All runtimes share one limit, which is not that of the cluster of the kubeconfig."""
    own, *given = (
        open_budget("home", from_secret=False),
        *(open_budget(f"r{one}", from_secret=True) for one in range(3)),
    )
    claims = [BudgetClaim(one) for one in given]
    claims[0].add(response_body.MOST_KEPT_GIVEN)
    claims[1].add(response_body.MOST_KEPT_GIVEN)
    with pytest.raises(OversizedAnswerError, match="all runtimes"):
        claims[2].add(1)
    own.take(response_body.MOST_KEPT)
    claims[0].release()
    claims[2].add(1)
    del claims
    assert [one.kept for one in given] == [0, 0, 0]


# a whole command, from outside


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of memory")
@pytest.mark.parametrize("attack", ["packed_list", "packed_objects", "repeated_token"])
def test_a_command_stays_below_300_mb(attack: str, tmp_path: Path) -> None:
    """Before the limits the first took 6,257 MB until it was killed."""
    count = [0]

    def respond(exchange: Exchange) -> None:
        count[0] += 1
        hostile.answered(exchange, hostile.ATTACKS[attack])

    with serving(respond) as address:
        run = hostile.run_against(address, tmp_path, ["catalog"], timeout=90)
    assert run.exit_code == 1, run
    assert run.memory < 300, run
    assert "Traceback" not in run.errors
    assert run.errors.startswith("kymatui: ")
    assert count[0] < 500


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of memory")
@pytest.mark.parametrize("attack", ["packed_list", "endless_line"])
def test_the_screen_stays_below_300_mb_and_responsive(attack: str, tmp_path: Path) -> None:
    """The first took 328 MB while glibc kept what each thread had freed."""
    with serving(lambda exchange: hostile.answered(exchange, hostile.ATTACKS[attack])) as address:
        run = hostile.run_against(address, tmp_path, ["6"], timeout=60, module="tests.adapters.hostile_screen")
    assert run.exit_code == 0, run
    assert run.memory < 300, run
    assert float(run.errors.splitlines()[-1]) < 1.0, run


# heavy answers of several servers


def runtime(address: str) -> Transport:
    """A transport to a server that an access Secret names."""
    return Transport(replace(transport(address).connection, from_secret=True))


def test_a_slow_heavy_answer_delays_no_other_runtime() -> None:
    """Also of several requests: a server has one heavy answer at a time, and others keep their places."""
    began, finish = threading.Semaphore(0), threading.Event()
    heavy = b'{"items":[' + b'{"a":[1,2,3]},' * 100_000 + b"{}]}"

    def drip(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "application/json", "Content-Length": str(4 * response_body.MIB)})
        exchange.send(b" " * (2 * response_body.MIB))
        began.release()
        finish.wait()
        exchange.drop()

    with serving(drip) as slow, serving(lambda exchange: exchange.answer(200, heavy)) as fast:
        one = runtime(slow)
        dripping = [threading.Thread(target=fail, args=(one,)) for _ in range(response_body.RECEIVED_HEAVY + 2)]
        for thread in dripping:
            thread.start()
        try:
            for _ in dripping:
                assert began.acquire(timeout=60)
            assert len(runtime(fast).send(GET).body) == len(heavy)
        finally:
            finish.set()
        for thread in dripping:
            thread.join()


def fail(one: Transport) -> None:
    with contextlib.suppress(KymatuiError):
        one.send(Request("GET", GET.path, lasts=60.0))
