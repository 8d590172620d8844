"""Raw YAML from a text, a file, a folder and a URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.engine.bundles import yaml_objects
from kymatui.errors import SourceError
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def test_a_text_becomes_a_bundle() -> None:
    bundle = yaml_objects.from_text(ONE % "a", name="m", namespace="n")
    assert (bundle.name, bundle.namespace, bundle.origin.kind) == ("m", "n", "raw")
    assert bundle.origin.digest.startswith("sha256:")
    assert [one["metadata"]["name"] for one in bundle.objects] == ["a"]


def test_a_folder_is_read_by_names_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.json", "README.md"):
        (tmp_path / name).write_text(ONE % name[0] if name != "README.md" else "# : [")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d.yaml").write_text(ONE % "d")
    flat = yaml_objects.from_path(tmp_path, name="m")
    assert [one["metadata"]["name"] for one in flat.objects] == ["a", "b", "c"]
    deep = yaml_objects.from_path(tmp_path, name="m", recursive=True)
    assert [one["metadata"]["name"] for one in deep.objects] == ["a", "b", "c", "d"]
    assert flat.origin.digest != deep.origin.digest


def test_of_an_object_in_two_files_the_first_stays(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ONE % "x" + "data: {from: a}\n")
    (tmp_path / "b.yaml").write_text(ONE % "x" + "data: {from: b}\n")
    assert [one["data"]["from"] for one in yaml_objects.from_path(tmp_path, name="m").objects] == ["a"]


def test_the_digest_of_a_folder_does_not_depend_on_where_it_is(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.yaml").write_text(ONE % "x")
    one, two = (yaml_objects.from_path(tmp_path / folder, name="m").origin.digest for folder in ("one", "two"))
    assert one == two


def test_a_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ONE % "x")
    (tmp_path / "b.yaml").write_text("a: b\n\tc: d\n")
    with pytest.raises(SourceError, match=r"b\.yaml: document 1: line 2"):
        yaml_objects.from_path(tmp_path, name="m")


@pytest.mark.parametrize(("name", "words"), [("missing.yaml", "No such file"), (".", "has no .yaml")])
def test_what_is_not_there(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        yaml_objects.from_path(tmp_path / name, name="m")


def test_an_address_is_told_without_its_secrets() -> None:
    address = "https://user:word@example.io/m.yaml?token=abc#x"
    bundle = yaml_objects.from_url(address, StoredBlobs(urls={address: (ONE % "a").encode()}), name="m")
    assert bundle.origin.address == "https://example.io/m.yaml"
    with pytest.raises(SourceError) as caught:
        yaml_objects.from_url(address, StoredBlobs(urls={address: b"kind: [\n"}), name="m")
    assert "word" not in str(caught.value)
    assert "abc" not in str(caught.value)


RELEASE = tar(
    {
        "shop-1.0/config/b.yaml": ONE % "b",
        "shop-1.0/config/crd/a.yaml": ONE % "a",
        "shop-1.0/config/README.md": "# : [",
        "shop-1.0/values.yaml": "replicas: 1\n",
    },
    packed=True,
)


def test_the_manifests_of_a_folder_in_an_archive_are_a_bundle(tmp_path: Path) -> None:
    blobs = StoredBlobs(urls={"https://x.io/shop.tar.gz?token=1": RELEASE})
    bundle = yaml_objects.from_url("https://x.io/shop.tar.gz?token=1//shop-1.0/config", blobs, name="m", namespace="n")
    assert [body["metadata"]["name"] for body in bundle.objects] == ["b", "a"]
    assert (bundle.origin.kind, bundle.origin.address) == ("raw", "https://x.io/shop.tar.gz//shop-1.0/config")
    (tmp_path / "shop.tgz").write_bytes(RELEASE)
    local = yaml_objects.from_path(tmp_path / "shop.tgz", name="m", folder="shop-1.0/config/")
    assert (local.objects, local.origin.digest) == (bundle.objects, bundle.origin.digest)


def test_an_archive_is_known_by_its_content() -> None:
    blobs = StoredBlobs(urls={"https://x.io/tarball/1": tar({"a.yaml": ONE % "a"})})
    (body,) = yaml_objects.from_url("https://x.io/tarball/1", blobs, name="m").objects
    assert body["metadata"]["name"] == "a"


@pytest.mark.parametrize(
    ("archive", "folder", "words"),
    [
        (RELEASE, "other", r"s\.tgz//other has no \.yaml, \.yml, \.json file"),
        (RELEASE, "", r"s\.tgz: shop-1\.0/values\.yaml: document 1"),
        (RELEASE[:-20], "", "damaged"),
        (tar({"../a.yaml": ONE % "a"}), "", "leads out of the archive"),
        (tar({f"{at}.yaml": "" for at in range(5_001)}), "", "has 5001 files; at most 5000 are allowed"),
    ],
    ids=["no folder", "no object", "damaged", "hostile", "many"],
)
def test_an_archive_that_is_refused_is_named(tmp_path: Path, archive: bytes, folder: str, words: str) -> None:
    (tmp_path / "s.tgz").write_bytes(archive)
    with pytest.raises(SourceError, match=words):
        yaml_objects.from_path(tmp_path / "s.tgz", name="m", folder=folder)
