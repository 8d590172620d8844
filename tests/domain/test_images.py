"""Image references: by their grammar, never at the last colon."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.kubernetes.image_references import Image, parse_image

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "image"),
    [
        pytest.param("reg:5000/x/mgr", Image("reg:5000", "x/mgr", "", ""), id="58 a port, and no tag"),
        pytest.param("reg:5000/x/mgr:1.2.3", Image("reg:5000", "x/mgr", "1.2.3", ""), id="a port and a tag"),
        pytest.param(f"r.io/m:1.2.3@{DIGEST}", Image("r.io", "m", "1.2.3", DIGEST), id="58 tag and digest"),
        pytest.param(f"r.io/m@{DIGEST}", Image("r.io", "m", "", DIGEST), id="a digest alone"),
        pytest.param("mgr:latest", Image("docker.io", "library/mgr", "latest", ""), id="a short name"),
        pytest.param("team/mgr", Image("docker.io", "team/mgr", "", ""), id="a name of the hub"),
        pytest.param("localhost/mgr:1", Image("localhost", "mgr", "1", ""), id="localhost is a registry"),
        pytest.param("index.docker.io/mgr:1", Image("docker.io", "library/mgr", "1", ""), id="the hub's other name"),
        pytest.param("[::1]:5000/mgr:1", Image("[::1]:5000", "mgr", "1", ""), id="an IPv6 address"),
        pytest.param("a.b/c__d/e-f.g:v1", Image("a.b", "c__d/e-f.g", "v1", ""), id="separators"),
    ],
)
def test_references(text: str, image: Image) -> None:
    assert parse_image(text) == image


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":1.2.3",
        "r.io/",
        "r.io/UPPER:1",
        "r.io//m",
        "r.io/m:",
        "r.io/m:a b",
        f"r.io/m@{DIGEST[:20]}",
        "r.io/m@",
        "r.io/m:1@x",
        "a b",
    ],
)
def test_what_is_no_reference(text: str) -> None:
    assert parse_image(text) is None


def image(text: str) -> Image:
    found = parse_image(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other", "same", "copy"),
    [
        pytest.param("r.io/a/m:1", "r.io/a/m:1", True, True, id="equal"),
        pytest.param("r.io/a/m:1", "mirror.io/b/m:1", False, True, id="a copy in another registry"),
        pytest.param(f"r.io/m:1@{DIGEST}", "r.io/m:1", True, True, id="the digest is known of one only"),
        pytest.param(f"r.io/m:1@{DIGEST}", f"r.io/m:2@{DIGEST}", True, True, id="the digest decides"),
        pytest.param(f"r.io/m:1@{DIGEST}", f"r.io/m:1@{DIGEST[:-1]}0", False, False, id="other digests"),
        pytest.param("r.io/m", "r.io/m", False, False, id="without tag and digest nothing is certain"),
    ],
)
def test_comparing(one: str, other: str, same: bool, copy: bool) -> None:
    assert image(one).is_same(image(other)) is same
    assert image(one).is_copy(image(other)) is copy


@settings(deadline=None)
@given(st.text(alphabet="aZ0.:/@-_[] ", max_size=30))
def test_any_text_is_a_reference_or_none(text: str) -> None:
    found = parse_image(text)
    assert found is None or (found.repository and text.endswith(found.digest or found.tag or found.name))
