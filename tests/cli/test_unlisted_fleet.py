"""Whoever may not list a kind of the control plane reads of its fleet what everybody reads, or that it is not known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("unlisted_fleet")  # its sandbox starts on one worker

_GROUP = "operator.kyma-project.io"
KINDS = ("kymas", "modulereleasemetas", "moduletemplates", "manifests")
_RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with ready_sandbox("kcp", empty=False, settled=True, fleet=8, viewer_token="viewer") as running:
        yield running.kubeconfig


def grant(kubeconfig: Path, hidden: str) -> Path:
    """Let the viewer list every kind but one; return the viewer's kubeconfig."""
    cluster = KubeCluster(Client(Transport(connect(str(kubeconfig), "kcp"))))
    verbs, kinds = ["get", "list", "watch"], [kind for kind in KINDS if kind != hidden]
    rules = [{"apiGroups": [_GROUP], "resources": kinds, "verbs": verbs}]
    meta = {"name": "fleet-view"}
    cluster.apply({"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "fleet-view"}
    who = [{"apiGroup": _RBAC, "kind": "User", "name": "viewer"}]
    body = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": meta, "roleRef": role}
    cluster.apply({**body, "subjects": who})
    cluster.client.transport.close()
    config = yaml.safe_load(kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": "viewer"}
    path = kubeconfig.with_name("viewer")
    path.write_text(yaml.safe_dump(config))
    return path


def read(path: Path, capsys: pytest.CaptureFixture[str], command: str) -> tuple[int, dict[str, Any], str]:
    status = main(["--kubeconfig", str(path), "--context", "kcp", command, "-o", "json"])
    said = capsys.readouterr()
    found = json.loads(said.out) if said.out else {}
    if "runtimes" in found:  # the order is by what is known of them
        found["runtimes"].sort(key=lambda runtime: str(runtime["name"]))
    return status, found, said.err


def strange(found: Any, whole: Any, place: str = "") -> Iterator[str]:
    """Yield the places of facts that somebody with all rights reads otherwise."""
    if isinstance(found, dict) and isinstance(whole, dict):
        for key in found.keys() | whole.keys():
            if key != "unknown":
                yield from strange(found.get(key), whole.get(key), f"{place}.{key}")
    elif isinstance(found, list) and isinstance(whole, list) and len(found) == len(whole):
        for number, pair in enumerate(zip(found, whole, strict=True)):
            yield from strange(*pair, f"{place}[{number}]")
    elif found != whole and found not in (None, "unknown"):
        yield f"{place}: {found}, not {whole}"


@pytest.mark.parametrize("command", ["fleet", "matrix"])
@pytest.mark.parametrize("hidden", KINDS)
def test_a_fleet_states_nothing_that_a_forbidden_list_would_tell(
    kubeconfig: Path, hidden: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, whole, _ = read(kubeconfig, capsys, command)
    status, found, err = read(grant(kubeconfig, hidden), capsys, command)
    if hidden == "kymas":
        assert (status, found["outcome"], found["error"]["kind"]) == (1, "failed", "forbidden")
        return
    assert status == 0, err
    assert list(strange(found, whole)) == []
    if hidden == "modulereleasemetas" and command == "fleet":
        assert found["unknown"]["drift"]["state"] == "forbidden"
        assert found["counts"]["withProblems"] is None
        assert {one["drift"] for runtime in found["runtimes"] for one in runtime["modules"]} == {"unknown"}


@pytest.mark.parametrize("hidden", KINDS)
def test_an_audit_states_no_expected_version_that_it_cannot_know(
    kubeconfig: Path, hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found, err = read(grant(kubeconfig, hidden), capsys, "audit")
    assert status == 2, err
    unread = {one["object"] for one in found["findings"] if one["rule"] == "access.unread"}
    assert f"{hidden}.{_GROUP}" in unread
    drifts = [one["message"] for one in found["findings"] if one["rule"] == "drift.unknown"]
    assert drifts
    assert [words for words in drifts if "nothing should" in words] == []
