"""A chart is somebody else's program: whatever its templates do, they end in time and in memory, with a clear error."""

from __future__ import annotations

import itertools

import pytest

from kymatui.errors import HelmError
from kymatui.helm.functions import FUNCTIONS
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
    with pytest.raises(HelmError, match=r"\A(?!rendering template failed)"):
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
        render("{{ range 2000 }}{{ range 2 }}{{ end }}{{ end }}", environment=impatient)


LETTERS = "".join(map(chr, range(0x4E00, 0x4E80)))
BIG = '{{ $x := repeat 400000 "é\\"-" }}'
WITHIN_FUNCTIONS = {
    "replaced matches": '{{ regexReplaceAll "a.*b|a" (repeat 500000 "a") "" }}',
    "found matches": '{{ regexFindAll "[a-z]" (repeat 400000 "a") -1 }}',
    "keys": '{{ range until 60 }}{{ $x := genPrivateKey "rsa" }}{{ end }}',
    "passwords": '{{ range until 400 }}{{ $x := bcrypt "x" }}{{ end }}',
    "derived passwords": '{{ range until 400 }}{{ $x := derivePassword 1 "long" "p" "u" "s" }}{{ end }}',
    "shuffled text": '{{ shuffle (repeat 900000 "a") }}',
    "other case": BIG + "{{ upper $x }}",
    "titles": BIG + "{{ title $x }}",
    "quoted text": BIG + "{{ quote $x }}",
    "escaped text": BIG + "{{ js $x }}",
    "JSON": BIG + "{{ toJson $x }}",
    "long YAML text": BIG + '{{ toYaml (replace "-" " " $x) }}',
    "YAML": "{{ toYaml (until 100000) }}",
    "YAML that is read": '{{ fromYamlArray (repeat 100000 "- 1\\n") }}',
    "TOML that is read": '{{ fromToml (printf "a = [%s]" (repeat 100000 "1,")) }}',
    "JSON that is wrong": '{{ fromJson (printf "[%s" (repeat 100000 "1,")) }}',
    "wrong base64": '{{ b64dec (printf "%s!" (repeat 200000 "a")) }}',
    "wrapped text": '{{ wrap 1 (repeat 200000 "a ") }}',
    "removed space": '{{ nospace (repeat 200000 "a ") }}',
    "cut characters": f'{{{{ trimAll "{LETTERS}" (repeat 2000 "{LETTERS}") }}}}',
    "equal maps": '{{ $l := list }}{{ range until 300 }}{{ $l = append $l (dict "a" .) }}{{ end }}{{ len (uniq $l) }}',
    "formatted parts": '{{ printf (repeat 100000 "%d") 1 }}',
}


def test_deadlines_hold_within_functions() -> None:
    unlimited = {}
    for name, template in WITHIN_FUNCTIONS.items():
        ticks = itertools.count()
        impatient = Environment(limits=RenderLimits(seconds=8), monotonic=lambda ticks=ticks: float(next(ticks)))  # type: ignore[misc]
        try:
            unlimited[name] = render(template, functions=FUNCTIONS, environment=impatient)[:40]
        except HelmError as error:
            if "took more than 8 seconds" not in str(error):
                unlimited[name] = str(error)
    assert unlimited == {}


