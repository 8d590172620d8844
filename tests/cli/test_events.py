"""`kymatui events`: the events of a module on a cluster that is really there."""

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
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.sandbox.fault_client import FaultClient
from tests.cli.test_fleet import run

pytestmark = pytest.mark.xdist_group("fleet")

RBAC = "rbac.authorization.k8s.io/v1"
ON_RUNTIME = ("--context", "skr")


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


@pytest.fixture
def faults(two_clusters: Path) -> Iterator[FaultClient]:
    found = FaultClient.for_kubeconfig(two_clusters, "skr")
    yield found
    found.send("clear", {})


def test_events_of_the_resource_the_manager_and_its_pods_come_newest_first(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "events", "btp-operator", *ON_RUNTIME, "-o", "json")
    found = json.loads(out)
    assert (status, found["module"]) == (0, "btp-operator")
    assert {event["object"]["kind"] for event in found["events"]} >= {"BtpOperator", "Deployment", "ReplicaSet", "Pod"}
    seen = [event["lastSeen"] for event in found["events"]]
    assert seen == sorted(seen, reverse=True)


def test_the_two_ways_to_a_runtime_list_the_same_events(capsys: pytest.CaptureFixture[str]) -> None:
    direct = json.loads(run(capsys, "events", "btp-operator", *ON_RUNTIME, "-o", "json")[1])
    remote = json.loads(run(capsys, "events", "btp-operator", "--remote", "skr", "-o", "json")[1])
    assert direct["events"]
    assert remote["events"] == direct["events"]


def test_types_select_and_forms_agree(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("events", "btp-operator", *ON_RUNTIME, "--types", "warning")
    found = yaml.safe_load(run(capsys, *words, "-o", "yaml")[1])
    assert {event["type"] for event in found["events"]} == {"Warning"}
    table = run(capsys, *words)[1].splitlines()
    assert table[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"]
    assert len(table) == len(found["events"]) + 1
    assert run(capsys, *words, "-o", "md")[1].startswith("| LAST SEEN |")


def test_an_unknown_type_and_an_unknown_module_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, told = run(capsys, "events", "btp-opertor", *ON_RUNTIME)
    assert status == 64
    assert "did you mean btp-operator?" in told
    status, _, told = run(capsys, "events", "btp-operator", *ON_RUNTIME, "--types", "Warnin")
    assert (status, 'no event type "warnin"; did you mean Warning?\n  hint: valid: Warning, Normal' in told) == (
        64,
        True,
    )


def test_a_module_without_objects_has_no_events(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "catalog", *ON_RUNTIME, "-o", "json")[1])["modules"]
    absent = next(row["name"] for row in rows if row["state"] == "NotInstalled")
    status, out, _ = run(capsys, "events", absent, *ON_RUNTIME)
    assert (status, out) == (0, f"no events of {absent} (Kubernetes keeps events for one hour by default)\n")


def test_events_that_fail_are_an_error_and_never_an_empty_list(
    capsys: pytest.CaptureFixture[str], faults: FaultClient
) -> None:
    faults.send("error", {"resource": "events"})
    status, out, told = run(capsys, "events", "btp-operator", *ON_RUNTIME, "--timeout", "2")
    assert (status, out) == (1, "")
    assert "events of btp-operator" in told


def test_forbidden_events_are_an_error_and_never_an_empty_list(
    capsys: pytest.CaptureFixture[str], two_clusters: Path, tmp_path: Path
) -> None:
    cluster = KubeCluster(Client(Transport(connect(str(two_clusters), "skr"))))
    readable = {"": ["pods"], "apps": ["*"], "apiextensions.k8s.io": ["*"], "operator.kyma-project.io": ["*"]}
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]}
        for group, resources in readable.items()
    ]
    role: dict[str, Any] = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "no-events"}}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "no-events"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    try:
        cluster.create({**role, "rules": rules})
        cluster.create(binding)
        status, out, told = run(capsys, "events", "btp-operator", "--kubeconfig", str(as_jane(two_clusters, tmp_path)))
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            cluster.delete(ObjectRef(GroupVersionKind.of(RBAC, kind), "", "no-events"))
        cluster.client.transport.close()
    assert (status, out) == (1, "")
    assert "you may not list events" in told


def as_jane(kubeconfig: Path, folder: Path) -> Path:
    """Return a kubeconfig of the runtime whose user impersonates jane."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["current-context"] = "skr"
    for user in config["users"]:
        user["user"]["as"] = "jane"
    path = folder / "jane.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
