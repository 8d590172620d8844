"""`bundle pull` on a registry over real sockets: what is written, and that nothing is written outside the folder."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from tests.bundle.components import MANIFEST, NAME, NOTE, OBJECT, VERSION, document, local, put
from tests.engine.sources.packing import tar
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def pull(host: str, folder: Path, version: str = VERSION) -> int:
    reference = f"{host}/p//{NAME}:{version}"
    return main(["bundle", "pull", reference, "--unpack", str(folder), "--insecure-registry", host])


def files(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_tars_become_folders_and_compressed_files_are_decompressed(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed, text = tar({"a/b.yaml": b"b", "c.yaml": b"c"}, packed=True), gzip.compress(b"plain")
    image = {"name": "manager", "access": {"type": "ociArtifact", "imageReference": "reg.io/manager:1"}}
    resources = [
        local("raw-manifest", MANIFEST),
        local("more", packed),
        local("text", text),
        local("note", NOTE),
        image,
    ]
    put(host, document(resources=resources), MANIFEST, packed, text, NOTE)
    assert pull(host, tmp_path / "new" / "folder") == 0
    found = files(tmp_path / "new" / "folder")
    descriptor = yaml.safe_load(found.pop("component-descriptor.yaml"))
    assert descriptor["component"]["name"] == NAME
    assert found == {
        "raw-manifest/manifest.yaml": OBJECT,
        "more/a/b.yaml": b"b",
        "more/c.yaml": b"c",
        "text": b"plain",
        "note": NOTE,
    }
    assert "external  reg.io/manager:1" in capsys.readouterr().out


def test_resources_of_one_name_have_folders_of_their_own(host: str, tmp_path: Path) -> None:
    several = [local("note", NOTE), local("note", b"two", extraIdentity={"os": "linux"}), local("note", b"three")]
    put(host, document(resources=several), NOTE, b"two", b"three")
    assert pull(host, tmp_path) == 0
    assert {name: data for name, data in files(tmp_path).items() if name.startswith("note")} == {
        "note": NOTE,
        "note-linux": b"two",
        "note-2": b"three",
    }


def archive(name: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as made:
        info = tarfile.TarInfo(name)
        info.type, info.size = kind, 1 if kind == tarfile.REGTYPE else 0
        info.linkname = "/etc/passwd"
        made.addfile(info, io.BytesIO(b"x"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("resource", "blob", "message"),
    [
        (local("a", archive("../x")), archive("../x"), "leads out of the archive"),
        (local("a", archive("/x")), archive("/x"), "leads out of the archive"),
        (local("a", archive("x", tarfile.SYMTYPE)), archive("x", tarfile.SYMTYPE), "is a link"),
        (local("a", archive("x", tarfile.LNKTYPE)), archive("x", tarfile.LNKTYPE), "is a link"),
        (local("a", archive("x", tarfile.CHRTYPE)), archive("x", tarfile.CHRTYPE), "not a regular file"),
        (local("../a", NOTE), NOTE, "cannot be a file name"),
        (local("/a", NOTE), NOTE, "cannot be a file name"),
        (local("..", NOTE), NOTE, "cannot be a file name"),
        (local("x" * 300, NOTE), NOTE, "cannot be a file name"),
        ({**local("a", NOTE), "digest": local("a", b"other")["digest"]}, NOTE, "has SHA-256"),
    ],
)
def test_hostile_components_write_nothing(
    resource: dict[str, Any], blob: bytes, message: str, host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(host, document(resources=[local("note", NOTE), resource]), NOTE, blob)
    assert pull(host, tmp_path / "new") != 0
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_left_alone(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(host, document())
    (tmp_path / "mine").write_text("x")
    assert pull(host, tmp_path) == 1
    assert "is not empty" in capsys.readouterr().err
    assert files(tmp_path) == {"mine": b"x"}


def test_a_component_that_does_not_exist(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pull(host, tmp_path / "new", "9.9.9") == 1
    assert "does not exist" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
