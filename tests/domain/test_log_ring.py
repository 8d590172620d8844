"""The newest lines of many containers: ordered, complete, bounded in number and memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.logs.log_lines import LogRing, PodLogLine
from kymatui.domain.logs.log_sources import LogSource
from tests.domain.test_logs import OTHER, SOURCE, line

batches = st.lists(
    st.tuples(st.sampled_from([SOURCE, OTHER]), st.lists(st.integers(0, 30), max_size=8).map(sorted)), max_size=12
)


def numbered(found: list[tuple[LogSource, list[int]]]) -> list[list[PodLogLine]]:
    """Batches whose lines are ordered within each container, as readers produce them."""
    newest: dict[LogSource, int] = {}
    batches = []
    for number, (source, times) in enumerate(found):
        start = newest.get(source, 0)
        batches.append([line(start + at, f"{number}.{place}", source) for place, at in enumerate(times)])
        newest[source] = start + (times[-1] if times else 0)
    return batches


@given(batches, st.integers(1, 20), st.integers(1, 20))
def test_a_ring_has_the_newest_lines_in_order(
    found: list[tuple[LogSource, list[int]]], most: int, modulus: int
) -> None:
    ring, everything = LogRing(most), []

    def accepts(one: PodLogLine) -> bool:
        return one.at % modulus == 0

    ring.filter(accepts)
    for batch in numbered(found):
        ring.add(batch)
        everything += batch
        assert len(ring.lines) <= most
        assert all(one.at <= other.at for one, other in pairwise(ring.lines))
        assert ring.shown == [one for one in ring.lines if accepts(one)]
        assert [ring.place(one) for one in ring.shown] == list(range(len(ring.shown)))
        assert ring.dropped + len(ring.lines) == len(everything)
        for source in (SOURCE, OTHER):
            own = [one.text for one in everything if one.source == source]
            kept = [one.text for one in ring.lines if one.source == source]
            assert kept == own[len(own) - len(kept) :]
    ring.filter(None)
    assert ring.shown is ring.lines


def test_a_ring_is_bounded_in_memory_as_well() -> None:
    ring = LogRing(most=1000, most_bytes=20_000)
    ring.add([line(number, "x" * 1000) for number in range(100)])
    assert 0 < len(ring.lines) <= 20
    assert ring.lines[-1].at == 99
    ring.add([line(100, "ä" * 100_000)])
    assert [one.at for one in ring.lines] == [100]


def test_a_ring_forgets_everything_but_its_filter() -> None:
    ring = LogRing()
    ring.filter(lambda one: one.text == "a")
    ring.add([line(1, "a"), line(2, "b")])
    ring.clear()
    assert (ring.lines, ring.shown, ring.dropped) == ([], [], 0)
    ring.add([line(3, "b"), line(4, "a")])
    assert [one.at for one in ring.shown] == [4]


def test_the_place_of_a_line_that_was_dropped_is_where_it_would_be() -> None:
    ring, lines = LogRing(most=2), [line(number) for number in (1, 2, 3)]
    ring.add(lines)
    assert [ring.place(one) for one in lines] == [0, 0, 1]
