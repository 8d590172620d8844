"""What is fetched for the engine: checked, kept, told without secrets, and fetched once."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kymatui.adapters.content.blob_fetcher import BlobFetcher
from kymatui.adapters.content.chart_fetcher import ChartAccess
from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.image_manifest import digest_of
from kymatui.adapters.oci.registry import Registry
from kymatui.engine.cluster.ports import Blobs
from kymatui.errors import HelmError, RegistryError
from kymatui.sandbox.registry.registry_access import RegistryAccess, RegistryUser, Scheme
from tests.adapters.chart_sites import ARCHIVE, Site
from tests.adapters.test_charts import site  # noqa: F401 (a fixture)
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

LAYER = b"kind: A\n" * 1000
DIGEST = digest_of(LAYER)


@pytest.fixture
def filled(serve: Serve) -> Served:  # noqa: F811
    served = serve()
    served.client.push("modules/component-descriptors/x.io/m", LAYER, DIGEST)
    return served


def where(served: Served) -> str:
    return f"{served.registry.address}/modules/component-descriptors/x.io/m"


def downloads(served: Served) -> int:
    return sum(1 for one in served.registry.requests if f"/blobs/{DIGEST}" in str(one))


def test_a_layer_is_fetched_once_and_then_kept(filled: Served, tmp_path: Path) -> None:
    blobs: Blobs = BlobFetcher(cache=tmp_path)
    assert blobs.layer(where(filled), DIGEST, insecure=True) == LAYER
    before = downloads(filled)
    assert BlobFetcher(cache=tmp_path).layer(where(filled), DIGEST, insecure=True) == LAYER
    assert before == downloads(filled) >= 1


def test_without_a_cache_nothing_is_kept(filled: Served) -> None:
    assert BlobFetcher().layer(where(filled), DIGEST, insecure=True) == LAYER


def test_a_registry_without_tls_is_spoken_to_only_when_it_is_asked_for(filled: Served) -> None:
    with pytest.raises(RegistryError, match=r"no TLS connection|cannot reach"):
        BlobFetcher().layer(where(filled), DIGEST)


def test_who_allows_some_to_go_without_tls_allows_no_others(filled: Served) -> None:
    host = filled.registry.address
    assert BlobFetcher(insecure=(host,)).layer(where(filled), DIGEST, insecure=True) == LAYER
    before = len(filled.registry.requests)
    with pytest.raises(RegistryError, match="has no TLS") as refused:
        BlobFetcher(insecure=()).layer(where(filled), DIGEST, insecure=True)
    assert refused.value.hint == f"allow it with --insecure-registry {host}"
    assert len(filled.registry.requests) == before


def test_a_registry_that_is_named_as_insecure_is_read_without_tls_also_where_a_manifest_has_no_scheme(
    filled: Served,
) -> None:
    assert BlobFetcher(insecure=(filled.registry.address,)).layer(where(filled), DIGEST) == LAYER


def test_a_layer_that_is_not_there_or_no_layer_is_told(filled: Served) -> None:
    with pytest.raises(RegistryError, match="HTTP 404"):
        BlobFetcher().layer(where(filled), digest_of(b"other"), insecure=True)
    with pytest.raises(RegistryError, match="not a digest"):
        BlobFetcher().layer(where(filled), "sha256:1", insecure=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_67_eight_processes_download_once_and_get_the_same_bytes(filled: Served, tmp_path: Path) -> None:
    code = f"""
import os, pathlib
import kymatui.adapters.oci.registry
from kymatui.adapters.content.blob_fetcher import BlobFetcher
folder = pathlib.Path({str(tmp_path)!r})
for number in range(8):
    if not os.fork():
        fetcher = BlobFetcher(cache=folder / "cache")
        (folder / str(number)).write_bytes(fetcher.layer({where(filled)!r}, {DIGEST!r}, insecure=True))
        os._exit(0)
for _ in range(8):
    os.wait()
