"""Named templates and the language's own functions

Every row is a template and what Helm v4 makes of it with `rendering.VALUES`.
"""

from __future__ import annotations

import pytest

from tests.helm.language.rendering import render

TABLE = [
    ('{{ define "x" }}<{{ . }}>{{ end }}{{ template "x" 5 }}{{ template "x" }}', "<5><>"),
    ('{{ block "b" .Values }}{{ .s }}{{ end }}', "str"),
    ('{{ .Values.n | include "x" }}{{ define "x" }}[{{ . }}]{{ end }}', "[]"),
    ('{{ index .Values.m "a" }} {{ index .Values.m "zz" }} {{ index .Values.s 0 }}', "1  115"),
    ('{{ len .Values.l }} {{ len .Values.s }} {{ len "é" }} {{ len .Values.m }}', "3 3 2 3"),
    ("{{ eq .Values.n nil }} {{ eq nil nil }} {{ eq .Values.s nil }}", "true true false"),
    ("{{ eq .Values.m nil }}", "false"),
    ("{{ eq 1 2 3 1 }}", "true"),
    ('{{ lt 1 2 }} {{ lt "a" "b" }} {{ le 1.5 2.5 }} {{ gt 3 2 }} {{ ge 2 2 }}', "true true true true true"),
    ('{{ not .Values.n }} {{ not 1 }} {{ not "" }}', "true false true"),
    ("{{ 1 | and 2 }} {{ 0 | or 0 }} {{ and nil 1 }} {{ or nil nil }}", "1 0  "),
    ('{{ eq (index .Values.l 0) "a" | not }}', "false"),
]


@pytest.mark.parametrize(("template", "text"), TABLE)
def test_naming(template: str, text: str) -> None:
    assert render(template) == text
