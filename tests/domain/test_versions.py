"""Versions: what is one, their order, how far they lie apart, and which is the newest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.kyma.versions import (
    Distance,
    is_downgrade,
    newest_above,
    newest_version,
    parse_version,
    same_version,
    version_distance,
    version_of_tag,
    version_order,
)

DIGITS, SIGNS = "0123456789", "0123456789abcdefghijklmnopqrstuvwxyz"


def maybe(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | part


def some(signs: str, most: int) -> st.SearchStrategy[str]:
    return st.text(signs, min_size=1, max_size=most)


TEXTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "v"]),
    st.lists(some(DIGITS, 3), min_size=1, max_size=3).map(".".join),
    maybe(st.builds("-{}{}".format, some(f"{SIGNS}-", 4), maybe(some(SIGNS, 3).map(".{}".format)))),
    maybe(some(SIGNS, 3).map("+{}".format)),
)
VERSIONS = TEXTS.filter(lambda text: parse_version(text) is not None)
ANY = TEXTS | st.text(max_size=12)


@pytest.mark.parametrize(
    ("text", "core", "prerelease"),
    [
        ("1.2.3", (1, 2, 3), ""),
        ("v1.2.3", (1, 2, 3), ""),
        ("1.2", (1, 2, 0), ""),
        ("7", (7, 0, 0), ""),
        ("1.2.3-rc.1+build.5", (1, 2, 3), "rc.1"),
        ("2.4.2-e2e-test", (2, 4, 2), "e2e-test"),
        ("1.23.0-dev", (1, 23, 0), "dev"),
        ("20231106-1a2b3c4", (20231106, 0, 0), "1a2b3c4"),
    ],
)
def test_what_lifecycle_manager_reads_as_a_version(text: str, core: tuple[int, int, int], prerelease: str) -> None:
    found = parse_version(text)
    assert found is not None
    assert (found.core, found.prerelease, str(found)) == (core, prerelease, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "main",
        "latest",
        "1.2.3.4",
        "1.2.x",
        "V1.2.3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-rc.01",
        "1.2.3+",
        "1..2",
        " 1.2.3",
        "1.2.3\n",
        "١.٢.٣",
        "9" * 20,
    ],
)
def test_what_it_does_not(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("1.2.3", True),
        ("v1.0.2", True),
        ("1.8.3-experimental", True),
        ("latest", False),
        ("49b1192071ec05bfdd18c1f667544ac34aa927a1", False),
        ("1234567", False),
        ("v20231106-1a2b3c4", False),
        ("1.2", False),
    ],
)
def test_58_a_tag_is_a_version_only_with_three_numbers(tag: str, version: bool) -> None:
    assert (version_of_tag(tag) is not None) is version


def test_the_order_of_semantic_versioning() -> None:
    ascending = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
    ascending += ["1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "1.10.0", "2.0.0-1", "2.0.0-a", "2.0.0", "10.0.0"]
    shuffled = ascending[::-1]
    assert sorted(shuffled, key=version_order) == ascending


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param("v1.0.2", "1.0.2", True, id="58 a leading v"),
        pytest.param("1.0.2+build", "1.0.2", True, id="a build"),
        pytest.param("1.1.0", "11.1.0", False, id="59 one is in the other"),
        pytest.param("1.1.0", "0.1.1.0", False, id="59 at its end"),
        pytest.param("main", "main", True, id="no versions, but equal"),
        pytest.param("main", "1.0.0", False, id="only one is a version"),
    ],
)
def test_sameness(one: str, other: str, equal: bool) -> None:
    assert same_version(one, other) is equal
    assert same_version(other, one) is equal


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        pytest.param(["1.0.0", "1.1.0-rc1"], "1.0.0", id="62 a release before a later pre-release"),
        pytest.param(["1.0.0-a", "1.0.0-rc1", "1.0.0-b"], "1.0.0-rc1", id="62 only pre-releases"),
        pytest.param(["1.9.0", "1.10.0"], "1.10.0", id="by number"),
        pytest.param(["main", "1.0.0"], "1.0.0", id="a word is no version"),
        pytest.param(["main"], "main", id="but better than nothing"),
        pytest.param([], "", id="nothing"),
    ],
)
def test_the_newest(versions: list[str], found: str) -> None:
    assert newest_version(versions) == found


@pytest.mark.parametrize(
    ("installed", "offered", "devel", "found"),
    [
        ("1.0.0", ["1.0.0", "0.9.0"], False, ""),
        ("1.0.0", ["1.2.0", "1.10.0", "1.9.0"], False, "1.10.0"),
        ("1.0.0", ["1.1.0", "2.0.0-rc.1"], False, "1.1.0"),
        ("1.0.0", ["1.1.0", "2.0.0-rc.1"], True, "2.0.0-rc.1"),
        ("2.0.0-rc.1", ["1.1.0", "2.0.0-rc.2"], False, "2.0.0-rc.2"),
        ("2.0.0-rc.1", ["2.0.0-rc.2", "2.0.0"], False, "2.0.0"),
        ("1.0.0", ["v1.0.1", "latest"], False, "v1.0.1"),
        ("latest", ["1.0.0"], False, ""),
        ("", ["1.0.0"], False, ""),
    ],
)
def test_an_upgrade_leads_to_a_greater_version_and_to_a_pre_release_by_consent_only(
    installed: str, offered: list[str], devel: bool, found: str
) -> None:
    assert newest_above(installed, offered, devel=devel) == found


@pytest.mark.parametrize(
    ("one", "other", "apart", "words"),
    [
        ("1.2.0", "1.3.1", Distance(1, "minor"), "1 minor"),
        ("1.2.0", "3.0.0", Distance(2, "major"), "2 majors"),
        ("1.2.5", "1.2.3", Distance(2, "patch"), "2 patches"),
        ("1.2.3-rc", "1.2.3", Distance(0, "pre-release"), "pre-release"),
        ("1.2.3", "v1.2.3", None, "None"),
        ("main", "1.2.3", None, "None"),
    ],
)
def test_how_far_apart(one: str, other: str, apart: Distance | None, words: str) -> None:
    assert version_distance(one, other) == apart
    assert str(version_distance(other, one)) == words


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        ("1.9.9", "2.0.0", True),
        ("1.2.3", "1.2.3-experimental", False),
        ("1.2.3", "1.2.4-rc", True),
        ("2.0.0", "2.0.0", False),
    ],
)
def test_the_downgrade_guard_ignores_suffixes(new: str, old: str, refused: bool) -> None:
    here, there = parse_version(new), parse_version(old)
    assert here is not None
    assert there is not None
    assert is_downgrade(here, there) is refused


@settings(deadline=None)
@given(ANY, ANY, ANY)
def test_the_order_of_any_texts_is_total(a: str, b: str, c: str) -> None:
    ka, kb, kc = version_order(a), version_order(b), version_order(c)
    assert (ka < kb) + (kb < ka) + (ka == kb) == 1
    assert (ka == kb) == (a == b)
    if ka <= kb <= kc:
        assert ka <= kc


@settings(deadline=None)
@given(VERSIONS, VERSIONS)
def test_versions_are_equal_or_apart(a: str, b: str) -> None:
    assert same_version(a, b) == (version_distance(a, b) is None)
    left, right = parse_version(a), parse_version(b)
    assert left is not None
    assert right is not None
    assert (left < right) + (left > right) + (left == right) == 1
    assert left != right or hash(left) == hash(right)


@settings(deadline=None)
@given(st.lists(ANY))
def test_the_newest_is_one_of_them(versions: list[str]) -> None:
    assert newest_version(versions) in (versions or [""])
