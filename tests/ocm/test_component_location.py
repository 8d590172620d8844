"""Where a component version is in a registry, and the references that name it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.ocm import DescriptorError
from kymatui.ocm.component_location import (
    ComponentLocation,
    NameMapping,
    parse_location,
    repository_of,
    tag_of,
    version_of,
)

NAME = "kyma-project.io/module/keda"
HASH = hashlib.sha256(NAME.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "base", "name", "version"),
    [
        (f"{NAME}:1.0.0", "", NAME, "1.0.0"),
        (f"reg.io//{NAME}:1.0.0", "reg.io", NAME, "1.0.0"),
        (f"127.0.0.1:5000/a/b//{NAME}:1.0.0-rc.1+b.2", "127.0.0.1:5000/a/b", NAME, "1.0.0-rc.1+b.2"),
        (f"https://reg.io/a//{NAME}:v1", "reg.io/a", NAME, "v1"),
        (f"oci://[::1]:5000//{NAME}:1.2", "[::1]:5000", NAME, "1.2"),
        ("reg.io//git.example.com/acme/a_b/c-d.e:0.1.0", "reg.io", "git.example.com/acme/a_b/c-d.e", "0.1.0"),
    ],
)
def test_a_reference_is_read(text: str, base: str, name: str, version: str) -> None:
    assert parse_location(text) == ComponentLocation(base, name, version)
    assert parse_location(str(parse_location(text))) == parse_location(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no version"),
        (NAME, "no version"),
        (f"reg.io:5000//{NAME}", "no version"),
        (f"{NAME}:", "'' is not a semantic version"),
        (f"{NAME}:latest", "'latest' is not a semantic version"),
        (f"{NAME}:1.0.0.0", "not a semantic version"),
        (f"{NAME}:01.0.0", "not a semantic version"),
        (f"{NAME}:1.0.0\n", "not a semantic version"),
        (f"{NAME}:1.0.0-{'a' * 130}", "more than 128 characters"),
        ("keda:1.0.0", "'keda' is not a component name"),
        ("Kyma-project.io/keda:1.0.0", "not a component name"),
        ("kyma-project.io/../keda:1.0.0", "not a component name"),
        ("kyma-project/keda:1.0.0", "not a component name"),
        (f"kyma-project.io/{'a' * 250}:1.0.0", "longer than 255 characters"),
    ],
)
def test_a_reference_that_is_none_names_its_wrong_part(text: str, words: str) -> None:
    with pytest.raises(DescriptorError, match=words):
        parse_location(text)


@pytest.mark.parametrize(
    ("base", "mapping", "expected"),
    [
        ("reg.io", NameMapping.URL_PATH, f"reg.io/component-descriptors/{NAME}"),
        ("https://reg.io/a/", NameMapping.URL_PATH, f"reg.io/a/component-descriptors/{NAME}"),
        ("reg.io/component-descriptors", NameMapping.URL_PATH, f"reg.io/component-descriptors/{NAME}"),
        ("reg.io:5000/a/b", NameMapping.SHA256, f"reg.io:5000/a/b/{HASH}"),
    ],
)
def test_a_repository_follows_its_mapping(base: str, mapping: NameMapping, expected: str) -> None:
    assert repository_of(base, NAME, mapping) == expected
    assert ComponentLocation(base, NAME, "1.0.0", mapping).repository == expected


@given(
    st.from_regex(
        r"(0|[1-9][0-9]?)\.[0-9]\.[0-9](-[a-z]{1,4}(\.[a-z]{1,3})?)?(\+[a-z0-9]{1,4}(\.[a-z0-9]{1,3})?)?",
        fullmatch=True,
    )
)
def test_a_tag_holds_its_version(version: str) -> None:
    assert "+" not in tag_of(version)
    assert version_of(tag_of(version)) == version
    assert parse_location(f"{NAME}:{version}").version == version
