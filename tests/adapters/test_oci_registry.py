"""Our client against a registry over real sockets: who may, what is checked, and what is tried again."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import retry_after
from kymatui.errors import CancelledError, RegistryError
from kymatui.sandbox.registry.registry_access import RegistryAccess, RegistryUser, Scheme
from kymatui.sandbox.registry.registry_server import RegistryFault, RegistryFaultKind
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

LAYER = b"kind: Deployment\n" * 100


def ann(registry: str) -> RegistryCredentials | None:
    del registry
    return RegistryCredentials("ann", "s3cret")


def push(client: Registry, where: str, layer: bytes = LAYER) -> str:
    config = client.push_blob(where, b"{}", "application/vnd.oci.empty.v1+json")
    content = client.push_blob(where, layer, "application/yaml")
    body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config.to_json(), "layers": [content.to_json()]}
    return client.push_manifest(where, json.dumps(body).encode(), IMAGE_MANIFEST)


def read(client: Registry, where: str) -> bytes:
    manifest = client.fetch_manifest(where)
    return b"".join(client.read_blob(manifest.reference, manifest.layers[0]))


@pytest.mark.parametrize("scheme", list(Scheme))
def test_one_client_pushes_to_and_pulls_from_several_repositories(serve: Serve, scheme: Scheme) -> None:  # noqa: F811
    host = serve(access=RegistryAccess(scheme, {"ann": RegistryUser("s3cret")})).registry.address
    client = Registry(insecure=True, credentials=ann)
    for repository in ("modules/a", "modules/b"):
        push(client, f"{host}/{repository}:1")
        assert read(client, f"{host}/{repository}:1") == LAYER


@pytest.mark.parametrize("scheme", [Scheme.BASIC, Scheme.BEARER])
def test_a_wrong_password_is_told_once_and_never_repeated(serve: Serve, scheme: Scheme) -> None:  # noqa: F811
    served = serve(access=RegistryAccess(scheme, {"ann": RegistryUser("s3cret")}))
    client = Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "wrong-password"))
    with pytest.raises(RegistryError) as refused:
        client.tags(f"{served.registry.address}/a")
    assert "docker login" in refused.value.hint
    assert "wrong-password" not in str(refused.value)
    assert len(served.registry.requests) <= 4


@pytest.fixture
def filled(serve: Serve) -> Served:  # noqa: F811
    served = serve()
    push(Registry(insecure=True), f"{served.registry.address}/a:1")
    return served


def test_the_login_of_a_netrc_replaces_no_token(
    serve: Serve,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`requests` would send it in the place of the token, to the token server and after redirects, too."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    host = serve(access=RegistryAccess(Scheme.BEARER, {"ann": RegistryUser("s3cret")})).registry.address
    client = Registry(insecure=True, credentials=ann)
    push(client, f"{host}/a:1")
    assert read(client, f"{host}/a:1") == LAYER


@pytest.mark.parametrize("kind", [RegistryFaultKind.TAMPER, RegistryFaultKind.TRUNCATE])
def test_a_blob_that_was_changed_or_cut_on_the_way_is_refused(filled: Served, kind: RegistryFaultKind) -> None:
    filled.registry.faults.set(RegistryFault(kind, path="/blobs/", times=0))
    with pytest.raises(RegistryError, match=r"has the digest|was interrupted"):
        read(Registry(insecure=True), f"{filled.registry.address}/a:1")


def test_a_manifest_by_digest_is_checked_too(filled: Served) -> None:
    client = Registry(insecure=True)
    digest = client.fetch_manifest(f"{filled.registry.address}/a:1").digest
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.TAMPER, path="/manifests/"))
    with pytest.raises(RegistryError, match="sent a manifest whose digest is"):
        client.fetch_manifest(f"{filled.registry.address}/a@{digest}")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_failures_are_tried_again(filled: Served, status: int) -> None:
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, times=2, status=status))
    pauses: list[float] = []
    client = Registry(insecure=True)
    client._requester._pause = pauses.append
    assert client.tags(f"{filled.registry.address}/a") == ["1"]
    assert len(pauses) == 2


def test_the_server_says_how_long_to_wait_within_reason(filled: Served) -> None:
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, status=429, retry_after=7))
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, status=429, retry_after=86400))
    pauses: list[float] = []
    client = Registry(insecure=True)
    client._requester._pause = pauses.append
    client.tags(f"{filled.registry.address}/a")
    assert pauses == [7, 20]


@pytest.mark.parametrize("text", ["", "yesterday", "Thu, 01 Jan 99999999999999999999 00:01:00 GMT"])
def test_a_pause_that_is_none_is_the_clients_own(text: str) -> None:
    assert 0.0 < retry_after(text, 0) <= 1.0


@pytest.mark.parametrize("text", ["Thu, 01 Jan 1970 00:01:00 GMT", "Thu, 01 Jan 1970 00:01:00 -0000"])
def test_a_pause_until_a_date_that_has_passed_is_none(text: str) -> None:
    assert retry_after(text, 0) == 0.0


@pytest.mark.parametrize("status", [400, 403, 404])
def test_final_failures_are_told_at_once(filled: Served, status: int) -> None:
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, times=0, status=status))
    client = Registry(insecure=True)
    client._requester._pause = lambda seconds: pytest.fail("waited for nothing")
    with pytest.raises(RegistryError, match=f"HTTP {status}"):
        client.tags(f"{filled.registry.address}/a")


def test_a_registry_that_never_recovers_is_left_after_four_tries(filled: Served) -> None:
    filled.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, times=0, status=503))
    client = Registry(insecure=True)
    pauses: list[float] = []
    client._requester._pause = pauses.append
    with pytest.raises(RegistryError, match="HTTP 503"):
        client.tags(f"{filled.registry.address}/a")
    assert len(pauses) == 3


def test_a_transfer_can_be_cancelled(filled: Served) -> None:
    cancelled = threading.Event()
    client = Registry(insecure=True, cancelled=cancelled)
    manifest = client.fetch_manifest(f"{filled.registry.address}/a:1")
    cancelled.set()
    with pytest.raises(CancelledError):
        list(client.read_blob(manifest.reference, manifest.layers[0]))


@pytest.mark.parametrize("api", [True, False], ids=["referrers API", "fallback tag"])
def test_referrers_are_found_with_and_without_the_api(serve: Serve, api: bool) -> None:  # noqa: F811
    host = serve(referrers_api=api).registry.address
    client = Registry(insecure=True)
    digest = push(client, f"{host}/a:1")
    image = client.fetch_manifest(f"{host}/a:1")
    empty = client.push_blob(f"{host}/a", b"{}", "application/vnd.oci.empty.v1+json")
    subject = {"mediaType": IMAGE_MANIFEST, "digest": digest, "size": len(image.raw)}
    body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "artifactType": "application/sbom", "subject": subject}
    raw = json.dumps({**body, "config": empty.to_json(), "layers": [empty.to_json()]}).encode()
    sbom = client.push_manifest(f"{host}/a:sbom", raw, IMAGE_MANIFEST)
    assert [one.digest for one in client.referrers(f"{host}/a", digest, "application/sbom")] == [sbom]
    assert client.referrers(f"{host}/a", digest, "application/other") == []
