"""Functions on maps, and which of them change what they are given."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kymatui.helm.encodings import json_encoder
from kymatui.helm.functions import declaring, dicts
from kymatui.helm.govalues import bounding
from tests.helm.functions.expressions import evaluate, failure


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('dict "a" 1 2 "b" "last" | toJson', '{"2":"b","a":1,"last":""}'),
        ('get (dict "a" 1) "b" | quote', '""'),
        ('hasKey (dict "a" nil) "a"', "true"),
        ('pluck "a" (dict "a" 1) (dict) (dict "a" nil)', "[1 <nil>]"),
        ('pick (dict "a" 1 "b" 2) "b" "c"', "map[b:2]"),
        ('omit (dict "a" 1 "b" 2) "b" "c"', "map[a:1]"),
        ('keys (dict "a" 1) | typeOf', "[]string"),
        ('keys (dict "b" 1) (dict "a" 2)', "[b a]"),
        ('values (dict "a" (list 1))', "[[1]]"),
        ('dig "a" "b" 5 (dict "a" (dict "b" 0))', "0"),
        ('dig "a" "x" 5 (dict "a" (dict "b" 0))', "5"),
        ('deepCopy (dict "a" (list 1))', "map[a:[1]]"),
    ],
)
def test_maps_are_read(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("target", "source", "merged", "overwritten"),
    [
        ('"a" 1', '"a" 2 "b" 3', '{"a":1,"b":3}', '{"a":2,"b":3}'),
        ('"a" 0', '"a" 2', '{"a":2}', '{"a":2}'),  # what is empty counts as not set
        ('"a" false', '"a" true', '{"a":true}', '{"a":true}'),
        ('"a" 1', '"a" nil', '{"a":1}', '{"a":null}'),
        ('"a" 1', '"a" ""', '{"a":1}', '{"a":""}'),
        ('"a" 1', '"b" nil', '{"a":1}', '{"a":1,"b":null}'),
        ('"a" (list 1 2)', '"a" (list 3)', '{"a":[1,2]}', '{"a":[3]}'),
        ('"a" (list)', '"a" (list 3)', '{"a":[3]}', '{"a":[3]}'),
        ('"a" (dict "x" 1)', '"a" (dict "x" 2 "y" 3)', '{"a":{"x":1,"y":3}}', '{"a":{"x":2,"y":3}}'),
        ('"a" (dict "x" 1)', '"a" (dict)', '{"a":{"x":1}}', '{"a":{"x":1}}'),
        ('"a" "s"', '"a" (dict "x" 1)', '{"a":"s"}', '{"a":{"x":1}}'),
        ('"a" (dict "x" 1)', '"a" "s"', '{"a":{"x":1}}', '{"a":"s"}'),
    ],
)
def test_merging(target: str, source: str, merged: str, overwritten: str) -> None:
    for function in ("merge", "mustMerge"):
        assert evaluate(f"{function} (dict {target}) (dict {source}) | toJson") == merged
    for function in ("mergeOverwrite", "mustMergeOverwrite"):
        assert evaluate(f"{function} (dict {target}) (dict {source}) | toJson") == overwritten


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("mustMerge nil | toJson", "null"),
        ("mergeOverwrite nil nil | toJson", "null"),
        ("mustMerge nil (dict) | toJson", "{}"),
    ],
)
def test_a_merge_of_nil_is_null(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ('set $d "b" 2', "map[a:map[x:1] b:2]"),
        ('unset $d "a"', "map[]"),
        ('merge $d (dict "c" 3)', "map[a:map[x:1] c:3]"),
        ('merge (dict) $d (dict "c" 3)', "map[a:map[x:1]]"),
        ('set (deepCopy $d).a "x" 9', "map[a:map[x:1]]"),
        ('set (omit $d "z").a "x" 9', "map[a:map[x:9]]"),  # omit copies the map, not what is in it
        ('set (merge (dict) $d).a "x" 9', "map[a:map[x:9]]"),  # a map that was missing is shared
    ],
)
def test_which_functions_change_the_map_itself(change: str, seen: str) -> None:
    assert evaluate('$d := dict "a" (dict "x" 1) }}{{ $_ := ' + change + " }}{{ $d") == seen


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('dig "a" (dict)', "dig needs at least three arguments"),
        ('dig "a" "b" 1 (dict "a" 2)', "interface conversion: interface {} is int, not map[string]interface {}"),
        ('dig "a" "b" 1 (dict "a" nil)', "interface conversion: interface {} is nil, not map[string]interface {}"),
        ("dig 1 2 (dict)", "interface conversion: interface {} is int, not string"),
        ("deepCopy nil", "reflect: call of reflect.Value.Type on zero Value"),
    ],
)
def test_errors(expression: str, text: str) -> None:
    assert failure(expression) == text


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Let no finalizer run at the end of the stack: it would fail, and pytest could not report it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_a_map_within_itself_is_refused_where_it_would_be_followed() -> None:
    cycle = '$d := dict }}{{ $_ := set $d "d" $d }}{{ '
    assert failure(cycle + "deepCopy $d") == "deepCopy: the copy would be nested too deeply"
    assert failure(cycle + 'mustMerge $d (dict "d" $d)') == "merge: the maps are nested more than 300 deep"
    assert evaluate(cycle + "toJson $d") == ""
    assert evaluate(cycle + "toYaml $d") == ""
    assert "encountered a cycle" in failure(cycle + "mustToJson $d")


@pytest.mark.parametrize(
    "use",
    [
        "toJson $x",
        "toYaml $x",
        "toYamlPretty $x",
        "toPrettyJson $x",
        'toToml (dict "x" $x)',
        "deepCopy $x",
        "quote $x",
        "squote $x",
        "cat $x",
        "toString $x",
        'join "" $x',
        "uniq $x",
        "has $x (list $x)",
        "without $x $x",
        "deepEqual $x $x",
    ],
)
def test_what_is_shared_is_not_written_out_without_bound(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_encoder, "TEXT_LIMIT", 100_000)
    monkeypatch.setattr(declaring, "LIST_LIMIT", 10_000)
    monkeypatch.setattr(bounding, "PART_LIMIT", 10_000)
    doubling = "$x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ "
    assert "limit" in failure(doubling + use)


def test_a_merge_does_not_walk_what_is_shared_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dicts, "LIST_LIMIT", 10_000)
    doubling = '$x := dict "k" 1 }}{{ range until 60 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ '
    twin = doubling.replace("$x", "$y")
    assert "which is the limit" in failure(doubling + twin + "mustMerge $x $y")
