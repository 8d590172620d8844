"""`bundle copy` between registries over real sockets, image layouts and archives."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from kymatui.adapters.files.image_layout import ImageLayout
from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.errors import RegistryError
from kymatui.ocm import Keys
from kymatui.publishing.image_signatures import SignatureForm, sign_image, verify_image
from kymatui.publishing.sign import SignRequest, VerifyRequest, sign_component, verify_component
from tests.bundle.components import MANIFEST, NAME, NOTE, VERSION, document, local, location, put, stored
from tests.bundle.test_image_signatures import KEY, public, push
from tests.ocm.components import key, public_pem
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


@pytest.fixture
def host(served: Served) -> str:
    return served.registry.address


@pytest.fixture
def other(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def copy(source: str, target: str, *words: str, hosts: tuple[str, ...]) -> int:
    insecure = [word for one in hosts for word in ("--insecure-registry", one)]
    return main(["bundle", "copy", source, target, *words, *insecure])


def sign(host: str) -> None:
    put(host, document())
    sign_component(RegistryArtifacts(insecure=[host]), SignRequest(location(host), "acme"), key(0))


def is_good(host: str, base: str = "p") -> bool:
    request = VerifyRequest(location(host, base=base), Keys(public_key=public_pem()))
    return len(verify_component(RegistryArtifacts(insecure=[host]), request).signatures) == 1


def test_a_component_stays_signed_and_names_its_new_place(host: str, other: str) -> None:
    sign(host)
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"{other}/q/r", hosts=(host, other)) == 0
    assert is_good(other, "q/r")
    contexts = stored(other, base="q/r").document["component"]["repositoryContexts"]
    assert contexts[-1] == {
        "type": "OCIRegistry",
        "baseUrl": f"http://{other}",
        "subPath": "q/r",
        "componentNameMapping": "urlPath",
    }
    assert stored(other, base="q/r").layers == stored(host).layers


def test_exact_copies_have_the_same_digest(host: str, other: str) -> None:
    sign(host)
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"{other}/q", "--exact", hosts=(host, other)) == 0
    assert stored(other, base="q").digest == stored(host).digest


@pytest.mark.parametrize("kind", ["layout", "tar"])
def test_through_a_layout_or_an_archive(kind: str, host: str, other: str, tmp_path: Path) -> None:
    sign(host)
    place = f"{kind}:{tmp_path / 'kept'}"
    assert copy(f"{host}/p//{NAME}:{VERSION}", place, hosts=(host,)) == 0
    assert copy(f"{place}//{NAME}:{VERSION}", f"{other}/q", hosts=(other,)) == 0
    assert is_good(other, "q")
    assert copy(f"{place}//{NAME}:{VERSION}", f"{other}/exact", "--exact", hosts=(other,)) == 0
    assert stored(other, base="exact").digest == stored(host).digest


def test_an_archive_is_the_same_twice_and_never_replaced(host: str, tmp_path: Path) -> None:
    sign(host)
    for name in ("a", "b"):
        assert copy(f"{host}/p//{NAME}:{VERSION}", f"tar:{tmp_path / name}", hosts=(host,)) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"tar:{tmp_path / 'a'}", hosts=(host,)) == 1
    assert copy(f"{host}/p//{NAME}:9.9.9", f"tar:{tmp_path / 'c'}", hosts=(host,)) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"], "a failed copy leaves no archive"


def test_blobs_are_mounted_within_a_registry_and_not_sent_twice(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    sign(host)
    served.registry.requests.clear()
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"{host}/q", hosts=(host,)) == 0
    asked = served.registry.requests
    assert not [line for line in asked if line.startswith("GET") and digest_of(MANIFEST) in line]
    assert "blobs     2 mounted (0 bytes sent)" in capsys.readouterr().out
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"{host}/q", hosts=(host,)) == 0
    assert "blobs     2 exists (0 bytes sent)" in capsys.readouterr().out


def test_referred_components_come_along_on_request(host: str, other: str) -> None:
    child = "acme.org/module/child"
    put(host, document(child, resources=[local("note", NOTE)]), NOTE)
    put(host, document(componentReferences=[{"name": "child", "version": VERSION, "componentName": child}]))
    source = f"{host}/p//{NAME}:{VERSION}"
    assert copy(source, f"{other}/one", hosts=(host, other)) == 0
    with pytest.raises(RegistryError):
        stored(other, child, base="one")
    assert copy(source, f"{other}/all", "--recursive", hosts=(host, other)) == 0
    assert stored(other, child, base="all").layers


def test_another_component_under_the_tag_is_replaced_on_request_only(
    host: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sign(host)
    source = f"{host}/p//{NAME}:{VERSION}"
    assert copy(source, f"{other}/q", hosts=(host, other)) == 0
    put(host, document(provider="changed"))
    assert copy(source, f"{other}/q", hosts=(host, other)) == 2
    assert "exists and is" in capsys.readouterr().err
    assert stored(other, base="q").descriptor.provider == "acme"
    assert copy(source, f"{other}/q", "--overwrite", hosts=(host, other)) == 0
    assert stored(other, base="q").descriptor.provider == "changed"


@pytest.mark.parametrize("through", [False, True])
def test_an_index_is_copied_with_its_images_and_signatures(
    through: bool, host: str, other: str, tmp_path: Path
) -> None:
    store = RegistryArtifacts(insecure=[host])
    entries = [
        {"mediaType": IMAGE_MANIFEST, "digest": push(host, text, text), "size": 1, "platform": {"architecture": text}}
        for text in ("amd64", "arm64")
    ]
    body = json.dumps({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": entries}).encode()
    digest = store.push_manifest(f"{host}/img", "1", body, IMAGE_INDEX)
    for form in SignatureForm:
        sign_image(store, (f"{host}/img", "1"), KEY, form=form)
    source = f"{host}/img:1"
    if through:
        place = f"layout:{tmp_path / 'kept'}"
        assert copy(source, place, "--signatures", hosts=(host,)) == 0
        source = f"{place}//img:1"
    assert copy(source, f"{other}/a", "--signatures", hosts=(host, other)) == 0
    assert verify_image(RegistryArtifacts(insecure=[other]), (f"{other}/a/img", "1"), public(KEY)).digest == digest
    for entry in entries:
        assert RegistryArtifacts(insecure=[other]).manifest(f"{other}/a/img", str(entry["digest"])) is not None
    assert copy(source, f"{other}/b/name:2", hosts=(host, other)) == 0
    assert RegistryArtifacts(insecure=[other]).manifest(f"{other}/b/name", "2") is not None


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("r.example", "s.example", "names no component or image"),
        (f"r.example//{NAME}:1.0.0", "s.example/a:1", "is an image, but the source is a component"),
        ("r.example/a:1", f"s.example//{NAME}:1.0.0", "is a component, but the source is an image"),
        (f"r.example//{NAME}:1.0.0", f"s.example//{NAME}:1.0.1", "keeps its name and version"),
        (f"r.example/a@sha256:{'0' * 64}", "s.example", "has no tag"),
        ("layout:", "s.example", "has no folder"),
        ("tar:x//name", "s.example", "has no version or tag"),
    ],
)
def test_places_that_make_no_sense(source: str, target: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert copy(source, target, hosts=()) == 64
    assert message in capsys.readouterr().err


def archive(path: Path, files: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(path, "w") as made:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content) if kind == tarfile.REGTYPE else 0, kind
            info.linkname = "/etc/passwd"
            made.addfile(info, io.BytesIO(content))


INDEX = {"index.json": b'{"manifests": []}'}


@pytest.mark.parametrize(
    ("files", "kind", "message"),
    [
        ({}, tarfile.REGTYPE, "has no index.json"),
        ({"../index.json": b"{}"}, tarfile.REGTYPE, "has no index.json"),
        (INDEX, tarfile.SYMTYPE, "is not a regular file"),
        (INDEX, tarfile.LNKTYPE, "is not a regular file"),
        (INDEX, tarfile.REGTYPE, "does not exist"),
        ({"index.json": b"[" * 100_000}, tarfile.REGTYPE, "is not valid JSON"),
    ],
)
def test_hostile_archives(
    files: dict[str, bytes], kind: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    archive(tmp_path / "in" / "a.tar", files, kind)
    assert copy(f"tar:{tmp_path}/in/a.tar//{NAME}:1.0.0", f"layout:{tmp_path}/out", hosts=()) == 1
    assert message in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


def test_a_blob_that_was_changed_in_a_layout_is_not_copied(host: str, other: str, tmp_path: Path) -> None:
    sign(host)
    assert copy(f"{host}/p//{NAME}:{VERSION}", f"layout:{tmp_path}/l", hosts=(host,)) == 0
    blob = tmp_path / "l" / "blobs" / "sha256" / digest_of(MANIFEST).partition(":")[2]
    blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    assert copy(f"layout:{tmp_path}/l//{NAME}:{VERSION}", f"{other}/q", hosts=(other,)) == 1
    assert RegistryArtifacts(insecure=[other]).manifest(location(other, base="q").repository, VERSION) is None


def test_a_layout_takes_only_what_has_its_digest(tmp_path: Path) -> None:
    layout, digest = ImageLayout(tmp_path), digest_of(b"one")
    with pytest.raises(RegistryError, match="has the digest"):
        layout.push_chunks("", digest, 3, iter([b"tw", b"o"]))
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []
    layout.push_chunks("", digest, 3, iter([b"o", b"ne"]))
    assert b"".join(layout.blob_chunks("", digest, 3)) == b"one"
    with pytest.raises(RegistryError, match="digest and size"):
        list(layout.blob_chunks("", digest, 4))
    with pytest.raises(RegistryError, match="not a digest"):
        layout.push_chunks("", "sha256:../../x", 1, iter([b"x"]))
