"""A registry as a place of artifacts: TLS except for named hosts, mounts within one registry, absent manifests."""

from __future__ import annotations

import json

import pytest

from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.errors import RegistryError
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

RAW = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "config": {"mediaType": "text/plain", "digest": digest_of(b"one"), "size": 3},
        "layers": [],
    }
).encode()


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


def test_what_is_pushed_is_found_by_tag_and_by_digest(served: Served) -> None:
    host = served.registry.address
    store = RegistryArtifacts(insecure=[host])
    assert store.manifest(f"{host}/a", "1.0.0") is None
    store.push_blob(f"{host}/a", b"one")
    digest = store.push_manifest(f"{host}/a", "1.0.0", RAW, IMAGE_MANIFEST)
    assert store.manifest(f"{host}/a", "1.0.0") == store.manifest(f"{host}/a", digest) == (RAW, IMAGE_MANIFEST)
    assert store.blob(f"{host}/a", digest_of(b"one"), 3) == b"one"
    with pytest.raises(RegistryError, match="larger than 2 bytes"):
        store.blob(f"{host}/a", digest_of(b"one"), 2)


def test_a_blob_is_mounted_within_one_registry_only(served: Served) -> None:
    host = served.registry.address
    store = RegistryArtifacts(insecure=[host])
    store.push_blob(f"{host}/a", b"one")
    for target, source, sent in (
        ("b", f"{host}/a", False),
        ("c", "elsewhere.example/a", True),
        ("d", f"{host}/d", True),
    ):
        served.registry.requests.clear()
        store.push_blob(f"{host}/{target}", b"one", source=source)
        assert any(line.startswith("PUT ") for line in served.registry.requests) is sent
        assert served.registry.store.blob(target, digest_of(b"one")) == b"one"


def test_only_named_hosts_are_used_without_tls(served: Served) -> None:
    host = served.registry.address
    for insecure in ([], ["127.0.0.1"], [f"{host}0"]):
        with pytest.raises(RegistryError, match=r"no TLS connection|cannot reach"):
            RegistryArtifacts(insecure=insecure).manifest(f"{host}/a", "1.0.0")
    assert served.registry.requests == []


@pytest.mark.parametrize("pointer", ["sha256:../../x", f"md5:{'0' * 32}", "sha256:", "a/b", "..", "a b", ""])
def test_a_pointer_of_a_hostile_index_is_no_path(served: Served, pointer: str) -> None:
    store = RegistryArtifacts(insecure=[served.registry.address])
    for ask in (store.manifest, lambda where, digest: store.blob(where, digest, 1)):
        with pytest.raises(RegistryError):
            ask(f"{served.registry.address}/a", pointer)
    assert served.registry.requests == []


def test_a_blob_that_cannot_be_mounted_leaves_no_upload_behind(served: Served) -> None:
    host = served.registry.address
    store = RegistryArtifacts(insecure=[host])
    assert not store.mount_blob(f"{host}/b", digest_of(b"one"), f"{host}/a")
    assert [line.split()[0] for line in served.registry.requests] == ["POST", "DELETE"]
    assert not store.mount_blob(f"{host}/b", digest_of(b"one"), "elsewhere.example/a")
    assert not store.mount_blob(f"{host}/b", digest_of(b"one"), f"{host}/b")
    store.push_blob(f"{host}/a", b"one")
    assert store.mount_blob(f"{host}/b", digest_of(b"one"), f"{host}/a")
    assert store.has_blob(f"{host}/b", digest_of(b"one"))


def test_a_blob_is_stored_from_chunks_of_any_size(served: Served) -> None:
    host = served.registry.address
    store, content = RegistryArtifacts(insecure=[host]), bytes(range(256)) * 100
    chunks = (content[at : at + 999] for at in range(0, len(content), 999))
    store.push_chunks(f"{host}/a", digest_of(content), len(content), chunks)
    assert b"".join(store.blob_chunks(f"{host}/a", digest_of(content), len(content))) == content
    with pytest.raises(RegistryError):
        store.push_chunks(f"{host}/a", digest_of(b"other"), 3, iter([b"one"]))
    assert not store.has_blob(f"{host}/a", digest_of(b"other"))
