"""Schemas are hostile input: whatever they ask for, the validation ends, with an answer or with the limit."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from kymatui.helm import Chart, Environment, Limits, render
from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.schemas import steps
from kymatui.helm.schemas.quick_check import is_surely_valid
from kymatui.helm.schemas.validating import validate

TOO_MUCH = "the validation takes more than 20000 steps"
OLD = "http://json-schema.org/draft-07/schema#"


def doubling(word: str, more: dict[str, Any] | None = None, count: int = 40) -> dict[str, Any]:
    definitions: dict[str, Any] = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(count)}
    return {"$defs": definitions | {f"d{count}": {"type": "object"}}, "$ref": "#/$defs/d0", **(more or {})}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", 20_000)
    monkeypatch.setattr(steps._Steps, "left", 20_000)


ITEMS = [{"n": float(number)} for number in range(2_000)]
ENDLESS = {
    "references that double": (doubling("allOf"), {}),
    "choices that double": (doubling("oneOf"), {}),
    "references of what nothing has evaluated": (doubling("allOf", {"unevaluatedProperties": False}), {}),
    "references of an older draft": (doubling("allOf", {"$schema": OLD, "definitions": {}}), {}),
    "recursion over one value": (
        {"$defs": {"a": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 3}}}}, "$ref": "#/$defs/a"},
        {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}}}}}},
    ),
    "many items for many choices": ({"properties": {"a": {"items": {"enum": ITEMS}}}}, {"a": ITEMS}),
    "many names for many patterns": (
        {"patternProperties": {f"^{number}x": True for number in range(500)}},
        {str(number): 1.0 for number in range(500)},
    ),
    "unequal lists in a metaschema": ({"required": [{"n": number} for number in range(200_000)]}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "values"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_validation_ends_at_its_steps(schema: dict[str, Any], values: dict[str, Any]) -> None:
    assert validate(values, json.dumps(schema).encode()) == TOO_MUCH


def test_the_quick_check_leaves_such_schemas_to_the_library() -> None:
    assert not is_surely_valid({}, json.dumps(doubling("allOf")).encode())


def test_many_objects_are_unique_or_not_in_one_pass() -> None:
    schema = json.dumps({"properties": {"a": {"uniqueItems": True}}}).encode()
    items: list[Any] = [*ITEMS, True, 1.0, "1", None, [1.0], {"n": [1.0]}]
    assert validate({"a": items}, schema) == ""
    assert validate({"a": [*items, {"n": 7.0}]}, schema) == "- at '/a': items at 7 and 2006 are equal\n"
    assert validate({"a": [[{"b": 1.0, "c": 2.0}], [{"c": 2.0, "b": 1.0}]]}, schema).endswith("at 0 and 1 are equal\n")


def test_names_that_nothing_has_evaluated_are_matched_by_patterns_that_cannot_backtrack() -> None:
    schema = {"unevaluatedProperties": False, "patternProperties": {"^(a+)+$": True}}
    assert validate({"a" * 5_000: 1.0}, json.dumps(schema).encode()) == ""
    assert validate({"a" * 5_000 + "!": 1.0}, json.dumps(schema).encode()).endswith("!': false schema\n")


def test_a_rendering_ends_at_its_deadline_while_values_are_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps._Steps, "left", 10_000_000)
    monkeypatch.setattr(steps, "MOST_STEPS", 10_000_000)
    ticks = itertools.count()
    chart = Chart.from_files(
        {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0", "values.schema.json": json.dumps(doubling("allOf"))}
    )
    environment = Environment(limits=Limits(seconds=5), monotonic=lambda: float(next(ticks)))
    with pytest.raises(LimitError, match="took more than 5 seconds"):
        render(chart, {}, release_name="r", namespace="n", environment=environment)


def test_errors_are_described_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kymatui.helm.schemas.validating.MOST_ERRORS", 100)
    schema = {"additionalProperties": {"type": "string"}}
    described = validate({f"v{number:04}": 1.0 for number in range(2_000)}, json.dumps(schema).encode())
    assert described.count("\n") == 100
