"""CEL: values, errors, and the rules of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.schemas.cel.cel_lexer import CelSyntaxError
from kymatui.schemas.cel.cel_parser import compile_expression
from kymatui.schemas.cel.cel_values import CelError
from kymatui.schemas.cel.validation_rules import expression_problem, validate_rules
from kymatui.schemas.objects.structural_schemas import crd_schema

SELF: dict[str, Any] = {"a": 1, "s": "text", "l": [1, 2, 3], "m": {"x": "y"}, "n": None, "d-e": 5}


def evaluate(text: str) -> Any:
    return compile_expression(text, frozenset(["self"]))({"self": SELF})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("'a' + \"b\"", "ab"),
        (r"r'\d' + '\n'", "\\d\n"),
        ("has(self.a) && !has(self.b)", True),
        ("has(self.a) != has(self.b)", True),
        ("self.l.all(x, x > 0)", True),
        ("self.l.exists(x, x == 2)", True),
        ("self.l.exists_one(x, x > 2)", True),
        ("self.l.map(x, x * 2)", [2, 4, 6]),
        ("self.l.filter(x, x > 1).size()", 2),
        ("size(self.s) == 4", True),
        ("'x' in self.m && 2 in self.l", True),
        ("self.s.matches('^t.*t$')", True),
        ("self.s.startsWith('te') && self.s.endsWith('xt') && self.s.contains('ex')", True),
        ("self.a > 0 ? 'yes' : 'no'", "yes"),
        ("self.l[0] == 1.0", True),
        ("self.d__dash__e", 5),
        ("true || self.missing", True),
        ("self.missing || true", True),
        ("{'k': [1]}.k", [1]),
        ("self.n == null", True),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("self.b == 1", "no such key: b"),
        ("1 + 'a'", "no such overload"),
        ("1 / 0", "division by zero"),
        ("self.l[9]", "index out of bounds: 9"),
        ("9223372036854775807 + 1", "integer overflow"),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(CelError, match=error):
        evaluate(text)


@pytest.mark.parametrize("text", ["1 +", "foo", "self.bogus()", "has(1)", "self.l.all(x)", "(" * 300, "'open", "a ~ b"])
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(CelSyntaxError):
        compile_expression(text, frozenset(["self"]))
    assert expression_problem(text)


def test_rules_tell_field_reason_and_message() -> None:
    rules = [
        {"rule": "has(self.a) != has(self.b)"},
        {
            "rule": "!has(self.a) || self.a > 2",
            "message": "too small",
            "fieldPath": ".a",
            "reason": "FieldValueForbidden",
        },
        {"rule": "self.a >= oldSelf.a", "messageExpression": "'was ' + string(oldSelf.a)"},
    ]
    part = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    schema = crd_schema({"type": "object", "properties": {"spec": {**part, "x-kubernetes-validations": rules}}})
    both = {"spec": {"a": 1, "b": 1}}
    assert [str(error) for error in validate_rules(schema, both)] == [
        "spec: Invalid value: failed rule: has(self.a) != has(self.b)",
        "spec.a: Forbidden: too small",
    ]
    assert [str(error) for error in validate_rules(schema, {"spec": {"a": 3}}, {"spec": {"a": 4}})] == [
        "spec: Invalid value: was 4"
    ]
