"""Rows in the place of objects: what changed since the last look, and lists that come in parts."""

from __future__ import annotations

from kymatui.adapters.kube.watch.watch_cache import RowStore

A, B, C = ("ns", "a"), ("ns", "b"), ("ns", "c")


def store() -> RowStore:
    return RowStore(lambda: None, lambda item: item["metadata"]["name"].upper())


def test_only_what_reading_makes_of_an_object_is_kept() -> None:
    assert store().keep({"metadata": {"name": "a"}}) == "A"


def test_each_look_is_told_what_changed_since_the_one_before() -> None:
    rows = store()
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    assert rows.changes() == {A: "A1", B: "B1"}
    assert rows.changes() == {}
    rows.put(A, "A2")  # type: ignore[arg-type]
    rows.put(A, "A3")  # type: ignore[arg-type]
    rows.drop(B)
    assert rows.changes() == {A: "A3", B: None}


def test_parts_of_the_first_list_are_there_before_it_is_whole() -> None:
    rows = store()
    rows.arrive({A: "A1"})  # type: ignore[dict-item]
    assert rows.changes() == {A: "A1"}
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    assert rows.changes() == {B: "B1"}


def test_a_list_that_comes_anew_takes_away_nothing_before_it_is_whole() -> None:
    rows = store()
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    rows.changes()
    rows.arrive({C: "C1"})  # type: ignore[dict-item]
    assert rows.changes() == {}
    rows.replace({A: "A1", C: "C1"})  # type: ignore[dict-item]
    assert rows.changes() == {B: None, C: "C1"}
