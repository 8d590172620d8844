"""`bundle add` on a registry over real sockets: what is added, what stays of the base, and what is refused."""

from __future__ import annotations

import gzip
import json
import tarfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.errors import ConfigurationError, SourceError
from kymatui.publishing.image_layers import ImageMetadata, extended_image, new_layer
from tests.engine.sources.packing import tar
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER = {
    "manifest": "application/vnd.docker.distribution.manifest.v2+json",
    "config": "application/vnd.docker.container.image.v1+json",
    "layer": "application/vnd.docker.image.rootfs.diff.tar.gzip",
}
BASE_TAR = tar({"base": b"1"})
BASE_LAYER = gzip.compress(BASE_TAR, mtime=0)
ADDED = tar({"bin/tool": b"2"})


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


@pytest.fixture
def host(served: Served) -> str:
    return served.registry.address


def base_config(**fields: Any) -> dict[str, Any]:
    settings = {"Env": ["PATH=/bin", "A=1"], "Entrypoint": ["/m"], "Cmd": ["-v"], "Labels": {"keep": "1"}}
    return {
        "architecture": "amd64",
        "os": "linux",
        "x-unknown": {"a": 1},
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [digest_of(BASE_TAR)]},
        "history": [{"created_by": "step"}],
        **fields,
    }


def push(
    host: str, tag: str = "1", settings: dict[str, Any] | None = None, *, docker: bool = False, **more: Any
) -> tuple[str, int]:
    """Push an image with one layer; return digest and size of its manifest."""
    store, repository = RegistryArtifacts(insecure=[host]), f"{host}/base"
    content = json.dumps(settings or base_config()).encode()
    for one in (content, BASE_LAYER):
        store.push_blob(repository, one)
    kind = DOCKER["manifest"] if docker else IMAGE_MANIFEST
    body = {
        "schemaVersion": 2,
        "mediaType": kind,
        "config": {
            "mediaType": DOCKER["config"] if docker else CONFIG,
            "digest": digest_of(content),
            "size": len(content),
        },
        "layers": [
            {
                "mediaType": DOCKER["layer"] if docker else LAYER,
                "digest": digest_of(BASE_LAYER),
                "size": len(BASE_LAYER),
            }
        ],
        **more,
    }
    raw = json.dumps(body).encode()
    return store.push_manifest(repository, tag, raw, kind), len(raw)


def run(host: str, *words: str, base: str = "base:1", target: str = "out:new") -> int:
    return main(["bundle", "add", f"{host}/{base}", "-t", f"{host}/{target}", "--insecure-registry", host, *words])


