"""Templates of `-o jsonpath`: what kubectl prints for them."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.jsonpath import JsonPathError, render_template

OBJ = {
    "cluster": "kcp",
    "modules": [
        {"name": "istio", "state": "Ready", "channels": {"fast": "1.2"}, "managed": True, "drift": None},
        {"name": "keda", "state": "Error", "channels": {}, "managed": False, "drift": None},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.cluster}", "kcp"),
        (".cluster", "kcp"),
        ("cluster", "kcp"),
        ("{$.cluster}", "kcp"),
        ("{.modules[*].name}", "istio keda"),
        ("{.modules[0].channels}", '{"fast":"1.2"}'),
        ("{.modules[*].managed}", "true false"),
        ("{.modules[0].drift}", ""),
        ("{.modules[9].name}", ""),
        ("{.nothing}", ""),
        ('{.modules[?(@.state=="Error")].name}', "keda"),
        ("in {.cluster}: {.modules[-1:].name}", "in kcp: keda"),
        (r'{range .modules[*]}{.name}{"\t"}{.state}{"\n"}{end}', "istio\tReady\nkeda\tError\n"),
        ("{range .modules[*]}{@.name} of {$.cluster}, {end}", "istio of kcp, keda of kcp, "),
        ("{range .modules[*]}{range .channels.*}<{@}>{end}{.name} {end}", "<1.2>istio keda "),
        ("{range .none[*]}{.name}{end}end", "end"),
        ("{'it is'} {.cluster}", "it is kcp"),
        ('{"{}"}', "{}"),
    ],
)
def test_a_template_prints_what_kubectl_prints(template: str, text: str) -> None:
    assert render_template(template, OBJ) == text


@pytest.mark.parametrize(
    "template", ["", "{", "{.a", "a}", "{}", "{.a[}", "{range .modules[*]}{.name}", "{.name}{end}", "{.a[?(b)]}"]
)
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(JsonPathError):
        render_template(template, OBJ)
