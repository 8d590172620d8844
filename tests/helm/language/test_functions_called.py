"""How functions and methods get their arguments: counts, types, nil, pipelines, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.errors import HelmError
from kymatui.helm.govalues.types import (
    ANY,
    LIST,
    MAP,
    Function,
    FunctionError,
    Int64,
    Object,
    TypedList,
    TypedMap,
    go_type,
)
from kymatui.helm.language.environment import Environment
from tests.helm.language.rendering import render


def show(*values: Any) -> str:
    return ",".join(f"{go_type(value)}:{value}" for value in values)


def refuse(*_: Any) -> Any:
    raise FunctionError("no such luck")


class Version(Object):
    """A pointer to a struct with a field and two methods."""

    go_type = "*v.Version"
    go_kind = "ptr"
    go_fields = ("Major",)

    def read_field(self, name: str) -> Any:
        return {"Major": Int64(3)}[name]

    def go_string(self) -> str:
        return "3.1"


Version.go_methods = {
    "Compare": Function("Compare", ("*v.Version",), False, lambda self, other: 0),
    "Take": Function("Take", ("string", "int"), True, lambda self, *args: show(*args)),
    "Fail": Function("Fail", (), False, refuse),
}

FUNCTIONS = {
    function.name: function
    for function in (
        Function("text", ("string",), False, show),
        Function("whole", ("int",), False, show),
        Function("long", ("int64",), False, show),
        Function("real", ("float64",), False, show),
        Function("truth", ("bool",), False, show),
        Function("map", (MAP,), False, show),
        Function("items", (LIST,), False, show),
        Function("anything", (ANY,), False, show),
        Function("many", ("string", ANY), True, show),
        Function("refuse", (ANY,), True, refuse),
        Function("version", (), False, Version),
        Function("words", (), False, lambda: TypedList("[]string", ["a", "b"])),
        Function("table", (), False, lambda: TypedMap("map[string]string", {"k": "v"})),
        Function("zone", (), False, lambda environment: str(environment.lint), takes_environment=True),
    )
}

TAKEN = [
    ('{{ text "a" }}', "string:a"),
    ('{{ "a" | text }}', "string:a"),
    ("{{ whole 3 }} {{ whole 'a' }} {{ whole 3.0 }}", "int:3 int:97 int:3"),
    ("{{ long 3 }} {{ real 3 }} {{ real 2.5 }}", "int64:Int64(3) float64:3.0 float64:2.5"),
    ("{{ truth true }} {{ truth (eq 1 2) }}", "bool:True bool:False"),
    ("{{ map .Values.m }}", "map[string]interface {}:{'a': 1.0, 'b': 'two', 'c': None}"),
    ("{{ map nil }} {{ items nil }} {{ anything nil }}", "map[string]interface {}:{} []interface {}:[] <nil>:None"),
    ("{{ .Values.n | map }} {{ .Values.n | anything }}", "map[string]interface {}:{} <nil>:None"),
    ("{{ anything .Values.n }}", "<nil>:None"),
    ('{{ many "a" 1 nil .Values.f }}', "string:a,int:1,<nil>:None,float64:2.5"),
    ('{{ 2 | many "a" 1 }} {{ "a" | many }}', "string:a,int:1,int:2 string:a"),
    ("{{ version }} {{ version.Major }} {{ (version).Major }}", "3.1 3 3"),
    ('{{ version.Take "a" 1 2 }} {{ 5 | version.Take "b" }}', "string:a,int:1,int:2 string:b,int:5"),
    ("{{ version.Compare version }}", "0"),
    ("{{ range words }}{{ . }};{{ end }}{{ table.k }}{{ table.missing }}", "a;b;v"),
    ("{{ zone }}", "False"),
]


@pytest.mark.parametrize(("template", "text"), TAKEN)
def test_arguments_arrive_as_go_would_pass_them(template: str, text: str) -> None:
    assert render(template, functions=FUNCTIONS) == text


REFUSED = [
    ("{{ text 1 }}", "expected string; found 1"),
    ("{{ text nil }}", "cannot assign nil to string"),
    ("{{ text .Values.f }}", "wrong type for value; expected string; got float64"),
    ("{{ text .Values.n }}", "wrong type for value; expected string; got interface {}"),
    ("{{ .Values.n | text }}", "invalid value; expected string"),
    ("{{ .Values.f | text }}", "wrong type for value; expected string; got float64"),
    ("{{ whole 2.5 }}", "expected integer; found 2.5"),
    ('{{ whole "a" }}', 'expected integer; found "a"'),
    ("{{ real true }}", "expected float; found true"),
    ("{{ truth 1 }}", "expected bool; found 1"),
    ("{{ map 1 }}", "can't handle 1 for arg of type map[string]interface {}"),
    ("{{ map .Values.l }}", "wrong type for value; expected map[string]interface {}; got []interface {}"),
    ("{{ map .Values.n }}", "wrong type for value; expected map[string]interface {}; got interface {}"),
    ("{{ map table }}", "wrong type for value; expected map[string]interface {}; got map[string]string"),
    ("{{ items words }}", "wrong type for value; expected []interface {}; got []string"),
    ("{{ text }}", "wrong number of args for text: want 1 got 0"),
    ('{{ "a" | text "b" }}', "wrong number of args for text: want 1 got 2"),
    ("{{ many }}", "wrong number of args for many: want at least 1 got 0"),
    ("{{ refuse 1 }}", "error calling refuse: no such luck"),
    ("{{ version.Fail }}", "error calling Fail: no such luck"),
    ("{{ version.Nope }}", "can't evaluate field Nope in type *v.Version"),
    ("{{ version.Nope 1 }}", "can't evaluate field Nope in type *v.Version"),
    ("{{ version.Major 1 }}", "Major has arguments but cannot be invoked as function"),
    ("{{ version.Take }}", "wrong number of args for Take: want at least 1 got 0"),
    ("{{ version.Take 1 }}", "expected string; found 1"),
    ("{{ version.Compare }}", "wrong number of args for Compare: want 1 got 0"),
    ("{{ version.Compare 1 }}", "can't handle 1 for arg of type *v.Version"),
    ("{{ version.Compare .Values.s }}", "wrong type for value; expected *v.Version; got string"),
    ("{{ range $x := words }}{{ $x.y }}{{ end }}", "can't evaluate field y in type string"),
    ("{{ table.k.y }}", "can't evaluate field y in type string"),
]


@pytest.mark.parametrize(("template", "reason"), REFUSED)
def test_what_does_not_fit_is_refused_in_gos_words(template: str, reason: str) -> None:
    with pytest.raises(HelmError) as caught:
        render(template, functions=FUNCTIONS)
    assert str(caught.value).rstrip().endswith(reason)


def test_lookup_asks_the_caller() -> None:
    asked: list[tuple[str, ...]] = []

    def answer(*question: str) -> dict[str, Any]:
        asked.append(question)
        return {"metadata": {"name": question[3]}}

    text = '{{ (lookup "v1" "Secret" "ns" "x").metadata.name }}'
    assert render(text, environment=Environment(lookup=answer)) == "x"
    assert asked == [("v1", "Secret", "ns", "x")]


def test_lint_lets_required_and_fail_pass() -> None:
    assert render('[{{ required "x" .Values.n }}{{ fail "y" }}]', environment=Environment(lint=True)) == "[]"


def test_a_defect_in_a_function_is_a_helm_error_too() -> None:
    broken = Function("broken", (), False, lambda: 1 // 0)
    with pytest.raises(HelmError, match="rendering template failed"):
        render("{{ broken }}", functions={"broken": broken})
