"""What is said of text that is not JSON: Go's words, at Go's place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.sandbox.apiserver.encoding.body_decoding import go_json_error

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ('{"a', "unexpected end of JSON input"),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("tru", "unexpected end of JSON input"),
        ("{'a'}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-", "unexpected end of JSON input"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("[" * 10_001, "exceeded max depth"),
    ],
)
def test_complaints(text: str, complaint: str) -> None:
    assert go_json_error(text) == complaint


@given(VALUES)
def test_json_is_not_complained_of(value: object) -> None:
    assert go_json_error(json.dumps(value)) == ""


@given(VALUES, st.integers(min_value=0))
def test_what_breaks_off_is_not_json(value: object, at: int) -> None:
    text = json.dumps([value])
    assert go_json_error(text[: at % len(text)]) != ""