def image(host: str, pointer: str = "new", repository: str = "out") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return manifest and config of the new image; its blobs have to be in its repository."""
    store = RegistryArtifacts(insecure=[host])
    raw, _ = store.manifest(f"{host}/{repository}", pointer) or (b"{}", "")
    manifest = json.loads(raw)
    contents = [store.blob(f"{host}/{repository}", one["digest"], 1 << 20) for one in manifest["layers"]]
    config = json.loads(store.blob(f"{host}/{repository}", manifest["config"]["digest"], 1 << 20))
    plain = [gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one for one in contents]
    assert config["rootfs"]["diff_ids"] == [digest_of(one) for one in plain]
    return manifest, config


@pytest.fixture
def layer(tmp_path: Path) -> str:
    path = tmp_path / "layer.tar"
    path.write_bytes(ADDED)
    return str(path)


@pytest.mark.parametrize("docker", [False, True])
def test_a_layer_is_appended_and_everything_else_stays(
    docker: bool, host: str, layer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    digest, _ = push(host, docker=docker, annotations={"a": "1"}, subject={"digest": "sha256:" + "0" * 64})
    assert run(host, "--layer", layer) == 0
    manifest, config = image(host)
    kind = DOCKER if docker else {"manifest": IMAGE_MANIFEST, "config": CONFIG, "layer": LAYER}
    assert manifest["mediaType"] == kind["manifest"]
    assert [one["mediaType"] for one in manifest["layers"]] == [kind["layer"]] * 2
    assert manifest["annotations"] == {"a": "1"}
    assert "subject" not in manifest, "the new image refers to nothing"
    assert {**config, "rootfs": 0, "history": 0, "created": 0} == {
        **base_config(),
        "rootfs": 0,
        "history": 0,
        "created": 0,
    }
    assert config["history"][0] == {"created_by": "step"}
    assert config["history"][1]["comment"] == f"base {host}/base@{digest}"
    assert f"base      {host}/base@{digest}" in capsys.readouterr().out


def test_metadata_is_set_as_crane_sets_it(host: str) -> None:
    push(host, annotations={"a": "1", "b": "1"})
    words = ["--annotation", "b=2", "--annotation", "c=x=y", "--label", "l=1", "--env", "A=2", "--env", "B="]
    assert run(host, *words, "--entrypoint", "/n,--fast", "--user", "1", "--workdir", "/w", "--base-annotations") == 0
    manifest, config = image(host)
    assert config["config"] == {
        "Env": ["PATH=/bin", "A=2", "B="],
        "Entrypoint": ["/n", "--fast"],
        "Labels": {"keep": "1", "l": "1"},
        "User": "1",
        "WorkingDir": "/w",
    }
    assert config["history"] == base_config()["history"], "no layer, no entry"
    names = {key: value for key, value in manifest["annotations"].items() if "base" not in key}
    assert names == {"a": "1", "b": "2", "c": "x=y"}
    assert manifest["annotations"]["org.opencontainers.image.base.name"] == f"{host}/base:1"
    assert run(host, "--cmd", "a,b", target="out:cmd") == 0
    assert image(host, "cmd")[1]["config"]["Cmd"] == ["a", "b"]


def test_the_base_is_mounted_and_never_sent(served: Served, layer: str) -> None:
    host = served.registry.address
    push(host)
    served.registry.requests.clear()
    assert run(host, "--layer", layer) == 0
    asked = served.registry.requests
    assert not [line for line in asked if line.startswith("GET") and digest_of(BASE_LAYER) in line]
    assert len([line for line in asked if line.startswith("PUT") and "/blobs/" in line]) == 2, "layer and config"
    assert served.registry.store.blob("out", digest_of(BASE_LAYER)) == BASE_LAYER


def test_every_platform_of_an_index_gets_the_layer(host: str, layer: str) -> None:
    store, entries = RegistryArtifacts(insecure=[host]), []
    for architecture in ("amd64", "arm64"):
        digest, size = push(host, architecture, base_config(architecture=architecture))
        platform = {"os": "linux", "architecture": architecture}
        entries.append({"mediaType": IMAGE_MANIFEST, "digest": digest, "size": size, "platform": platform})
    attestation = {**entries[0], "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    body = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [*entries, attestation]}
    store.push_manifest(f"{host}/base", "1", json.dumps(body).encode(), IMAGE_INDEX)
    assert run(host, "--layer", layer, "--annotation", "k=v") == 0
    raw, kind = store.manifest(f"{host}/out", "new") or (b"{}", "")
    made = json.loads(raw)
    assert kind == IMAGE_INDEX
    assert made["annotations"] == {"k": "v"}
    assert [one["platform"]["architecture"] for one in made["manifests"]] == ["amd64", "arm64"]
    for one in made["manifests"]:
        manifest, config = image(host, one["digest"])
        assert config["architecture"] == one["platform"]["architecture"]
        assert len(manifest["layers"]) == 2


def test_a_base_without_history_gets_an_entry_for_each_layer(host: str, layer: str) -> None:
    push(host, settings={key: value for key, value in base_config().items() if key != "history"})
    assert run(host, "--layer", layer) == 0
    assert len(image(host)[1]["history"]) == 2


def test_a_file_with_a_media_type_is_stored_as_it_is(host: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    push(host)
    assert run(host, "--layer", f"{tmp_path}/a.txt:text/plain") == 0
    assert image(host)[0]["layers"][1] == {"mediaType": "text/plain", "digest": digest_of(b"text"), "size": 4}


@pytest.mark.parametrize("kind", ["v7", "empty", "packed"])
def test_tars_without_files_or_of_old_tools_are_layers(kind: str, host: str, tmp_path: Path) -> None:
    content = bytes(10240)
    if kind == "v7":
        header = bytearray(tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT))
        header[257:265] = bytes(8)  # it has no magic
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        content = bytes(header) + content
    path = tmp_path / "layer.tar"
    path.write_bytes(gzip.compress(content) if kind == "packed" else content)
    push(host)
    assert run(host, "--layer", str(path)) == 0
    assert len(image(host)[0]["layers"]) == 2


@pytest.mark.parametrize(
    ("words", "base", "target", "status", "message"),
    [
        (["--layer", "TEXT"], "base:1", "out:new", 1, "is not a tar"),
        (["--layer", "/nowhere"], "base:1", "out:new", 1, "/nowhere"),
        (["--layer", ":text/plain"], "base:1", "out:new", 64, "has no file"),
        (["--label", "a"], "base:1", "out:new", 64, "has no value"),
        (["--label", "a="], "base:1", "out:new", 64, "has no value"),
        (["--annotation", "=a"], "base:1", "out:new", 64, "has no key"),
        ([], "base:2", "out:new", 1, "does not exist"),
        ([], "base:1", "base:1", 64, "the base image stays unchanged"),
        ([], "base:1", f"out@sha256:{'0' * 64}", 64, "must have a tag"),
        ([], "base:1", "out:taken", 2, "exists and is"),
        ([], "base:artifact", "out:new", 2, "is not an image"),
        (["--layer", "LAYER"], "base:windows", "out:new", 2, "for Windows"),
    ],
)
def test_what_is_refused_leaves_the_target_alone(
    words: list[str],
    base: str,
    target: str,
    status: int,
    message: str,
    host: str,
    layer: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "text").write_text("no tar")
    push(host)
    push(host, "windows", base_config(os="windows"))
    push(host, "artifact", artifactType="a/b", config=artifact(host))
    assert run(host, "--label", "first=1", target="out:taken") == 0
    before = RegistryArtifacts(insecure=[host]).manifest(f"{host}/out", "taken")
    capsys.readouterr()
    given = [str(tmp_path / "text") if one == "TEXT" else layer if one == "LAYER" else one for one in words]
    assert run(host, *given, base=base, target=target) == status
    assert message in capsys.readouterr().err
    assert RegistryArtifacts(insecure=[host]).manifest(f"{host}/out", "new") is None
    assert RegistryArtifacts(insecure=[host]).manifest(f"{host}/out", "taken") == before


def artifact(host: str) -> dict[str, Any]:
    RegistryArtifacts(insecure=[host]).push_blob(f"{host}/base", b"{}")
    return {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(b"{}"), "size": 2}


def test_a_taken_tag_is_moved_on_request_and_equal_images_are_no_change(host: str, layer: str) -> None:
    push(host)
    assert [run(host, "--layer", layer) for _ in range(2)] == [0, 0]
    assert run(host, "--label", "a=1") == 2
    assert run(host, "--label", "a=1", "--overwrite") == 0
    assert len(image(host)[0]["layers"]) == 1


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="="), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, NAMES), st.dictionaries(NAMES, NAMES), st.dictionaries(NAMES, NAMES))
def test_new_values_win_and_old_ones_stay(old: dict[str, str], labels: dict[str, str], env: dict[str, str]) -> None:
    config = base_config(config={"Labels": dict(old), "Env": [f"{key}={value}" for key, value in old.items()]})
    manifest = {"config": {"mediaType": CONFIG}, "layers": [{}], "annotations": dict(old)}
    metadata = ImageMetadata(labels=labels, env=env, annotations=labels)
    raw, content = extended_image(manifest, config, IMAGE_MANIFEST, [], metadata, "base")
    made, body = json.loads(raw), json.loads(content)
    assert made.get("annotations", {}) == {**old, **labels}
    assert body["config"].get("Labels", {}) == {**old, **labels}
    assert dict(one.split("=", 1) for one in body["config"].get("Env", [])) == {**old, **env}
    assert made["config"]["digest"] == digest_of(content)


def test_layers_that_cannot_be_read() -> None:
    with pytest.raises(ConfigurationError, match="zstd"):
        new_layer(lambda: iter([b"\x28\xb5\x2f\xfd...."]), "a")
    for content in (gzip.compress(ADDED)[:-9], gzip.compress(ADDED)[:-1] + b"x", gzip.compress(ADDED) + b"more"):
        with pytest.raises(SourceError, match="damaged"):
            new_layer(partial(iter, [content]), "a")
    with pytest.raises(SourceError, match="too large when unpacked"):
        new_layer(lambda: iter([gzip.compress(bytes(1 << 26))]), "a")


@given(st.binary(max_size=2000), st.integers(1, 700), st.booleans())
def test_a_layer_is_the_same_in_whatever_pieces_it_is_read(tail: bytes, size: int, packed: bool) -> None:
    plain = ADDED + tail + tail  # members of a gzip may follow each other
    content = gzip.compress(plain[: len(ADDED)], mtime=0) + gzip.compress(plain[len(ADDED) :]) if packed else plain
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    made = new_layer(lambda: iter(pieces), "a")
    stored = b"".join(made.chunks())
    assert stored == (content if packed else zlib.compress(plain, 6, wbits=31)), "the same on every Python"
    assert (made.digest, made.size, made.diff_id) == (digest_of(stored), len(stored), digest_of(plain))
