"""Waits that only a person can end: they end early with exit status 3, and say what is needed.

Each command may wait for five minutes here; a wait that does not end early ends the test by its time limit.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kymatui.cli.main import main
from kymatui.engine.jobs.run import RunLimits
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions

SECONDS = 0.3
"""Instead of the 30 seconds that a person has."""


@pytest.fixture
def run(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def command(*words: str) -> tuple[int, str, str]:
        status = main([*words, "--yes", "--kubeconfig", str(kubeconfig), "--timeout", "5m"])
        found = capsys.readouterr()
        return status, found.out, found.err

    return command


def apply(kubeconfig: Path, body: dict[str, Any]) -> None:
    open_cluster(SessionOptions(str(kubeconfig))).apply(body, manager="someone")


def test_an_installation_whose_pods_the_cluster_refuses(
    run: Any, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kymatui.cli.commands.modules.install_run.USER_ACTION_SECONDS", SECONDS)
    monkeypatch.setattr("kymatui.cli.commands.modules.install_run.RunLimits", partial(RunLimits, poll=SECONDS))
    apply(kubeconfig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "full"}})
    quota = {"hard": {"pods": "0"}}
    metadata = {"name": "none", "namespace": "full"}
    apply(kubeconfig, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": quota})
    labels = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "crowded", "namespace": "full"},
        "spec": {"selector": labels, "template": template},
    }
    file = tmp_path / "crowded.json"
    file.write_text(json.dumps(body))
    status, out, err = run("install", "crowded", "--file", str(file), "-n", "full")
    assert (status, out) == (3, "")
    assert "action needed: Deployment full/crowded is not ready: pods cannot be created" in err
    assert "run the command again after the repair" in err
    assert run("delete", "crowded", "-n", "full", "--no-backup")[0] == 0


def test_a_deletion_that_lifecycle_manager_skips(run: Any, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample world's keda has a Manifest with the skip label."""
    monkeypatch.setattr("kymatui.actions.edits.edit_watch.USER_ACTION_SECONDS", SECONDS)
    monkeypatch.setattr("kymatui.actions.delete.USER_ACTION_SECONDS", SECONDS)
    status, out, err = run("delete", "keda", "--cascade", "--no-backup")
    assert (status, out) == (3, "")
    assert "the Kyma is edited; action needed: " in err
    assert "is paused by the label skip-reconciliation" in err
    status, out, err = run("delete", "keda", "--cascade", "--no-backup")
    assert (status, out) == (3, "")
    assert "keda is not uninstalled yet; action needed: " in err
    assert "the Kyma is edited" not in err, "this run did not edit it"


def test_a_restoration_into_a_namespace_that_nobody_creates(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kymatui.actions.restored_objects.USER_ACTION_SECONDS", SECONDS)
    file = tmp_path / "backup.yaml"
    kept, lost = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        for name, namespace in (("kept", "default"), ("lost", "nowhere"))
    )
    file.write_text(f"{kept}---\n{lost}")
    status, out, err = run("restore", str(file))
    assert (status, out) == (3, "1 created, 1 failed\n")
    assert "1 of 2 objects not created: ConfigMap nowhere/lost" in err
    file.write_text(lost)
    status, out, err = run("restore", str(file))
    assert (status, out) == (2, ""), "nothing of it can be created: it is not begun"


def test_a_restoration_without_changes_asks_nothing_and_says_so(run: Any, kubeconfig: Path, tmp_path: Path) -> None:
    apply(kubeconfig, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}})
    file = tmp_path / "backup.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: default}\n")
    assert run("restore", str(file))[:2] == (0, "no changes: 1 object already exists\n")
    status, out, _ = run("restore", str(file), "-o", "json")
    assert (status, json.loads(out)["outcome"]) == (0, "unchanged")
