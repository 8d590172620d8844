"""Whatever a template is, it renders or fails with a HelmError; nothing else comes out, and it comes out soon."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kymatui.errors import HelmError
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.language.environment import Environment, RenderLimits
from tests.helm.language.grammar import damaged, templates
from tests.helm.language.rendering import render

BOUNDED = Environment(limits=RenderLimits(depth=60, steps=5_000, output=200_000, seconds=5))
HELPERS = {"c/templates/_h.tpl": '{{ define "h" }}<{{ . }}>{{ end }}'}


def check(template: str) -> None:
    """Renders it; an error of the engine itself, which Helm's own text for a panic would hide, is a defect too."""
    said = outcome(template)
    assert not said.startswith("rendering template failed"), (template, said)


def outcome(template: str) -> str:
    """What it renders to, or the text of its HelmError."""
    try:
        text = render(template, files=HELPERS, functions=FUNCTIONS, environment=BOUNDED)
        text.encode()
    except HelmError as error:
        return str(error)
    return ""


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(templates)
def test_well_formed_templates(template: str) -> None:
    check(template)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(damaged())
def test_damaged_templates(template: str) -> None:
    check(template)


@given(st.text(alphabet="{}()|.$\"`'-:=, \n*/aif01end", max_size=40))
@example("{{-")
@example("{{- }}")
@example("{{ -}}")
@example("{{/**/-}}")
@example("{{'\\")
@example('{{"\\')
@example("{{.")
@example("{{$")
@example("{{1")
@example("{{1+")
def test_any_text(template: str) -> None:
    check("{{" + template)
