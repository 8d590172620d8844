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


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", ["urn:example:root", "tag:example.org,2026:x", "https://example.org/a/values.json"])
def test_references_resolve_within_a_schema_that_has_a_name(draft: str, name: str) -> None:
    word = "id" if "draft-04" in draft else "$id"
    for reference in ("#/definitions/text", f"{name}#/definitions/text"):
        schema = {"$schema": draft, word: name, "properties": {"a": {"$ref": reference}}}
        schema["definitions"] = {"text": {"type": "string"}}
        assert said(schema, {"a": "x"}) == ""
        assert said(schema, {"a": 1.0}) == "- at '/a': got number, want string"


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


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{", "unexpected EOF"),
        ("", "EOF"),
        ("{}x", "invalid character after top-level value"),
        ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"x": NaN}', "invalid character 'N' looking for beginning of value"),
        ("[]", "- at '': got array, want boolean or object"),
        ("null", "- at '': got null, want boolean or object"),
    ],
)
def test_what_is_no_json_or_no_schema_is_told_in_gos_words(schema: str, problem: str) -> None:
    assert said(schema, {}).split("\n")[-1] == problem


def test_a_schema_that_goes_round_in_a_circle_ends() -> None:
    assert said({"$ref": "#"}, {}) != ""
    assert said({"anyOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}}, {"a": {}}) != ""


@pytest.mark.parametrize(
    ("schema", "values", "words"),
    [
        ({"properties": {"a": {"propertyNames": {"minLength": 2}}}}, {"a": {"b": 1}},
         "- at '': invalid propertyName 'b'\n  - at '': minLength: got 1, want 2"),
        ({"dependencies": {"a": ["z"], "b": {"required": ["y"]}}}, {"a": 1, "b": 1},
         "- at '': properties 'z' required, if 'a' exists\n- at '': missing property 'y'"),
        ({"$schema": DRAFTS[2], "dependentRequired": {"a": ["z"]}}, {"a": 1}, ""),
        ({"$schema": DRAFTS[0], "propertyNames": {"minLength": 2}}, {"a": 1}, ""),
        ({"$schema": DRAFTS[2], "properties": {"a": {"$ref": "#/definitions/x", "const": 2}}, "definitions": {"x": {}}},
         {"a": 1}, "- at '/a': value must be 2"),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1, "b": 1, "c": 1},
         "- at '/b': false schema\n- at '/c': false schema"),
        ({"$schema": DRAFTS[2], "properties": {"a": {"items": [{}], "additionalItems": False}}}, {"a": [1, 2, 3]},
         "- at '/a': last 2 additionalItem(s) not allowed"),
        ({"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "string"}]}},
          "additionalProperties": {"$ref": "#/$defs/x"}},
         {"a": "text"}, ""),
    ],
)  # fmt: skip
def test_words_as_gos_library_has_them(schema: Any, values: dict[str, Any], words: str) -> None:
    assert said(schema, values) == words


def test_the_values_of_an_enum_are_different_ones_in_drafts_6_and_7() -> None:
    schema = {"$schema": DRAFTS[2], "properties": {"a": {"enum": ["x", "x"]}}}
    assert said(schema, {"a": "x"}).endswith("- at '/properties/a/enum': items at 0 and 1 are equal")
    assert said({**schema, "$schema": DRAFTS[4]}, {"a": "x"}) == ""


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


