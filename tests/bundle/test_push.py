"""Images come along with `copy --recursive`, and `push` unloads layouts and archives with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.files.image_layout import ImageLayout
from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from tests.bundle.components import MANIFEST, NAME, VERSION, document, key_files, local, put, stored
from tests.bundle.sources import write_sources
from tests.bundle.test_image_signatures import push
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)

SOURCE = f"//{NAME}:{VERSION}"


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


@pytest.fixture
def other(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def bundle(*words: str, hosts: tuple[str, ...]) -> int:
    return main(["bundle", *words, *(word for one in hosts for word in ("--insecure-registry", one))])


def image(name: str, reference: str, **more: Any) -> dict[str, Any]:
    access = {"type": "ociArtifact", "imageReference": reference}
    return {"name": name, "version": VERSION, "type": "ociArtifact", "relation": "external", "access": access, **more}


def signed_digest(digest: str) -> dict[str, Any]:
    value = digest.partition(":")[2]
    return {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": value}


def put_with_images(host: str, *images: dict[str, Any]) -> None:
    put(host, document(resources=[local("raw-manifest", MANIFEST), *images]), MANIFEST)


def put_module(host: str) -> tuple[str, str]:
    """Store a component with two images, one of several platforms; return their digests."""
    one = push(host, "1.0.0", "one", "team/manager")
    entry = {"mediaType": IMAGE_MANIFEST, "digest": push(host, "x", "arm", "team/agent"), "size": 1}
    body = json.dumps({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [entry]}).encode()
    two = RegistryArtifacts(insecure=[host]).push_manifest(f"{host}/team/agent", "2.0.0", body, IMAGE_INDEX)
    put_with_images(
        host,
        image("manager", f"{host}/team/manager:1.0.0", digest=signed_digest(one)),
        image("agent", f"{host}/team/agent@{two}"),
    )
    return one, two


def references(host: str, base: str) -> list[str]:
    listed = stored(host, base=base).document["component"]["resources"]
    return [one["access"]["imageReference"] for one in listed if one["type"] == "ociArtifact"]


def has(host: str, repository: str, pointer: str) -> bool:
    return RegistryArtifacts(insecure=[host]).manifest(f"{host}/{repository}", pointer) is not None


def test_images_are_copied_and_named_in_the_mirror(host: str, other: str, tmp_path: Path) -> None:
    one, two = put_module(host)
    private, given = key_files(tmp_path)
    assert bundle("sign", f"{host}/p{SOURCE}", "--signature", "a", "--private-key", private, hosts=(host,)) == 0
    for _ in range(2):
        assert bundle("copy", f"{host}/p{SOURCE}", f"{other}/q", "--recursive", hosts=(host, other)) == 0
    assert references(other, "q") == [f"{other}/q/team/manager:1.0.0", f"{other}/q/team/agent@{two}"]
    assert has(other, "q/team/manager", "1.0.0")
    assert has(other, "q/team/manager", one)
    assert has(other, "q/team/agent", two)
    assert bundle("verify", f"{other}/q{SOURCE}", "--public-key", given, hosts=(other,)) == 0


def test_images_stay_where_they_are_without_recursive_and_keep_their_names_with_exact(host: str, other: str) -> None:
    put_module(host)
    assert bundle("copy", f"{host}/p{SOURCE}", f"{other}/q", hosts=(host, other)) == 0
    assert references(other, "q") == references(host, "p")
    assert not has(other, "q/team/manager", "1.0.0")
    assert bundle("copy", f"{host}/p{SOURCE}", f"{other}/e", "--recursive", "--exact", hosts=(host, other)) == 0
    assert stored(other, base="e").digest == stored(host).digest
    assert has(other, "e/team/manager", "1.0.0")


@pytest.mark.parametrize("wrong", ["missing", "changed"])
def test_an_image_that_is_not_the_one_of_the_component_stops_the_copy(
    wrong: str, host: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{host}/team/manager:1.0.0"
    if wrong == "changed":
        push(host, "1.0.0", "other", "team/manager")
    put_with_images(host, image("manager", text, digest=signed_digest(f"sha256:{'0' * 64}")))
    status = bundle("copy", f"{host}/p{SOURCE}", f"{other}/q", "--recursive", hosts=(host, other))
    assert status == (1 if wrong == "missing" else 2)
    assert (f"image {text} does not exist" if wrong == "missing" else "was signed") in capsys.readouterr().err
    assert not has(other, f"q/component-descriptors/{NAME}", VERSION)


@pytest.mark.parametrize("kind", ["layout", "tar"])
def test_push_unloads_components_with_their_images_where_the_source_is_out_of_reach(
    kind: str, host: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, two = put_module(host)
    push(host, "3.0.0", "alone", "team/alone")
    kept = tmp_path / "kept"
    assert bundle("copy", f"{host}/p{SOURCE}", f"{kind}:{kept}", "--recursive", hosts=(host,)) == 0
    if kind == "layout":
        assert bundle("copy", f"{host}/team/alone:3.0.0", f"layout:{kept}", hosts=(host,)) == 0
    capsys.readouterr()
    for _ in range(2):
        assert bundle("push", str(kept), f"{other}/q", hosts=(other,)) == 0  # the other registry would need TLS
    assert f"pushed    {other}/q{SOURCE} sha256:" in capsys.readouterr().out
    assert references(other, "q") == [f"{other}/q/team/manager:1.0.0", f"{other}/q/team/agent@{two}"]
    assert has(other, "q/team/manager", "1.0.0")
    assert has(other, "q/team/alone", "3.0.0") == (kind == "layout")


@pytest.mark.parametrize("mapping", ["urlPath", "sha256-digest"])
def test_push_publishes_what_create_wrote_to_a_layout(mapping: str, host: str, tmp_path: Path) -> None:
    config = write_sources(tmp_path / "m")
    layout, template = tmp_path / "layout", tmp_path / "t.yaml"
    words = ["-c", str(config), "-o", str(template), "--sources", str(config.parent), "--mapping", mapping]
    assert main(["bundle", "create", *words, "--layout", str(layout)]) == 0
    assert bundle("push", str(layout), f"{host}/p", hosts=(host,)) == 0
    name = yaml.safe_load(config.read_text())["name"]
    assert bundle("show", f"{host}/p//{name}:1.0.0", "--mapping", mapping, hosts=(host,)) == 0


def test_push_keeps_what_is_there_unless_it_may_replace_it(
    host: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(host, document())
    assert bundle("copy", f"{host}/p{SOURCE}", f"layout:{tmp_path / 'l'}", hosts=(host,)) == 0
    put(other, document(provider="changed"), base="q")
    assert bundle("push", str(tmp_path / "l"), f"{other}/q", hosts=(other,)) == 2
    assert "exists and is" in capsys.readouterr().err
    assert bundle("push", str(tmp_path / "l"), f"{other}/q", "--overwrite", hosts=(other,)) == 0
    assert stored(other, base="q").descriptor.provider == "acme"


def test_push_of_what_is_no_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle("push", str(tmp_path), "r.example", hosts=()) == 64
    assert "holds nothing" in capsys.readouterr().err
    assert bundle("push", f"layout:x//{NAME}:1.0.0", "r.example", hosts=()) == 64
    assert "bundle copy" in capsys.readouterr().err
    assert bundle("push", str(tmp_path / "gone"), "r.example", hosts=()) == 1
    assert bundle("push", str(tmp_path), "layout:x", hosts=()) == 64
    unnamed = tmp_path / "unnamed"
    ImageLayout(unnamed).push_manifest("", "1.0.0", b"{}", IMAGE_MANIFEST)
    index = unnamed / "index.json"
    index.write_text(index.read_text().replace('":1.0.0"', '"1.0.0"'))
    assert bundle("push", str(unnamed), "r.example", hosts=()) == 1
    assert "without a repository" in capsys.readouterr().err
