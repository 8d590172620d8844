"""YAML as sigs.k8s.io/yaml reads it: what each text means, and what is refused."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import MAX_DEPTH
from kymatui.helm.yaml.reading import documents, load_as_json, load_yaml

SCALARS: list[tuple[str, Any]] = [
    # booleans of YAML 1.1, and words that only look like them
    ("y", True), ("Yes", True), ("on", True), ("TRUE", True), ("N", False), ("off", False), ("tRUE", "tRUE"),
    # nothing
    ("~", None), ("null", None), ("Null", None), ("", None), ("nil", "nil"),
    # numbers are floats; sexagesimals and dates are strings
    ("0644", 420.0), ("0o644", 420.0), ("0x1F", 31.0), ("0b11", 3.0), ("1_000", 1000.0), ("1e3", 1000.0), ("08", 8.0),
    (".5", 0.5), ("+1", 1.0), ("1.", 1.0), ("-0", 0.0), ("12:30:45", "12:30:45"), ("2024-01-02", "2024-01-02"),
    ("1e400", "1e400"), ("0o8", "0o8"), (".5_0", 0.5), ("1_0.5", 10.5), ("0_8", 8.0), ("_1", "_1"), ("1.2.3", "1.2.3"),
    # quotes and tags
    ("'1'", "1"), ('"yes"', "yes"), ("!!str 123", "123"), ("!!int \"5\"", 5.0), ("!!float 3", 3.0), ("! 12", "12"),
    ("!!binary aGVsbG8=", "hello"), ("!foo bar", "bar"), ("!!timestamp 2001-01-01", "2001-01-01"), ("<<", "<<"),
    ("=", "="),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_scalar_is_what_go_makes_of_it(text: str, value: Any) -> None:
    for found in (load_yaml(text), load_yaml(f"a: {text}\n")["a"], load_yaml(f"- {text}\n")[0]):
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1: a\n1.5: b\ntrue: c\n0.1: d\n", {"1": "a", "1.5": "b", "true": "c", "0.1": "d"}),
        ("y: 1\nn: 2\n", {"true": 1.0, "false": 2.0}),
        ("? !!str 123\n: v", {"123": "v"}),
        ("1e50: a", {".inf": "a"}),
        ("a: 1\na: 2\n", {"a": 2.0}),
    ],
)
def test_keys_become_strings_and_the_last_of_equal_ones_counts(text: str, value: Any) -> None:
    assert load_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1.0}, "c": {"b": 1.0}}),
        ("a: &x {b: 1}\nd:\n  <<: *x\n  e: 2\n", {"a": {"b": 1.0}, "d": {"b": 1.0, "e": 2.0}}),
        ("a: {b: 0, <<: {b: 1}}", {"a": {"b": 1.0}}),
        ("a: {<<: {b: 1}, b: 0}", {"a": {"b": 0.0}}),
        ("a: {<<: [{b: 1}, {b: 2, c: 3}]}", {"a": {"b": 1.0, "c": 3.0}}),
        ('a: {"<<": 1}', {"a": {"<<": 1.0}}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1.0, "b": 2.0, "c": 2.0}),
    ],
)
def test_anchors_and_merges(text: str, value: Any) -> None:
    assert load_yaml(text) == value


def test_an_alias_is_a_copy() -> None:
    value = load_yaml("a: &x {b: [1]}\nc: *x\n")
    value["c"]["b"].append(2)
    assert value["a"] == {"b": [1.0]}


REFUSED = [
    ("a: [", "yaml: line 1: did not find expected node content"),
    ("\ta: b", "yaml: found character that cannot start any token"),
    ("a: *x", "yaml: unknown anchor 'x' referenced"),
    ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
    ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
    ("a: !!binary '%'", "yaml: !!binary value contains invalid base64 data"),
    ("a: .nan", "json: unsupported value: NaN"),
    ("a: -.inf", "json: unsupported value: -Inf"),
    ("%YAML 1.2\n---\na", "yaml: found incompatible YAML document"),
    ('"\\/"', "yaml: found unknown escape character"),
    ("[a?b]", "yaml: did not find expected ',' or ']'"),
    ("a: 1\n b: 2", "yaml: line 2: mapping values are not allowed in this context"),
    ("a: \x01", "yaml: control characters are not allowed"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_go_refuses_is_refused_in_its_words(text: str, words: str) -> None:
    with pytest.raises(YamlError) as found:
        load_yaml(text)
    assert str(found.value) == f"error converting YAML to JSON: {words}"


@pytest.mark.parametrize("text", ["~: 1", "? []\n: 1", "{a: 1}: b", "18446744073709551615: a"])
def test_keys_without_a_json_form_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        load_yaml(text)


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    with pytest.raises(YamlError, match="excessive aliasing"):
        load_yaml("\n".join(lines))


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 5000 + "a", "[" * 600, "- " * 600 + "a"])
def test_depth_has_a_limit_whichever_reader_finds_it(text: str) -> None:
    """libyaml from 0.2.6 on has a limit of its own, and reads ahead of what is taken from it."""
    with pytest.raises(YamlError, match=f"yaml: exceeded max depth of {MAX_DEPTH}$"):
        load_yaml(text)


def test_only_the_first_document_is_read_and_documents_reads_all() -> None:
    text = "a: 1\n---\nb: 2\n---\n---\n- c\n"
    assert load_yaml(text) == {"a": 1.0}
    assert list(documents(text)) == [{"a": 1.0}, {"b": 2.0}, None, ["c"]]
    assert load_yaml("a: 1\n---\nb: ]") == {"a": 1.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\ufeffa: 1", {"a": 1.0}),
        ("a: 1\n\ufeffb: 2", {"a": 1.0, "\ufeffb": 2.0}),
        ("# c\n\ufeffa: {b:}", {"\ufeffa": {"b:": None}}),
        ("a:\n\ufeff  b: 1", {"a": None, "\ufeff  b": 1.0}),
        ("a: \uf8c4", {"a": "\uf8c4"}),
    ],
)
def test_a_byte_order_mark_is_skipped_only_at_the_beginning(text: str, value: Any) -> None:
    assert load_yaml(text) == value


def test_strict_reading_refuses_a_key_that_stands_twice() -> None:
    with pytest.raises(YamlError, match='line 2: key "a" already set in map'):
        load_yaml("a: 1\na: 2\n", strict=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"""a: "Don\'t" """, {"a": "Don't"}),
        (r"""{"a\'b": ["\\\'", "\\'"]}""", {"a'b": [r"\'", r"\'"]}),
        ('a: "' + r"\'" * 150 + '"', {"a": "'" * 150}),
    ],
)
def test_an_apostrophe_is_escaped_in_double_quotes(text: str, value: Any) -> None:
    assert load_yaml(text) == value
    assert list(documents(f"1\n---\n{text}\n---\n2")) == [1.0, value, 2.0]


@pytest.mark.parametrize(
    ("text", "value"), [("{k:}", {"k:": None}), ("[a:, b]", ["a:", "b"]), ("[]: v", []), ("{a:{}}", None)]
)
def test_flow_collections_that_libyaml_reads_otherwise(text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(YamlError):
            load_yaml(text)
    else:
        assert load_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b\n{}", "line 1: did not find expected key"),
        ("a: b\n{}\nc: d", "line 1: did not find expected key"),
        ("a:\n- b\n[]\n", "line 2: did not find expected key"),
        ("a:\n - b\n []\n", "line 2: did not find expected '-' indicator"),
        ("x:\n  -\n  {}\n  - a\n", "line 4: could not find expected ':'"),
        ("a: b\n{x}\n", "line 3: could not find expected ':'"),
        ("a: {{ .Values.x }}", 'invalid map key: map[interface {}]interface {}{".Values.x":interface {}(nil)}'),
        ("{[1, x, null]: 1}", 'invalid map key: []interface {}{1, "x", interface {}(nil)}'),
        ("a:\n  []: b", "line 1: did not find expected key"),
        ("- []: b", "did not find expected '-' indicator"),
        ("a: [ {}: b ]", "did not find expected ',' or ']'"),
        ("x:\n  ? []\n  : b", "invalid map key: []interface {}{}"),
        ("!!map {}: a", "invalid map key: map[interface {}]interface {}{}"),
    ],
)
def test_brackets_where_a_key_should_be_are_refused_in_gos_words(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        load_yaml(text)
    assert str(caught.value) == f"error converting YAML to JSON: yaml: {problem}"


def test_a_tag_has_the_comma_or_the_bracket_that_follows_it() -> None:
    """`!!str,` is a tag that go-yaml does not know, so it does not count."""
    assert load_yaml("[!!str, {}]") == [{}]
    assert load_yaml("a: [!!str x, !!int 3]") == {"a": ["x", 3.0]}
    assert load_yaml("[&x !!str, y, *x]") == ["y", "y"]
    assert load_yaml("!!seq]") == ""
    assert load_yaml("k: !!, b") == {"k": "b"}
    assert load_yaml("[!![] b]") == ["b"]


def test_a_key_that_is_null_is_told_with_its_value() -> None:
    with pytest.raises(YamlError) as caught:
        load_yaml("~: [1, x]")
    problem = '%!s(<nil>), key: <nil>, value: []interface {}{1, "x"}'
    assert str(caught.value) == f"error converting YAML to JSON: unsupported map key of type: {problem}"


SYNTAX = st.lists(
    st.sampled_from(
        [
            "a",
            ": ",
            ":",
            "- ",
            "\n",
            "  ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "? ",
            "&x ",
            "*x ",
            "<<: ",
            '"',
            "|",
            "!!int ",
            "---\n",
        ]
    )
)


@given(st.binary(max_size=60) | st.text(max_size=60) | SYNTAX.map("".join))
@example("{a:}")
@example("{}:")
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    for read in (load_yaml, load_as_json, lambda one: list(documents(one))):
        with contextlib.suppress(YamlError):
            read(text)


def test_a_document_that_ends_early_hides_no_other() -> None:
    assert list(documents("{}: a\n---\nb: c\n")) == [{}, {"b": "c"}]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool) or one is None:
        return one is other
    return bool(one == other)


def test_every_recorded_text_is_read_as_helm_reads_it(shared: Path) -> None:
    failed = []
    with gzip.open(shared / "helm" / "yaml-cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            try:
                value = load_as_json(case["yaml"])
                agrees = not case.get("error") and _same(json.loads(case["json"]), value)
            except YamlError:
                agrees = bool(case.get("error"))
            if not agrees:
                failed.append(case["yaml"])
    assert failed == []


def test_large_numbers_have_the_digits_that_go_prints() -> None:
    assert load_as_json("[9223372036854775807, 1e400]") == [9223372036854776000, "1e400"]
    assert load_yaml("9223372036854775807") == math.ldexp(1, 63)


def test_long_texts_are_read_and_not_remembered() -> None:
    """Files within ConfigMaps are plain scalars, too: what was read of them must not stay for as long as a process."""
    found = subprocess.run([sys.executable, "-c", LONG_TEXTS], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 500_000


LONG_TEXTS = """
import tracemalloc
from kymatui.helm.yaml.reading import load_yaml

load_yaml("a: b")
tracemalloc.start()
for number in range(20):
    assert len(load_yaml(f"a: {number} {'x ' * 50_000}y")["a"]) > 100_000
print(tracemalloc.get_traced_memory()[0])
"""
"""In a process of its own, since memory is counted for all threads."""
