"""YAML as Helm's toYaml and toYamlPretty write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml
from kymatui.helm.yaml.writing import dump_yaml, dump_yaml_pretty

TEXTS: list[tuple[str, str]] = [
    ("a", "a"), ("", '""'), ("yes", '"yes"'), ("null", '"null"'), ("~", '"~"'), ("123", '"123"'), ("1e3", '"1e3"'),
    ("0x1f", '"0x1f"'), ("2024-01-02", '"2024-01-02"'), ("2001-13-01", "2001-13-01"), ("12:30:45", '"12:30:45"'),
    ("1_000", '"1_000"'), (".inf", '".inf"'), ("a: b", "'a: b'"), ("- x", "'- x'"), ("-x", "-x"), ("it's", "it's"),
    ("#x", "'#x'"), ("a#b", "a#b"), ("a #b", "'a #b'"), ("@x", "'@x'"), ("a\tb", '"a\\tb"'), ("a\r\nb", '"a\\r\\nb"'),
    ("  x", "'  x'"), ("trail ", "'trail '"), ("<<", "<<"), ("=", "="), ("?", "'?'"), ("a:b", "a:b"), ("é ☃", "é ☃"),
    ("\U0001f600", '"\\U0001F600"'), ("a\\b", "a\\b"), ("\x7f", "!"), ("a\u2028b", "'a\u2028  b'"),
    ("\ufeffab", '"\\uFEFF\\x61\\x62"'), ("a\x85b", "a b"), ("\udcff", "\ufffd"), ("---", "'---'"), ("---x", "'---x'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written"), TEXTS)
def test_a_string_has_quotes_only_where_go_puts_them(text: str, written: str) -> None:
    if written == "!":
        with pytest.raises(YamlError):
            dump_yaml(text)
    else:
        assert dump_yaml(text) == written + "\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\nb\n", "|\n  a\n  b\n"),
        ("a\n\n", "|+\n  a\n\n"),
        ("\n", "|2+\n\n"),
        ("\nx", "|2-\n\n  x\n"),
        (" a\nb", "|2-\n   a\n  b\n"),
        ("a \nb", '"a \\nb"\n'),
        ("a\nb ", '"a\\nb "\n'),
        ("a\tb\n", '"a\\tb\\n"\n'),
    ],
)
def test_lines_stand_in_a_literal_block_where_they_can(text: str, written: str) -> None:
    assert dump_yaml(text) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1.0, "1"), (1e6, "1000000"), (1234567.5, "1.2345675e+06"), (1e20, "1e+20"), (1e21, "1e+21"), (0.1, "0.1"),
        (1e-7, "1e-07"), (-0.0, "0"), (2**63, "9223372036854775808"), (True, "true"), (None, "null"), (7, "7"),
    ],
)  # fmt: skip
def test_numbers_lose_their_fraction_on_the_way_through_json(number: Any, written: str) -> None:
    assert dump_yaml(number) == written + "\n"


def test_collections_are_blocks_and_sequences_are_not_indented() -> None:
    value = {"b": [1.0, {"x": "y", "w": []}], "a": {"k": {}}, "n": [[1.0, [2.0]]]}
    assert dump_yaml(value) == 'a:\n  k: {}\nb:\n- 1\n- w: []\n  x: "y"\n"n":\n- - 1\n  - - 2\n'


def test_pretty_indents_sequences_and_does_not_fold() -> None:
    long = "word " * 30 + "end"
    value = {"a": [1.0, {"x": ["y"]}], "f": 1e6, "l": long, "o": "on"}
    assert dump_yaml_pretty(value) == f'a:\n  - 1\n  - x:\n      - "y"\nf: 1e+06\nl: {long}\no: "on"\n'


def test_pretty_writes_bytes_that_are_no_text_as_binary() -> None:
    assert dump_yaml_pretty({"a": "\udcff"}) == "a: !!binary /w==\n"


def test_long_texts_fold_at_spaces_after_column_80() -> None:
    words = " ".join(["word"] * 20)
    assert dump_yaml({"k": words}) == f"k: {' '.join(['word'] * 16)}\n  {' '.join(['word'] * 4)}\n"
    quoted = "a: " + words
    assert dump_yaml({"k": quoted}) == f"k: 'a: {' '.join(['word'] * 15)}\n  {' '.join(['word'] * 5)}'\n"


def test_long_keys_stand_behind_a_question_mark() -> None:
    assert dump_yaml({"k" * 129: [1.0]}) == f"? {'k' * 129}\n: - 1\n"
    with pytest.raises(YamlError):
        dump_yaml({"k" * 1023: 1.0})


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (["b", "a", "B"], ["B", "a", "b"]),
        (["a10", "a2", "a1"], ["a1", "a2", "a10"]),
        (["a-b", "a_b", "a.b", "ab"], ["a-b", "a.b", "a_b", "ab"]),
        (["a01", "a1"], ["a1", "a01"]),
        (["k", "/k", "1k"], ["/k", "1k", "k"]),
    ],
)
def test_keys_are_sorted_as_people_do(keys: list[str], order: list[str]) -> None:
    written = dump_yaml(dict.fromkeys(keys, True))
    assert [line.partition(":")[0] for line in written.splitlines()] == order


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": object()}])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(YamlError):
        dump_yaml(value)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=90), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    """But for what YAML's reader does to control characters and to line separators within quotes."""
    try:
        written = dump_yaml(value)
    except YamlError:
        return
    if not any(mark in written for mark in "\x85\u2028\u2029"):
        assert load_yaml(written) == load_yaml(dump_yaml(load_yaml(written)))
