"""Logs that are read to their end or followed: what breaks continues, what is over ends, and threads end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from kymatui.actions.logs import MOST_STREAMS, LogFeed, LogState, LogStatus, read_logs
from kymatui.domain.logs.log_lines import PodLogLine
from kymatui.domain.logs.log_query import LogOptions, LogQuery
from kymatui.domain.logs.log_sources import LogSource
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, InvalidError, KymatuiError, NotFoundError, ServerError, UnreachableError

A, B = LogSource("ns", "pod-a", "main"), LogSource("ns", "pod-b", "main")
FOLLOWED = LogOptions(follow=True)
Answer = bytes | KymatuiError


def stamped(second: int, text: str) -> bytes:
    return f"2026-03-01T12:00:{second:02}Z {text}\n".encode()


class Stream:
    """A log with an end, or one that stays open and silent until it is closed."""

    def __init__(self, pieces: Sequence[Answer], *, stays: bool = False) -> None:
        self._pieces = pieces
        self._stays = stays
        self.closed = threading.Event()

    def chunks(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, KymatuiError):
                raise piece
            yield piece
        if self._stays:
            assert self.closed.wait(60)

    def close(self) -> None:
        self.closed.set()


class Server:
    """Answers each request for a container's log with the next of its answers, the last one for ever."""

    def __init__(self, **answers: Sequence[Stream | KymatuiError]) -> None:
        self._answers = {name.replace("_", "-"): list(found) for name, found in answers.items()}
        self.queries: list[LogQuery] = []
        self._lock = threading.Lock()

    def open_log(self, query: LogQuery, *, cancel: object = None) -> Stream:
        del cancel
        with self._lock:
            self.queries.append(query)
            found = self._answers[query.pod]
            answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, KymatuiError):
            raise answer
        return answer

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", self)


class Sink:
    """What a feed delivered."""

    def __init__(self) -> None:
        self.lines: list[PodLogLine] = []
        self.states: list[tuple[LogSource, LogStatus]] = []

    def add(self, lines: Sequence[PodLogLine]) -> None:
        self.lines += lines

    def report(self, source: LogSource, status: LogStatus) -> None:
        self.states.append((source, status))

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]

    def saw(self, state: LogState) -> bool:
        return any(status.state is state for _, status in self.states)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.005)


@pytest.fixture
def feeds() -> Iterator[Callable[..., tuple[LogFeed, Sink]]]:
    opened: list[LogFeed] = []

    def open_feed(server: Server, options: LogOptions = FOLLOWED) -> tuple[LogFeed, Sink]:
        sink = Sink()
        opened.append(LogFeed(server.cluster, options, sink, pause=0.01))
        return opened[-1], sink

    yield open_feed
    for feed in opened:
        feed.close()
    until(lambda: not any(one.name.startswith("log-") for one in threading.enumerate()))


Open = Callable[..., Any]


# to the end


def test_whole_logs_come_in_the_order_of_their_times() -> None:
    server = Server(
        pod_a=[Stream([stamped(1, "a1"), stamped(3, "a3")[:-1]])], pod_b=[Stream([stamped(2, "b2") + stamped(4, "b4")])]
    )
    failures: dict[LogSource, KymatuiError] = {}
    found = read_logs(server.cluster, [A, B], LogOptions(tail=5), failures)
    assert [line.text for line in found] == ["a1", "b2", "a3", "b4"]
    assert failures == {}
    assert [(one.pod, one.options.tail) for one in server.queries] == [("pod-a", 5), ("pod-b", 5)]


def test_a_log_that_fails_does_not_hide_the_others() -> None:
    broken: list[Answer] = [stamped(1, "a1"), UnreachableError("connection reset")]
    server = Server(pod_a=[Stream(broken)], pod_b=[Stream([stamped(2, "b2")])])
    failures: dict[LogSource, KymatuiError] = {}
    assert [line.text for line in read_logs(server.cluster, [A, B], LogOptions(), failures)] == ["a1", "b2"]
    assert [str(failures[A])] == ["connection reset"]


# followed


