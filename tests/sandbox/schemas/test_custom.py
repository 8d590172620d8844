"""Custom resources: pruning, defaults, and what is wrong with them, in the server's words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kymatui.schemas.customresources.custom_resource_rules import custom_errors
from kymatui.schemas.objects.pruning import read_custom
from kymatui.schemas.objects.structural_schemas import crd_schema

Obj = dict[str, Any]
FIELDS: Obj = {
    "s": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
    "e": {"type": "string", "enum": ["a", "b"]},
    "n": {"type": "integer", "minimum": 1, "maximum": 5},
    "dt": {"type": "string", "format": "date-time"},
    "ios": {"x-kubernetes-int-or-string": True},
    "nul": {"type": "string", "nullable": True},
    "d": {"type": "string", "default": "dd"},
    "l": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
    "m": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "map": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": {"type": "string"}, "v": {"type": "integer", "default": 3}},
        },
    },
    "o": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "one": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
}
SCHEMA = crd_schema({"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}})


def thing(spec: Any) -> Obj:
    return {"apiVersion": "t/v1", "kind": "T", "metadata": {"name": "x"}, "spec": spec}


def problems(spec: Obj) -> list[str]:
    obj, _ = read_custom(SCHEMA, thing(copy.deepcopy(spec)))
    return [str(error) for error in custom_errors(SCHEMA, obj, None)]


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        ({"s": "abc", "n": 1, "l": ["a", "b"], "ios": 1, "nul": None, "free": {"x": [1]}}, []),
        ({"s": "a"}, ['spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long']),
        ({"s": "abcde"}, ["spec.s: Too long: may not be more than 4 bytes"]),
        ({"s": "AB"}, ["spec.s: Invalid value: \"AB\": spec.s in body should match '^[a-z]+$'"]),
        ({"s": 5}, ['spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"']),
        ({"e": "c"}, ['spec.e: Unsupported value: "c": supported values: "a", "b"']),
        ({"n": 0}, ["spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"]),
        ({"n": 6}, ["spec.n: Invalid value: 6: spec.n in body should be less than or equal to 5"]),
        ({"dt": "x"}, ['spec.dt: Invalid value: "x": spec.dt in body must be of type date-time: "x"']),
        (
            {"ios": 1.5},
            ['spec.ios: Invalid value: "number": spec.ios in body must be of type integer,string: "number"'],
        ),
        ({"l": ["a"]}, ["spec.l: Invalid value: 1: spec.l in body should have at least 2 items"]),
        ({"l": ["a"] * 4}, ["spec.l: Too many: 4: must have at most 3 items"]),
        ({"m": {"a": 1, "b": 2, "c": 3}}, ["spec.m: Too many: 3: must have at most 2 items"]),
        ({"set": ["a", "a", "b"]}, ['spec.set[1]: Duplicate value: "a"']),
        ({"map": [{"k": "a"}, {"k": "a", "v": 2}]}, ['spec.map[1]: Duplicate value: {"k":"a"}']),
        ({"map": [{"v": 1}]}, ["spec.map[0].k: Required value"]),
        ({"o": {}}, ["spec.o.x: Required value"]),
        (
            {"one": {"a": 1, "b": 2}},
            [
                '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). '
                "Found 2 valid alternatives"
            ],
        ),
    ],
)
def test_problems(spec: Obj, texts: list[str]) -> None:
    assert problems(spec) == texts


def test_unknown_fields_go_and_defaults_come_at_every_depth() -> None:
    obj, unknown = read_custom(SCHEMA, thing({"x": 1, "map": [{"k": "a", "q": 1}], "e": None, "free": {"any": 1}}))
    assert obj["spec"] == {"map": [{"k": "a", "v": 3}], "free": {"any": 1}, "d": "dd"}
    assert unknown == ["spec.map[0].q", "spec.x"]


def test_what_was_wrong_before_may_stay() -> None:
    old, new = thing({"s": "a", "n": 1}), thing({"s": "a", "n": 0})
    assert [error.field for error in custom_errors(SCHEMA, new, old)] == ["spec.n"]
