"""What `bundle` makes is read and verified by ocm and cosign, and what they make by `bundle`, if they are on the PATH.

`.ci/run bundle` compares recorded answers of the tools; these are the tools themselves, on the sandbox's registry.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kymatui.cli.main import main
from tests.bundle.components import key_files
from tests.bundle.sources import CR, NAME, write_sources
from tests.bundle.test_image_signatures import KEY, public, push
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)

needs_ocm = pytest.mark.skipif(shutil.which("ocm") is None, reason="ocm is not on the PATH")
needs_cosign = pytest.mark.skipif(shutil.which("cosign") is None, reason="cosign is not on the PATH")
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
VERSIONED = f"{NAME}:1.0.0"


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


class Tools:
    """The real tools, with a home of their own and without the networks of sigstore."""

    def __init__(self, host: str, folder: Path) -> None:
        self.host, self.folder = host, folder
        (folder / "ocm.yaml").write_text("type: generic.config.ocm.software/v1\nconfigurations: []\n")

    def run(self, *words: str, fails: bool = False) -> str:
        environment = {**os.environ, "HOME": str(self.folder), "COSIGN_PASSWORD": ""}
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert (done.returncode != 0) == fails, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def ocm(self, *words: str, fails: bool = False) -> str:
        return self.run("ocm", "--config", str(self.folder / "ocm.yaml"), *words, fails=fails)

    def of_ocm(self, *words: str, base: str = "p", fails: bool = False) -> str:
        place = json.dumps({"type": "OCIRegistry", "baseUrl": f"http://{self.host}", "subPath": base})
        return self.ocm(*words[:2], "--repo", place, *words[2:], fails=fails)

    def cosign(self, *words: str, fails: bool = False) -> str:
        return self.run("cosign", *words, "--allow-http-registry", f"{self.host}/img:1", fails=fails)

    def bundle(self, *words: str) -> int:
        return main(["bundle", *words, "--insecure-registry", self.host])

    @property
    def component(self) -> str:
        return f"{self.host}/p//{VERSIONED}"

    def create(self, *more: str) -> Path:
        config = write_sources(self.folder / "m", SETTINGS, default_cr=CR, version="1.0.0")
        words = ["create", "-c", str(config), "-o", str(self.folder / "t.yaml"), "--sources", str(self.folder / "m")]
        assert self.bundle(*words, *more) == 0
        return config


@pytest.fixture
def tools(host: str, tmp_path: Path) -> Tools:
    return Tools(host, tmp_path)


def _on_registry(tools: Tools) -> None:
    tools.create("--registry", f"{tools.host}/p")


@needs_ocm
def test_ocm_reads_what_create_pushed(tools: Tools) -> None:
    _on_registry(tools)
    (found,) = json.loads(tools.of_ocm("get", "componentversions", "-o", "json", VERSIONED))["items"]
    assert {one["name"] for one in found["component"]["resources"]} >= {"raw-manifest", "default-cr"}
    out = tools.folder / "manifest.tar"
    tools.of_ocm("download", "resources", "-O", str(out), VERSIONED, "raw-manifest")
    assert tools.bundle("pull", tools.component, "--unpack", str(tools.folder / "ours")) == 0
    assert b"settings" in out.read_bytes()


@needs_ocm
@pytest.mark.parametrize("normalisation", ["jsonNormalisation/v1", "jsonNormalisation/v2", "jsonNormalisation/v3"])
def test_ocm_and_bundle_verify_each_others_signatures(normalisation: str, tools: Tools) -> None:
    _on_registry(tools)
    private, given = key_files(tools.folder)
    _, other = key_files(tools.folder, 1)
    key = ["--private-key", private, "--normalisation", normalisation]
    assert tools.bundle("sign", tools.component, "--signature", "ours", *key) == 0
    tools.of_ocm("verify", "componentversions", "--verify", "-s", "ours", "-k", given, VERSIONED)
    tools.of_ocm("verify", "componentversions", "--verify", "-s", "ours", "-k", other, VERSIONED, fails=True)
    tools.of_ocm("sign", "componentversions", "-s", "theirs", "-K", private, "-N", normalisation, VERSIONED)
    assert tools.bundle("verify", tools.component, "--public-key", given) == 0  # both of them
    assert tools.bundle("verify", tools.component, "--signature", "theirs", "--public-key", other) == 2


@needs_ocm
def test_what_ocm_made_of_the_constructor_is_equal(tools: Tools) -> None:
    constructor = tools.folder / "constructor.yaml"
    tools.create("--constructor", str(constructor), "--registry", f"{tools.host}/p")
    archive = str(tools.folder / "ctf")
    tools.ocm("add", "componentversions", "--create", "--file", archive, "--skip-digest-generation", str(constructor))
    place = json.dumps({"type": "OCIRegistry", "baseUrl": f"http://{tools.host}", "subPath": "theirs"})
    tools.ocm("transfer", "ctf", archive, place)
    theirs = f"{tools.host}/theirs//{VERSIONED}"
    assert tools.bundle("show", theirs) == 0
    assert tools.bundle("pull", theirs, "--unpack", str(tools.folder / "theirs")) == 0
    assert tools.bundle("pull", tools.component, "--unpack", str(tools.folder / "ours")) == 0
    for name in ("raw-manifest", "default-cr"):
        assert _files(tools.folder / "ours" / name) == _files(tools.folder / "theirs" / name)
    private, given = key_files(tools.folder)
    assert tools.bundle("sign", theirs, "--signature", "ours", "--private-key", private) == 0
    tools.of_ocm("verify", "componentversions", "--verify", "-s", "ours", "-k", given, VERSIONED, base="theirs")


def _files(path: Path) -> Any:
    if path.is_file():
        return path.read_bytes()
    return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


@needs_cosign
@pytest.mark.parametrize("legacy", [False, True])
def test_cosign_and_bundle_verify_each_others_signatures(
    legacy: bool, tools: Tools, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(tools.host)
    monkeypatch.setenv("KYMATUI_KEY_PASSWORD", "")
    image, form = f"{tools.host}/img:1", ["--legacy"] if legacy else []
    private, given = tools.folder / "c.key", tools.folder / "c.pub"
    private.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    given.write_bytes(public(KEY))
    tools.run("cosign", "generate-key-pair", "--output-key-prefix", str(tools.folder / "theirs"))
    theirs = [str(tools.folder / f"theirs.{end}") for end in ("key", "pub")]
    offline = ["--insecure-ignore-tlog=true"]

    assert tools.bundle("sign", "--cosign", image, "--private-key", str(private), *form) == 0
    tools.cosign("verify", "--key", str(given), *offline)
    tools.cosign("verify", "--key", theirs[1], *offline, fails=True)

    plain = ["--tlog-upload=false"]
    if "--use-signing-config" in tools.run("cosign", "sign", "--help"):  # since version 3
        plain += ["--use-signing-config=false", f"--new-bundle-format={str(not legacy).lower()}"]
    tools.cosign("sign", "--yes", "--key", theirs[0], *plain)
    assert tools.bundle("verify", "--cosign", image, "--public-key", theirs[1]) == 0
    assert tools.bundle("verify", "--cosign", image, "--public-key", str(given)) == 0

    capsys.readouterr()
    assert tools.bundle("sign", "--cosign", image, "--private-key", theirs[0], *form) == 0
    assert capsys.readouterr().out.startswith("unchanged ")  # cosign signed with this key already
    tools.cosign("verify", "--key", theirs[1], *offline)