def test_a_stream_that_breaks_continues_behind_its_last_line(feeds: Open) -> None:
    again = Stream([stamped(2, "two"), stamped(3, "three")], stays=True)
    server = Server(pod_a=[Stream([stamped(1, "one"), stamped(2, "two"), UnreachableError("silent")]), again])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: len(sink.lines) == 3)
    assert sink.texts == ["one", "two", "three"]
    assert [one.after for one in server.queries] == [None, 1772366402 * 10**9]
    assert sink.saw(LogState.FAILED)


def test_a_container_that_has_not_started_is_asked_again(feeds: Open) -> None:
    waiting = InvalidError('container "main" in pod "pod-a" is waiting to start: ContainerCreating', status=400)
    server = Server(pod_a=[waiting, waiting, Stream([stamped(1, "up")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: sink.texts == ["up"])
    assert sink.states[0][1].state is LogState.WAITING
    assert "ContainerCreating" in sink.states[0][1].message


def test_a_restarted_container_is_read_on(feeds: Open) -> None:
    server = Server(pod_a=[Stream([stamped(1, "first instance")]), Stream([stamped(5, "second instance")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: sink.texts == ["first instance", "second instance"])


@pytest.mark.parametrize(
    ("error", "state"),
    [(NotFoundError("pods not found"), LogState.DELETED), (ForbiddenError("no pods/log"), LogState.FORBIDDEN)],
)
def test_what_cannot_come_back_is_not_asked_again(feeds: Open, error: KymatuiError, state: LogState) -> None:
    server = Server(pod_a=[error], pod_b=[Stream([stamped(1, "b")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A, B])
    until(lambda: sink.texts == ["b"] and sink.saw(state))
    until(lambda: not any(one.name == f"log-{A}" for one in threading.enumerate()))
    assert [one.pod for one in server.queries].count("pod-a") == 1


def test_a_pod_of_the_same_name_is_read_again_after_it_was_deleted(feeds: Open) -> None:
    server = Server(pod_a=[NotFoundError("gone"), Stream([stamped(1, "again")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: sink.saw(LogState.DELETED))
    until(lambda: not any(one.name == f"log-{A}" for one in threading.enumerate()))
    feed.follow([A])
    until(lambda: sink.texts == ["again"])


def test_a_container_is_followed_once_and_a_new_pod_beside_it(feeds: Open) -> None:
    server = Server(pod_a=[Stream([stamped(1, "a")], stays=True)], pod_b=[Stream([stamped(2, "b")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: sink.texts == ["a"])
    feed.follow([A, B])
    until(lambda: sink.texts == ["a", "b"])
    assert [one.pod for one in server.queries] == ["pod-a", "pod-b"]


def test_what_is_not_followed_is_read_once_and_says_how_it_ended(feeds: Open) -> None:
    none = InvalidError('previous terminated container "main" in pod "pod-b" not found', status=400)
    server = Server(pod_a=[Stream([stamped(1, "crash")])], pod_b=[none])
    feed, sink = feeds(server, LogOptions(previous=True))
    feed.follow([A, B])
    until(lambda: sink.saw(LogState.ENDED) and sink.saw(LogState.FAILED))
    assert len(server.queries) == 2


def test_too_many_containers_are_counted_and_not_opened(feeds: Open) -> None:
    names = {f"pod_{number}": [Stream([], stays=True)] for number in range(MOST_STREAMS + 3)}
    server = Server(**names)
    feed, _ = feeds(server)
    assert feed.follow(LogSource("ns", name.replace("_", "-"), "main") for name in names) == 3
    until(lambda: len(server.queries) == MOST_STREAMS)


def test_closing_ends_silent_streams(feeds: Open) -> None:
    stream = Stream([stamped(1, "a")], stays=True)
    feed, sink = feeds(Server(pod_a=[stream]))
    feed.follow([A])
    until(lambda: sink.texts == ["a"])
    feed.close()
    assert stream.closed.is_set()
    until(lambda: not any(one.name == f"log-{A}" for one in threading.enumerate()))


def test_a_failing_server_is_asked_again_with_pauses(feeds: Open) -> None:
    server = Server(pod_a=[ServerError("500"), ServerError("500"), Stream([stamped(1, "up")], stays=True)])
    feed, sink = feeds(server)
    feed.follow([A])
    until(lambda: sink.texts == ["up"])
    assert [status.state for _, status in sink.states] == [LogState.FAILED, LogState.FAILED, LogState.READING]
