"""Bars of transfers: on a terminal, of large blobs, gone at the end; nothing of them in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kymatui.adapters.oci.registry import RegistryArtifacts
from tests.bundle.test_image_signatures import push
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)

SIZE = 20 * 1024 * 1024


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def on_terminal(words: list[str], **environment: str) -> tuple[str, str]:
    """Run a command whose standard error is a terminal; return what it printed there and on standard output."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kymatui", *words]
    known = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **environment}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=slave, stdin=subprocess.DEVNULL, env=known
    ) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the terminal is closed
                break
            if not part:
                break
            seen += part
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    os.close(master)
    assert process.returncode == 0, seen
    return seen.decode(), printed


def test_large_blobs_have_bars_on_a_terminal_only(host: str, tmp_path: Path) -> None:
    push(host)
    (tmp_path / "layer.bin").write_bytes(os.urandom(SIZE))
    layer = f"{tmp_path}/layer.bin:application/octet-stream"
    plain = ["--insecure-registry", host]
    add = ["bundle", "add", f"{host}/img:1", "--layer", layer, *plain]
    shown, printed = on_terminal([*add, "-t", f"{host}/big:1"])
    assert "sending sha256:" in shown
    assert "21.0 MB" in shown
    assert "sending" not in printed
    shown, _ = on_terminal(["bundle", "copy", f"{host}/big:1", f"layout:{tmp_path}/l", *plain])
    assert "reading sha256:" in shown
    shown, _ = on_terminal(["bundle", "push", f"{tmp_path}/l", f"{host}/again", *plain])
    assert "sending sha256:" in shown

    dumb, _ = on_terminal(["bundle", "copy", f"{host}/big:1", f"layout:{tmp_path}/d", *plain], TERM="dumb")
    assert "sha256" not in dumb
    command = [sys.executable, "-m", "kymatui", "bundle", "copy", f"{host}/big:1", f"layout:{tmp_path}/p", *plain]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""


def test_parts_are_reported_as_they_arrive(host: str) -> None:
    push(host)
    seen: list[tuple[str, int, int]] = []
    store = RegistryArtifacts(insecure=[host], report=lambda *one: seen.append(one))
    content = os.urandom(SIZE)
    digest = RegistryArtifacts(insecure=[host]).client(f"{host}/x").push_blob(f"{host}/x", content, "").digest
    store.push_chunks(f"{host}/y", digest, SIZE, store.blob_chunks(f"{host}/x", digest, SIZE))
    sent = [done for what, done, size in seen if what == f"sending {digest}" and size == SIZE]
    read = [done for what, done, size in seen if what == f"reading {digest}" and size == SIZE]
    assert sent == sorted(sent)
    assert len(sent) > 2
    assert read == sorted(read)
    assert (sent[-1], read[-1]) == (SIZE, SIZE)
