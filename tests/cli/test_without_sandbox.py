"""The product's commands in a process that cannot import `kymatui.sandbox`, as if its folder were removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.bundle.sources import CR, NAME, VERSION, crd, write_sources
from tests.ocm.components import key, public_pem
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("without_sandbox")  # its sandbox starts on one worker

RUN = """
import contextlib, io, json, sys
from kymatui.cli.main import main

class Removed:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "kymatui" and name.split(".")[1:2] == ["sandbox"]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Removed())
results = []
for words in json.loads(sys.argv[1]):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code or 0
        except BaseException as error:
            status = repr(error)
    results.append([status, output.getvalue(), errors.getvalue()])
loaded = sorted(name for name in sys.modules if name.startswith("kymatui.sandbox"))
json.dump({"results": results, "loaded": loaded}, sys.__stdout__)
"""
ON_A_CLUSTER = {  # exit status of each; 2: there are findings, or changes
    ("catalog",): 0,
    ("catalog", "-o", "json"): 0,
    ("module", "keda"): 0,
    ("checks", "keda"): 0,
    ("versions", "keda"): 0,
    ("events", "keda"): 0,
    ("logs", "keda"): 0,
    ("drift",): 2,
    ("audit",): 2,
    ("install", "keda", "--dry-run"): 2,  # lifecycle-manager would revert it
    ("delete", "keda", "--dry-run"): 0,
    ("disable", "keda", "--dry-run"): 0,
}
_INSECURE = ("--insecure-registry", "REGISTRY")
_SOURCES = ("--sources", "FOLDER/sources", "-o", "FOLDER/template.yaml")
_UNREAD = ("--skip-images", *_INSECURE)
OFFLINE = {
    ("--version",): 0,
    ("--help",): 0,
    ("helm", "template", "web", "CHART"): 0,
    ("helm", "lint", "CHART"): 0,
    ("install", "web", "--chart", "CHART", "--dry-run"): 0,
    ("operator", "manifests", "--image", "kymatui:1"): 0,
    ("bundle", "scaffold", "--module-team", "kyma/blue", "-d", "FOLDER"): 0,
    ("bundle", "lint", "-c", "CONFIG"): 0,
    ("bundle", "lint", "-c", "WRONG_CONFIG"): 2,  # its default CR has a field that the CRD has not
    ("bundle", "create", "-c", "CONFIG", *_SOURCES, "--registry", "REGISTRY", *_INSECURE): 0,
    ("bundle", "sign", "COMPONENT", "--private-key", "FOLDER/key", "--signature", "blue", *_UNREAD): 0,
    ("bundle", "verify", "COMPONENT", "--public-key", "FOLDER/key.pub", *_UNREAD): 0,
}


@pytest.fixture(scope="module")
def running() -> Iterator[ReadySandbox]:
    with ready_sandbox(empty=False, settled=True) as sandbox:
        yield sandbox


def statuses(commands: dict[tuple[str, ...], int], home: Path, kubeconfig: Path) -> dict[str, int]:
    """Run the commands in one process without the sandbox; return those that end otherwise than listed."""
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home), "KUBECONFIG": str(kubeconfig)}
    words = json.dumps([*commands])
    done = subprocess.run([sys.executable, "-c", RUN, words], env=environment, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert answer["loaded"] == []
    return {
        " ".join(command): result
        for (command, status), result in zip(commands.items(), answer["results"], strict=True)
        if result[0] != status
    }


def test_commands_on_a_cluster_work_without_the_sandbox(running: ReadySandbox, tmp_path: Path) -> None:
    assert statuses(ON_A_CLUSTER, tmp_path, running.kubeconfig) == {}


def test_commands_on_files_and_registries_work_without_the_sandbox(running: ReadySandbox, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (chart / "templates" / "config.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: {{ 1 | quote }}}\n"
    )
    folder = tmp_path / "sources"
    words = {
        "CHART": str(chart),
        "CONFIG": str(write_sources(folder, crd(properties={"size": {"type": "integer"}}), default_cr=CR)),
        "WRONG_CONFIG": str(write_sources(tmp_path / "wrong", crd(), default_cr=CR)),
        "REGISTRY": running.registry,
        "COMPONENT": f"{running.registry}//{NAME}:{VERSION}",
    }
    (tmp_path / "key").write_bytes(key(0).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "key.pub").write_bytes(public_pem())
    commands = {
        tuple(words.get(word, word.replace("FOLDER", str(tmp_path))) for word in command): status
        for command, status in OFFLINE.items()
    }
    assert statuses(commands, tmp_path, running.kubeconfig) == {}
