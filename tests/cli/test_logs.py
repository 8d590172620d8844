"""`kymatui logs`: the logs of a module's Pods on a cluster that is really there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sandbox.fault_client import FaultClient
from tests.cli.test_events import as_jane
from tests.cli.test_fleet import run

pytestmark = pytest.mark.xdist_group("fleet")

ON_RUNTIME = ("--context", "skr")
POD = GroupVersionKind("", "v1", "Pod")
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


@pytest.fixture
def cluster(two_clusters: Path) -> Iterator[Cluster]:
    found = KubeCluster(Client(Transport(connect(str(two_clusters), "skr"))))
    yield found
    found.client.transport.close()


@pytest.fixture
def faults(two_clusters: Path) -> Iterator[FaultClient]:
    found = FaultClient.for_kubeconfig(two_clusters, "skr")
    yield found
    found.send("clear", {})


def manager_pod(cluster: Cluster, name: str = "keda-manager") -> str:
    pods = [str(one["metadata"]["name"]) for one in cluster.list(POD, "kyma-system")]
    return next(pod for pod in pods if pod.startswith(f"{name}-"))


def test_the_managers_log_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], cluster: Cluster) -> None:
    status, out, err = run(capsys, "logs", "keda", *ON_RUNTIME)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith('level=info msg="starting" container=manager image=')
    assert lines[1] == f'level=info msg="configuration loaded" pod={manager_pod(cluster)}'


def test_the_two_ways_to_a_runtime_print_the_same_log(capsys: pytest.CaptureFixture[str]) -> None:
    direct = run(capsys, "logs", "keda", *ON_RUNTIME, "--timestamps")[1].splitlines()
    remote = run(capsys, "logs", "keda", "--remote", "skr", "--timestamps")[1].splitlines()
    assert direct
    assert remote[: len(direct)] == direct


def test_every_pod_of_the_module_is_interleaved_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "logs", "keda", *ON_RUNTIME, "--all", "--timestamps")
    lines = [re.fullmatch(r"\[pod/(\S+)/(\S+)\] (\S+Z) (.*)", line) for line in out.splitlines()]
    assert status == 0
    assert all(lines)
    found = [one.groups() for one in lines if one is not None]
    assert len({pod for pod, *_ in found}) > 1
    stamps = [stamp for _, _, stamp, _ in found]
    assert stamps == sorted(stamps)


def test_the_last_lines_of_each_container(capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "logs", "keda", *ON_RUNTIME)[1].splitlines()
    two = run(capsys, "logs", "keda", *ON_RUNTIME, "--tail", "2")[1].splitlines()
    assert len(two) == 2 < len(whole)
    assert run(capsys, "logs", "keda", *ON_RUNTIME, "--tail", "0")[:2] == (0, "")


def test_lines_of_the_last_time(capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "logs", "keda", *ON_RUNTIME, "--since", "24h")[1]
    assert whole.startswith('level=info msg="starting"')
    time.sleep(1.1)  # the log's own clock: its first line is then older than a second
    assert not run(capsys, "logs", "keda", *ON_RUNTIME, "--since", "1s")[1].startswith('level=info msg="starting"')


def test_the_previous_instance_of_a_container(capsys: pytest.CaptureFixture[str], cluster: Cluster) -> None:
    status, out, told = run(capsys, "logs", "keda", *ON_RUNTIME, "-p")
    pod = manager_pod(cluster)
    assert (status, out) == (1, "")
    assert f'previous terminated container "manager" in pod "{pod}" not found' in told


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["kedaa"], 'no module "kedaa" in skr; did you mean keda?', "kymatui catalog"),
        (["keda", "-c", "managr"], 'no container "managr" of keda; did you mean manager?', "containers: manager"),
        (["keda", "--pod", "keda-1"], 'no Pod "keda-1" of keda', "Pods: keda-manager-"),
        (["keda", "-f", "-p"], "--follow and --previous exclude each other", "previous instance"),
        (["keda", "-c", "a", "--all-containers"], "exclude each other", "choose"),
        (["keda", "--tail=-1"], "--tail must not be negative", "0 prints"),
        (["keda", "--since", "5 minutes"], "--since", "5m"),
    ],
)
def test_wrong_words_are_usage_errors(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str, hint: str
) -> None:
    status, out, told = run(capsys, "logs", *words, *ON_RUNTIME)
    assert (status, out) == (64, "")
    assert message in told
    assert hint in told


def test_a_module_that_is_not_installed_has_no_logs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "catalog", *ON_RUNTIME, "-o", "json")[1])["modules"]
    absent = next(row["name"] for row in rows if row["state"] == "NotInstalled")
    status, out, told = run(capsys, "logs", absent, *ON_RUNTIME)
    assert (status, out) == (1, "")
    assert f"{absent} has no manager in cluster skr" in told


def test_one_container_that_fails_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], cluster: Cluster, faults: FaultClient
) -> None:
    faults.send("error", {"resource": "pods", "verb": "get", "count": 1})
    status, out, told = run(capsys, "logs", "keda", *ON_RUNTIME, "--all")
    assert status == 3
    assert "[pod/" in out
    assert "1 of " in told


def test_pods_that_may_not_be_listed_are_an_error(
    capsys: pytest.CaptureFixture[str], two_clusters: Path, tmp_path: Path, cluster: Cluster
) -> None:
    groups = ("apps", "apiextensions.k8s.io", "operator.kyma-project.io")
    rules = [{"apiGroups": [group], "resources": ["*"], "verbs": ["get", "list", "watch"]} for group in groups]
    role: dict[str, Any] = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "no-pods"}}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "no-pods"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    try:
        cluster.create({**role, "rules": rules})
        cluster.create(binding)
        status, out, told = run(capsys, "logs", "keda", "--kubeconfig", str(as_jane(two_clusters, tmp_path)))
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            cluster.delete(ObjectRef(GroupVersionKind.of(RBAC, kind), "", "no-pods"))
    assert (status, out) == (1, "")
    assert "cannot find the Pods of keda: forbidden" in told
    assert "`kymatui rights logs keda` prints the Role that allows it" in told


def test_following_prints_new_lines_and_those_of_new_pods(two_clusters: Path, cluster: Cluster) -> None:
    words = [sys.executable, "-m", "kymatui", "logs", "keda", "-f", "--tail", "1", *ON_RUNTIME]
    first = manager_pod(cluster)
    with subprocess.Popen(
        words, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        assert ran.stdout is not None
        try:
            assert ran.stdout.readline().startswith("level=info")
            scale(cluster, 2)
            prefixed = next(line for line in ran.stdout if line.startswith("[pod/") and first not in line)
            assert "level=info" in prefixed
        finally:
            scale(cluster, 1)
            ran.send_signal(signal.SIGINT)
        assert ran.wait(30) == 130


def scale(cluster: Cluster, replicas: int) -> None:
    deployment = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "keda-manager")
    cluster.patch(deployment, {"spec": {"replicas": replicas}}, PatchKind.MERGE)