"""
    subprocess.run([sys.executable, "-c", code], timeout=90, check=True)
    assert [(tmp_path / str(number)).read_bytes() for number in range(8)] == [LAYER] * 8
    assert downloads(filled) == 1


# charts


def test_68_a_repository_that_is_down_is_an_error_and_its_chart_may_be_looked_at(site: Site, tmp_path: Path) -> None:  # noqa: F811
    assert BlobFetcher(cache=tmp_path).chart("demo", repository=site.url).content == ARCHIVE
    site.pages.clear()
    with pytest.raises(RegistryError, match="HTTP 404"):
        BlobFetcher(cache=tmp_path).chart("demo", repository=site.url)
    stale = BlobFetcher(cache=tmp_path, stale=True)
    assert stale.chart("demo", repository=site.url).content == ARCHIVE
    with pytest.raises(RegistryError):
        stale.chart("demo", repository=site.url, version="0.1.0")


def test_what_was_kept_is_checked_too(site: Site, tmp_path: Path) -> None:  # noqa: F811
    BlobFetcher(cache=tmp_path).chart("demo", repository=site.url)
    site.pages.clear()
    for kept in tmp_path.rglob("*"):
        if kept.is_file() and kept.read_bytes() == ARCHIVE:
            kept.write_bytes(b"changed")
    with pytest.raises(RegistryError):
        BlobFetcher(cache=tmp_path, stale=True).chart("demo", repository=site.url)


def test_a_chart_that_is_unknown_is_no_case_for_the_cache(site: Site, tmp_path: Path) -> None:  # noqa: F811
    with pytest.raises(HelmError):
        BlobFetcher(cache=tmp_path, stale=True).chart("other", repository=site.url)


# addresses


@pytest.mark.parametrize("address", ["http://a.io/x?t=s3cret", "file:///etc/passwd", "ftp://a.io/x", "x.yaml"])
def test_pages_that_are_not_fetched(address: str) -> None:
    with pytest.raises(RegistryError, match="is not an https:// address"):
        BlobFetcher().url(address)


def test_http_on_this_machine_and_where_it_is_allowed(site: Site) -> None:  # noqa: F811
    site.pages["/m.yaml"] = b"kind: A\n"
    assert BlobFetcher(insecure=()).url(f"{site.url}/m.yaml") == b"kind: A\n"
    assert BlobFetcher(access=ChartAccess(plain_http=True)).url(f"{site.url}/m.yaml") == b"kind: A\n"


def test_a_page_without_end_is_cut(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    site.pages["/m.yaml"] = b"x" * 11
    monkeypatch.setattr("kymatui.adapters.content.blob_fetcher.LARGEST_PAGE", 10)
    with pytest.raises(RegistryError, match="at most 10 bytes are allowed"):
        BlobFetcher().url(f"{site.url}/m.yaml")


# credentials


def test_layers_with_the_credentials_of_a_secret(serve: Serve, tmp_path: Path) -> None:  # noqa: F811
    served = serve(access=RegistryAccess(Scheme.BEARER, {"ann": RegistryUser("s3cret")}))
    host = served.registry.address
    Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "s3cret")).push_blob(
        f"{host}/modules/a", LAYER, "application/yaml"
    )
    auth = base64.b64encode(b"ann:s3cret").decode()
    config = base64.b64encode(json.dumps({"auths": {host: {"auth": auth}}}).encode()).decode()
    secret = {"metadata": {"name": "pull"}, "data": {".dockerconfigjson": config}}
    anonymous = BlobFetcher(cache=tmp_path, credentials=lambda registry: None)
    for _ in range(2):
        assert anonymous.with_secrets([secret]).layer(f"{host}/modules/a", DIGEST, insecure=True) == LAYER
        with pytest.raises(RegistryError):
            anonymous.layer(f"{host}/modules/a", DIGEST, insecure=True)
    with pytest.raises(RegistryError, match="no Secret with credentials"):
        anonymous.with_secrets([])
