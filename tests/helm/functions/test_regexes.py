"""Regular expressions: Go's rules on RE2, and the same where RE2 is not there."""

from __future__ import annotations

import pytest

from kymatui.helm.functions.text import regexes
from tests.helm.functions.expressions import evaluate, failure

CASES = [
    ('regexMatch "^v?[0-9]+$" "v12"', "true"),
    ('regexMatch "a$" "a\\n"', "false"),  # the end is the end of the text
    ('regexMatch "(?m)^b$" "a\\nb\\nc"', "true"),
    ('regexMatch "(" "a"', "false"),
    ('regexFind "[0-9]+" "a12b3"', "12"),
    ('regexFind "x" "abc" | quote', '""'),
    ('regexFindAll "[0-9]" "1a2b3" 2', "[1 2]"),
    ('regexFindAll "x" "abc" -1 | toJson', "null"),
    ('regexFindAll "a*" "baac" -1 | toJson', '["","aa",""]'),
    ('regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"', "-W-xxW-"),
    ('regexReplaceAll "a(x*)b" "-ab-axxb-" "$1W"', "---"),  # there is no group "1W"
    ('regexReplaceAll "(?P<n>x)" "axb" "[$n$$$0]"', "a[x$x]b"),
    ('regexReplaceAll "" "ab" "-"', "-a-b-"),
    ('regexReplaceAll "\\\\W" "a-é b" "_"', "a___b"),
    ('regexReplaceAll "." "né" "x"', "xx"),
    ('regexReplaceAll "\\\\B" "caféx" "-"', "c-a-féx"),
    ('regexReplaceAllLiteral "\\\\B" "a€€b" "-"', "a€-€b"),
    ('regexFindAll "\\\\B" "aé😀b" -1 | len', "1"),
    ('regexSplit "\\\\B" "é€a" -1 | toJson', '["é","€a"]'),
    ('regexMatch "\\\\B" "aéa"', "false"),
    ('regexReplaceAllLiteral "a(x*)b" "axb" "${1}"', "${1}"),
    ('regexSplit "z+" "pizza" -1 | toJson', '["pi","a"]'),
    ('regexSplit "," "a,b,c" 2 | toJson', '["a","b,c"]'),
    ('regexSplit "," "a" 0 | toJson', "null"),
    ('regexSplit "," "" -1 | toJson', '[""]'),
    ('regexSplit "" "abc" -1 | toJson', '["a","b","c"]'),
    ('regexQuoteMeta "1.2.[3]"', "1\\.2\\.\\[3\\]"),
]


@pytest.mark.parametrize(("expression", "result"), CASES)
def test_patterns(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(("expression", "result"), CASES)
def test_the_stand_in_for_re2_answers_the_same(expression: str, result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "re2", None)
    regexes.compiled.cache_clear()
    try:
        assert evaluate(expression) == result
    finally:
        regexes.compiled.cache_clear()


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a*)*", r"(a|b+)+x", r"(\w+\s?)*", r"\pL", r"\p{Greek}", "[é]", "(?U)a+", "(?i:a(?s).)"]
)
def test_the_stand_in_refuses_what_it_cannot_do_as_safely(pattern: str) -> None:
    with pytest.raises(regexes.RegexpError, match="which has no RE2"):
        regexes.compile_translated(pattern)


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        ("a**b{1001}", "invalid nested repetition operator: `**`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        (r"\1", "invalid escape sequence: `\\1`"),
        (r"\C", "invalid escape sequence: `\\C`"),
        (r"\pX", "invalid character class range: `\\pX`"),
        ("[z-a]", "invalid character class range: `z-a`"),
    ],
)
def test_a_bad_pattern_is_described_in_gos_words(pattern: str, complaint: str) -> None:
    values = {"p": pattern}
    assert failure('mustRegexFind .Values.p "a"', values) == f"error parsing regexp: {complaint}"
    assert (
        failure('regexFind .Values.p "a"', values) == f"regexp: Compile(`{pattern}`): error parsing regexp: {complaint}"
    )


def test_no_pattern_searches_without_end() -> None:
    assert evaluate('regexMatch "(a+)+$" (printf "%s!" (repeat 5000 "a"))') == "false"


def test_a_replacement_does_not_grow_without_bound() -> None:
    assert "the limit is" in failure('regexReplaceAll "" (repeat 99999 "a") (repeat 9999 "b")')
