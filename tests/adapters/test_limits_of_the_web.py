"""Registries, chart repositories and catalogs by URL that mean harm: bounded, and an error of the project."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.content import chart_fetcher
from kymatui.adapters.content.chart_fetcher import ChartFetcher
from kymatui.adapters.content.community_catalog import read_catalog
from kymatui.adapters.http import response_body
from kymatui.adapters.oci import registry as registries
from kymatui.adapters.oci import requester
from kymatui.adapters.oci.image_manifest import ContentDescriptor
from kymatui.adapters.oci.registry import Registry
from kymatui.errors import ConfigurationError, HelmError, RegistryError
from kymatui.helm.yaml import reading
from kymatui.helm.yaml.limits import YamlBudget
from tests.adapters import hostile
from tests.adapters.clusters import Exchange, serving

Attack = Callable[[Exchange], None]


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * 100_000_000, 1)


def packed(body: bytes, encoding: str = "gzip", **headers: str) -> Attack:
    return lambda exchange: exchange.answer(200, body, {"Content-Encoding": encoding, **headers})


def on_registry(attack: Attack, use: Callable[[Registry, str], Any]) -> Any:
    with serving(attack) as address:
        return use(Registry(insecure=True), address.removeprefix("http://"))


def test_manifests_tags_referrers_and_errors_of_a_registry_are_bounded() -> None:
    digest = "sha256:" + "0" * 64
    uses: tuple[Callable[[Registry, str], Any], ...] = (
        lambda registry, host: registry.fetch_manifest(f"{host}/a/b:1"),
        lambda registry, host: registry.tags(f"{host}/a/b"),
        lambda registry, host: registry.referrers(f"{host}/a/b", digest),
    )
    for use in uses:
        with pytest.raises(RegistryError, match=r"is larger than 8 MiB|is longer than 4194304 bytes"):
            on_registry(packed(bomb()), use)
        with pytest.raises(RegistryError, match="is larger than 8 MiB"):
            on_registry(lambda exchange: exchange.answer(404, bomb(), {"Content-Encoding": "gzip"}), use)
        with pytest.raises(RegistryError, match="which was not requested"):
            on_registry(packed(b"x", "br"), use)


def test_a_list_of_tags_that_leads_in_a_circle_ends() -> None:
    count = [0]

    def respond(exchange: Exchange) -> None:
        count[0] += 1
        exchange.json({"tags": ["1"]}, headers={"Link": f'<{exchange.path}>; rel="next"'})

    with pytest.raises(RegistryError, match="the list of tags does not end"):
        on_registry(respond, lambda registry, host: registry.tags(f"{host}/a/b"))
    assert count[0] == 1


def test_a_list_of_tags_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "MOST_TAG_PAGES", 5)
    count = [0]

    def respond(exchange: Exchange) -> None:
        count[0] += 1
        exchange.json({"tags": ["1"]}, headers={"Link": f'<{exchange.path}?n={count[0]}>; rel="next"'})

    with pytest.raises(RegistryError, match="does not end"):
        on_registry(respond, lambda registry, host: registry.tags(f"{host}/a/b"))
    assert count[0] == 5


MALFORMED: list[Any] = [None, 5, [], {"tags": 5}, {"manifests": {"a": 1}}, {"manifests": [5]}]


@pytest.mark.parametrize("document", MALFORMED, ids=str)
def test_malformed_answers_of_a_registry_are_errors_or_say_nothing(document: Any) -> None:
    for use in (
        lambda registry, host: registry.tags(f"{host}/a/b"),
        lambda registry, host: registry.referrers(f"{host}/a/b", "sha256:" + "0" * 64),
        lambda registry, host: registry.fetch_manifest(f"{host}/a/b:1").layers,
    ):
        found: Any = ()
        with contextlib.suppress(RegistryError):
            found = on_registry(lambda exchange: exchange.json(document), use)
        assert list(found) == []


def test_a_deep_manifest_is_an_error() -> None:
    deep = b'{"a":' + b"[" * 200_000
    with pytest.raises(RegistryError, match="nested in more than 200 levels"):
        on_registry(
            lambda exchange: exchange.answer(200, deep), lambda found, host: found.fetch_manifest(f"{host}/a:1")
        )


@pytest.mark.parametrize("encoding", ["gzip", ""])
def test_a_blob_that_is_longer_than_it_says_is_not_read_to_its_end(encoding: str) -> None:
    content = bomb() if encoding else b" " * 1_000_000
    digest = f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    with serving(lambda exchange: exchange.answer(200, content, {"Content-Encoding": encoding})) as address:
        found = Registry(insecure=True).read_blob(
            address.removeprefix("http://") + "/a", ContentDescriptor("x", digest, 1)
        )
        with pytest.raises(RegistryError, match="longer than the expected 1 bytes"):
            list(found)


def test_a_registry_that_drips_is_left_by_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requester, "DOCUMENT_SECONDS", 0.3)
    over = threading.Event()

    def respond(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "application/json", "Content-Length": "1000000"})
        while not over.wait(0.05):
            exchange.send(b" ")

    began = time.monotonic()
    try:
        with pytest.raises(RegistryError):
            on_registry(respond, lambda registry, host: registry.tags(f"{host}/a"))
    finally:
        over.set()
    assert time.monotonic() - began < 5


# repositories and catalogs


def test_an_index_is_bounded_in_bytes_and_in_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(packed(bomb())) as address, pytest.raises(RegistryError, match="is longer than"):
        ChartFetcher().index(address)
    monkeypatch.setattr(reading, "YamlBudget", lambda: YamlBudget(1000))
    body = b"apiVersion: v1\nentries: {a: [" + b"[]," * 1000 + b"]}"
    many = pytest.raises(
        HelmError, match=r"index\.yaml is no index .*: line 2, column \d+: it has more than 1000 values"
    )
    with serving(lambda exchange: exchange.answer(200, body)) as address, many:
        ChartFetcher().index(address)


def test_a_catalog_is_bounded() -> None:
    with (
        serving(packed(bomb())) as address,
        pytest.raises(RegistryError, match=f"{response_body.LARGEST_CATALOG} bytes"),
    ):
        read_catalog(f"{address}/all-modules.yaml")
    deep = b"a: " + b"[" * 100_000
    too_deep = pytest.raises(ConfigurationError, match="more than 500 levels")
    with serving(lambda exchange: exchange.answer(200, deep, {"Content-Type": "text/plain"})) as address, too_deep:
        read_catalog(f"{address}/all-modules.yaml")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of memory")
def test_a_hostile_catalog_costs_less_than_300_mb(tmp_path: Path) -> None:
    body = b"[" + b"[]," * (response_body.LARGEST_CATALOG // 12) + b"0]"

    def respond(exchange: Exchange) -> None:
        if exchange.path.endswith(".yaml"):
            exchange.answer(200, gzip.compress(body), {"Content-Encoding": "gzip", "Content-Type": "text/plain"})
        else:
            hostile.answered(exchange, lambda one: one.json(hostile.listing(one.path)))

    with serving(respond) as address:
        words = ["catalog", "--catalog", f"{address}/all-modules.yaml"]
        run = hostile.run_against(address, tmp_path, words, timeout=90)
    assert run.memory < 300, run
    assert "Traceback" not in run.errors


def test_credentials_do_not_follow_a_redirect_to_another_host() -> None:
    seen: list[str | None] = []

    def other(exchange: Exchange) -> None:
        seen.append(exchange.headers.get("Authorization"))
        exchange.answer(200, b"apiVersion: v1\nentries: {}\n")

    with serving(other) as elsewhere:
        away = elsewhere.replace("127.0.0.1", "localhost")
        with serving(lambda exchange: exchange.answer(302, b"", {"Location": f"{away}/index.yaml"})) as address:
            ChartFetcher(chart_fetcher.ChartAccess(username="ann", password="secret")).index(address)
    assert seen == [None]
