"""`kymatui sandbox up --load`: a cluster that begins with what files say."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind
from tests.integration.embedded import eventually

GOOD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: shop}
data: {a: b}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: first}
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""
BAD = {
    "broken.yaml": "a: [",
    "values.yaml": "replicas: 3\n",
    "refused.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: no-ports}\nspec: {type: Nonsense}\n",
    "refused.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Upper"}}',
}
UNKNOWN = '{"apiVersion": "nowhere.org/v1", "kind": "Gadget", "metadata": {"name": "lost"}}'
"""Waited for, for some seconds: its definition may come yet."""


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kymatui", "sandbox", "up", "--empty", "--kubeconfig", str(folder / "kubeconfig")]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *words], stdout=pipe, stderr=pipe, text=True, cwd=folder) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_what_is_loaded_is_there_when_it_is_ready_and_what_is_not_is_told(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "good.yaml").write_text(GOOD)
    (tmp_path / "widgets.yml").write_text(WIDGETS)
    (tmp_path / "bad").mkdir()
    for name, text in BAD.items():
        (tmp_path / "bad" / name).write_text(text)
    with serving(tmp_path, "--load", "one", "--load", "widgets.yml", "--load", "bad") as process:
        assert process.stdout is not None
        kind, _, address = process.stdout.readline().rstrip("\n").partition(" ")
        assert (kind, process.stdout.readline()) == ("registry", "ready\n")
        assert urllib.request.urlopen(f"http://{address}/v2/", timeout=10).status == 200
        assert "current-context: sandbox\n" in (tmp_path / "kubeconfig").read_text(), "one cluster is no control plane"
        assert _served(tmp_path / "kubeconfig") == {"ConfigMap shop/kept", "Widget default/first"}
        process.send_signal(2)
        out, error = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, ""), "it ends cleanly when it is interrupted"
    assert "3 objects loaded, 3 failed" in error
    said = {line.partition(": ")[2] for line in error.splitlines()}
    for name, why in (
        ("failed: bad/broken.yaml", "line 2, column 1: did not find expected node content"),
        ("skipped: bad/values.yaml", "not a Kubernetes object"),
        ("failed: bad/refused.yaml: Service no-ports", "Unsupported value"),
        ("failed: bad/refused.json: ConfigMap Upper", "RFC 1123"),
    ):
        assert any(line.startswith(name) and why in line for line in said), name


def test_a_path_that_is_not_there_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    words = ["sandbox", "up", "--kubeconfig", str(kubeconfig), "--load", str(tmp_path), "--load", "nowhere.yaml"]
    assert main(words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "nowhere.yaml does not exist" in printed.err
    assert not kubeconfig.exists()


def test_an_interrupt_while_it_loads_ends_it_cleanly(tmp_path: Path) -> None:
    (tmp_path / "unknown.json").write_text(UNKNOWN)
    with serving(tmp_path, "--load", "unknown.json") as process:
        eventually((tmp_path / "kubeconfig").exists, "it serves")
        process.send_signal(2)
        out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (0, "", "")


def test_the_help_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sandbox", "up", "--help"])
    assert left.value.code == 0
    assert "--load PATH" in capsys.readouterr().out


def _served(kubeconfig: Path) -> set[str]:
    client = Client(Transport(connect(str(kubeconfig), "", "")))
    found = set()
    for gvk, namespace in (
        (GroupVersionKind("", "v1", "ConfigMap"), "shop"),
        (GroupVersionKind.of("example.org/v1", "Widget"), "default"),
    ):
        for item in client.list(client.resource(gvk), namespace).items:
            if not item["metadata"]["name"].startswith("kube-"):
                found.add(f"{gvk.kind} {namespace}/{item['metadata']['name']}")
    client.transport.close()
    return found
