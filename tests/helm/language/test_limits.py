"""A chart is somebody else's program: whatever its templates do, they end in time and in memory, with a clear error."""

from __future__ import annotations

import itertools

import pytest

from kymatui.errors import HelmError
from kymatui.helm.language.environment import Environment, RenderLimits
from tests.helm.language.rendering import render

SMALL = Environment(limits=RenderLimits(depth=200, steps=20_000, output=100_000))

HUNGRY = {
    "a loop": "{{ range 100000000 }}{{ end }}",
    "loops in loops": "{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}",
    "templates that double": '{{ define "a" }}{{ range 1000 }}{{ template "b" }}{{ end }}{{ end }}'
    '{{ define "b" }}{{ range 1000 }}x{{ end }}{{ end }}{{ template "a" }}',
    "output": '{{ range 1000 }}{{ printf "%1000d" 1 }}{{ end }}',
    "a text that doubles": '{{ $x := "0123456789" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}{{ len $x }}',
    "escaping that grows": '{{ $x := "&" }}{{ range 60 }}{{ $x = html $x $x }}{{ end }}{{ len $x }}',
    "template in itself": '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    "include in itself": '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
    "tpl in itself": "{{ tpl .Values.t . }}",
    "parentheses": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "blocks": "{{ if true }}" * 20_000 + "{{ end }}" * 20_000,
    "blocks that never end": "{{ range 1 }}" * 5_000,
    "arguments": "{{ and " + "true " * 5_000 + "}}",
    "else if": "{{ if false }}" + "{{ else if false }}" * 5_000 + "{{ end }}",
}


@pytest.mark.parametrize("template", HUNGRY.values(), ids=HUNGRY.keys())
def test_hungry_templates_end_in_a_helm_error(template: str) -> None:
    with pytest.raises(HelmError):
        render(template, {"t": "{{ tpl .Values.t . }}"}, environment=SMALL)


RECURSIVE = '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}'


@pytest.mark.parametrize(
    ("limits", "template", "message"),
    [
        (RenderLimits(steps=100), "{{ range 1000 }}{{ end }}", "templates took more than 100 steps"),
        (RenderLimits(output=100), '{{ printf "%200d" 1 }}', "templates wrote more than 100 characters"),
        (RenderLimits(depth=20), RECURSIVE, r"exceeded maximum template depth \(20\)"),
        (RenderLimits(seconds=0), "{{ range 1000 }}{{ end }}", "templates took more than 0 seconds"),
    ],
)
def test_each_limit_says_which_it_is(limits: RenderLimits, template: str, message: str) -> None:
    with pytest.raises(HelmError, match=message):
        render(template, environment=Environment(limits=limits))


def test_helms_own_limit_of_recursion_has_helms_text() -> None:
    text = '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}'
    with pytest.raises(HelmError, match="rendering template has a nested reference name: a: unable to execute"):
        render(text)


def test_a_thousand_includes_within_each_other_are_fine() -> None:
    text = (
        '{{ define "a" }}{{ if lt (len .) 900 }}{{ include "a" (print . "x") }}{{ else }}{{ len . }}{{ end }}{{ end }}'
        '{{ include "a" "x" }}'
    )
    assert render(text) == "900"


def test_wall_time_is_bounded() -> None:
    ticks = itertools.count()
    impatient = Environment(limits=RenderLimits(seconds=5), monotonic=lambda: float(next(ticks)))
    with pytest.raises(HelmError, match="more than 5 seconds"):
        render("{{ range 100 }}{{ range 2 }}{{ end }}{{ end }}", environment=impatient)


def test_a_loop_that_is_left_at_once_costs_nothing() -> None:
    assert render("{{ range 10000000000 }}{{ . }}{{ break }}{{ end }}", environment=SMALL) == "0"


@pytest.mark.parametrize(
    "template",
    [
        "{{ .Values.__class__ }}",
        "{{ .__dict__ }}",
        "{{ $.Values.l.append }}",
        "{{ .Values.s.__len__ }}",
        "{{ .Values.s.upper }}",
        "{{ .Values.get }}",
        '{{ index . "__class__" }}',
        "{{ (print 1).__class__ }}",
        "{{ .Release.items }}",
        "{{ .Values.f.hex }}",
    ],
)
def test_nothing_of_python_is_within_reach(template: str) -> None:
    try:
        text = render(template)
    except HelmError as error:
        text = str(error).partition("\n")[0]
    assert text in ("", "c/templates/t.txt:1") or text.startswith("c/templates/t.txt:1:")


def test_values_that_nest_too_deeply_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(400):
        deep = {"d": deep}
    assert render("{{ len .Values }}", deep) == "1"
    circle: dict[str, object] = {}
    circle["c"] = circle
    from kymatui.helm.govalues.types import Function

    give = Function("circle", (), False, lambda: circle)
    with pytest.raises(HelmError, match="nested too deeply"):
        render("{{ print circle }}", functions={"circle": give})
