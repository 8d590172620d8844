"""Rules are hostile input: an evaluation ends at its cost, and raises nothing but CelError."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.schemas.cel import cel_costs
from kymatui.schemas.cel.cel_lexer import CelSyntaxError
from kymatui.schemas.cel.cel_parser import compile_expression
from kymatui.schemas.cel.cel_values import CelError
from kymatui.schemas.cel.validation_rules import expression_problem, validate_rules
from kymatui.schemas.objects.structural_schemas import crd_schema

SELF: dict[str, Any] = {"l": list(range(200)), "s": "ab" * 5_000, "o": [{"a": n} for n in range(200)], "m": {"a": 1}}
EXCEEDED = cel_costs.EXCEEDED


def evaluate(text: str) -> Any:
    return compile_expression(text, frozenset(["self"]))({"self": SELF})


ENDLESS = {
    "loops in loops": "self.l.map(x, self.l.map(y, self.l.map(z, self.l.map(u, z + u))))",
    "loops that fail": "self.l.all(x, self.l.all(y, self.l.all(z, self.l.all(u, self.m[z] == u))) || true)",
    "failures that are outweighed": "self.l.all(x, self.l.all(y, self.l.all(z, z < 0 || z > -1))) || true",
    "texts that grow": "self.s.replace('a', self.s).replace('a', self.s)",
    "joined texts": "self.l.map(x, self.s).join(self.s).split('a').map(x, self.s).join('')",
    "added texts": "[self.s + self.s].map(a, a + a).map(a, a + a).map(a, [1,2,3,4,5,6,7,8].map(x, a.replace('b', a)))",
    "lists that are added": "self.l.map(x, self.l.map(y, self.l + self.l + self.l + self.l + self.l + self.l))",
    "compared lists": "self.l.all(x, self.o.map(y, self.o) == self.o.map(y, self.o) && sets.contains(self.o, self.o))",
    "long searches": "self.l.all(x, self.s.matches('(a|b)*a(a|b){500}c') || true)",
    "searches for all": "self.l.all(x, self.s.findAll('a.*c|a').size() > 0)",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_evaluation_ends_at_its_cost(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cel_costs, "CALL_COST", 50_000)
    with pytest.raises(CelError, match=EXCEEDED):
        evaluate(text)


def test_searches_cannot_backtrack() -> None:
    assert evaluate("self.s.find('^(a|ab|b)+$') == self.s && !self.s.matches('^(a+b+)+c$')") is True


def test_the_rules_of_one_object_share_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cel_costs, "OBJECT_COST", 1_000)
    rules = [{"rule": "self.l.all(x, x >= 0)"}] * 10
    schema = crd_schema({"type": "object", "x-kubernetes-validations": rules, "properties": {"l": {"type": "array"}}})
    errors = validate_rules(schema, {"l": SELF["l"]})
    assert 4 <= len(errors) < 10
    assert all(EXCEEDED in str(error) for error in errors)
    assert len(validate_rules(schema, {"l": SELF["l"]})) == len(errors)


@pytest.mark.parametrize(
    "text",
    [
        "1" + " + 1" * 20_000,
        "{[1]: 2}",
        "self.m[self.l]",
        "self.l in self.m",
        "self.m[?self.l].hasValue()",
        "'%.999999999f'.format([1.0])",
        "'%d %x'.format(['a', 'b'])",
        "int('9' + '9'.replace('9', '99999999999999999999'))",
        "self.m < 1 || self.l + 1 > 2",
        "duration('9999999999999h') > duration('1s')",
        "timestamp('9999-99-99T00:00:00Z') == 1",
        "self.l.sum() + self.o.sum() > 1",
        "self.l.min() < self.o.max()",
        "ip('::1%eth0').family() == cidr('x').prefixLength()",
    ],
)
def test_nothing_but_an_error_of_the_evaluation_comes_out(text: str) -> None:
    with pytest.raises(CelError):
        evaluate(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "1",
        "!" * 50_000 + "true",
        "9" * 5_000,
        "0x" + "f" * 5_000,
        "'\\UFFFFFFFF'",
        "self.l.map(x, " * 500,
        "1" * 200_000,
    ],
)
def test_no_expression_breaks_the_compiler(text: str) -> None:
    assert "compilation failed" in expression_problem(text)
    with pytest.raises(CelSyntaxError):
        compile_expression(text, frozenset(["self"]))
