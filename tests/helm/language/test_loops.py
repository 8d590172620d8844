"""Loops: what range goes over, in which order, with which variables

Every row is a template and what Helm v4 makes of it with `rendering.VALUES`.
"""

from __future__ import annotations

import pytest

from tests.helm.language.rendering import render

# ruff: noqa: E501 - the rows of the table stay whole
TABLE = [
    ("{{ range .Values.l }}[{{ . }}]{{ end }}", "[a][b][c]"),
    ("{{ range $i, $v := .Values.l }}{{ $i }}={{ $v }};{{ end }}", "0=a;1=b;2=c;"),
    ("{{ range $k, $v := .Values.m }}{{ $k }}={{ $v }};{{ end }}", "a=1;b=two;c=;"),
    ("{{ range $v := 3 }}{{ $v }}{{ else }}x{{ end }}{{ range 0 }}{{ else }}none{{ end }}", "012none"),
    ("{{ range .Values.n }}a{{ else }}b{{ end }}", "b"),
    (
        '{{ range .Values.l }}{{ if eq . "b" }}{{ continue }}{{ end }}{{ . }}{{ if eq . "c" }}{{ break }}{{ end }}{{ end }}',
        "ac",
    ),
    ("{{ $x := 1 }}{{ $y := 2 }}{{ range $x, $y = .Values.l }}{{ $x }}{{ $y }}{{ end }}{{ $x }}{{ $y }}", "0a1b2c2c"),
    ("{{ range $i, $x := .Values.e }}a{{ else }}{{ $i }}{{ $x }}{{ end }}", "[][]"),
    ("{{ range .Values.ln }}{{ . }}|{{ end }}", "|1|"),
]


@pytest.mark.parametrize(("template", "text"), TABLE)
def test_loops(template: str, text: str) -> None:
    assert render(template) == text
