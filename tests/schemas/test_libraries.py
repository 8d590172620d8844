"""What Kubernetes adds to CEL, optional values, moments, and types that are told before there is a value."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.schemas.cel.cel_parser import compile_expression
from kymatui.schemas.cel.cel_values import CelError
from kymatui.schemas.cel.validation_rules import expression_problem, validate_rules
from kymatui.schemas.objects.structural_schemas import crd_schema, value_schema

SELF: dict[str, Any] = {"m": {"x": 1}, "l": [1], "t": "2024-05-01T10:00:00Z"}


def evaluate(text: str) -> Any:
    return compile_expression(text, frozenset(["self"]))({"self": SELF})


@pytest.mark.parametrize(
    "text",
    [
        "isQuantity('1Gi') && !isQuantity('x')",
        "quantity('1Gi').isGreaterThan(quantity('1000M'))",
        "quantity('2k').add(quantity('1')).compareTo(quantity('2001')) == 0",
        "quantity('1500m').isInteger() == false && quantity('3').asInteger() == 3",
        "isURL('https://a.b:8/c?d=e') && url('https://a.b:8/c?d=e').getPort() == '8'",
        "url('https://a.b/c').getScheme() == 'https' && url('https://a.b/c').getHost() == 'a.b'",
        "ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && !isIP('10.0.0')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('11.0.0.1')",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').prefixLength() == 8",
        "isSemver('1.2.3') && semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('1.2.3').minor() == 2",
        "'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "format.dns1123Label().validate('Bad_').hasValue() && !format.dns1123Label().validate('good').hasValue()",
        "sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1])",
        "duration('1h30m') > duration('1h') && duration('90m').getHours() == 1",
        "timestamp(self.t) - duration('1h') == timestamp('2024-05-01T09:00:00Z')",
        "timestamp(self.t).getFullYear() == 2024 && timestamp(self.t).getHours('Europe/Berlin') == 12",
        "self.m.?x.hasValue() && !self.m.?y.hasValue() && self.m.?y.orValue(7) == 7",
        "self.?m.?x.optMap(v, v + 1).value() == 2",
        "self.l[?0].value() == 1 && !self.l[?5].hasValue()",
        "optional.of(1).value() == 1 && optional.none().orValue(3) == 3",
        "'%s has %d' .format(['a', 2]) == 'a has 2'",
    ],
)
def test_what_holds(text: str) -> None:
    assert evaluate(text) is True


@pytest.mark.parametrize(
    "text", ["quantity('x')", "ip('x')", "duration('x')", "optional.none().value()", "'a'.family()"]
)
def test_what_fails_is_an_error_of_the_rule(text: str) -> None:
    with pytest.raises(CelError):
        evaluate(text)


OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}


@pytest.mark.parametrize(
    ("document", "rule", "problem"),
    [
        (OBJECT, "self.n > 1", ""),
        (OBJECT, "self.x > 1", "ERROR: <input>:1:5: undefined field 'x'\n | self.x > 1\n | ....^"),
        (OBJECT, "self.n == self.s", "found no matching overload for '_==_' applied to '(int, string)'"),
        (OBJECT, "self.n.deep", "type 'int' does not support field selection"),
        (OBJECT, "self.n", "cel expression must evaluate to a bool"),
        (OBJECT, "other == 1", "undeclared reference to 'other' (in container '')"),
        (OBJECT, "self.n >\n 'a'", "ERROR: <input>:1:8: found no matching overload"),
        ({"type": "array", "items": OBJECT}, "self.all(i, i.x == 1)", "undefined field 'x'"),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "self.any.thing == 1", ""),
    ],
)
def test_a_schema_tells_what_a_rule_can_never_mean(document: dict[str, Any], rule: str, problem: str) -> None:
    found = expression_problem(rule, value_schema(document), "bool")
    assert (problem in found) if problem else found == ""


def test_texts_with_a_format_are_times_to_a_rule() -> None:
    rules = [{"rule": "self.end - self.start <= duration('1h')", "message": "too long"}]
    times = {name: {"type": "string", "format": "date-time"} for name in ("start", "end")}
    schema = crd_schema({"type": "object", "properties": {**times}, "x-kubernetes-validations": rules})
    short = {"start": "2024-01-01T00:00:00Z", "end": "2024-01-01T00:30:00Z"}
    assert validate_rules(schema, short) == []
    assert [str(e) for e in validate_rules(schema, {**short, "end": "2024-01-01T02:00:00Z"})] == [
        "Invalid value: too long"
    ]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("", "v: Invalid value: 5: no"),
        ("FieldValueForbidden", "v: Forbidden: no"),
        ("FieldValueRequired", "v: Required value: no"),
        ("FieldValueDuplicate", "v: Duplicate value: 5"),
    ],
)
def test_a_scalar_is_shown_where_it_is_invalid(reason: str, shown: str) -> None:
    rule = {"rule": "self < 5", "message": "no", **({"reason": reason} if reason else {})}
    value = {"type": "integer", "x-kubernetes-validations": [rule]}
    schema = crd_schema({"type": "object", "properties": {"v": value}})
    assert [str(error) for error in validate_rules(schema, {"v": 5})] == [shown]


def test_an_optional_old_value_is_there_at_creation_too() -> None:
    rule = {"rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": True, "message": "down"}
    value = {"type": "integer", "x-kubernetes-validations": [rule]}
    schema = crd_schema({"type": "object", "properties": {"v": value}})
    assert validate_rules(schema, {"v": 5}) == []
    assert [str(error) for error in validate_rules(schema, {"v": 4}, {"v": 5})] == ["v: Invalid value: 4: down"]
