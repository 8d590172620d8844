"""The cache keeps only what was checked, and many processes may use it at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.content.blob_cache import BlobCache, write_cached
from kymatui.errors import ConfigurationError, RegistryError

CONTENT = b"a layer"
DIGEST = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


def never() -> Iterator[bytes]:
    raise AssertionError("fetched again")


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_the_second_look_needs_no_fetch(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path)
    assert cache.get(DIGEST, lambda: [b"a ", b"layer"]) == CONTENT
    assert cache.get(DIGEST, never) == CONTENT


def test_content_of_another_digest_is_refused_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="the received content is not sha256:"):
        BlobCache(tmp_path).get(DIGEST, lambda: [b"something else"])
    assert files(tmp_path) == []


def test_a_transfer_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"a "
        raise RegistryError("the transfer was interrupted")

    with pytest.raises(RegistryError, match="was interrupted"):
        BlobCache(tmp_path).get(DIGEST, broken)
    assert files(tmp_path) == []


@pytest.mark.parametrize("damaged", [b"", b"a lay", b"a layes"])
def test_a_damaged_entry_is_fetched_again(tmp_path: Path, damaged: bytes) -> None:
    cache = BlobCache(tmp_path)
    cache.get(DIGEST, lambda: [CONTENT])
    files(tmp_path)[0].write_bytes(damaged)
    assert cache.get(DIGEST, lambda: [CONTENT]) == CONTENT
    assert cache.get(DIGEST, never) == CONTENT


@pytest.mark.parametrize("digest", ["", "sha256:abc", "sha256:../../etc/passwd", "md5:" + "a" * 32])
def test_a_digest_that_is_none_never_becomes_a_path(tmp_path: Path, digest: str) -> None:
    with pytest.raises(RegistryError, match="not a digest"):
        BlobCache(tmp_path).get(digest, never)


def test_eight_processes_fetch_once(tmp_path: Path) -> None:
    code = f"""
import sys, pathlib, time
from kymatui.adapters.content.blob_cache import BlobCache
def fetch():
    with open({str(tmp_path / "fetched")!r}, "a") as log: log.write("x")
    time.sleep(0.2)
    return [{CONTENT!r}]
sys.stdout.write(BlobCache(pathlib.Path({str(tmp_path / "cache")!r})).get({DIGEST!r}, fetch).decode())
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ}) for _ in range(8)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert outputs == [CONTENT] * 8
    assert (tmp_path / "fetched").read_text() == "x"


def test_writing_replaces_whole_files_only_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "file"
    write_cached(path, b"one")
    write_cached(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_where_nothing_can_be_written_the_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_cached(tmp_path / "file" / "below", b"x")
