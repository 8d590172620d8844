"""Catalogs from outside a cluster: files, folders, and what a web server can do to whoever asks it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.content import blob_fetcher, community_catalog
from kymatui.adapters.content.community_catalog import CommunityCatalog, read_catalog
from kymatui.adapters.http.web_session import next_address, redact_url
from kymatui.errors import ConfigurationError, KymatuiError, RegistryError
from tests.adapters.clusters import Exchange, serving

OPERATOR = "operator.kyma-project.io"


def template(name: str = "cap-operator", version: str = "0.33.0", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{OPERATOR}/v1beta2",
        "kind": "ModuleTemplate",
        "metadata": {"name": f"{name}-{version}", **metadata},
        "spec": {"moduleName": name, "version": version, "descriptor": {}},
    }


def text(*objects: Any) -> bytes:
    return yaml.safe_dump_all(objects).encode()


def names(catalog: CommunityCatalog) -> list[str]:
    return [item["metadata"]["name"] for item in catalog.templates]


# what is taken


def test_only_templates_are_taken_and_the_rest_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "all-modules.yaml"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    alien = {"apiVersion": "other.example/v1", "kind": "ModuleTemplate", "metadata": {"name": "y"}, "spec": {}}
    file.write_bytes(text(template(), secret, secret, alien, "words", None, 5))
    found = read_catalog(str(file))
    assert names(found) == ["cap-operator-0.33.0"]
    assert found.notes == ("skipped: 1 ModuleTemplate, 2 Secret, 2 without a kind",)


def test_lists_are_opened(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    inner = {"apiVersion": "v1", "kind": "List", "items": [template("one"), [template("two")]]}
    file.write_bytes(text(inner, [template("three"), {"kind": "ModuleTemplateList", "items": [template("four")]}]))
    assert names(read_catalog(str(file))) == [f"{name}-0.33.0" for name in ("one", "two", "three", "four")]


def test_what_means_something_only_inside_a_cluster_is_left_out(tmp_path: Path) -> None:
    claims = {f"{OPERATOR}/managed-by": "kyma", f"{OPERATOR}/mandatory-module": "true", f"{OPERATOR}/beta": "true"}
    item = template(labels=claims, namespace="kyma-system", annotations={"source": "https://a.lie", "note": "kept"})
    item["spec"].update(channel="regular", mandatory=True)
    file = tmp_path / "claims.yaml"
    file.write_bytes(text(item))
    (taken,) = read_catalog(str(file)).templates
    assert taken["metadata"] == {
        "name": "cap-operator-0.33.0",
        "labels": {f"{OPERATOR}/beta": "true"},
        "annotations": {"source": str(file), "note": "kept"},
    }
    assert set(taken["spec"]) == {"moduleName", "version", "descriptor"}


MALFORMED: dict[str, dict[str, Any]] = {
    "no name": {**template(), "metadata": {}},
    "metadata is a text": {**template(), "metadata": "x"},
    "name is a list": {**template(), "metadata": {"name": ["x"]}},
    "spec is a list": {**template(), "spec": []},
    "no spec": {key: value for key, value in template().items() if key != "spec"},
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_template_that_makes_no_sense_is_handed_on_as_it_is(tmp_path: Path, body: dict[str, Any]) -> None:
    from kymatui.domain.kubernetes.object_meta import MalformedObject
    from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template

    file = tmp_path / "odd.yaml"
    file.write_bytes(text(body, template("good")))
    odd, good = read_catalog(str(file)).templates
    assert isinstance(read_template(good, outside=True), ModuleTemplate)
    read = read_template(odd, outside=True)
    assert isinstance(read, MalformedObject) or not read.version, "it is told apart from a good one"


def workload(name: str, image: str) -> dict[str, Any]:
    containers = [{"name": "manager", "image": image}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "kyma-system"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}},
    }


def test_raw_manifests_beside_templates_are_told_by_their_names(tmp_path: Path) -> None:
    """They name image tags that are no versions; of their objects only the workloads count."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "templates.yaml").write_bytes(text(template(), template(version="0.34.0-rc1")))
    manager = workload("manager", "r.io/m:latest")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    (tmp_path / "raw" / "cap-operator-0.33.0.yaml").write_bytes(text(secret, manager))
    (tmp_path / "raw" / "other-0.1.0.yaml").write_bytes(text(manager))
    found = read_catalog(str(tmp_path))
    assert found.workloads == {("cap-operator", "0.33.0"): (manager,)}
    assert found.notes == ("skipped: 1 Deployment",)


def test_the_real_raw_manifests(shared: Path) -> None:
    found = read_catalog(str(shared / "kyma" / "catalog" / "derived"))
    files = {file.stem for file in (shared / "kyma" / "catalog" / "derived" / "raw-manifests").glob("*.yaml")}
    assert {f"{module}-{version}" for module, version in found.workloads} == files
    assert all(len(items) >= 1 for items in found.workloads.values())


