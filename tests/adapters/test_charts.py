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
    OLD_CHART_LAYER,
    PROVENANCE_LAYER,
    ChartAccess,
    ChartFetcher,
)
from kymatui.adapters.http.response_body import LARGEST_ARCHIVE
from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST, digest_of
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
    for tag in ("20261121", "2026.01.05", "v3.0.0", "3.0"):  # not strict versions, and not the newest one either
        push_chart(f"{registry}/charts/demo:{tag}", CHART_CONFIG)
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


def push_old_chart(where: str) -> None:
    client = Registry(insecure=True)
    config = client.push_blob(where, b"{}", CHART_CONFIG)
    layer = client.push_blob(where, ARCHIVE, OLD_CHART_LAYER)
    body = {"schemaVersion": 2, "config": config.to_json(), "layers": [layer.to_json()]}
    client.push_manifest(where, json.dumps(body).encode(), IMAGE_MANIFEST)


def push_index(where: str, *tags: str, types: bool = True) -> None:
    """Push an index of the manifests of these tags; with `types` the descriptor of a chart has its type."""
    client, entries = Registry(insecure=True), []
    for tag in tags:
        manifest = client.fetch_manifest(f"{where.rpartition(':')[0]}:{tag}")
        entry = {"mediaType": manifest.media_type, "digest": manifest.digest, "size": len(manifest.raw)}
        kind = manifest.config.media_type if manifest.config is not None else ""
        entries.append({**entry, "artifactType": kind} if types and kind == CHART_CONFIG else entry)
    index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": entries}
    client.push_manifest(where, json.dumps(index).encode(), IMAGE_INDEX)


@pytest.fixture
def mixed(registry: str) -> str:
    """A repository with an image, charts, and indexes of them."""
    where = f"{registry}/mixed/demo"
    push_chart(f"{where}:image", "application/vnd.oci.image.config.v1+json")
    push_chart(f"{where}:1.0.0", CHART_CONFIG)
    push_old_chart(f"{where}:0.1.0")
    push_index(f"{where}:2.0.0", "image", "1.0.0")
    push_index(f"{where}:2.1.0", "image", "1.0.0", types=False)
    push_index(f"{where}:2.2.0", "image", "2.1.0")
    push_index(f"{where}:3.0.0", "image")
    push_index(f"{where}:3.1.0", "1.0.0", "0.1.0")
    return where


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "2.2.0"])
def test_a_chart_in_an_index_beside_an_image_is_fetched(mixed: str, version: str) -> None:
    chart = ChartFetcher(ChartAccess(plain_http=True)).fetch(f"oci://{mixed}", version=version, provenance=True)
    assert (chart.filename, chart.content, chart.provenance) == (f"demo-{version}.tgz", ARCHIVE, b"signed")
    assert chart.manifest == Registry(insecure=True).fetch_manifest(f"{mixed}:{version}").digest


@pytest.mark.parametrize(
    ("version", "message"), [("3.0.0", "an index without a chart"), ("3.1.0", "an index of 2 charts")]
)
def test_an_index_that_does_not_name_one_chart_is_refused(mixed: str, version: str, message: str) -> None:
    with pytest.raises(HelmError, match=message):
        ChartFetcher(ChartAccess(plain_http=True)).fetch(f"oci://{mixed}", version=version)


def test_a_chart_of_the_old_layer_type_is_fetched_with_a_warning(mixed: str) -> None:
    chart = ChartFetcher(ChartAccess(plain_http=True)).fetch(f"oci://{mixed}", version="0.1.0")
    assert chart.content == ARCHIVE
    assert chart.warnings == ("chart media type application/tar+gzip is deprecated",)


def test_a_version_is_a_tag_also_where_tags_are_not_listed(registry: str) -> None:
    push_chart(f"{registry}/charts/demo:v3.0.0", CHART_CONFIG)
    push_chart(f"{registry}/charts/demo:1.5.0_build.7", CHART_CONFIG)
    fetcher = ChartFetcher(ChartAccess(plain_http=True))
    names = {
        version: fetcher.fetch(f"oci://{registry}/charts/demo", version=version).filename
        for version in ("v3.0.0", "1.5.0+build.7")
    }
    assert names == {"v3.0.0": "demo-v3.0.0.tgz", "1.5.0+build.7": "demo-1.5.0+build.7.tgz"}
    for tag in ("1.5.0+build.7", "1.5.0%2Bbuild.7"):
        assert fetcher.fetch(f"oci://{registry}/charts/demo:{tag}").filename == "demo-1.5.0+build.7.tgz"
    with pytest.raises(HelmError, match=r"has no version 1\.5") as refused:
        fetcher.fetch(f"oci://{registry}/charts/demo", version="1.5")
    assert "'1.5.x'" in refused.value.hint


def test_a_chart_by_digest_has_to_be_that_of_its_tag(mixed: str) -> None:
    fetcher, client = ChartFetcher(ChartAccess(plain_http=True)), Registry(insecure=True)
    digest = client.fetch_manifest(f"{mixed}:1.0.0").digest
    for tag in ("", ":1.0.0", ":9.9.9"):  # a digest does not need a tag
        chart = fetcher.fetch(f"oci://{mixed}{tag}@{digest}")
        assert (chart.content, chart.filename) == (ARCHIVE, f"demo@{digest.replace(':', '-')}.tgz")
    with pytest.raises(HelmError, match="chart reference digest mismatch"):
        fetcher.fetch(f"oci://{mixed}:0.1.0@{digest}")
    with pytest.raises(HelmError, match="chart reference digest mismatch"):
        fetcher.fetch(f"oci://{mixed}@{digest}", version="0.1.0")


def test_the_query_of_a_repository_is_sent_and_not_displayed(site: Site) -> None:
    fetcher = ChartFetcher()
    chart = fetcher.fetch("demo", repository=f"{site.url}?token=s3cret")
    assert (chart.filename, chart.content) == ("demo-1.0.0.tgz", ARCHIVE)
    assert [path for path, _ in site.asked] == ["/index.yaml?token=s3cret", "/charts/demo-1.0.0.tgz?token=s3cret"]
    site.pages.clear()
    for repository in (f"{site.url}?token=s3cret", f"{site.url}/other?token=s3cret"):
        with pytest.raises((RegistryError, HelmError)) as refused:
            fetcher.fetch("demo", version="1.0.0", repository=repository)
        assert "s3cret" not in f"{refused.value} {refused.value.hint}"
    assert "s3cret" not in chart.source


def test_an_escaped_address_of_an_index_names_the_file_as_it_is(site: Site) -> None:
    site.index(version="1.0.0+b.5", urls=["charts/demo-1.0.0%2Bb.5.tgz"])
    site.pages["/charts/demo-1.0.0%2Bb.5.tgz"] = ARCHIVE
    site.pages["/charts/demo-1.0.0%2Bb.5.tgz.prov"] = b"signed"
    chart = ChartFetcher().fetch("demo", repository=f"{site.url}/?a=b", provenance=True)
    assert (chart.filename, chart.provenance) == ("demo-1.0.0+b.5.tgz", b"signed")
