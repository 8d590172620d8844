"""`kymatui delete` where lifecycle-manager is in charge: the flowchart from one end to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.clusters import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.refs import GroupVersionKind
from kymatui.sandbox.process import start_sandbox
from kymatui.wiring.engine import open_cluster
from kymatui.wiring.options import SessionOptions

pytestmark = pytest.mark.xdist_group("departing")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")
SERVERLESS = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Serverless")


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with start_sandbox(clusters=("kcp",), settled=True) as running:
        yield running.kubeconfig


@pytest.fixture
def cluster(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KubeCluster:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    return open_cluster(SessionOptions(str(kubeconfig)))


@pytest.fixture
def run(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def stations(text: str) -> dict[str, str]:
    return {one["title"]: one["progressed"] for one in json.loads(text)["stations"]}


def test_what_users_made_is_counted_and_deleted_first_and_then_the_kyma_lets_the_module_go(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    status, out, err = run("delete", "serverless", "--yes", "-o", "json")
    found = json.loads(out)
    assert (status, found["charge"], found["turn"], found["outcome"]) == (2, "kyma", "clear", "refused")
    assert [one["object"] for one in found["remaining"] if one["byTheModule"]] == ["Serverless kyma-system/default"]
    assert "still manages 3 object(s): Function" in err
    assert stations(out)["Delete them"] == "now"
    assert len(cluster.list(FUNCTION)) == 3
    kept = tmp_path / "kept.yaml"
    status, out, err = run("delete", "serverless", "--yes", "--cascade", "--backup", str(kept))
    print(err)
    assert (status, out.split(",")[0]) == (0, "serverless: it is gone")
    assert "may create it again when it is deleted by hand" in err
    assert not cluster.list(FUNCTION)
    names = [body["kind"] for body in yaml.safe_load_all(kept.read_text())]
    assert names.count("Function") == 3
    assert "Serverless" in names
    assert run("delete", "serverless", "--yes")[0] == 0
