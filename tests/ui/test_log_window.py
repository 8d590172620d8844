"""The window over a ring: what it displays, how it moves, and that a line stays while others come and go."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.actions.logs import LogState, LogStatus
from kymatui.domain.logs.log_lines import LogRing, PodLogLine
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource
from kymatui.ui.logs.log_labels import reading_words, source_labels, trouble_words
from kymatui.ui.logs.log_text import LogWindow
from tests.domain.test_logs import OTHER, SOURCE, line


def window(count: int = 10, *, height: int = 4, most: int = 100, text: str = "line {}") -> LogWindow:
    ring = LogRing(most)
    ring.add([line(number, text.format(number)) for number in range(count)])
    found = LogWindow(ring)
    found.width, found.height = 20, height
    return found


def add(found: LogWindow, *lines: PodLogLine) -> None:
    found._ring.add(lines)


def texts(found: LogWindow) -> list[str]:
    return [row.text for row in found.rows()]


def numbers(found: LogWindow) -> list[int]:
    return [row.line.at for row in found.rows()]


def test_it_follows_the_newest_lines_until_you_scroll_up() -> None:
    found = window()
    assert numbers(found) == [6, 7, 8, 9]
    add(found, line(10, "new"))
    assert numbers(found) == [7, 8, 9, 10]
    found.move(-2)
    add(found, line(11, "newer"))
    assert numbers(found) == [5, 6, 7, 8]
    found.last()
    assert numbers(found) == [8, 9, 10, 11]


def test_lines_that_arrive_above_or_are_dropped_move_nothing_on_the_screen() -> None:
    found = window(most=10)
    found.first()
    found.move(5)
    assert numbers(found) == [5, 6, 7, 8]
    add(found, line(2, "of another container", OTHER))
    assert numbers(found) == [5, 6, 7, 8]
    add(found, *(line(number, "") for number in range(10, 14)))
    assert numbers(found) == [5, 6, 7, 8]
    add(found, *(line(number, "") for number in range(14, 20)))
    assert numbers(found) == [10, 11, 12, 13]


@pytest.mark.parametrize(("by", "top"), [(1, 1), (3, 3), (100, 6), (-1, 0), (-100, 0)])
def test_movement_stops_at_both_ends(by: int, top: int) -> None:
    found = window()
    found.first()
    found.move(by)
    assert numbers(found) == list(range(top, top + 4))


def test_few_lines_stand_at_the_top() -> None:
    found = window(2)
    assert numbers(found) == [0, 1]
    found.move(-1)
    assert numbers(found) == [0, 1]
    assert numbers(window(0)) == []


def test_wrapped_lines_scroll_by_rows() -> None:
    found = window(3, text="{}" + "x" * 44)
    found.is_wrapped = True
    assert [row.is_first for row in found.rows()] == [False, True, False, False]
    assert [len(text) for text in texts(found)] == [5, 20, 20, 5]
    found.move(-1)
    assert [row.line.at for row in found.rows()] == [1, 1, 2, 2]
    found.move(1)
    assert [row.line.at for row in found.rows()] == [1, 2, 2, 2]
    found.first()
    assert [row.line.at for row in found.rows()] == [0, 0, 0, 1]


def test_wide_characters_wrap_by_cells() -> None:
    found = window(1, text="漢字" * 8)
    found.is_wrapped = True
    assert texts(found) == ["漢字" * 5, "漢字" * 3]


@given(st.lists(st.integers(-9, 9), max_size=20), st.integers(0, 12), st.integers(1, 6), st.booleans())
def test_a_window_is_always_full_where_there_are_enough_rows(
    moves: list[int], count: int, height: int, wrapped: bool
) -> None:
    found = window(count, height=height, text="{}" + "x" * 30)
    found.is_wrapped = wrapped
    for by in moves:
        found.move(by)
        assert len(found.rows()) == min(height, count * (2 if wrapped else 1))


def test_times_are_displayed_on_request() -> None:
    found = window(0)
    add(found, PodLogLine(1, SOURCE, "2026-03-01T12:00:00Z", "text"))
    assert texts(found) == ["text"]
    found.has_times = True
    assert texts(found) == ["2026-03-01T12:00:00Z text"]


@pytest.mark.parametrize(
    ("start", "by", "at"), [(None, 1, 1), (1, 1, 4), (7, 1, 1), (None, -1, 7), (4, -1, 1), (1, -1, 7), (2, 1, 4)]
)
def test_search_goes_round(start: int | None, by: int, at: int) -> None:
    found = window()
    known = found.lines[start] if start is not None else None
    match = found.find(re.compile("line [147]$"), known, by)
    assert match is not None
    assert match.at == at
    found.reveal(match)
    assert at in numbers(found)


def test_search_finds_nothing_where_nothing_is() -> None:
    assert window().find(re.compile("gone"), None, 1) is None
    assert window(0).find(re.compile("."), None, -1) is None


# labels and messages


def source(pod: str, container: str = "manager") -> LogSource:
    return LogSource("ns", pod, container)


@pytest.mark.parametrize(
    ("sources", "labels"),
    [
        ([source("keda-1")], [""]),
        ([source("keda-7d4b-a"), source("keda-7d4b-b")], ["a", "b"]),
        ([source("keda-7d4b-a"), source("metrics-b")], ["keda-7d4b-a", "metrics-b"]),
        ([source("keda-1"), source("keda-1", "proxy")], ["manager", "proxy"]),
        ([source("keda-1"), source("metrics-2", "proxy")], ["manager", "proxy"]),
        ([source("keda-1"), source("keda-1", "x"), source("keda-2", "x")], ["1 manager", "1 x", "2 x"]),
        ([source("a-" + "x" * 40), source("b")], ["…" + "x" * 29, "b"]),
    ],
)
def test_labels_tell_containers_apart(sources: list[LogSource], labels: list[str]) -> None:
    assert list(source_labels(sources).values()) == labels


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (LogOptions(tail=1000), "keda-1/manager · last 1,000 lines"),
        (LogOptions(since=300), "keda-1/manager · last 5m"),
        (LogOptions(previous=True, tail=1000), "keda-1/manager · before the last restart"),
        (LogOptions(), "keda-1/manager · everything"),
    ],
)
def test_what_is_read_is_said(options: LogOptions, words: str) -> None:
    assert reading_words([source("keda-1")], options) == words


def test_several_containers_are_counted() -> None:
    sources = [source("keda-1"), source("keda-1", "proxy"), source("keda-2")]
    assert reading_words(sources, LogOptions(tail=1000)) == "3 containers of 2 Pods · last 1,000 lines of each"


def test_the_worst_message_is_displayed_and_others_counted() -> None:
    waiting = LogStatus(LogState.WAITING, "is waiting to start: ContainerCreating")
    states = {source("a"): waiting, source("b"): waiting, source("c"): LogStatus(LogState.READING)}
    assert trouble_words(states, list(states)) == (
        "waiting: a/manager (and 1 more): is waiting to start: ContainerCreating"
    )
    states[source("c")] = LogStatus(LogState.FORBIDDEN, "may not get pods/log")
    assert trouble_words(states, list(states)) == "forbidden: c/manager: may not get pods/log"
    assert trouble_words({source("c"): LogStatus(LogState.READING)}, [source("c")]) == ""
