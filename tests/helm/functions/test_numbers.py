"""Numbers: what counts as one, and how the functions calculate."""

from __future__ import annotations

import pytest

from tests.helm.functions.expressions import evaluate, failure


@pytest.mark.parametrize(
    ("value", "integer", "real"),
    [
        ('"42"', "42", "42"),
        ('"-12"', "-12", "-12"),
        ('"3.9"', "3", "3.9"),
        ('".5"', "0", "0.5"),
        ('"0x1f"', "31", "0"),
        ('"0755"', "493", "755"),
        ('"0b11"', "3", "0"),
        ('"1_000"', "1000", "1000"),
        ('"08"', "0", "8"),
        ('"1e3"', "0", "1000"),
        ('"abc"', "0", "0"),
        ('""', "0", "0"),
        ('"99999999999999999999"', "0", "1e+20"),
        ("2.9", "2", "2.9"),
        ("-2.9", "-2", "-2.9"),
        ("1e21", "-9223372036854775808", "1e+21"),
        ("true", "1", "1"),
        ("nil", "0", "0"),
        ("(list 1)", "0", "0"),
    ],
)
def test_what_a_value_is_as_a_number(value: str, integer: str, real: str) -> None:
    assert evaluate(f"int {value}") == integer
    assert evaluate(f"int64 {value}") == integer
    assert evaluate(f"float64 {value}") == real


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("add 1 2 3", "6"),
        ('add "1.9" 2.9 nil', "3"),
        ("add 9223372036854775807 1", "-9223372036854775808"),
        ("add1 5", "6"),
        ("sub 3 5", "-2"),
        ("mul 2 3 4", "24"),
        ("div -7 2", "-3"),
        ("mod -7 2", "-1"),
        ("max 1 3 2", "3"),
        ("biggest 1 3.9", "3"),
        ("min 1 3 -2", "-2"),
        ("maxf 1 2.5", "2.5"),
        ("minf 1 2.5", "1"),
        ("addf 0.1 0.2", "0.3"),  # in decimals, not in binary
        ("add1f 0.5", "1.5"),
        ("subf 7.5 2 3", "2.5"),
        ("mulf 1.1 1.1", "1.21"),
        ("divf 10 2 4", "1.25"),
        ("divf 1 3", "0.3333333333333333"),
        ("floor 123.9", "123"),
        ("ceil -0.5", "-0"),
        ("round 123.555555 3", "123.556"),
        ("round -1.5 0", "-2"),
        ("round 1.25 1 0.6", "1.2"),
        ('atoi "12"', "12"),
        ('atoi "99999999999999999999"', "9223372036854775807"),
        ('toDecimal "0777"', "511"),
        ('toDecimal "8"', "0"),
    ],
)
def test_calculating(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("until 3", "[0 1 2]"),
        ("until -2", "[0 -1]"),
        ("untilStep 3 10 3", "[3 6 9]"),
        ("untilStep 3 0 1", "[]"),
        ("seq 3", "1 2 3"),
        ("seq -1", "1 0 -1"),
        ("seq 2 4", "2 3 4"),
        ("seq 9223372036854775807 | quote", '""'),  # the end is one more, which wraps
        ("untilStep 9223372036854775807 -9223372036854775807 1 | len", "0"),
        ("seq 2 2 6", "2 4 6"),
        ("seq 5 -2 1", "5 3 1"),
        ("seq 5 2 1", ""),
        ("seq", ""),
    ],
)
def test_counting(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("add 1", "int64"),
        ("int 1.5", "int"),
        ("int64 1", "int64"),
        ("float64 1", "float64"),
        ('atoi "1"', "int"),
        ("until 1", "[]int"),
        ("floor 1", "float64"),
        ('toDecimal "1"', "int64"),
    ],
)
def test_the_types_of_results_are_gos(expression: str, name: str) -> None:
    assert evaluate(f"{expression} | typeOf") == name


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("div 1 0", "runtime error: integer divide by zero"),
        ("mod 1 0", "runtime error: integer divide by zero"),
        ("divf 1 0", "decimal division by 0"),
        ('addf "inf"', "Cannot create a Decimal from +Inf"),
    ],
)
def test_errors(expression: str, text: str) -> None:
    assert failure(expression) == text


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ('default "d" 0', "d"),
        ('default "d" "x"', "x"),
        ('default "d"', "d"),
        ('coalesce nil 0 "" "x" "y"', "x"),
        ("empty (dict)", "true"),
        ('empty (semver "1")', "false"),
        ("all 1 true (list 1)", "true"),
        ("all 1 0", "false"),
        ('any 0 "" 1', "true"),
        ("any", "false"),
        ("all", "true"),
        ('ternary "a" "b" false', "b"),
        ("kindOf nil", "invalid"),
        ("typeOf nil", "<nil>"),
        ('kindOf (semver "1")', "ptr"),
        ('typeIsLike "semver.Version" (semver "1")', "true"),
        ('typeIs "float64" 1.5', "true"),
        ('kindIs "map" dict', "true"),
        ("deepEqual (list 1) (list 1)", "true"),
        ("deepEqual 1 1.0", "false"),
    ],
)
def test_what_is_empty_and_what_a_value_is(expression: str, result: str) -> None:
    assert evaluate(expression) == result