GROWING = {
    "appended text": '{{ $l := list }}{{ range until 400 }}{{ $l = append $l (repeat 1000000 "x") }}{{ end }}',
    "text in a map": '{{ $d := dict }}{{ range until 400 }}{{ $_ := set $d (print .) (repeat 1000000 "x") }}{{ end }}',
    "entries of a map": '{{ $d := dict }}{{ range until 400000 }}{{ $_ := set $d (print .) 1 }}{{ end }}',
    "joined lists": '{{ $l := until 1000 }}{{ range until 400 }}{{ $l = concat $l (until 1000) }}{{ end }}',
    "copies": '{{ $v := until 10000 }}{{ $l := list }}{{ range until 400 }}{{ $l = append $l (deepCopy $v) }}{{ end }}',
    "texts": '{{ $v := until 10000 }}{{ $l := list }}{{ range until 400 }}{{ $l = append $l (toStrings $v) }}{{ end }}',
    "decoded JSON": '{{ range until 400 }}{{ $x := fromJsonArray (printf "[%s1]" (repeat 10000 "[],")) }}{{ end }}',
    "decoded TOML": '{{ range until 400 }}{{ $x := fromToml (printf "a=[%s]" (repeat 10000 "1,")) }}{{ end }}',
    "tables of TOML": '{{ $x := fromToml (repeat 300 (printf "[%s.b]\\n" (repeat 90 "a ."))) }}',
    "decoded YAML": '{{ range until 400 }}{{ $x := fromYamlArray (repeat 1000 "- []\\n") }}{{ end }}',
    "aliases": '{{ fromYaml (printf "a: &a [%s1]\\nb: [%s*a]" (repeat 5000 "[],") (repeat 100 "*a,")) }}',
    "padded parts": '{{ printf "%1000000d" (until 400) }}',
    "long precisions": '{{ printf (repeat 400 "%.1000000d") }}{{ printf (repeat 400 "%.900000[1]d") 1 }}',
    "matches": '{{ regexReplaceAll "a" (repeat 400000 "a") "b" }}',
    "included text": '{{ define "a" }}{{ repeat 1000000 "x" }}{{ end }}'
    '{{ range until 400 }}{{ $x := include "a" . }}{{ end }}',
    "literal text": '{{ define "a" }}' + "x" * 10_000 + '{{ end }}{{ range until 40000 }}{{ template "a" }}{{ end }}',
    "compiled texts": '{{ range until 4000 }}{{ tpl (print "{{ 1 }}" (repeat 200 "{{ .a }}") .) dict }}{{ end }}',
    "compiled blocks": "".join(f"{{{{ $v{n} := 1 }}}}" for n in range(2000))
    + ("{{ if 1 }}" * 12 + "{{ end }}" * 12) * 40,
}  # fmt: skip


@pytest.mark.parametrize("template", GROWING.values(), ids=GROWING.keys())
def test_memory_is_bounded(template: str) -> None:
    with pytest.raises(HelmError, match="made more than 20000000 bytes of text, lists and maps"):
        render(template, functions=FUNCTIONS, environment=Environment(limits=RenderLimits(memory=20_000_000)))


def test_a_limit_is_reported_with_template_and_line() -> None:
    """The innermost template is named, and it is said once however deep the templates nest."""
    text = (
        '{{ define "a" }}\n{{ repeat 200000 "x" }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}'
        '\n{{ include "b" . }}'
    )
    with pytest.raises(HelmError) as raised:
        render(text, functions=FUNCTIONS, environment=Environment(limits=RenderLimits(memory=100_000)))
    assert str(raised.value) == (
        'template: c/templates/t.txt:2:3: executing "a" at <repeat 200000 "x">: '
        "templates made more than 100000 bytes of text, lists and maps"
    )


def test_a_loop_that_ends_at_a_limit_is_named() -> None:
    with pytest.raises(HelmError, match=r"template: c/templates/t.txt:2:9: .* took more than 20000 steps"):
        render("a\n{{ range 100000000 }}{{ end }}", environment=SMALL)


def test_counting_starts_again_with_each_rendering() -> None:
    limits = RenderLimits(memory=1_000_000)
    for _ in range(3):
        assert render('{{ repeat 600000 "x" | len }}', functions=FUNCTIONS, environment=Environment(limits=limits))


def test_a_template_with_too_many_words_is_refused() -> None:
    with pytest.raises(HelmError, match=r"template: c/templates/t.txt: a template has more than 50000 words"):
        render("{{ list" + " 1" * 50_000 + " }}", functions=FUNCTIONS)


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
