"""Uploads of blobs and manifests over real sockets: what is skipped, mounted, sent in chunks, resumed and refused."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kymatui.adapters.oci import registry
from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import retry_after
from kymatui.errors import RegistryError
from kymatui.sandbox.registry.registry_access import RegistryAccess, RegistryUser, Scheme
from kymatui.sandbox.registry.registry_server import RegistryFault, RegistryFaultKind
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

CONTENT = bytes(range(256)) * 40
TYPE = "application/octet-stream"


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


def client(chunk: int = 1 << 20) -> Registry:
    made = Registry(insecure=True, chunk=chunk)
    made._requester._pause = lambda seconds: None
    return made


def methods(served: Served) -> Counter[str]:
    return Counter(line.split()[0] for line in served.registry.requests)


def stored(served: Served, repository: str = "a") -> bytes:
    return served.registry.store.blob(repository, digest_of(CONTENT))


def test_a_blob_is_sent_whole_and_only_once(served: Served) -> None:
    where = f"{served.registry.address}/a"
    found = client().push_blob(where, CONTENT, TYPE, annotations={"k": "v"})
    assert found.to_json() == {
        "mediaType": TYPE,
        "digest": digest_of(CONTENT),
        "size": len(CONTENT),
        "annotations": {"k": "v"},
    }
    assert stored(served) == CONTENT
    assert methods(served) == {"HEAD": 1, "POST": 1, "PUT": 1}
    client().push_blob(where, CONTENT, TYPE)
    assert methods(served) == {"HEAD": 2, "POST": 1, "PUT": 1}


@pytest.mark.parametrize("chunk", [1, 1000, 5120, 10239, 10240])
def test_a_large_blob_is_sent_in_chunks(served: Served, chunk: int) -> None:
    content = CONTENT if chunk > 1 else CONTENT[:20]
    client(chunk).push_blob(f"{served.registry.address}/a", content, TYPE)
    assert served.registry.store.blob("a", digest_of(content)) == content
    assert methods(served)["PATCH"] == (-(-len(content) // chunk) if chunk < len(content) else 0)


def test_a_blob_of_another_repository_is_mounted(served: Served) -> None:
    host = served.registry.address
    client().push_blob(f"{host}/a", CONTENT, TYPE)
    served.registry.requests.clear()
    client().push_blob(f"{host}/b", CONTENT, TYPE, source="a")
    assert methods(served) == {"HEAD": 1, "POST": 1}
    assert stored(served, "b") == CONTENT


def test_a_blob_that_cannot_be_mounted_is_sent(served: Served) -> None:
    client().push_blob(f"{served.registry.address}/b", CONTENT, TYPE, source="a")
    assert stored(served, "b") == CONTENT
    assert methods(served) == {"HEAD": 1, "POST": 1, "PUT": 1}


@pytest.mark.parametrize("readable", [True, False])
def test_a_mount_asks_for_reading_the_other_repository(serve: Serve, readable: bool) -> None:  # noqa: F811
    users = {
        "ann": RegistryUser("s3cret", repositories=("a", "b") if readable else ("b",)),
        "bob": RegistryUser("s3cret"),
    }
    served = serve(access=RegistryAccess(Scheme.BEARER, users))
    for name, repository, source in (("bob", "a", ""), ("ann", "b", "a")):
        who = RegistryCredentials(name, "s3cret")
        pusher = Registry(insecure=True, credentials={served.registry.address: who}.get)
        pusher.push_blob(f"{served.registry.address}/{repository}", CONTENT, TYPE, source=source)
    assert stored(served, "b") == CONTENT
    assert methods(served)["PUT"] == (1 if readable else 2)


@pytest.mark.parametrize("method", ["HEAD", "POST", "PATCH", "PUT"])
@pytest.mark.parametrize("kind", [RegistryFaultKind.DROP, RegistryFaultKind.STATUS])
def test_an_upload_survives_failures_that_pass(served: Served, method: str, kind: RegistryFaultKind) -> None:
    served.registry.faults.set(RegistryFault(kind, method=method, times=2, status=429, retry_after=1))
    client(4096).push_blob(f"{served.registry.address}/a", CONTENT, TYPE)
    assert stored(served) == CONTENT


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_an_answer_that_was_lost_does_not_send_a_chunk_twice(served: Served, method: str) -> None:
    """The registry has the chunk, or the whole blob, although its answer broke."""
    served.registry.faults.set(RegistryFault(RegistryFaultKind.TRUNCATE, method=method))
    client(4096).push_blob(f"{served.registry.address}/a", CONTENT, TYPE)
    assert stored(served) == CONTENT


def test_a_retry_waits_as_long_as_the_registry_asks(served: Served) -> None:
    served.registry.faults.set(
        RegistryFault(RegistryFaultKind.STATUS, method="PUT", times=1, status=429, retry_after=7)
    )
    waited: list[float] = []
    pusher = client()
    pusher._requester._pause = waited.append
    pusher.push_blob(f"{served.registry.address}/a", CONTENT, TYPE)
    assert waited == [7]


def test_a_registry_that_keeps_failing_is_left(served: Served) -> None:
    served.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, method="PATCH", times=0, status=404))
    with pytest.raises(RegistryError, match="HTTP 404"):
        client(4096).push_blob(f"{served.registry.address}/a", CONTENT, TYPE)
    assert methods(served)["POST"] == registry.TRIES


def test_a_refusal_is_not_tried_again(served: Served) -> None:
    served.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, method="POST", times=0, status=403))
    with pytest.raises(RegistryError, match="HTTP 403"):
        client().push_blob(f"{served.registry.address}/a", CONTENT, TYPE)
    assert methods(served)["POST"] == 1


def test_a_manifest_needs_its_blobs_and_comes_back_with_its_digest(served: Served) -> None:
    where = f"{served.registry.address}/a:1"
    config = {"mediaType": TYPE, "digest": digest_of(CONTENT), "size": len(CONTENT)}
    raw = json.dumps({"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config, "layers": []}).encode()
    with pytest.raises(RegistryError, match="MANIFEST_BLOB_UNKNOWN"):
        client().push_manifest(where, raw, IMAGE_MANIFEST)
    client().push_blob(where, CONTENT, TYPE)
    served.registry.faults.set(RegistryFault(RegistryFaultKind.DROP, method="PUT", times=2))
    assert client().push_manifest(where, raw, IMAGE_MANIFEST) == digest_of(raw)
    assert client().fetch_manifest(where).raw == raw


def test_many_push_the_same_blob_at_the_same_time(served: Served) -> None:
    with ThreadPoolExecutor(10) as pool:
        found = list(
            pool.map(lambda n: client(4096).push_blob(f"{served.registry.address}/a", CONTENT, TYPE).digest, range(10))
        )
    assert set(found) == {digest_of(CONTENT)}
    assert stored(served) == CONTENT


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        ("86400", 20, 20),
        ("0", 0, 0),
        pytest.param(format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True), 20, 20, id="in-two-hours"),
        ("Fri, 13 Mar 2020 07:28:00 GMT", 0, 0),
        ("Fri, 13 Mar 2020 07:28:00 -0000", 0, 0),
        ("soon", 0.5, 1.0),
        ("-1", 0.5, 1.0),
        ("²", 0.5, 1.0),
        ("", 0.5, 1.0),
        (None, 0.5, 1.0),
    ],
)
def test_a_pause_is_a_number_or_a_date_within_reason(header: str | None, least: float, most: float) -> None:
    assert least <= retry_after(header, 1) <= most
