"""Charts are fetched from repositories, URLs and registries, checked by digest, and kept."""

from __future__ import annotations

import contextlib
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.content import chart_fetcher
from kymatui.adapters.content.blob_fetcher import BlobFetcher
from kymatui.adapters.content.chart_fetcher import (
    CHART_CONFIG,
    CHART_LAYER,
    PROVENANCE_LAYER,
    ChartAccess,
    ChartFetcher,
)
from kymatui.adapters.http.size_limits import LARGEST_ARCHIVE
from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import Registry
from kymatui.errors import HelmError, RegistryError
from tests.adapters.chart_sites import ARCHIVE, SUM, Site, chart_site
from tests.adapters.clusters import Exchange, serving
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)


@pytest.fixture
def site() -> Iterator[Site]:
    with chart_site() as found:
        yield found


def test_a_chart_of_a_repository(site: Site) -> None:
    found = ChartFetcher().fetch("demo", repository=site.url)
    assert (found.filename, found.content) == ("demo-1.0.0.tgz", ARCHIVE)
    assert found.digest == f"sha256:{SUM}"


def test_a_chart_by_url(site: Site) -> None:
    assert ChartFetcher().fetch(f"{site.url}/charts/demo-1.0.0.tgz").content == ARCHIVE


def test_the_provenance_comes_along_when_asked(site: Site) -> None:
    assert ChartFetcher().fetch("demo", repository=site.url, provenance=True).provenance == b"signed"


def test_the_second_time_the_archive_comes_from_the_cache(site: Site, tmp_path: Path) -> None:
    for _ in range(2):
        assert ChartFetcher(ChartAccess(cache=tmp_path)).fetch("demo", repository=site.url).content == ARCHIVE
    assert [path for path, _ in site.asked].count("/charts/demo-1.0.0.tgz") == 1


def test_an_index_is_read_again_after_a_while_and_few_are_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = ChartFetcher()
    for seconds in (1000.0, 1000.0, -1.0):
        monkeypatch.setattr(chart_fetcher, "INDEX_SECONDS", seconds)
        fetcher.index(site.url)
    assert [path for path, _ in site.asked].count("/index.yaml") == 2
    for number in range(chart_fetcher.MOST_INDEXES + 3):
        site.pages[f"/{number}/index.yaml"] = site.pages["/index.yaml"]
        fetcher.index(f"{site.url}/{number}")
    assert len(fetcher._indexes) == chart_fetcher.MOST_INDEXES


@pytest.mark.parametrize("cached", [True, False])
def test_an_archive_that_is_not_what_the_index_says_is_refused(site: Site, tmp_path: Path, cached: bool) -> None:
    site.pages["/charts/demo-1.0.0.tgz"] = b"something else"
    with pytest.raises(RegistryError, match="sha256:"):
        ChartFetcher(ChartAccess(cache=tmp_path if cached else None)).fetch("demo", repository=site.url)


def test_the_password_goes_to_the_repository_and_nowhere_else(site: Site) -> None:
    site.index(urls=[f"{site.url.replace('127.0.0.1', 'localhost')}/charts/demo-1.0.0.tgz"])
    ChartFetcher(ChartAccess("ann", "s3cret")).fetch("demo", repository=site.url)
    basic = "Basic " + b64encode(b"ann:s3cret").decode()
    assert site.asked == [("/index.yaml", basic), ("/charts/demo-1.0.0.tgz", "")]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("http://127.0.0.1:9/x.tgz", r"cannot reach 127\.0\.0\.1:9: Connection refused"),
        ("demo", "neither a local file nor a URL"),
        ("ftp://x/y.tgz", "neither a local file nor a URL"),
    ],
)
def test_what_cannot_be_fetched_says_why(reference: str, message: str) -> None:
    with pytest.raises((HelmError, RegistryError), match=message):
        ChartFetcher().fetch(reference)


def test_a_missing_page_names_its_url(site: Site) -> None:
    with pytest.raises(RegistryError, match=r"/nothing/index\.yaml: HTTP 404"):
        ChartFetcher().fetch("demo", repository=f"{site.url}/nothing")


@pytest.fixture
def registry(serve: Serve) -> str:  # noqa: F811
    host = serve().registry.address
    for version in ("1.0.0", "1.2.0", "2.0.0-rc.1"):
        push_chart(f"{host}/charts/demo:{version}", CHART_CONFIG)
    push_chart(f"{host}/charts/image:1.0.0", "application/vnd.oci.image.config.v1+json")
    return host


def push_chart(where: str, config_type: str) -> None:
    client = Registry(insecure=True)
    config = client.push_blob(where, b"{}", config_type)
    layer = client.push_blob(where, ARCHIVE, CHART_LAYER)
    signed = client.push_blob(where, b"signed", PROVENANCE_LAYER)
    body = {"schemaVersion": 2, "config": config.to_json(), "layers": [layer.to_json(), signed.to_json()]}
    client.push_manifest(where, json.dumps(body).encode(), IMAGE_MANIFEST)


@pytest.mark.parametrize(
    ("tail", "version", "filename"),
    [
        ("demo", "", "demo-1.2.0.tgz"),
        ("demo", "~1.0", "demo-1.0.0.tgz"),
        ("demo", ">0-0", "demo-2.0.0-rc.1.tgz"),
        ("demo:1.0.0", "", "demo-1.0.0.tgz"),
    ],
)
def test_a_chart_of_a_registry(registry: str, tail: str, version: str, filename: str) -> None:
    fetcher = ChartFetcher(ChartAccess(plain_http=True))
    found = fetcher.fetch(f"oci://{registry}/charts/{tail}", version=version, provenance=True)
    assert (found.filename, found.content, found.provenance) == (filename, ARCHIVE, b"signed")
    assert found.manifest.startswith("sha256:")


