"""References of artefacts, and the challenges of registries, taken apart."""

from __future__ import annotations

import pytest

from kymatui.adapters.oci.docker_credentials import Challenge, parse_challenges, scope_of
from kymatui.adapters.oci.image_reference import ImageReference, parse_reference
from kymatui.errors import RegistryError

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ghcr.io/kyma/istio:1.2.3", ImageReference("ghcr.io", "kyma/istio", "1.2.3")),
        ("oci://ghcr.io/kyma/istio:1.2.3", ImageReference("ghcr.io", "kyma/istio", "1.2.3")),
        ("localhost:5000/a", ImageReference("localhost:5000", "a")),
        (f"localhost:5000/a/b:t@{DIGEST}", ImageReference("localhost:5000", "a/b", "t", DIGEST)),
        (f"[::1]:5000/a@{DIGEST}", ImageReference("[::1]:5000", "a", "", DIGEST)),
        ("r.io/kyma-project.io/module/x", ImageReference("r.io", "kyma-project.io/module/x")),
    ],
)
def test_references_that_are_valid(text: str, wanted: ImageReference) -> None:
    assert parse_reference(text) == wanted
    assert parse_reference(str(wanted)) == wanted


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("istio", "no registry"),
        ("", "no registry"),
        ("ghcr.io/Kyma/istio", "not a valid repository name"),
        ("ghcr.io/kyma/istio:-x", "not a valid tag"),
        ("ghcr.io/kyma/istio@sha256:abc", "not a digest"),
        ("ghcr.io/../etc:1", "not a valid repository name"),
        ("user:pw@ghcr.io/a", "no registry"),
    ],
)
def test_references_that_are_not_say_which_part_is_wrong(text: str, names: str) -> None:
    with pytest.raises(RegistryError, match=names):
        parse_reference(text)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ('Basic realm="x"', [Challenge("basic", {"realm": "x"})]),
        (
            'Bearer realm="https://a.io",service="r.io",scope="repository:a/b:pull,push"',
            [Challenge("bearer", {"realm": "https://a.io", "service": "r.io", "scope": "repository:a/b:pull,push"})],
        ),
        ('bearer realm=https://a, error="x\\"y"', [Challenge("bearer", {"realm": "https://a", "error": 'x"y'})]),
        ('Negotiate, Basic realm="b"', [Challenge("negotiate", {}), Challenge("basic", {"realm": "b"})]),
        ("", []),
        ("=", []),
    ],
)
def test_challenges(header: str, wanted: list[Challenge]) -> None:
    assert parse_challenges(header) == wanted


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/v2/a/b/manifests/1", "repository:a/b:pull"),
        ("HEAD", "/v2/a/b/blobs/sha256:x", "repository:a/b:pull"),
        ("POST", "/v2/a/b/blobs/uploads/", "repository:a/b:pull,push"),
        ("DELETE", "/v2/a/b/manifests/1", "repository:a/b:delete"),
        ("GET", "/v2/", ""),
        ("GET", "/v2/blobs/manifests/blobs/x", "repository:blobs/manifests:pull"),
    ],
)
def test_the_scope_of_a_request(method: str, path: str, scope: str) -> None:
    assert scope_of(method, f"https://r.io{path}") == scope


@pytest.mark.parametrize(
    ("reference", "host"),
    [
        ("docker.io/a/b:1", "registry-1.docker.io"),
        ("ghcr.io/a/b:1", "ghcr.io"),
        ("index.docker.io/a/b", "registry-1.docker.io"),
    ],
)
def test_docker_hub_is_asked_at_its_own_host(reference: str, host: str) -> None:
    where = parse_reference(reference)
    assert where.host == host
    assert str(where) == reference
