"""`bundle` on a real distribution registry, if `registry` or `docker-registry` (Debian's package) is on the PATH.

Unlike the sandbox's registry it stores on a disk, and distribution up to 3.1 has no referrers API.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kymatui.actions.components.stored_components import find_component, require_component
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.ocm.component_location import ComponentLocation
from tests.bundle.components import key_files
from tests.bundle.sources import CR, NAME, write_sources
from tests.bundle.test_image_signatures import KEY, public, push
from tests.engine.sources.packing import tar

PROGRAM = shutil.which("registry") or shutil.which("docker-registry")
WITHIN = 60.0  # seconds for what takes less than one

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="neither registry nor docker-registry is on the PATH"),
    pytest.mark.xdist_group("real-registry"),  # one process for all of them
]


@dataclass
class RealRegistry:
    host: str
    storage: Path

    @property
    def store(self) -> RegistryArtifacts:
        return RegistryArtifacts(insecure=[self.host])

    def linked_blobs(self, repository: str) -> int:
        """Count the blobs that a repository has by now."""
        folder = self.storage / "docker/registry/v2/repositories" / repository / "_layers/sha256"
        return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    """A registry of its own on this machine, ended by its process id."""
    assert PROGRAM is not None
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "storage")}, "delete": {"enabled": True}},
        "http": {"addr": host},
    }
    (folder / "config.yml").write_text(yaml.safe_dump(settings))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, "serve", str(folder / "config.yml")],
            stdout=log,
            stderr=log,
            env={**os.environ, "OTEL_TRACES_EXPORTER": "none"},
        )
        try:
            _wait(lambda: process.poll() is not None or _answers(host), "the registry answers")
            assert process.poll() is None, (folder / "log").read_text()
            yield RealRegistry(host, folder / "storage")
        finally:
            process.terminate()
            process.wait(WITHIN)


def _answers(host: str) -> bool:
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        return bool(urllib.request.urlopen(f"http://{host}/v2/", timeout=5).status == 200)
    return False


def _wait(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WITHIN
    while not holds():
        assert time.monotonic() < end, f"it never came to hold: {what}"
        time.sleep(0.005)


def sources(folder: Path, version: str = "1.0.0") -> Path:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"v": version}}
    return write_sources(folder, settings, default_cr=CR, version=version)


def create(registry: RealRegistry, config: Path, base: str) -> list[str]:
    place = ["--registry", f"{registry.host}/{base}", "--insecure-registry", registry.host]
    words = ["-c", str(config), "-o", str(config.parent / f"{base}.yaml"), "--sources", str(config.parent)]
    return ["bundle", "create", *words, *place]


def bundle(registry: RealRegistry, *words: str) -> int:
    return main(["bundle", *words, "--insecure-registry", registry.host])


def test_a_release_from_sources_to_a_mirror_and_back(
    registry: RealRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = sources(tmp_path / "m")
    private, given = key_files(tmp_path)
    found = f"{registry.host}/p//{NAME}:1.0.0"
    assert main(create(registry, config, "p")) == 0
    assert main(create(registry, config, "p")) == 0
    assert "unchanged" in capsys.readouterr().out
    assert bundle(registry, "sign", found, "--signature", "acme", "--private-key", private) == 0
    assert bundle(registry, "verify", found, "--public-key", given) == 0
    assert bundle(registry, "copy", found, f"{registry.host}/mirror") == 0
    assert bundle(registry, "copy", found, f"tar:{tmp_path / 'm.tar'}") == 0
    assert bundle(registry, "copy", f"tar:{tmp_path / 'm.tar'}//{NAME}:1.0.0", f"{registry.host}/unloaded") == 0
    for base in ("mirror", "unloaded"):
        assert bundle(registry, "verify", f"{registry.host}/{base}//{NAME}:1.0.0", "--public-key", given) == 0
    assert bundle(registry, "diff", found, f"{registry.host}/mirror//{NAME}:1.0.0") == 0
    capsys.readouterr()
    assert bundle(registry, "list", f"{registry.host}/mirror//{NAME}") == 0
    assert capsys.readouterr().out.split()[-1] == "1.0.0"
    assert bundle(registry, "pull", found, "--unpack", str(tmp_path / "out")) == 0
    assert (tmp_path / "out").is_dir()
    _, other = key_files(tmp_path, 1)
    assert bundle(registry, "verify", found, "--public-key", other) == 2


@pytest.mark.parametrize("form", [(), ("--legacy",)])
def test_images_are_signed_without_the_referrers_api(
    registry: RealRegistry, form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A registry without it gets an index under the fallback tag, in which other signatures have to stay."""
    private, given = tmp_path / "0.key", tmp_path / "0.pub"
    private.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    given.write_bytes(public(KEY))
    push(registry.host, text=str(form))
    image = f"{registry.host}/img:1"
    other, other_given = key_files(tmp_path, 1)
    for _ in range(2):
        assert bundle(registry, "sign", "--cosign", image, "--private-key", str(private), *form) == 0
    assert "unchanged" in capsys.readouterr().out
    assert bundle(registry, "sign", "--cosign", image, "--private-key", other, *form) == 0
    for name in (str(given), other_given):
        assert bundle(registry, "verify", "--cosign", image, "--public-key", name) == 0
    (tmp_path / "layer.tar").write_bytes(tar({"a": b"b"}))
    added = ["add", image, "--layer", str(tmp_path / "layer.tar"), "-t", f"{registry.host}/more:{len(form)}"]
    assert bundle(registry, *added) == 0
    assert bundle(registry, "verify", "--cosign", f"{registry.host}/more:{len(form)}", "--public-key", str(given)) == 2


