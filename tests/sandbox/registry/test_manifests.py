"""Manifests, indexes, tags, the catalog, and referrers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from kymatui.sandbox.registry.registry_routes import digest_of
from kymatui.sandbox.registry.registry_store import OCI_INDEX, OCI_MANIFEST
from tests.sandbox.registry.conftest import Answer, Serve, Served

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"


def manifest(served: Served, repository: str = "r", layer: bytes = b"layer", **more: Any) -> bytes:
    """An image manifest whose configuration and layer are in the repository."""
    store = served.registry.store
    config = store.push_blob(repository, b"{}")
    blob = store.push_blob(repository, layer)
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": "application/vnd.example.config", "digest": config, "size": 2},
        "layers": [{"mediaType": "application/x-tar", "digest": blob, "size": len(layer)}],
        **more,
    }
    return json.dumps(document).encode()


def put(served: Served, reference: str, body: bytes, media_type: str = OCI_MANIFEST) -> Answer:
    return served.client.ask("PUT", f"/v2/r/manifests/{reference}", body, Content_Type=media_type)


def test_a_manifest_is_kept_to_the_byte_and_found_by_tag_and_digest(served: Served) -> None:
    body = manifest(served)
    created = put(served, "1.0.0", body)
    digest = digest_of(body)
    assert (created.status, created.headers["Docker-Content-Digest"]) == (201, digest)
    for reference in ("1.0.0", digest):
        got = served.client.ask("GET", f"/v2/r/manifests/{reference}")
        assert (got.status, got.body, got.headers["Content-Type"]) == (200, body, OCI_MANIFEST)
        head = served.client.ask("HEAD", f"/v2/r/manifests/{reference}")
        assert (head.headers["Docker-Content-Digest"], head.headers["Content-Length"]) == (digest, str(len(body)))


@pytest.mark.parametrize("media_type", [DOCKER_MANIFEST, "application/vnd.example.thing.v1+json"])
def test_any_media_type_is_kept_as_it_was_pushed(served: Served, media_type: str) -> None:
    body = manifest(served, mediaType=media_type)
    assert put(served, "t", body, media_type).status == 201
    assert served.client.ask("GET", "/v2/r/manifests/t").headers["Content-Type"] == media_type


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_an_index_needs_its_manifests(served: Served, media_type: str) -> None:
    child = manifest(served)
    entry = {"mediaType": OCI_MANIFEST, "digest": digest_of(child), "size": len(child)}
    index = json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": [entry]}).encode()
    refused = put(served, "multi", index, media_type)
    assert (refused.status, refused.code) == (400, "MANIFEST_BLOB_UNKNOWN")
    put(served, digest_of(child), child)
    assert put(served, "multi", index, media_type).status == 201


def test_a_manifest_by_a_wrong_digest_is_refused(served: Served) -> None:
    assert put(served, "sha256:" + "0" * 64, manifest(served)).code == "DIGEST_INVALID"


@pytest.mark.parametrize(
    ("body", "media_type", "code"),
    [
        (b"not json", OCI_MANIFEST, "MANIFEST_INVALID"),
        (b"[]", OCI_MANIFEST, "MANIFEST_INVALID"),
        (b'{"mediaType": "application/other"}', OCI_MANIFEST, "MANIFEST_INVALID"),
        (b'{"layers": ["x"]}', OCI_MANIFEST, "MANIFEST_INVALID"),
        (b'{"layers": [{"digest": "sha256:%s"}]}' % (b"0" * 64), OCI_MANIFEST, "MANIFEST_BLOB_UNKNOWN"),
    ],
)
def test_a_broken_manifest_is_refused(served: Served, body: bytes, media_type: str, code: str) -> None:
    served.registry.store.push_blob("r", b"")
    assert put(served, "t", body, media_type).code == code


def test_a_manifest_over_four_mebibytes_is_413(served: Served) -> None:
    assert put(served, "t", b" " * (4 * 1024 * 1024 + 1)).status == 413


def test_a_layer_that_lies_elsewhere_need_not_be_here(served: Served) -> None:
    foreign = {"mediaType": "x", "digest": "sha256:" + "1" * 64, "size": 1, "urls": ["https://example.org/layer"]}
    assert put(served, "t", manifest(served, layers=[foreign])).status == 201


def test_an_unknown_repository_and_an_unknown_manifest_are_told_apart(served: Served) -> None:
    assert served.client.ask("GET", "/v2/nowhere/manifests/t").code == "NAME_UNKNOWN"
    served.registry.store.push_blob("r", b"x")
    assert served.client.ask("GET", "/v2/r/manifests/t").code == "MANIFEST_UNKNOWN"


def test_deleting_a_tag_leaves_the_manifest_and_deleting_the_digest_takes_its_tags(served: Served) -> None:
    body = manifest(served)
    for tag in ("a", "b", "c"):
        put(served, tag, body)
    assert served.client.ask("DELETE", "/v2/r/manifests/a").status == 202
    assert served.client.ask("GET", "/v2/r/tags/list").json() == {"name": "r", "tags": ["b", "c"]}
    assert served.client.ask("DELETE", f"/v2/r/manifests/{digest_of(body)}").status == 202
    assert served.client.ask("GET", "/v2/r/tags/list").json() == {"name": "r", "tags": []}
    assert served.client.ask("GET", "/v2/r/manifests/b").status == 404


def test_tags_come_in_pages_whose_links_lead_to_the_end(served: Served) -> None:
    body = manifest(served)
    tags = sorted(f"1.0.{i}" for i in range(7))
    for tag in tags:
        put(served, tag, body)
    seen: list[str] = []
    path: str | None = "/v2/r/tags/list?n=3"
    pages = 0
    while path:
        answer = served.client.ask("GET", path)
        seen += answer.json()["tags"]
        link = answer.headers.get("Link")
        assert link is None or link.endswith('>; rel="next"')
        path = link[1 : link.index(">")] if link else None
        pages += 1
    assert (seen, pages) == (tags, 3)


@pytest.mark.parametrize(
    ("query", "tags"),
    [("", ["a", "b", "c"]), ("?n=0", []), ("?last=a", ["b", "c"]), ("?n=1&last=a", ["b"]), ("?n=9&last=c", [])],
)
def test_the_parameters_of_the_tags_list(served: Served, query: str, tags: list[str]) -> None:
    body = manifest(served)
    for tag in ("b", "c", "a"):
        put(served, tag, body)
    assert served.client.ask("GET", f"/v2/r/tags/list{query}").json()["tags"] == tags


def test_a_page_size_that_is_no_number_is_refused(served: Served) -> None:
    assert served.client.ask("GET", "/v2/_catalog?n=-1").code == "PAGINATION_NUMBER_INVALID"


def test_the_catalog_lists_the_repositories_in_pages(served: Served) -> None:
    for name in ("c", "a/b", "b"):
        served.registry.store.push_blob(name, b"x")
    answer = served.client.ask("GET", "/v2/_catalog?n=2")
    assert answer.json() == {"repositories": ["a/b", "b"]}
    assert answer.headers["Link"] == '</v2/_catalog?n=2&last=b>; rel="next"'


def _typed(kind: str) -> dict[str, Any]:
    return {"artifactType": kind} if kind else {}


def refer(served: Served, subject: bytes, kind: str, **more: Any) -> Answer:
    target = {"mediaType": OCI_MANIFEST, "digest": digest_of(subject), "size": len(subject)}
    body = manifest(served, subject=target, **_typed(kind), **more)
    return put(served, digest_of(body), body)


def test_referrers_are_listed_with_type_and_annotations_and_filtered(served: Served) -> None:
    subject = manifest(served)
    created = refer(served, subject, "application/vnd.signature", annotations={"by": "somebody"})
    assert created.headers["OCI-Subject"] == digest_of(subject)
    refer(served, subject, "application/vnd.sbom")
    refer(served, subject, "")
    path = f"/v2/r/referrers/{digest_of(subject)}"
    answer = served.client.ask("GET", path)
    assert answer.headers["Content-Type"] == OCI_INDEX
    types = sorted(m["artifactType"] for m in answer.json()["manifests"])
    assert types == ["application/vnd.example.config", "application/vnd.sbom", "application/vnd.signature"]
    only = served.client.ask("GET", f"{path}?artifactType=application/vnd.signature")
    assert only.headers["OCI-Filters-Applied"] == "artifactType"
    [found] = only.json()["manifests"]
    assert found["annotations"] == {"by": "somebody"}
    assert found["digest"] == created.headers["Docker-Content-Digest"]


def test_nothing_refers_to_what_is_not_there_and_nonsense_is_refused(served: Served) -> None:
    unknown = "sha256:" + hashlib.sha256(b"?").hexdigest()
    assert served.client.ask("GET", f"/v2/r/referrers/{unknown}").json()["manifests"] == []
    assert served.client.ask("GET", "/v2/r/referrers/latest").code == "DIGEST_INVALID"


def test_a_registry_without_the_referrers_api_says_so(serve: Serve) -> None:
    served = serve(referrers_api=False)
    subject = manifest(served)
    assert "OCI-Subject" not in refer(served, subject, "a/b").headers
    assert served.client.ask("GET", f"/v2/r/referrers/{digest_of(subject)}").status == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v2/", 200), ("POST", "/v2/", 405), ("PATCH", "/v2/r/manifests/t", 405), ("GET", "/v1/", 404)],
)
def test_paths_and_methods_outside_the_api(served: Served, method: str, path: str, status: int) -> None:
    answer = served.client.ask(method, path)
    assert answer.status == status
    assert answer.headers["Docker-Distribution-API-Version"] == "registry/2.0"
