"""Watches: what they keep, what they say of themselves, and how they come back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import ChangeBell, Store
from kymatui.adapters.kube.watch.watch_reader import WatchSubject, WatchTiming
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from tests.adapters.clusters import Cluster, Collection, Exchange, bookmark, eventually, serving, status_body, transport

NAME = "things.example.com"
THING = ApiResource("example.com", "v1", "Thing", "things", True, ("get", "list", "watch"))
# Waits are real but short: what is tested is what happens, not when.
TIMING = WatchTiming(wait=lambda event, seconds: event.wait(min(seconds, 0.02)), spread=lambda: 0.0)


def thing(name: str, namespace: str = "default", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, **more}


class Bench:
    """A cluster with things, and watches on it."""

    def __init__(self, cluster: Cluster, address: str) -> None:
        self.cluster, self.address = cluster, address
        self.rings = 0
        self.waits: list[float] = []
        self.failures: list[Feed] = []
        self.watches: list[Watch] = []

    def watch(
        self,
        *namespaces: str,
        resource: ApiResource = THING,
        decode: Any = None,
        turns: threading.Semaphore | None = None,
    ) -> Store:
        store = Store(lambda: self._ring(store))
        subject = WatchSubject(resource, namespaces, decode)
        timing = self._timing() if turns is None else WatchTiming()  # who listed once waits for ever
        watch = Watch(Client(transport(self.address)), subject, store, timing=timing, semaphore=turns)
        self.watches.append(watch)
        watch.start()
        return store

    def names(self, store: Store) -> list[str]:
        return sorted(item["metadata"]["name"] for item in store.values())

    def count(self, word: str) -> int:
        return sum(word in request for request in self.cluster.requests)

    def _ring(self, store: Store) -> None:
        self.rings += 1
        if store.feed.state is FeedState.FAILED:
            self.failures.append(store.feed)

    def _timing(self) -> WatchTiming:
        def wait(event: threading.Event, seconds: float) -> bool:
            self.waits.append(seconds)
            return event.wait(min(seconds, 0.02))

        return WatchTiming(wait=wait, spread=lambda: 0.0)


@pytest.fixture
def bench() -> Iterator[Bench]:
    cluster = Cluster(Collection("example.com", "v1", "Thing", "things"))
    with serving(cluster.respond) as address:
        found = Bench(cluster, address)
        yield found
        for watch in found.watches:
            watch.stop()
        cluster.close()
        for watch in found.watches:
            watch.join(5)


@pytest.mark.parametrize("streams_lists", [True, False], ids=["list in the watch", "list, then watch"])
def test_it_lists_and_then_follows(bench: Bench, streams_lists: bool) -> None:
    bench.cluster.streams_lists = streams_lists
    bench.cluster.put(NAME, thing("a"))
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert bench.names(store) == ["a"]
    eventually(lambda: bool(bench.cluster.collections[NAME].watchers))
    bench.cluster.put(NAME, thing("b"))
    eventually(lambda: bench.names(store) == ["a", "b"])
    bench.cluster.put(NAME, thing("b", spec={"changed": True}))
    eventually(lambda: any(item.get("spec") == {"changed": True} for item in store.values()))
    bench.cluster.drop(NAME, ("default", "a"))
    eventually(lambda: bench.names(store) == ["b"])


def test_one_request_lists_and_watches_where_the_server_offers_it(bench: Bench) -> None:
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert len(bench.cluster.requests) == 1


def test_who_looks_once_lists_one_after_the_other_and_does_not_watch(bench: Bench) -> None:
    bench.cluster.put(NAME, thing("a"))
    turns = threading.Semaphore(1)
    stores = [bench.watch(turns=turns), bench.watch(turns=turns), bench.watch("some", turns=turns)]
    eventually(lambda: all(store.feed.state is FeedState.LIVE for store in stores))
    assert [bench.names(store) for store in stores] == [["a"]] * 3
    bench.cluster.put(NAME, thing("b"))
    bench.watches[0].retry()
    eventually(lambda: bench.names(stores[0]) == ["a", "b"])
    assert bench.names(stores[1]) == ["a"]
    assert (len(bench.cluster.requests), bench.count("watch")) == (4, 0)


def test_nothing_is_shown_before_the_list_is_whole(bench: Bench) -> None:
    release = threading.Event()

    def half(exchange: Exchange) -> bool:
        exchange.begin_stream()
        exchange.event("ADDED", thing("a"))
        release.wait(10)
        exchange.event("BOOKMARK", bookmark("7", end=True))
        return True

    bench.cluster.before = half
    store = bench.watch()
    eventually(lambda: len(bench.cluster.requests) == 1)
    assert store.feed.state is FeedState.SYNCING
    assert store.values() == ()
    release.set()
    eventually(lambda: bench.names(store) == ["a"])


def test_a_watch_that_ends_goes_on_where_it_stopped(bench: Bench) -> None:
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    versions: list[str] = []

    def note(exchange: Exchange) -> bool:
        versions.append(exchange.query.get("resourceVersion", ""))
        return False

    bench.cluster.put(NAME, thing("a"))
    eventually(lambda: bench.names(store) == ["a"])
    bench.cluster.tell(NAME, "BOOKMARK", bookmark("4711"))
    bench.cluster.before = note
    bench.cluster.end_watches(bench.cluster.collections[NAME])
    eventually(lambda: versions == ["4711"])
    assert store.feed.state is FeedState.LIVE


def test_a_connection_that_breaks_once_is_not_worth_a_word(bench: Bench) -> None:
    store = bench.watch()
    states: list[FeedState] = []
    eventually(lambda: store.feed.state is FeedState.LIVE)
    publish = store.publish

    def spy(feed: Any) -> None:
        states.append(feed.state)
        publish(feed)

    store.publish = spy  # type: ignore[method-assign]
    eventually(lambda: bool(bench.cluster.collections[NAME].watchers))
    before = len(bench.cluster.requests)
    bench.cluster.tell(NAME, "DROP", {})
    eventually(lambda: len(bench.cluster.requests) > before)
    bench.cluster.put(NAME, thing("b"))
    eventually(lambda: bench.names(store) == ["b"])
    assert FeedState.STALE not in states


def test_an_expired_version_lists_again_and_forgets_what_is_gone(bench: Bench) -> None:
    bench.cluster.put(NAME, thing("a"))
    store = bench.watch()
    eventually(lambda: bench.names(store) == ["a"])
    eventually(lambda: bool(bench.cluster.collections[NAME].watchers))
    del bench.cluster.collections[NAME].objects["default", "a"]  # unseen by the watch
    bench.cluster.tell(NAME, "ERROR", status_body(410, "Expired", "too old resource version"))
    eventually(lambda: store.values() == ())
    assert store.feed.state is FeedState.LIVE


def test_a_server_that_only_expires_is_asked_ever_less_often(bench: Bench) -> None:
    def expired(exchange: Exchange) -> bool:
        exchange.status(410, "Expired")
        return True

    bench.cluster.before = expired
    bench.watch()
    eventually(lambda: len(bench.waits) > 6)
    assert bench.waits[:6] == sorted(bench.waits[:6])
    assert bench.waits[5] > 2


def test_a_server_that_is_gone_makes_it_stale_since_it_was_last_heard_and_it_recovers(bench: Bench) -> None:
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    bench.cluster.before = dropping
    eventually(lambda: bool(bench.cluster.collections[NAME].watchers))
    bench.cluster.end_watches(bench.cluster.collections[NAME])
    eventually(lambda: store.feed.state is FeedState.STALE)
    assert store.feed.since > 0
    assert store.feed.message
    bench.cluster.before = lambda exchange: False
    eventually(lambda: store.feed.state is FeedState.LIVE)


def dropping(exchange: Exchange) -> bool:
    exchange.drop()
    return True


def test_a_server_that_answers_and_breaks_off_again_and_again_is_asked_ever_less_often() -> None:
    """A proxy whose connections last for one event must not be asked in a circle because each begins well."""
    waits: list[float] = []

    def respond(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.event("ADDED", thing("a"))
        exchange.event("BOOKMARK", bookmark("5", end=True))
        exchange.drop()

    def wait(event: threading.Event, seconds: float) -> bool:
        waits.append(seconds)
        return event.wait(min(seconds, 0.02))

    with serving(respond) as address:
        store = Store(lambda: None)
        watch = Watch(
            Client(transport(address)), WatchSubject(THING), store, timing=WatchTiming(wait=wait, spread=lambda: 0.0)
        )
        watch.start()
        eventually(lambda: len(waits) > 6)
        watch.stop()
        watch.join(5)
    assert waits[:5] == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_waits_grow_from_half_a_second_to_thirty() -> None:
    timing = WatchTiming(spread=lambda: 1.0)
    assert [timing.backoff(n) for n in (0, 1, 2, 6, 20)] == [0.5, 1.0, 2.0, 30.0, 30.0]
    assert WatchTiming(spread=lambda: 0.0).backoff(0) == 0.25


def test_an_answer_with_a_long_retry_after_silences_no_watch_for_hours(bench: Bench) -> None:
    answers = iter([True])

    def put_off(exchange: Exchange) -> bool:
        if "watch" not in exchange.query or not next(answers, False):
            return False
        exchange.answer(429, b"slow down", {"Retry-After": "7200"})
        return True

    bench.cluster.before = put_off
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert max(bench.waits) == WatchTiming().slow


def test_what_never_answered_has_failed_and_says_why(bench: Bench) -> None:
    bench.cluster.refusals[NAME] = 500
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.FAILED)
    assert "refused" in store.feed.message


@pytest.mark.parametrize(("code", "passes"), [(500, True), (503, True), (429, True), (401, False)])
def test_a_failure_that_may_pass_says_how_long_the_list_may_still_come(bench: Bench, code: int, passes: bool) -> None:
    bench.cluster.refusals[NAME] = code
    began = time.time()
    bench.watch()
    eventually(lambda: len(bench.waits) > 6)
    first, last = bench.failures[0], bench.failures[-1]
    assert (began < first.retried_until - WatchTiming().grace <= time.time()) if passes else not first.retried_until
    assert not last.retried_until, "the next request comes too late"


def test_a_list_that_is_put_off_for_longer_is_not_awaited(bench: Bench) -> None:
    def put_off(exchange: Exchange) -> bool:
        exchange.answer(429, b"{}", {"Retry-After": "77"})
        return True

    bench.cluster.before = put_off
    bench.watch()
    eventually(lambda: bool(bench.failures))
    assert not bench.failures[0].retried_until


def test_a_forbidden_kind_says_so_and_is_asked_for_slowly(bench: Bench) -> None:
    bench.cluster.refusals[NAME] = 403
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.FORBIDDEN)
    assert "refused" in store.feed.message
    eventually(lambda: bool(bench.waits))
    assert bench.waits[0] > 60
    bench.cluster.refusals.clear()
    bench.watches[0].retry()
    eventually(lambda: store.feed.state is FeedState.LIVE)


def test_where_all_namespaces_are_forbidden_one_that_is_allowed_is_watched(bench: Bench) -> None:
    bench.cluster.refusals = {NAME: 403, f"{NAME}/first": 403}
    bench.cluster.put(NAME, thing("a", "kyma-system"))
    bench.cluster.put(NAME, thing("b", "elsewhere"))
    store = bench.watch("first", "kyma-system")
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert bench.names(store) == ["a"]
    assert "kyma-system" in store.feed.message


def test_what_may_be_listed_but_not_watched_is_listed_again_and_again(bench: Bench) -> None:
    bench.cluster.refusals[NAME] = 403
    bench.cluster.refused_verbs[NAME] = ("watch",)
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert "you may not watch it" in store.feed.message
    bench.cluster.put(NAME, thing("a"))
    eventually(lambda: bench.names(store) == ["a"])


def test_a_kind_that_goes_away_is_absent_and_leaves_nothing(bench: Bench) -> None:
    bench.cluster.put(NAME, thing("a"))
    store = bench.watch()
    eventually(lambda: bench.names(store) == ["a"])
    bench.cluster.remove(NAME)
    eventually(lambda: store.feed.state is FeedState.ABSENT)
    assert store.values() == ()


ODD_OBJECTS: list[dict[str, Any]] = [
    {"metadata": {"name": "x", "labels": {"a": 1}}},
    {"metadata": {"name": "x", "managedFields": "is not a list"}},
    {"metadata": "none"},
    {"metadata": {"name": 5, "namespace": ["a"]}},
    {},
]


@pytest.mark.parametrize("item", ODD_OBJECTS, ids=str)
@pytest.mark.parametrize("projected", [True, False], ids=["projected", "whole"])
def test_objects_that_make_no_sense_are_kept_as_they_are(bench: Bench, item: dict[str, Any], projected: bool) -> None:
    from kymatui.adapters.kube.watch.projections import Workload

    bench.cluster.collections[NAME].objects["", "odd"] = item
    bench.cluster.put(NAME, thing("good"))
    store = bench.watch(decode=Workload if projected else None)
    eventually(lambda: store.feed.state is FeedState.LIVE)
    assert len(store.values()) == 2


@pytest.mark.parametrize(
    "line", [b"not json", b'{"type":"ADDED"}', b'{"type":5,"object":{}}', b'{"type":"ADDED","object":5}']
)
def test_a_watch_that_sends_rubbish_fails_in_words(bench: Bench, line: bytes) -> None:
    def rubbish(exchange: Exchange) -> bool:
        if "watch" in exchange.query:
            exchange.answer(200, line + b"\n")
        else:
            exchange.answer(200, b"[]")
        return True

    bench.cluster.before = rubbish
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.FAILED)
    assert store.feed.message


def test_stopping_comes_back_from_a_silent_watch(bench: Bench) -> None:
    store = bench.watch()
    eventually(lambda: store.feed.state is FeedState.LIVE)
    watch = bench.watches[0]
    watch.stop()
    watch.join(5)
    assert not watch._thread.is_alive()


def test_a_bell_rings_once_until_somebody_has_looked() -> None:
    rung: list[int] = []
    bell = ChangeBell()
    bell.on_change = lambda: rung.append(1)
    for _ in range(3):
        bell.ring()
    assert len(rung) == 1
    bell.looked()
    bell.ring()
    assert len(rung) == 2


def test_a_store_gives_the_same_objects_until_something_changes() -> None:
    store = Store(lambda: None)
    store.put(("", "a"), {"metadata": {"name": "a"}})
    assert store.values() is store.values()
    before = store.values()
    store.put(("", "b"), {})
    assert store.values() is not before