def test_ten_processes_push_the_same_version_and_others(registry: RealRegistry, tmp_path: Path) -> None:
    versions = ["1.0.0"] * 5 + [f"1.{number}.0" for number in range(1, 6)]
    configs = [sources(tmp_path / str(number), version) for number, version in enumerate(versions)]
    pushed = [_start(create(registry, config, "crowd")) for config in configs]
    for process in pushed:
        out, _ = process.communicate(timeout=WITHIN)
        assert process.returncode == 0, out
    found = [stored_digest(registry, "crowd", version) for version in dict.fromkeys(versions)]
    assert len(set(found)) == 6
    assert main(create(registry, configs[0], "alone")) == 0
    for config in configs:
        assert main(create(registry, config, "crowd")) == 0  # the same content, or it would be refused


def test_a_killed_push_leaves_no_half_version_and_the_next_one_completes_it(
    registry: RealRegistry, tmp_path: Path
) -> None:
    config = sources(tmp_path / "m")
    repository = f"component-descriptors/{NAME}"
    assert main(create(registry, config, "whole")) == 0
    complete = registry.linked_blobs(f"whole/{repository}")
    assert complete > 2
    for count in range(1, complete + 1):
        base = f"killed{count}"
        process = _start(create(registry, config, base))
        _wait(
            lambda: process.poll() is not None or registry.linked_blobs(f"{base}/{repository}") >= count,  # noqa: B023
            f"{count} blobs are there",
        )
        process.kill()
        process.communicate(timeout=WITHIN)
        place = ComponentLocation(f"{registry.host}/{base}", NAME, "1.0.0")
        half = find_component(registry.store, place)
        if half is not None:  # it was already done: then it is whole
            _read_all(registry, base)
        assert main(create(registry, config, base)) == 0
        _read_all(registry, base)


def stored_digest(registry: RealRegistry, base: str, version: str) -> str:
    return require_component(registry.store, ComponentLocation(f"{registry.host}/{base}", NAME, version)).digest


def _read_all(registry: RealRegistry, base: str) -> None:
    found = require_component(registry.store, ComponentLocation(f"{registry.host}/{base}", NAME, "1.0.0"))
    for layer in found.layers:
        content = registry.store.blob(found.location.repository, layer["digest"], 1 << 20)
        assert len(content) == layer["size"]


def _start(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kymatui", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
