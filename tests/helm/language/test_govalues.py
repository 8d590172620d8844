"""Go's values: names of types, numbers as texts, quoting, order, equality."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.errors import HelmError
from kymatui.helm.govalues.comparing import deep_equal
from kymatui.helm.govalues.floats import format_float, parse_float, parse_int, parse_uint
from kymatui.helm.govalues.naming import assignable, can_be_nil, elem_type, key_type, type_kind
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.quoting import quote, unquote
from kymatui.helm.govalues.text import MAX_TEXT, byte_length, check_size, from_bytes, normalize, runes, to_bytes
from kymatui.helm.govalues.types import (
    INVALID,
    Float32,
    Int64,
    NilPointer,
    TypedList,
    TypedMap,
    Uint8,
    go_type,
    kind,
    wrap_integer,
)


@pytest.mark.parametrize(
    ("name", "of_kind"),
    [
        ("string", "string"),
        ("[]uint8", "slice"),
        ("map[string][]string", "map"),
        ("*semver.Version", "ptr"),
        ("interface {}", "interface"),
        ("common.Values", "map"),
        ("time.Duration", "int64"),
        ("common.KubeVersion", "struct"),
        ("func(string) bool", "func"),
    ],
)
def test_kinds_follow_from_names(name: str, of_kind: str) -> None:
    assert type_kind(name) == of_kind


def test_parts_of_type_names() -> None:
    assert (key_type("map[string][]string"), elem_type("map[string][]string")) == ("string", "[]string")
    assert elem_type("map[[2]int]map[string]bool") == "map[string]bool"
    assert (key_type("common.Values"), elem_type("common.Values")) == ("string", "interface {}")
    assert [elem_type("[]string"), elem_type("*a.B")] == ["string", "a.B"]


@pytest.mark.parametrize(
    ("source", "target", "fits"),
    [
        ("string", "interface {}", True),
        ("common.Values", "map[string]interface {}", True),
        ("map[string]interface {}", "common.Values", True),
        ("map[string]string", "map[string]interface {}", False),
        ("int", "int64", False),
        ("int64", "time.Duration", False),
        ("[]string", "common.VersionSet", True),
        ("string", "reflect.Value", False),
    ],
)
def test_assignability(source: str, target: str, fits: bool) -> None:
    assert assignable(source, target) is fits


def test_what_nil_can_stand_for() -> None:
    assert [can_be_nil(name) for name in ("string", "int", "[]int", "map[string]int", "*a.B", "interface {}")] == [
        *(False, False),
        *(True, True, True, True),
    ]


@pytest.mark.parametrize(
    ("value", "name", "of_kind"),
    [
        (None, "<nil>", "invalid"),
        (INVALID, "<nil>", "invalid"),
        (True, "bool", "bool"),
        (1, "int", "int"),
        (1.0, "float64", "float64"),
        (Int64(1), "int64", "int64"),
        (Uint8(1), "uint8", "uint8"),
        ([], "[]interface {}", "slice"),
        ({}, "map[string]interface {}", "map"),
        (TypedList("[]string"), "[]string", "slice"),
        (TypedMap("map[string]string"), "map[string]string", "map"),
        (NilPointer("*a.B"), "*a.B", "ptr"),
    ],
)
def test_values_know_their_types(value: object, name: str, of_kind: str) -> None:
    assert (go_type(value), kind(value)) == (name, of_kind)


@pytest.mark.parametrize(
    ("number", "verb", "precision", "text"),
    [
        (0.0, "g", -1, "0"),
        (-0.0, "g", -1, "-0"),
        (100000.0, "g", -1, "100000"),
        (1000000.0, "g", -1, "1e+06"),
        (123456789.0, "g", -1, "1.23456789e+08"),
        (0.0001, "g", -1, "0.0001"),
        (0.00001, "g", -1, "1e-05"),
        (1e21, "f", -1, "1000000000000000000000"),
        (1.5, "f", 0, "2"),
        (2.5, "f", 0, "2"),
        (1234.5, "e", 2, "1.23e+03"),
        (1.0, "x", -1, "0x1p+00"),
        (0.1, "x", 3, "0x1.99ap-04"),
        (1.0, "b", -1, "4503599627370496p-52"),
        (float("inf"), "g", -1, "+Inf"),
        (float("-inf"), "g", -1, "-Inf"),
        (float("nan"), "g", -1, "NaN"),
    ],
)
def test_floats_as_go_writes_them(number: float, verb: str, precision: int, text: str) -> None:
    assert format_float(number, verb, precision) == text


def test_a_float32_has_its_own_shortest_digits() -> None:
    assert format_value(Float32(0.10000000149011612)) == "0.1"


@given(st.floats(allow_nan=False))
def test_floats_read_back_as_they_were(number: float) -> None:
    assert float(format_float(number)) == number
    assert float(format_float(number, "f")) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("10", 10), ("-0x1F", -31), ("0b11", 3), ("0o17", 15), ("017", 15), ("1_000", 1000), ("0", 0), ("+5", 5)],
)
def test_whole_numbers_with_a_base_of_their_own(text: str, number: int) -> None:
    assert parse_int(text, 0) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "invalid syntax"),
        ("x", "invalid syntax"),
        ("1__0", "invalid syntax"),
        ("0x", "invalid syntax"),
        ("089", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
    ],
)
def test_whole_numbers_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f'strconv.ParseInt: parsing "{text}": {reason}'):
        parse_int(text, 0)


def test_unsigned_and_real_numbers() -> None:
    assert parse_uint("18446744073709551615") == (1 << 64) - 1
    assert parse_float("0x1p-2") == 0.25
    with pytest.raises(ValueError, match=r'strconv.ParseFloat: parsing "1e400": value out of range'):
        parse_float("1e400")
    with pytest.raises(ValueError, match=r'strconv.ParseUint: parsing "-1": invalid syntax'):
        parse_uint("-1")


@given(st.integers())
def test_integers_wrap_around(number: int) -> None:
    assert wrap_integer(number) == ((number + (1 << 63)) % (1 << 64)) - (1 << 63)
    assert wrap_integer(number, 8, signed=False) == number % 256


@given(st.binary(max_size=20))
def test_quoted_bytes_read_back(data: bytes) -> None:
    text = from_bytes(data)
    assert to_bytes(unquote(quote(text))) == data
    assert to_bytes(unquote(quote(text, ascii_only=True))) == data
    assert quote(text, ascii_only=True).isascii()


@pytest.mark.parametrize("text", ['"', "'a", '"a"b"', "`a`b`", '"\\q"', '"\\400"', '"\\ud800"', '"a\nb"', '"\\"', ""])
def test_what_is_no_quoted_string(text: str) -> None:
    with pytest.raises(ValueError, match="invalid syntax"):
        unquote(text)


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_pieces_of_characters_heal_when_they_meet(first: bytes, second: bytes) -> None:
    joined = from_bytes(first) + from_bytes(second)
    assert normalize(joined) == from_bytes(first + second)
    assert byte_length(joined) == len(first + second)
    runes(normalize(joined)).encode()


def test_keys_are_in_gos_order() -> None:
    assert sorted_keys({"b": 1, "a": 1, "B": 1, "é": 1, "☃": 1, "𝒳": 1}) == ["B", "a", "b", "é", "☃", "𝒳"]
    assert sorted_keys({"\udcff": 1, "é": 1}) == ["é", "\udcff"]
    assert sorted_keys({10: 1, 9: 1}) == [9, 10]
    assert sorted_keys({"a": 1, 2: 1, True: 1, None: 1}) == [None, True, 2, "a"]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ([1, "a"], [1, "a"], True),
        (1, 1.0, False),
        (1, True, False),
        (Int64(1), 1, False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ([], TypedList("[]string"), False),
        (TypedList("[]string"), TypedList("[]int"), False),
        (TypedList("[]string"), TypedList("[]string", is_nil=True), False),
        (None, None, True),
        (None, [], False),
        (float("nan"), 1.0, False),
    ],
)
def test_deep_equality_looks_at_types(first: object, second: object, same: bool) -> None:
    assert deep_equal(first, second) is same


def test_typed_values_can_be_pickled() -> None:
    words = pickle.loads(pickle.dumps(TypedList("[]string", ["a"])))
    table = pickle.loads(pickle.dumps(TypedMap("map[string]string", {"a": "b"})))
    assert (words, go_type(words), table, go_type(table)) == (["a"], "[]string", {"a": "b"}, "map[string]string")
    assert pickle.loads(pickle.dumps(TypedList("[]string", is_nil=True))).is_nil
    assert pickle.loads(pickle.dumps(INVALID)) is INVALID


def test_texts_have_a_largest_size() -> None:
    check_size(MAX_TEXT)
    with pytest.raises(HelmError, match=f"more than {MAX_TEXT} characters"):
        check_size(MAX_TEXT + 1)
