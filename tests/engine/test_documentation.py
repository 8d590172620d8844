"""The engine's handbook says what is so: its blocks are run, one after another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.places import Place

DOCUMENT = Path(__file__).resolve().parents[2] / "kymatui" / "engine" / "README.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MODULE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {size: "1"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: samples.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Sample, plural: samples, singular: sample, listKind: SampleList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {greeting: "{{ .Values.greeting }}", size: "{{ .Values.size }}"}
"""


def blocks() -> list[str]:
    return [match[1] for match in _BLOCK.finditer(DOCUMENT.read_text())]


def test_every_block_runs(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(place.kubeconfig))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("module.yaml").write_text(MODULE)
    Path("definitions.yaml").write_text(DEFINITION)
    Path("chart/templates").mkdir(parents=True)
    Path("chart/Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    Path("chart/values.yaml").write_text("greeting: hi\nsize: 1\n")
    Path("chart/templates/web.yaml").write_text(TEMPLATE)
    names: dict[str, object] = {}
    for block in blocks():
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert len(blocks()) >= 9
