"""JSON from outside: bounds in values, depth and numbers, and errors without a word of the text."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kymatui.json_input import DEEPEST, MOST_VALUES, JsonInputError, read_json, read_json_start, require_few_values

SECRET = "hunter2-token"


@pytest.mark.parametrize(
    "text", ["null", "true", "-0.5e3", '"\\u00e9\\ud800"', "[]", '{"a": [1, {"b": null}]}', ' {"é": "✓"} ', "1" * 308]
)
@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-8-sig", "utf-16"])
def test_a_value_is_what_the_standard_library_makes_of_it(text: str, encoding: str) -> None:
    assert read_json(text.encode(encoding) if encoding else text) == json.loads(text)


def test_values_are_counted_before_they_take_memory() -> None:
    read_json("[" + "[]," * 997 + "[]]", most=1000)
    for text in (
        "[" + "[]," * 999 + "[]]",
        "[" + "1," * 999 + "1]",
        '{"a":' * 150 + "[" + "{}," * 900 + "{}]" + "}" * 150,
    ):
        for form in (text, text.encode()):
            with pytest.raises(JsonInputError, match="more than 1000 values"):
                read_json(form, most=1000)
    with pytest.raises(JsonInputError, match=f"more than {MOST_VALUES} values"):
        require_few_values(b"[" + b"[]," * MOST_VALUES + b"[]]")


@pytest.mark.parametrize("text", [",[{" * 1000, '\\",[' * 1000, "\\\\", "\\u005b" * 1000])
def test_marks_within_strings_are_no_values(text: str) -> None:
    whole = f'["{text}", "{text}"]'
    assert read_json(whole, most=10) == read_json(whole.encode(), most=10) == json.loads(whole)


@pytest.mark.parametrize(
    "text", ['"' + '\\"' * 2_000_000, '["' + '\\",' * 2_000_000, '"",' * 2_000_000 + '"', "\\" * 4_000_000]
)
def test_strings_without_an_end_take_no_time_for_each_mark(text: str) -> None:
    """What is quadratic runs into the time limit of the test."""
    with pytest.raises(JsonInputError):
        read_json(text)


@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_depth_is_bounded(pair: str) -> None:
    opening = pair[0] if pair == "[]" else '{"a":'
    assert read_json(opening * (DEEPEST - 1) + pair + pair[1] * (DEEPEST - 1)) is not None
    for text in (opening * DEEPEST + pair + pair[1] * DEEPEST, opening * 300_000):
        with pytest.raises(JsonInputError, match=f"nested in more than {DEEPEST} levels"):
            read_json(text)


@pytest.mark.parametrize(
    "number", ["1" * 309, "-" + "9" * 400, "9" * 10_000, "1e309", "-1e999", "NaN", "Infinity", "-Infinity"]
)
def test_a_number_that_no_float_holds_is_refused(number: str) -> None:
    for text in (number, f'{{"a": [{number}]}}'):
        with pytest.raises(JsonInputError, match="it has a number that is"):
            read_json(text)


def test_the_largest_numbers_are_read() -> None:
    value: Any = read_json(f"[{'9' * 308}, 1.7976931348623157e308]")
    assert [math.isfinite(float(part)) for part in value] == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        "",
        SECRET,
        f'{{"a": "{SECRET}',
        f'{{"a": "{SECRET}\\x"}}',
        f'{{"{SECRET}" 1}}',
        f'["{SECRET}"] {SECRET}',
        f"'{SECRET}'",
        f'"{SECRET}\n"',
        f'"{SECRET}'.encode() + b"\xff",
        f'{{"{SECRET}": 1e999}}',
        b"\xff\xfe" + SECRET.encode(),
    ],
)
def test_an_error_has_nothing_of_the_text(text: str | bytes) -> None:
    with pytest.raises(JsonInputError) as caught:
        read_json(text)
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__!r}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_an_error_has_the_position() -> None:
    with pytest.raises(JsonInputError, match=r"^line 2, column 4: it is not valid JSON: expecting value$"):
        read_json('["a",\n1, x]')


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [
        ('{"a": 1} rest', {"a": 1}, 8),
        ("[1] [2]", [1], 3),
        ('{"a": x}', None, -6),
        ('{"a": "b', None, -8),
        ("[" * 5000, None, -5000),
        ("[" * 300 + "]" * 300, None, -600),
        (f"[{'9' * 5000}]", None, -5002),
        ("[NaN]", None, -5),
        ("", None, -1),
    ],
)
def test_a_value_at_the_start_of_a_text(text: str, value: object, end: int) -> None:
    assert read_json_start(text) == (value, end)
