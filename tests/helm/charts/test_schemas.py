"""values.schema.json: what is refused, in the words of Helm's library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kymatui.errors import HelmError
from kymatui.helm import Chart, render

DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]


def said(schema: Any, values: dict[str, Any], **more: str) -> str:
    """What is said of values, without the headline and the chart's name; "" where they are fine."""
    files = {
        "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0",
        "values.schema.json": schema if isinstance(schema, str) else json.dumps(schema),
        **more,
    }
    try:
        render(Chart.from_files(files), values, release_name="r", namespace="n")
    except HelmError as error:
        headline, name, *lines = str(error).rstrip("\n").split("\n")
        assert headline == "values don't meet the specifications of the schema(s) in the following chart(s):"
        assert name == "web:"
        return "\n".join(lines)
    return ""


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_draft(draft: str) -> None:
    schema = {"$schema": draft, "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    assert said(schema, {"a": 1.0}) == ""
    assert said(schema, {"a": 0}) == "- at '/a': minimum: got 0, want 1"
    assert said(schema, {"a": "x"}) == "- at '/a': got string, want integer"
    assert said(schema, {}) == "- at '': missing property 'a'"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (True, ""),
        (False, "- at '': false schema"),
        ({"properties": {"a": False}}, "- at '/a': false schema"),
        ({"patternProperties": {".*": False}}, "- at '/a': false schema"),
        ({"properties": {"a": {"prefixItems": [False]}}}, "- at '/a/0': false schema"),
        ({"if": True, "then": False}, "- at '': false schema"),
        ({"allOf": [{"type": "string"}, False]},
         "- at '': 'allOf' failed\n  - at '': got object, want string\n  - at '': false schema"),
        ({"anyOf": [False, {"type": "string"}]},
         "- at '': 'anyOf' failed\n  - at '': false schema\n  - at '': got object, want string"),
        ({"oneOf": [True, True]}, "- at '': 'oneOf' failed, subschemas 0, 1 matched"),
        ({"not": {}}, "- at '': 'not' failed"),
        ({"propertyNames": {"minLength": 3}}, "- at '': invalid propertyName 'a'\n  - at '': minLength: got 1, want 3"),
        ({"dependentRequired": {"a": ["z", "y"]}}, "- at '': properties 'z', 'y' required, if 'a' exists"),
        ({"additionalProperties": False}, "- at '': additional properties 'a' not allowed"),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"minProperties": 2}}}, "- at '': minProperties: got 1, want 2"),
        ({"$schema": DRAFTS[0], "properties": {"a": {"items": {"maximum": 1, "exclusiveMaximum": True}}}},
         "- at '/a/0': exclusiveMaximum: got 1, want 1"),
    ],
)  # fmt: skip
def test_what_is_refused(schema: Any, words: str) -> None:
    assert said(schema, {"a": [1]}) == words


@pytest.mark.parametrize(
    "schema", ["{", "[]", '"x"', '{"type": "x"}', '{"$ref": "http://x.test/y"}', '{"pattern": "("}']
)
def test_what_is_no_schema_is_said_and_nothing_is_fetched(schema: str) -> None:
    assert said(schema, {}) != ""


def test_a_schema_that_goes_round_in_a_circle_ends() -> None:
    assert said({"$ref": "#"}, {}) != ""
    assert said({"anyOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}}, {"a": {}}) != ""


def test_patterns_cannot_backtrack() -> None:
    assert said({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 50 + "!"}).startswith("- at '/a': 'aaaa")


def test_subcharts_are_held_against_their_own_schemas() -> None:
    chart = Chart.from_files(
        {
            "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0",
            "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0",
            "charts/db/values.schema.json": '{"required": ["x"]}',
        }
    )
    with pytest.raises(HelmError, match=r"(?s)chart\(s\):\ndb:\n- at '': missing property 'x'"):
        render(chart, {}, release_name="r", namespace="n")
