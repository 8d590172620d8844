"""Functions on lists, whatever their type."""

from __future__ import annotations

import pytest

from tests.helm.functions.expressions import evaluate, failure


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("append (list 1) 2", "[1 2]"),
        ("prepend (until 2) nil", "[<nil> 0 1]"),
        ('first (splitList "," "a,b")', "a"),
        ("first (list) | toJson", "null"),
        ("last (list 1 2)", "2"),
        ("rest (list 1 2 3)", "[2 3]"),
        ("rest (list) | toJson", "null"),
        ("initial (list 1 2 3)", "[1 2]"),
        ("reverse (list 1 2)", "[2 1]"),
        ('compact (list 0 1 "" "a" nil false (list) dict) | toJson', '[1,"a"]'),
        ('uniq (list 1 1.0 1 "1" (list 1) (list 1))', "[1 1 1 [1]]"),
        ('without (list 1 2 "a" nil) "a" nil 1.0', "[1 2]"),
        ("has 1 (list 1 2)", "true"),
        ("has 1.0 (list 1 2)", "false"),
        ("has 1 nil", "false"),
        ("has (dict) (list (dict))", "true"),
        ("concat (list 1) (until 1) | toJson", "[1,0]"),
        ("concat (list) | toJson", "null"),
        ("slice (list 1 2 3) 1", "[2 3]"),
        ('slice (list 1 2 3) "1" 2.9', "[2]"),
        ("slice (list) 5 9 | toJson", "null"),
        ("chunk 2 (list 1 2 3) | toJson", "[[1,2],[3]]"),
        ("chunk 2 (list) | toJson", "[]"),
        ('typeOf (splitList "," "")', "[]string"),
        ('typeOf (slice (splitList "," "a") 0)', "[]string"),
        ("typeOf (append (until 1) 1)", "[]interface {}"),
        ("typeOf (chunk 1 (list 1))", "[][]interface {}"),
    ],
)
def test_lists_are_taken_apart_and_put_together(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('append "a" 1', "Cannot push on type string"),
        ("prepend 1 1", "Cannot prepend on type int"),
        ("first (dict)", "Cannot find first on type map"),
        ("rest true", "Cannot find rest on type bool"),
        ("reverse 1.5", "Cannot find reverse on type float64"),
        ("mustHas 1 2", "Cannot find has on type int"),
        ('slice "abc" 1', "list should be type of slice or array but string"),
        ("concat (list) 1", "Cannot concat type int as list"),
        ("first nil", "runtime error: invalid memory address or nil pointer dereference"),
        ("slice (until 3) 2 1", "reflect.Value.Slice: slice index out of bounds"),
        ("chunk 0 (list 1)", "runtime error: makeslice: len out of range"),
    ],
)
def test_what_is_no_list_is_refused_in_gos_words(expression: str, text: str) -> None:
    assert failure(expression) == text


def test_a_list_from_values_may_be_sliced_into_its_spare_room() -> None:
    assert evaluate("slice .Values.l 2 4 | toJson", {"l": ["a", "b", "c"]}) == '["c",null]'


def test_functions_leave_their_lists_alone() -> None:
    assert evaluate("$l := list 1 2 }}{{ $_ := append $l 3 }}{{ $_ := reverse $l }}{{ $l") == "[1 2]"


def test_no_list_grows_without_bound() -> None:
    assert "the limit is" in failure("until 999999999")
    assert "the limit is" in failure("seq 1 999999999")
    assert "the limit is" in failure("concat (until 1500000) (until 1500000)")
