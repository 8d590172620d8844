"""What does not parse: the template, the line, and Helm's reason."""

# ruff: noqa: E501 - the rows of the tables stay whole

from __future__ import annotations

import pytest

from kymatui.errors import HelmError
from tests.helm.language.rendering import render

TABLE = [
    (
        "{{ true | print }} {{ \"x\" | print 1 }} {{ 'a' }} {{ '\\n' }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }} {{ 1e3 }} {{ 1.0 }} {{ .5 }} {{ 5. }} {{ 1i }} {{ 0i }} {{ 1+2i }} {{ 0x1p4 }} {{ 1e400 }}",
        1,
        '"1e400"',
    ),
    ("{{ 99999999999999999999 }}", 1, '"99999999999999999999"'),
    ("{{ 089 }}", 1, '"089"'),
    ("{{ 1x }}", 1, '"1x"'),
    ("{{ 0x }}", 1, '"0x"'),
    ("{{ _ }}", 1, 'function "_" not defined'),
    ("{{ foo }}", 1, 'function "foo" not defined'),
    ("{{ $undefined }}", 1, 'undefined variable "$undefined"'),
    ("{{ .a.. }}", 1, "unexpected <.> in operand"),
    ("{{ .a.1 }}", 1, 'unexpected ".1" in operand'),
    ("{{ .$x }}", 1, "bad character U+0024 '$'"),
    ('{{ "a\\qb" }}', 1, "invalid syntax"),
    ('{{ "a', 1, "unterminated quoted string"),
    ("{{ `raw", 1, "unterminated raw quoted string"),
    ("{{ 'ab' }}", 1, "'ab'"),
    ("{{ '' }}", 1, "invalid syntax"),
    ("{{ 'a", 1, "unterminated character constant"),
    ("{{/* unclosed", 1, "unclosed comment"),
    ("{{/* c */ x }}", 1, "comment ends before closing delimiter"),
    ("{{ if }}x{{ end }}", 1, "missing value for if"),
    ("{{ if .a }}", 1, "unexpected EOF"),
    ("{{ else }}", 1, "unexpected {{else}}"),
    ("{{ end }}", 1, "unexpected {{end}}"),
    ("{{ if .a }}{{ else }}{{ else }}{{ end }}", 1, "expected end; found {{else}}"),
    ("{{ range .a }}{{ break 1 }}{{ end }}", 1, 'unexpected "1" in {{break}}'),
    ("{{ break }}", 1, "{{break}} outside {{range}}"),
    ("{{ continue }}", 1, "{{continue}} outside {{range}}"),
    ('{{ define "x" }}{{ break }}{{ end }}', 1, "{{break}} outside {{range}}"),
    ('{{ define "x" }}a{{ end }}{{ define "x" }}b{{ end }}', 1, 'multiple definition of template "x"'),
    ("{{ define x }}a{{ end }}", 1, 'unexpected "x" in define clause'),
    ('{{ define "x" }}', 1, "unexpected EOF"),
    ("{{ ( }}", 1, "unclosed left paren"),
    ("{{ ) }}", 1, "unexpected right paren"),
    ("{{ (1 }}", 1, "unclosed left paren"),
    ("{{ 1 | 2 }}", 1, "non executable command in pipeline stage 2"),
    ("{{ | }}", 1, 'unexpected "|" in command'),
    ("{{ }}", 1, "missing value for command"),
    ("{{ $x := 1, 2 }}", 1, 'unexpected "," in operand'),
    ("{{ $x, $y := .Values.l }}", 1, "too many declarations in command"),
    ("{{ range $x, $y, $z := .Values.l }}{{ end }}", 1, "too many declarations in range"),
    ("{{ range $x, 1 := .Values.l }}{{ end }}", 1, "range can only initialize variables"),
    ("{{ with $x := .Values.s }}{{ $x }}{{ . }}{{ end }}{{ $x }}", 1, 'undefined variable "$x"'),
    ("{{ 1.x }}", 1, '"1.x"'),
    ("{{ nil.x }}", 1, 'unexpected . after term "nil"'),
    ('{{ "a".x }}', 1, 'unexpected . after term "\\"a\\""'),
    ("{{ true.x }}", 1, 'unexpected . after term "true"'),
    ("a {{- 1 }} b {{ 2 -}} c {{- /* x */ -}} d {{-3}} {{ 3-}}", 1, '"3-"'),
    ("{{ .Values.s", 1, "unclosed action"),
    ("}}{{", 1, "unclosed action"),
    ("{{ ☃ }}", 1, "U+2603 '☃'"),
    ("{{ .Values.☃ }}", 1, "bad character U+2603 '☃'"),
    ("{{ + }}", 1, '"+"'),
    ("{{ ! }}", 1, 'unexpected "!" in command'),
    ("{{ .Values.a! }}", 1, "bad character U+0021 '!'"),
    ("{{ a:b }}", 1, 'function "a" not defined'),
    ("{{ $x : 1 }}", 1, 'undefined variable "$x"'),
    ("{{ template .x }}", 1, 'unexpected ".x" in template clause'),
    ("{{ end }}{{ end }}", 1, "unexpected {{end}}"),
    ('{{ if true }}{{ define "y" }}{{ end }}{{ end }}', 1, "unexpected <define> in command"),
    ('{{ "a\n" }}', 1, "unterminated quoted string"),
    ("\n\n{{ if\n .Values.a\n", 5, "unclosed action started at c/templates/t.txt:3"),
    ("{{ .Values.a \n\n ! }}", 3, 'unexpected "!" in operand'),
    ('{{ printf "x"\n  (.Values.a\n }}', 3, "unclosed left paren in action started at c/templates/t.txt:1"),
    ("{{/* a\n\n b */}}\n{{ foo }}", 4, 'function "foo" not defined'),
]


@pytest.mark.parametrize(("template", "line", "reason"), TABLE)
def test_a_template_that_does_not_parse_is_refused_with_its_place(template: str, line: int, reason: str) -> None:
    with pytest.raises(HelmError) as caught:
        render(template)
    assert str(caught.value) == f"parse error at (c/templates/t.txt:{line}): {reason}"
