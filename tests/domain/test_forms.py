"""Forms out of schemas: which fields there are, what may stand in them, and the document that comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.schema_forms import (
    FieldKind,
    FormField,
    form_fields,
    overrides,
    parse_value,
    value_at,
    with_value,
)

SCHEMA = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How\n many."},
        "mode": {"type": "string", "enum": ["small", "large"], "default": "small"},
        "on": {"type": "boolean"},
        "share": {"type": ["null", "number"]},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {"type": "array"},
        "store": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


def field(name: str) -> FormField:
    return next(one for one in form_fields(SCHEMA) if one.label == name)


def test_every_leaf_is_a_field_with_what_the_schema_says_of_it() -> None:
    assert [one.label for one in form_fields(SCHEMA)] == ["size", "mode", "on", "share", "port", "tags", "store.path"]
    assert (field("size").about, field("size").hint) == ("How many.", "integer; at least 1; at most 5; required")
    assert field("mode").hint == "small, large; default small"
    assert field("port").kind is FieldKind.TEXT
    assert field("share").kind is FieldKind.NUMBER


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": []}, {"properties": {"a": 1}}])
def test_a_schema_that_says_nothing_gives_no_form(schema: dict[str, object]) -> None:
    assert form_fields(schema) == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "3", 3),
        ("mode", "large", "large"),
        ("on", "True", True),
        ("share", "0.5", 0.5),
        ("tags", '["a"]', ["a"]),
        ("store.path", "", None),
    ],
)
def test_what_is_typed_becomes_a_value(name: str, text: str, value: object) -> None:
    assert parse_value(field(name), text) == value


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("size", "", "size is required"),
        ("size", "1.5", "size must be a whole number"),
        ("size", "9", "size is at most 5"),
        ("size", "0", "size is at least 1"),
        ("mode", "huge", "mode must be one of small, large"),
        ("on", "yes", "on must be true or false"),
        ("share", "half", "share must be a number"),
        ("tags", "[", "tags is not valid JSON"),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_value(field(name), text)


def test_a_value_is_written_where_it_belongs_and_what_is_empty_goes() -> None:
    document = {"store": {"path": "/a"}, "size": 1}
    assert with_value(document, ("store", "path"), "/b") == {"store": {"path": "/b"}, "size": 1}
    assert with_value(document, ("store", "path"), None) == {"size": 1}
    assert with_value({}, ("a", "b", "c"), True) == {"a": {"b": {"c": True}}}
    assert with_value({}, ("a", "b"), None) == {}
    assert document == {"store": {"path": "/a"}, "size": 1}
    assert value_at(document, ("store", "path")) == "/a"
    assert value_at(document, ("size", "path")) is None


@pytest.mark.parametrize(
    ("document", "defaults", "own"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}, {}),
        ({"a": 2, "b": {"c": 2, "d": 4}}, {"a": 1, "b": {"c": 2, "d": 3}}, {"a": 2, "b": {"d": 4}}),
        ({"a": True, "b": [1]}, {"a": 1, "b": [1, 2]}, {"a": True, "b": [1]}),
        ({"new": {"x": 1}}, {"old": 1, "none": None}, {"new": {"x": 1}, "old": None}),
    ],
)
def test_a_persons_own_values_are_what_differs_from_the_defaults(
    document: dict[str, Any], defaults: dict[str, Any], own: dict[str, Any]
) -> None:
    assert overrides(document, defaults) == own
