"""Columns fold from the least important on, and use the whole width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kymatui.lists.columns import Column
from kymatui.ui.viewmodels.columns import GAP, fit_columns, with_arrow

NAME = Column("name", "NAME", 20, flex=1)
STATE = Column("state", "STATE", 14)
NEWEST = Column("newest", "NEWEST", 10, priority=1)
AGE = Column("age", "AGE", 5, priority=3, right=True)


def shown(width: int) -> list[str]:
    return [column.id for column, _ in fit_columns([NAME, STATE, NEWEST, AGE], width)]


def test_everything_fits_into_a_wide_terminal() -> None:
    assert shown(120) == ["name", "state", "newest", "age"]


def test_the_highest_priority_number_folds_first() -> None:
    assert shown(52) == ["name", "state", "newest"]
    assert shown(40) == ["name", "state"]


def test_the_arrow_of_a_sorted_column_cuts_no_title() -> None:
    assert with_arrow(Column("age", "AGE", 4)).width == len("AGE ▴")
    assert with_arrow(STATE) == STATE


def test_columns_of_priority_0_stay_and_shrink() -> None:
    sizes = {column.id: size for column, size in fit_columns([NAME, STATE, NEWEST, AGE], 20)}
    assert sizes == {"name": 9, "state": 9}


def test_what_is_left_over_goes_to_the_flexible_column() -> None:
    sizes = {column.id: size for column, size in fit_columns([NAME, STATE], 100)}
    assert sizes == {"name": 100 - GAP - 14, "state": 14}


def test_what_one_column_does_not_need_goes_to_one_that_is_cut() -> None:
    flexible = Column("kind", "KIND", 10, flex=1)
    sizes = dict(zip("ns", (size for _, size in fit_columns([NAME, flexible], 60)), strict=True))
    assert sizes == {"n": 34, "s": 24}
    given_widths = {"name": 50, "kind": 8}
    fitted = {column.id: size for column, size in fit_columns([NAME, flexible], 60, given_widths)}
    assert fitted == {"name": 50, "kind": 8}
    assert fit_columns([NAME, flexible], 60, {"name": 20, "kind": 8}) == fit_columns([NAME, flexible], 60)


columns = st.builds(
    Column,
    id=st.uuids().map(str),
    title=st.just("T"),
    width=st.integers(4, 30),
    flex=st.integers(0, 3),
    priority=st.integers(0, 4),
)


@given(st.lists(columns, min_size=1, max_size=8), st.integers(60, 200))
def test_a_fit_never_exceeds_the_width_unless_nothing_can_shrink(given_columns: list[Column], width: int) -> None:
    fitted = fit_columns(given_columns, width)
    total = sum(size for _, size in fitted) + GAP * (len(fitted) - 1)
    assert total <= width or all(size <= 4 for _, size in fitted)
    assert fitted, "at least one column is always there"


@given(st.lists(columns, min_size=1, max_size=8), st.integers(60, 200), st.lists(st.integers(0, 90), min_size=8))
def test_room_moves_only_from_what_is_not_cut(given_columns: list[Column], width: int, texts: list[int]) -> None:
    widest = {column.id: text for column, text in zip(given_columns, texts, strict=False)}
    before, after = fit_columns(given_columns, width), fit_columns(given_columns, width, widest)
    assert [column for column, _ in before] == [column for column, _ in after]
    assert sum(size for _, size in before) == sum(size for _, size in after)
    for (column, old), (_, new) in zip(before, after, strict=True):
        assert new >= min(old, max(widest[column.id], 3)), "none is cut for another"