def test_what_stands_before_a_mistake_counts_and_the_mistake_is_said(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_bytes(text(template()) + b"---\na: [\n")
    found = read_catalog(str(file))
    assert names(found) == ["cap-operator-0.33.0"]
    assert "is not valid YAML" in found.notes[0]


def test_the_same_template_twice_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_bytes(text(template(), template(), template(version="0.34.0")))
    found = read_catalog(str(file))
    assert names(found) == ["cap-operator-0.33.0", "cap-operator-0.34.0"]
    assert found.notes == ("cap-operator-0.33.0 appears twice; the first one is used",)


def test_more_templates_than_anybody_needs_are_cut_off_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(community_catalog, "MOST_TEMPLATES", 3)
    file = tmp_path / "many.yaml"
    file.write_bytes(text(*(template(version=f"1.0.{n}") for n in range(5))))
    found = read_catalog(str(file))
    assert len(found.templates) == 3
    assert "only the first 3 templates are used" in found.notes


NO_CATALOG = {
    "nothing at all": b"",
    "no template in it": text({"kind": "ConfigMap"}),
    "not YAML": b"a: [",
    "not text": b"\x00\x01\x02\xff",
    "aliases without end": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(ord("b"), ord("k"))),
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("content", NO_CATALOG.values(), ids=NO_CATALOG)
def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match="has no ModuleTemplate"):
        read_catalog(str(file))


# files and folders


def test_a_folder_is_read_with_what_is_below_it(tmp_path: Path) -> None:
    """The file's name says nothing: the real cad-operator-0.1.0.yaml holds another module in another version."""
    (tmp_path / "below" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "cad-operator-0.1.0.yaml").write_bytes(text(template("cloud-active-defense-operator", "0.1.1")))
    (tmp_path / "below" / "deep" / "b.json").write_text(json.dumps(template("two")))
    (tmp_path / "below" / "broken.yml").write_bytes(b"a: [")
    (tmp_path / "README.md").write_text("# not read")
    (tmp_path / ".git" / "hidden.yaml").write_bytes(text(template("hidden")))
    found = read_catalog(str(tmp_path))
    assert names(found) == ["cloud-active-defense-operator-0.1.1", "two-0.33.0"]
    assert "broken.yml is not valid YAML" in found.notes[0]


def test_a_file_may_be_named_as_an_address_and_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "with space.yaml"
    file.write_bytes(text(template()))
    for source in (file.as_uri(), f"file://localhost{str(file).replace(' ', '%20')}", "~/with space.yaml"):
        assert len(read_catalog(source).templates) == 1


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "one.yaml").write_bytes(text(template()))
    assert len(read_catalog(str(tmp_path)).templates) == 1


def test_the_real_community_modules(shared: Path) -> None:
    found = read_catalog(str(shared / "kyma" / "moduletemplates" / "community-current"))
    files = sorted((shared / "kyma" / "moduletemplates" / "community-current").glob("*.yaml"))
    assert len(found.templates) == len(files) == 7
    assert "cloud-active-defense-operator-0.1.1" in names(found)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no/such/file.yaml", "No such file"),
        ("/dev/null", "neither a file nor a folder"),
        ("ftp://somewhere/x", "is not a catalog source"),
        ("file://elsewhere/x", "is not a catalog source"),
        ("", "is not a catalog source"),
    ],
)
def test_what_is_no_source_is_said(source: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_catalog(source)


def test_a_folder_without_files_and_one_with_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="has no file"):
        read_catalog(str(tmp_path))
    monkeypatch.setattr(community_catalog, "MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.yaml").write_bytes(text(template()))
    with pytest.raises(ConfigurationError, match="more than 2 files"):
        read_catalog(str(tmp_path))


def test_sizes_are_bounded_over_a_whole_folder(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.yaml").write_bytes(text(template(version=f"1.0.{number}")))
    size = (tmp_path / "0.yaml").stat().st_size
    assert len(read_catalog(str(tmp_path), largest=3 * size).templates) == 3
    with pytest.raises(ConfigurationError, match=f"too large; at most {2 * size} bytes"):
        read_catalog(str(tmp_path), largest=2 * size)


# the web

Answer = Callable[[Exchange], None]


@pytest.fixture
def served() -> Iterator[Callable[[Answer], str]]:
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer)) + "/all-modules.yaml"


def plain(body: bytes, kind: str = "text/plain", **headers: str) -> Answer:
    return lambda exchange: exchange.answer(200, body, {"Content-Type": kind, **headers})


def test_an_address_is_read(served: Callable[[Answer], str]) -> None:
    url = served(plain(text(template())))
    found = read_catalog(url)
    assert names(found) == ["cap-operator-0.33.0"]
    assert found.templates[0]["metadata"]["annotations"]["source"] == url


