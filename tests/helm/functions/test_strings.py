"""Functions on texts. Lengths and positions count bytes, as in Go."""

from __future__ import annotations

import pytest

from tests.helm.functions.expressions import evaluate, failure


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('trunc 3 "abcdef"', "abc"),
        ('trunc -3 "abcdef"', "def"),
        ('trunc 9 "abc"', "abc"),
        ('trunc 3 "né" | quote', '"né"'),
        ('substr 1 3 "abcdef"', "bc"),
        ('substr -1 3 "abcdef"', "abc"),
        ('substr 2 -1 "abcdef"', "cdef"),
        ('abbrev 7 "hello world"', "hell..."),
        ('abbrevboth 5 10 "1234 5678 9123"', "...5678..."),
        ('trimSuffix "-" "a--"', "a-"),
        ('trimPrefix "v" "v1"', "1"),
        ('trimAll "$x" "$x5.00x$"', "5.00"),
        ('trim "\\u00a0 a\\t"', "a"),
        ('repeat 3 "ab"', "ababab"),
        ('replace "a" "bb" "aXa"', "bbXbb"),
        ('replace "" "-" "ab"', "-a-b-"),
        ('indent 2 "a\\n\\nb"', "  a\n  \n  b"),
        ('nindent 2 "a"', "\n  a"),
        ('nospace "a b\\tc"', "abc"),
        ('initials "First Try"', "FT"),
        ('plural "one" "many" 1', "one"),
        ('plural "one" "many" 0', "many"),
        ('wrap 5 "aaa bbb ccc"', "aaa\nbbb\nccc"),
        ('wrap 2 "unbreakable word"', "unbreakable\nword"),
        ('wrapWith 3 "|" "abcdefg"', "abc|def|g"),
        ('quote "a\\"b" 5 nil true', '"a\\"b" "5" "true"'),
        ('squote "a" 1.5', "'a' '1.5'"),
        ('cat "a" nil 1 (list 1 2)', "a 1 [1 2]"),
        ('join "-" (list "a" nil 1 true)', "a-1-true"),
        ('join "-" 5', "5"),
        ('split "," "a,b" | toJson', '{"_0":"a","_1":"b"}'),
        ('splitn "," 2 "a,b,c" | toJson', '{"_0":"a","_1":"b,c"}'),
        ('splitList "" "né" | toJson', '["n","é"]'),
        ('sortAlpha (list "b" "a" "B" 10)', "[10 B a b]"),
        ('contains "b" "abc"', "true"),
        ('hasPrefix "a" "abc"', "true"),
        ('hasSuffix "a" "abc"', "false"),
        ("toString 1e6", "1e+06"),
        ("toStrings (list 1 nil true) | toJson", '["1","true"]'),
        ("hello", "Hello!"),
    ],
)
def test_texts_are_cut_joined_and_filled(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('upper "straße ǆ"', "STRAßE Ǆ"),  # one letter stays one letter
        ('lower "ÀΣİ"', "àσi"),
        ('title "hello wORLD_foo-bar"', "Hello WORLD_foo-Bar"),
        ('untitle "Hello World"', "hello world"),
        ('swapcase "This Is A.Test"', "tHIS iS a.tEST"),
        ('camelcase "http_server-x"', "HttpServerX"),
        ('camelcase "_a__b"', "_A_B"),
        ('snakecase "HTTPServer2xx"', "http_server_2xx"),
        ('snakecase "Bld4Floor3rd"', "bld4_floor_3rd"),
        ('kebabcase "NoHTTPS GO_PATH"', "no-https-go-path"),
        ('kebabcase "Duration2m3s"', "duration-2m3s"),
    ],
)
def test_letters_change_case_by_gos_rules(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('repeat -1 "a"', "strings: negative Repeat count"),
        ('indent -1 "a"', "strings: negative Repeat count"),
        ('substr 4 9 "abc"', "runtime error: slice bounds out of range [4:3]"),
        ('substr -1 9 "abc"', "runtime error: slice bounds out of range [:9] with length 3"),
        ('substr 3 2 "abc"', "runtime error: slice bounds out of range [3:2]"),
    ],
)
def test_what_go_panics_at_is_an_error(expression: str, text: str) -> None:
    assert failure(expression) == text


@pytest.mark.parametrize(
    "expression",
    [
        'repeat 999999999 "abc"',
        'indent 9000000 "a\\nb\\nc\\nd\\ne\\nf\\ng\\nh"',
        'nindent 999999999 "a"',
        'replace "" (repeat 99999 "x") (repeat 9999 "y")',
        'wrapWith 1 (repeat 99999 "x") (repeat 9999 "y")',
    ],
)
def test_no_text_grows_without_bound(expression: str) -> None:
    assert "the limit is" in failure(expression)


def test_sorting_a_list_of_strings_sorts_that_list() -> None:
    assert evaluate('$l := splitList "," "b,a" }}{{ $_ := sortAlpha $l }}{{ $l') == "[a b]"
