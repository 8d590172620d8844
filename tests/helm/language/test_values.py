"""Values: fields, literals, variables and their scope

Every row is a template and what Helm v4 makes of it with `rendering.VALUES`.
"""

from __future__ import annotations

import pytest

from tests.helm.language.rendering import render

TABLE = [
    ("{{ 'a' }} {{ '\\n' }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }}", "97 10 31 3 15 15 1000"),
    (
        "{{ 1e3 }} {{ 1.0 }} {{ .5 }} {{ 5. }} {{ 1i }} {{ 0i }} {{ 1+2i }} {{ 0x1p4 }}",
        "1000 1 0.5 5 (0+1i) (0+0i) (1+2i) 16",
    ),
    ("{{ .Values.n }}|{{ .Values.m }}|{{ .Values.l }}|{{ .Values.f }}", "|map[a:1 b:two c:<nil>]|[a b c]|2.5"),
    ("{{ (.Values.m).a }}", "1"),
    ("{{ (.Values.n).a }}", ""),
    (
        "{{ 9223372036854775807 }} {{ -9223372036854775808 }} {{ -0 }} {{ +5 }} {{ 1e18 }} {{ 1e19 }}",
        "9223372036854775807 -9223372036854775808 0 5 1e+18 1e+19",
    ),
    ('x` }} {{ "\\x41\\u00e9\\101" }}', "x` }} AéA"),
    ("{{/* comment */}}x{{- /* c */ -}} y", "xy"),
    ('{{ lookup "v1" "Pod" "" "" }}', "map[]"),
    ("{{ 1 | }}", "1"),
    ('x{{ "}}" }}y {{ `}}` }}', "x}}y }}"),
    ('{{ "a" }}{{- "b" -}} {{ "c" }}', "abc"),
    ('{{- "x" }}', "x"),
    ("{{ .Values.é }}", ""),
    ("{{ `raw\nx` }}", "raw\nx"),
    ("{{ with .Values.m }}{{ .a }}{{ else }}no{{ end }}", "1"),
    ("{{ with .Values.n }}{{ .a }}{{ else with .Values.m }}{{ .a }}2{{ end }}", "12"),
    ('{{ if and .Values.m (eq .Values.s "str") }}y{{ else if .Values.l }}z{{ end }}', "y"),
    ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}", "32"),
    ("{{ $x := .Values.n }}{{ $x.foo }}|{{ $x }}", "|"),
    ("{{ if $x := .Values.s }}{{ $x }}{{ end }}", "str"),
    ("{{ ($y := 5) }}{{ $y }}", "55"),
    ('{{ if eq .Values.s "str" }}yes{{ end }}{{ if ne .Values.s "str" }}no{{ end }}', "yes"),
]


@pytest.mark.parametrize(("template", "text"), TABLE)
def test_values(template: str, text: str) -> None:
    assert render(template) == text
