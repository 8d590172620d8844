"""Image layouts on disk: the same store as a registry, whole after a crash, and checked when it is read."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kymatui.adapters.files.image_layout import ImageLayout
from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.errors import RegistryError

RAW = b'{"schemaVersion":2}'


def test_what_is_stored_is_found_by_tag_and_by_digest(tmp_path: Path) -> None:
    layout = ImageLayout(tmp_path / "new")
    assert layout.manifest("a", "1") is None
    layout.push_blob("a", b"one")
    digest = layout.push_manifest("a/b", "1.0.0", RAW, IMAGE_MANIFEST)
    assert layout.manifest("a/b", "1.0.0") == layout.manifest("a/b", digest) == (RAW, IMAGE_MANIFEST)
    assert layout.blob("a", digest_of(b"one"), 3) == b"one"
    assert layout.tags("a/b") == ["1.0.0"]
    assert layout.tags("a") == []


def test_a_tag_is_replaced_and_others_stay(tmp_path: Path) -> None:
    layout = ImageLayout(tmp_path)
    layout.push_manifest("a", "1", RAW, IMAGE_MANIFEST)
    layout.push_manifest("a", "2", RAW, IMAGE_MANIFEST)
    layout.push_manifest("a", "1", b"{}", IMAGE_MANIFEST)
    assert layout.manifest("a", "1") == (b"{}", IMAGE_MANIFEST)
    assert layout.manifest("a", "2") == (RAW, IMAGE_MANIFEST)
    assert sorted(layout.tags("a")) == ["1", "2"]
    assert layout.push_manifest("a", digest_of(RAW), RAW, IMAGE_MANIFEST) == digest_of(RAW)
    assert sorted(layout.tags("a")) == ["1", "2"]


def test_parallel_writers_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ImageLayout(tmp_path).push_manifest("a", str(n), RAW, IMAGE_MANIFEST), range(20)))
    assert len(ImageLayout(tmp_path).tags("a")) == 20


@pytest.mark.parametrize(
    "digest", ["sha256:../../etc/passwd", f"sha256:{'0' * 63}g", "md5:1", "", f"sha256:{'0' * 64}"]
)
def test_a_digest_is_no_path(tmp_path: Path, digest: str) -> None:
    with pytest.raises(RegistryError):
        ImageLayout(tmp_path).blob("a", digest, 10)


def test_a_damaged_layout_is_refused(tmp_path: Path) -> None:
    layout = ImageLayout(tmp_path)
    digest = layout.push_manifest("a", "1", RAW, IMAGE_MANIFEST)
    path = tmp_path / "blobs/sha256" / digest.partition(":")[2]
    path.write_bytes(b"other")
    with pytest.raises(RegistryError, match="does not have its digest"):
        layout.manifest("a", "1")
    path.write_bytes(b"x" * 100)
    with pytest.raises(RegistryError, match="larger than 10 bytes"):
        layout.blob("a", digest, 10)
    for index in ("[]", "{", json.dumps({"manifests": 1}), "[" * 100_000):
        (tmp_path / "index.json").write_text(index)
        with pytest.raises(RegistryError):
            layout.manifest("a", "1")
