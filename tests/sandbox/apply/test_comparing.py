"""What differs between two values: that most of them are equal must not hide what is not."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.schemas.objects.typed_values import TypedComparison, compare
from kymatui.schemas.types.schema_node import ANY, Schema
from kymatui.schemas.values.field_sets import copy_json

SETS = Schema(type="array", list_type="map", map_keys=("name",), items=ANY)


@pytest.mark.parametrize(
    ("old", "new", "modified"),
    [
        ({"a": {"b": 1, "c": "x"}}, {"a": {"b": True, "c": "x"}}, {("f:a", "f:b")}),
        ({"a": {"b": 1.0}}, {"a": {"b": 1}}, set()),
        ({"a": {"b": [0, 1]}}, {"a": {"b": [False, 1]}}, {("f:a", "f:b")}),
        ({"a": "1", "b": {"c": "2"}}, {"a": 1, "b": {"c": "2"}}, {("f:a",)}),
        ({"a": {"c": "2", "b": None}}, {"a": {"b": None, "c": "2"}}, set()),
    ],
)
def test_one_is_not_true_and_order_is_nothing(old: Any, new: Any, modified: set[tuple[str, ...]]) -> None:
    assert compare(ANY, old, new) == TypedComparison(modified=modified)


def test_items_that_did_not_change_are_no_difference_and_the_others_are() -> None:
    old = [{"name": "a", "on": 1}, {"name": "b", "on": 1}, {"name": "c"}]
    new = [{"name": "d"}, {"name": "b", "on": True}, {"name": "a", "on": 1}]
    found = compare(SETS, old, new)
    assert found.modified == {('k:{"name":"b"}', "f:on")}
    assert {path[0] for path in found.removed} == {'k:{"name":"c"}'}
    assert {path[0] for path in found.added} == {'k:{"name":"d"}'}


def test_a_copy_shares_nothing_that_can_be_changed() -> None:
    value: dict[str, Any] = {"a": [{"b": [1, "x", None]}], "c": {}}
    other = copy_json(value)
    assert other == value
    other["a"][0]["b"].append(2)
    other["c"]["d"] = 1
    assert value == {"a": [{"b": [1, "x", None]}], "c": {}}