def test_what_is_packed_is_unpacked_and_bounded(served: Callable[[Answer], str]) -> None:
    packed = {"Content-Encoding": "gzip"}
    assert len(read_catalog(served(plain(gzip.compress(text(template())), **packed))).templates) == 1
    with pytest.raises(RegistryError, match="too large"):
        read_catalog(served(plain(gzip.compress(b"#" * 10_000_000), **packed)), largest=1_000_000)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "text/plain"])
def test_a_web_page_is_no_catalog(served: Callable[[Answer], str], kind: str) -> None:
    with pytest.raises(RegistryError, match="web page") as caught:
        read_catalog(served(plain(b"\n<!DOCTYPE html><html></html>", kind)))
    assert "raw file" in caught.value.hint


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_a_refusal_is_said_with_its_number(served: Callable[[Answer], str], status: int) -> None:
    with pytest.raises(RegistryError, match=f"all-modules.yaml: HTTP {status}"):
        read_catalog(served(lambda exchange: exchange.answer(status, b"no", {})))


def test_what_is_too_large_is_not_read_to_its_end(served: Callable[[Answer], str]) -> None:
    sent = threading.Event()

    def endless(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "text/plain"})
        try:
            while True:
                exchange.send(b"#" * 65536)
        except OSError:
            sent.set()

    with pytest.raises(RegistryError, match="too large; at most 1000000 bytes are allowed"):
        read_catalog(served(endless), largest=1_000_000)
    assert sent.wait(20), "the connection is closed"


def test_a_server_that_sends_a_byte_now_and_then_is_left_behind(
    served: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a body nor a head that never ends holds anybody; no timeout between two bytes notices it."""
    monkeypatch.setattr(blob_fetcher, "ALL_SECONDS", 0.5)
    over = threading.Event()

    def body(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "text/plain", "Content-Length": "1000000"})
        drip(exchange, b"#")

    def head(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\n")
        drip(exchange, b"X: y\r\n")

    def drip(exchange: Exchange, drop: bytes) -> None:
        while not over.wait(0.05):
            exchange.send(drop)

    try:
        for answer in (body, head):
            with pytest.raises(RegistryError, match="took longer than"):
                read_catalog(served(answer))
    finally:
        over.set()


def test_an_answer_that_breaks_off_is_no_catalog(served: Callable[[Answer], str]) -> None:
    def half(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "text/plain", "Content-Length": "100000"})
        exchange.send(text(template()))
        exchange.drop()

    with pytest.raises(RegistryError, match="cannot be fetched"):
        read_catalog(served(half))


def test_redirects_are_followed_for_a_while(served: Callable[[Answer], str]) -> None:
    def round_and_round(exchange: Exchange) -> None:
        exchange.answer(302, b"", {"Location": "/again"})

    target = served(plain(text(template())))
    assert len(read_catalog(served(lambda exchange: exchange.answer(301, b"", {"Location": target}))).templates) == 1
    with pytest.raises(RegistryError, match="redirects more than 5 times"):
        read_catalog(served(round_and_round))


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://somewhere/x"])
def test_a_redirect_leads_to_the_web_or_nowhere(served: Callable[[Answer], str], place: str) -> None:
    with pytest.raises(RegistryError, match="redirects to"):
        read_catalog(served(lambda exchange: exchange.answer(302, b"", {"Location": place})))


def test_nobody_is_led_out_of_tls() -> None:
    with pytest.raises(RegistryError, match=r"without TLS: http://example\.org/x"):
        next_address("https://here/x", "https://here/x", "http://example.org/x")
    assert next_address("", "https://here/a/b", "/x") == "https://here/x"
    assert next_address("", "http://here/a", "https://there/x") == "https://there/x"


def test_a_server_that_is_not_there_is_said() -> None:
    with serving(lambda exchange: exchange.drop()) as address:
        pass
    with pytest.raises(RegistryError, match="cannot be fetched"):
        read_catalog(address)


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://host:port/x", "https://a b/"])
def test_addresses_that_make_no_sense_are_said(url: str) -> None:
    with pytest.raises(KymatuiError):
        read_catalog(url)


def test_a_password_is_sent_and_never_shown(served: Callable[[Answer], str]) -> None:
    seen: list[str] = []

    def answer(exchange: Exchange) -> None:
        seen.append(exchange.headers.get("Authorization", ""))
        exchange.answer(404, b"", {})

    url = served(answer).replace("http://", "http://me:secret@")
    with pytest.raises(RegistryError) as caught:
        read_catalog(url)
    assert seen[0].startswith("Basic ")
    assert "secret" not in f"{caught.value}{caught.value.hint}{redact_url(url)}"
