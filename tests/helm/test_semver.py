"""Versions and constraints, as Masterminds/semver answers."""

from __future__ import annotations

import pytest

from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemverError, parse_strict_version, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.02.3", "1.2.3"),
        ("1.2.3-rc.1+build.5", "1.2.3-rc.1+build.5"),
        ("18446744073709551615.0.0", "18446744073709551615.0.0"),
    ],
)
def test_a_version_is_read_leniently(text: str, version: str) -> None:
    assert str(parse_version(text)) == version
    assert parse_version(text).original == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "invalid semantic version"),
        ("x", "invalid semantic version"),
        ("1.2.3.4", "invalid semantic version"),
        ("1.2.3\n", "invalid semantic version"),
        ("1.2.3-01", "version segment starts with 0"),
        (
            "18446744073709551616",
            'error parsing version segment: strconv.ParseUint: parsing "18446744073709551616": value out of range',
        ),
    ],
)
def test_what_is_no_version_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SemverError) as refusal:
        parse_version(text)
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "version string empty"),
        ("1.2", "invalid semantic version"),
        ("v1.2.3", "invalid characters in version"),
        ("01.2.3", "version segment starts with 0"),
        ("1.2.3-", "invalid prerelease string"),
        ("1.2.3+a_b", "invalid metadata string"),
    ],
)
def test_a_strict_version_has_three_plain_numbers(text: str, reason: str) -> None:
    assert str(parse_strict_version("1.2.3-rc.1+b")) == "1.2.3-rc.1+b"
    with pytest.raises(SemverError) as refusal:
        parse_strict_version(text)
    assert str(refusal.value) == reason


def test_versions_are_ordered_by_precedence() -> None:
    rising = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0"]
    assert [version.original for version in sorted(map(parse_version, reversed(rising)))] == rising
    assert parse_version("1.0.0+a").compare(parse_version("1.0.0+b")) == 0


@pytest.mark.parametrize(
    ("constraint", "wanted", "unwanted"),
    [
        (">=1.2.0, <2", ["1.2.0", "1.99.9"], ["1.1.9", "2.0.0"]),
        (">=1.2.0 <2", ["1.2.0"], ["2.0.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]),
        ("^0.2.3", ["0.2.9"], ["0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^0", ["0.9.9"], ["1.0.0"]),
        ("~1.2.3", ["1.2.9"], ["1.3.0"]),
        ("~1", ["1.9.0"], ["2.0.0"]),
        ("1.x", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("*", ["0.0.0", "9.9.9"], ["1.0.0-rc.1"]),
        ("*-0", ["1.0.0-rc.1", "1.0.0"], []),
        (">11", ["12.0.0"], ["11.1.0"]),
        ("<=11", ["11.9.9"], ["12.0.0"]),
        ("!=1.2", ["1.3.0"], ["1.2.5"]),
        ("1.2 - 3.4.5", ["1.2.0", "3.4.5"], ["3.4.6", "1.1.0"]),
        ("<1 || >=2", ["0.1.0", "2.0.0"], ["1.5.0"]),
        (">=1.24", ["1.25.0"], ["1.27.3-gke.1"]),
        (">=1.24-0", ["1.27.3-gke.1", "1.24.0"], ["1.23.9"]),
        ("=> 1", ["1.0.0"], ["0.9.0"]),
    ],
)
def test_a_constraint_says_which_versions_will_do(constraint: str, wanted: list[str], unwanted: list[str]) -> None:
    parsed = parse_constraint(constraint)
    assert [text for text in wanted + unwanted if parsed.check(parse_version(text))] == wanted


@pytest.mark.parametrize("text", ["", ">", ">=1.2 and", "1,", "==1", "1.2.3.4", "<>1", "1\u00a02"])
def test_what_is_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(SemverError, match=r"^improper constraint: "):
        parse_constraint(text)


def test_a_refusal_says_why() -> None:
    assert parse_constraint(">=2, <3").refusals(parse_version("1.0.0")) == ["1.0.0 is less than 2"]
    assert parse_constraint("^1").refusals(parse_version("1.5.0")) == []


@pytest.mark.parametrize("text", ["1  " * 2000 + "!", "1" * 8000 + "!", ", " * 4000, "1.1. " * 1500, "1" * 9000])
def test_a_hostile_constraint_is_refused_without_search(text: str) -> None:
    with pytest.raises(SemverError):
        parse_constraint(text)
