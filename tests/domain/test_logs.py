"""Lines, their order and bounds; which containers a module's logs come from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_lines import (
    CUT,
    LineReader,
    LineSplitter,
    PodLogLine,
    clean_log_text,
    format_line,
    interleave,
)
from kymatui.domain.logs.log_query import LogOptions, LogQuery
from kymatui.domain.logs.log_sources import (
    ContainerRole,
    LogSource,
    choose_sources,
    containers_of,
    find_logs,
    log_roots,
    pods_below,
)
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.domain.snapshot.object_index import ObjectIndex, index_objects
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, namespaced_feed
from tests.domain import builders as b
from tests.domain.test_trees import owned, snapshot

SOURCE = LogSource("kyma-system", "keda-1", "manager")
OTHER = LogSource("kyma-system", "keda-2", "manager")
SECOND = 1_000_000_000


def line(at: int, text: str = "", source: LogSource = SOURCE) -> PodLogLine:
    return PodLogLine(at, source, "", text)


def read(*raw: str) -> list[PodLogLine]:
    return LineReader(SOURCE).read(one.encode() for one in raw)


# bytes to lines


@given(st.lists(st.binary(max_size=30).filter(lambda raw: b"\n" not in raw)), st.integers(1, 20))
def test_lines_do_not_depend_on_how_the_bytes_arrive(raw: list[bytes], size: int) -> None:
    body = b"".join(one + b"\n" for one in raw)
    splitter = LineSplitter()
    found = [one for start in range(0, len(body), size) for one in splitter.feed(body[start : start + size])]
    assert found + splitter.end() == raw


def test_a_last_line_without_an_end_counts() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a"]
    assert splitter.end() == [b"b"]
    assert splitter.end() == []


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole(size: int) -> None:
    splitter, body = LineSplitter(longest=5), b"1234567890\nab\n"
    found = [one for start in range(0, len(body), size) for one in splitter.feed(body[start : start + size])]
    assert found == [f"12345{CUT}".encode(), b"ab"]


@pytest.mark.parametrize(
    ("raw", "nanoseconds", "text"),
    [
        ("2026-03-01T12:00:00.5Z hello", 1772366400 * SECOND + 500_000_000, "hello"),
        ("2026-03-01T12:00:00.123456789Z a b", 1772366400 * SECOND + 123_456_789, "a b"),
        ("2026-03-01T14:00:00+02:00 x", 1772366400 * SECOND, "x"),
        ("2026-03-01T12:00:00Z ", 1772366400 * SECOND, ""),
        ("2026-03-01T12:00:00Z", 1772366400 * SECOND, ""),
        ("no time", 0, "no time"),
        ("2026-02-31T12:00:00Z x", 0, "2026-02-31T12:00:00Z x"),
    ],
)
def test_the_time_of_a_line_is_read_to_the_nanosecond(raw: str, nanoseconds: int, text: str) -> None:
    (found,) = read(raw)
    assert (found.at, found.text) == (nanoseconds, text)


def test_a_line_is_never_earlier_than_the_one_before() -> None:
    found = read("2026-03-01T12:00:02Z a", "2026-03-01T12:00:01Z b", "panic without a time", "2026-03-01T12:00:03Z c")
    assert [one.text for one in found] == ["a", "b", "panic without a time", "c"]
    assert [one.at - found[0].at for one in found] == [0, 0, 0, SECOND]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31merror\x1b[0m: x", "error: x"),
        ("\x1b]0;title\x07text", "text"),
        ("\tat java.lang", "        at java.lang"),
        ("done\r", "done"),
        ("a\x1b[2Jb\x07c", "ab c"),
        ("plain äöü", "plain äöü"),
        ("right\u202eleft", "right left"),
        ("\x1b", " "),
    ],
)
def test_a_terminal_never_gets_what_it_would_act_on(raw: str, text: str) -> None:
    assert clean_log_text(raw) == text


@given(st.text())
def test_a_clean_line_has_no_control_characters(raw: str) -> None:
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in clean_log_text(raw))


def test_a_stream_that_is_opened_again_repeats_no_line_and_misses_none() -> None:
    stamps = [f"2026-03-01T12:00:00.{n}Z" for n in (1, 2, 2, 2, 3)]
    raw = [f"{stamp} {number}".encode() for number, stamp in enumerate(stamps)]
    for read_before in range(len(raw) + 1):
        reader = LineReader(SOURCE)
        first = reader.read(raw[:read_before])
        reader.resume()
        assert [one.text for one in (*first, *reader.read(raw))] == ["0", "1", "2", "3", "4"]


# requests


@pytest.mark.parametrize(
    ("options", "after", "query"),
    [
        (LogOptions(), None, "container=manager&timestamps=true"),
        (LogOptions(follow=True, tail=5), None, "container=manager&timestamps=true&tailLines=5&follow=true"),
        (LogOptions(previous=True, since=60), None, "container=manager&timestamps=true&sinceSeconds=60&previous=true"),
        (
            LogOptions(follow=True, tail=5, since=60),
            1772366400 * SECOND + 7,
            "container=manager&timestamps=true&sinceTime=2026-03-01T12:00:00Z&follow=true",
        ),
    ],
)
def test_a_request_asks_for_times_and_continues_where_it_stopped(
    options: LogOptions, after: int | None, query: str
) -> None:
    found = LogQuery("kyma-system", "keda-1", "manager", options).resumed(after).parameters
    assert "&".join(f"{name}={value}" for name, value in found) == query


# order


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(0, 50)).map(sorted), max_size=6))
def test_interleaved_streams_are_ordered_and_complete(times: list[list[int]]) -> None:
    streams = [[line(at, str(number)) for at in one] for number, one in enumerate(times)]
    found = list(interleave(streams))
    assert [one.at for one in found] == sorted(at for one in times for at in one)
    for number, stream in enumerate(streams):
        assert [one for one in found if one.text == str(number)] == stream


def test_lines_are_formatted_as_kubectl_does() -> None:
    (found,) = read("2026-03-01T12:00:00.5Z hello")
    assert format_line(found) == "hello"
    assert format_line(found, prefix=True, timestamps=True) == ("[pod/keda-1/manager] 2026-03-01T12:00:00.5Z hello")


# containers


def pod(name: str = "keda-manager-1-a", owner: str = "rs", **more: Any) -> b.Json:
    return owned("Pod", name, name, owner, **more)


STATUS = {
    "containerStatuses": [
        {"name": "istio-proxy", "state": {"running": {}}, "restartCount": 0},
        {"name": "manager", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 7},
    ],
    "initContainerStatuses": [{"name": "setup", "state": {"terminated": {"reason": "Completed"}}}],
}


def test_containers_come_from_the_status_and_have_its_words() -> None:
    found = containers_of(pod(status=STATUS))
    assert [(one.source.container, one.role, one.state, one.restarts, one.is_default) for one in found] == [
        ("istio-proxy", ContainerRole.MAIN, "Running", 0, True),
        ("manager", ContainerRole.MAIN, "CrashLoopBackOff", 7, False),
        ("setup", ContainerRole.INIT, "Completed", 0, False),
    ]


def test_the_default_container_is_the_annotated_one() -> None:
    raw = pod(status=STATUS)
    raw["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "manager"}
    assert [one.container for one in choose_sources(containers_of(raw))] == ["manager"]
    assert [one.container for one in choose_sources(containers_of(raw), "setup")] == ["setup"]
    assert choose_sources(containers_of(raw), "gone") == []
    assert len(choose_sources(containers_of(raw), all_containers=True)) == 3


@pytest.mark.parametrize("status", [None, {}, {"containerStatuses": "x"}, {"containerStatuses": [{"name": 5}, 3]}])
def test_a_pod_without_a_usable_status_has_no_containers(status: object) -> None:
    assert containers_of(pod(status=status)) == []


def test_pods_are_found_below_their_owners_once() -> None:
    found = snapshot()
    locations = index_objects(found, ReadCache())
    deployment = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "keda-manager")
    replica_set = ObjectRef(GroupVersionKind("apps", "v1", "ReplicaSet"), "kyma-system", "keda-manager-1")
    assert [raw["metadata"]["name"] for raw in pods_below((deployment, replica_set), locations)] == ["keda-manager-1-a"]
    assert pods_below((), locations) == []


def test_owners_in_a_circle_end() -> None:
    one, two = pod("a", "b", status=STATUS), pod("b", "a", status=STATUS)
    ref = ObjectRef(GroupVersionKind("", "v1", "Pod"), "kyma-system", "a")
    assert len(pods_below((ref,), ObjectIndex.of((one, two)))) == 2


def test_a_modules_logs_are_those_of_its_manager_or_of_all_its_pods() -> None:
    metrics = b.deployment("keda", "1.0.0", name="keda-metrics", uid="m")
    found = snapshot()
    pods = (pod(status=STATUS), pod("keda-metrics-1", "m", status=STATUS))
    found = snapshot(workloads=(*found.workloads, metrics), owned=(found.owned[0], *pods))
    row = build_catalog(found, b.NOW).row("keda")
    assert row is not None
    locations = index_objects(found, ReadCache())
    own = find_logs(log_roots(row, locations), found, locations)
    assert {one.source.pod for one in own.containers} == {"keda-manager-1-a"}
    whole = find_logs(log_roots(row, locations, all_objects=True), found, locations)
    assert {one.source.pod for one in whole.containers} == {"keda-manager-1-a", "keda-metrics-1"}
    assert (own.gap, own.waiting) == (None, ())


def test_pods_that_may_exist_unseen_and_pods_that_wait_are_reported() -> None:
    feeds = {
        namespaced_feed("pods", "kyma-system"): Feed(FeedState.FORBIDDEN),
        namespaced_feed("events", "kyma-system"): Feed(FeedState.FAILED),
    }
    found = snapshot(feeds=feeds)
    row = build_catalog(found, b.NOW).row("keda")
    assert row is not None
    locations = index_objects(found, ReadCache())
    logs = find_logs(log_roots(row, locations), found, locations)
    assert [ref.name for ref in logs.waiting] == ["keda-manager-1-a"]
    assert logs.gap is not None
    assert logs.gap.gap is ListGap.FORBIDDEN