@pytest.mark.parametrize(
    ("tail", "version", "message"),
    [
        ("demo", "9.0.0", "has no version 9.0.0"),
        ("image:1.0.0", "", "is not a Helm chart"),
        ("demo", "%%", "neither a version nor a range"),
        ("demo:1.0.0", "1.2.0", "chart reference and version mismatch: 1.2.0 is not 1.0.0"),
    ],
)
def test_what_a_registry_does_not_have(registry: str, tail: str, version: str, message: str) -> None:
    with pytest.raises(HelmError, match=message):
        ChartFetcher(ChartAccess(plain_http=True)).fetch(f"oci://{registry}/charts/{tail}", version=version)


@pytest.mark.parametrize(("reference", "in_repository"), [("demo", True), ("oci://{host}/charts/demo", False)])
def test_the_versions_of_a_chart_are_told(site: Site, registry: str, reference: str, in_repository: bool) -> None:
    push_chart(f"{registry}/charts/demo:20261121", CHART_CONFIG)  # a date is no version, and no newest one either
    one = {"urls": ["charts/demo-1.0.0.tgz"]}
    entries = {"demo": [{**one, "version": version} for version in ("1.0.0", "1.2.0", "2.0.0-rc.1")]}
    site.pages["/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": entries}).encode()
    fetcher, where = ChartFetcher(ChartAccess(plain_http=True)), site.url if in_repository else ""
    found = fetcher.versions(reference.format(host=registry), repository=where)
    assert sorted(found) == ["1.0.0", "1.2.0", "2.0.0-rc.1"]
    assert fetcher.fetch(f"oci://{registry}/charts/demo").filename == "demo-1.2.0.tgz"


def test_of_what_is_not_offered_there_are_no_versions(site: Site) -> None:
    with pytest.raises(HelmError, match="no chart name found"):
        ChartFetcher().versions("nothing", repository=site.url)
    with pytest.raises(HelmError, match="a single archive"):
        ChartFetcher().versions(f"{site.url}/charts/demo-1.0.0.tgz")


def test_a_registry_that_may_go_without_tls_may_for_charts_too(registry: str) -> None:
    reference = f"oci://{registry}/charts/demo"
    allowed = BlobFetcher(insecure=(registry,))
    assert allowed.chart(reference, version="1.2.0")
    assert "1.2.0" in allowed.chart_versions(reference)
    assert "1.2.0" in allowed.chart_versions("demo", repository=f"oci://{registry}/charts")
    with pytest.raises(RegistryError, match="no TLS connection"):
        BlobFetcher(insecure=("other.example",)).chart(reference, version="1.2.0")


@pytest.mark.parametrize(("what", "size"), [("chart", LARGEST_ARCHIVE + 1), ("provenance", 3 << 30)])
def test_a_layer_that_is_too_large_is_refused_before_it_is_read(what: str, size: int) -> None:
    types = {"chart": CHART_LAYER, "provenance": PROVENANCE_LAYER}
    layers = [
        {"mediaType": kind, "digest": digest_of(name.encode()), "size": size if name == what else len(name)}
        for name, kind in types.items()
    ]
    config = {"mediaType": CHART_CONFIG, "digest": digest_of(b"{}"), "size": 2}
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": layers}).encode()
    blobs: list[str] = []

    def respond(exchange: Exchange) -> None:
        if "/blobs/" in exchange.path:
            blobs.append(exchange.path)
        exchange.answer(200, manifest, {"Content-Type": IMAGE_MANIFEST})

    fetcher = ChartFetcher(ChartAccess(plain_http=True))
    refused = pytest.raises(HelmError, match=rf"the {what} has {size} bytes; at most")
    with serving(respond) as address, refused:
        fetcher.fetch(f"{address.replace('http', 'oci')}/charts/a:1", provenance=True)
    assert blobs == []


def test_a_provenance_that_is_longer_than_its_size_is_not_read_to_its_end() -> None:
    sent = [0]

    def respond(exchange: Exchange) -> None:
        if exchange.path.endswith(digest_of(b"signed")):
            exchange.head(200, {})
            with contextlib.suppress(OSError):
                while sent[0] < 64 << 20:
                    exchange.send(bytes(1 << 16))
                    sent[0] += 1 << 16
        elif "/blobs/" in exchange.path:
            exchange.answer(200, ARCHIVE)
        else:
            exchange.answer(200, manifest, {"Content-Type": IMAGE_MANIFEST})

    layers = [
        {"mediaType": CHART_LAYER, "digest": digest_of(ARCHIVE), "size": len(ARCHIVE)},
        {"mediaType": PROVENANCE_LAYER, "digest": digest_of(b"signed"), "size": 6},
    ]
    config = {"mediaType": CHART_CONFIG, "digest": digest_of(b"{}"), "size": 2}
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": layers}).encode()
    fetcher = ChartFetcher(ChartAccess(plain_http=True))
    with serving(respond) as address, pytest.raises(RegistryError, match="is longer than the expected 6 bytes"):
        fetcher.fetch(f"{address.replace('http', 'oci')}/charts/a:1", provenance=True)
    assert sent[0] < 64 << 20