@pytest.mark.parametrize(
    ("name", "good", "bad", "reason"),
    [
        ("uri", "https://a/b", "a b", "relative url"),
        ("uri", "urn:x", "%zz", 'parse "%zz": invalid URL escape "%zz"'),
        ("uri-reference", "/x?y#z", "\\\\x", "contains \\"),
        ("uri-template", "/{a}/x{b}{c}", "/{a{b}}", "nested curly braces"),
        ("uri-template", "/a%7D", "/{a}/b}", "nested curly braces"),
        ("uri-template", "/a?{b", "/{a/b}", "no matching closing brace"),
        ("uri-template", "/{a}", "%", 'parse "%": invalid URL escape "%"'),
        ("email", '"a b"@c', "a..b@c", "consecutive dots"),
        ("email", "a@[1.2.3.4]", "a@[1.2.3]", "invalid ipv4 address: expected four decimals"),
        ("hostname", "a.b-c.", "a-.b", "label ends with hyphen"),
        ("hostname", "x", "a_b", "invalid character '_'"),
        ("ipv4", "1.2.3.4", "01.2.3.4", "leading zeros"),
        ("ipv6", "::1", "1.2.3.4", "missing colon"),
        ("date", "2024-02-29", "2024-02-30", 'parsing time "2024-02-30": day out of range'),
        ("time", "23:59:60Z", "12:00:60Z", "invalid leap second"),
        ("time", "10:11:12.5+01:30", "10:11:12+25:00", "hour/min in offset out of range"),
        ("date-time", "2024-02-29t10:11:12z", "2024-02-29 10:11:12Z", "11th character must be t or T"),
        ("duration", "P1DT1H", "10s", "must start with P"),
        ("duration", "P3W", "PT1S1H", "unit 'H' out of order"),
        ("period", "P1D/2024-02-29T10:11:12Z", "P1D", "missing slash"),
        ("uuid", "550e8400-e29b-41d4-a716-446655440000", "550e8400", "must have 5 elements"),
        ("json-pointer", "/a~0", "/a~b", "~ must be followed by 0 or 1"),
        ("relative-json-pointer", "1#", "01#", "starts with zero"),
        ("semver", "1.2.3-rc.1+b", "1.2", "versionCore must have 3 numbers separated by dot"),
        ("regex", "a+", "[", "error parsing regexp: missing closing ]: `[`"),
        ("int32", "not known, so anything", None, ""),
    ],
)
def test_formats_are_asserted_up_to_draft_7(name: str, good: str, bad: str | None, reason: str) -> None:
    schema = {"$schema": DRAFTS[2], "properties": {"a": {"format": name}}}
    assert said(schema, {"a": good}) == ""
    assert said(schema, {"a": 1}) == ""
    if bad is not None:
        assert said(schema, {"a": bad}).endswith(f" is not valid {name}: {reason}")
        assert said({**schema, "$schema": DRAFTS[4]}, {"a": bad}) == ""


@pytest.mark.parametrize(
    ("declared", "draft_7"),
    [
        ("http://json-schema.org/draft-07/schema#", True),
        ("http://json-schema.org/draft-07/schema", True),
        ("https://json-schema.org/draft-07/schema#", True),
        ("http://json-schema.org/schema#", False),
        ("https://json-schema.org/draft/2020-12/schema#", False),
    ],
)
def test_a_draft_is_known_by_either_scheme(declared: str, draft_7: bool) -> None:
    """Beside $ref nothing counts in draft 7."""
    schema = {
        "$schema": declared,
        "definitions": {"text": {"type": "string"}},
        "properties": {"a": {"$ref": "#/definitions/text", "minLength": 3}},
    }
    assert said(schema, {"a": "x"}) == ("" if draft_7 else "- at '/a': minLength: got 1, want 3")


def test_a_draft_that_is_not_known_is_not_fetched() -> None:
    for declared in ("https://a.test/schema", "draft-07"):
        assert said({"$schema": declared}, {}).startswith(f'failing loading "{declared}": ')


@pytest.mark.parametrize("draft", DRAFTS[2:])
def test_a_reference_is_a_step_of_its_own_where_more_than_one_thing_is_wrong(draft: str) -> None:
    limits = {"properties": {"requests": {"additionalProperties": {"type": "string"}, "required": ["x", "y"]}}}
    schema = {"$schema": draft, "definitions": {"l": limits}, "properties": {"a": {"$ref": "#/definitions/l"}}}
    assert said(schema, {"a": {"requests": {"cpu": 1, "memory": 2}}}).split("\n") == [
        "- at '/a': validation failed",
        "  - at '/a/requests': missing properties 'x', 'y'",
        "  - at '/a/requests/cpu': got number, want string",
        "  - at '/a/requests/memory': got number, want string",
    ]
    assert said(schema, {"a": {"requests": {}}}) == "- at '/a/requests': missing properties 'x', 'y'"


def test_what_is_wrong_with_a_schema_is_told_as_with_values() -> None:
    assert said({"$schema": DRAFTS[2], "properties": {"a": {"minLength": "x"}}}, {}).split("\n") == [
        '"file:///values.schema.json#" is not valid against metaschema: '
        "jsonschema validation failed with 'http://json-schema.org/draft-07/schema#'",
        "- at '/properties/a/minLength': 'allOf' failed",
        "  - at '/properties/a/minLength': got string, want integer",
    ]
