"""`kymatui operator install`, `upgrade` and `uninstall` on the sandbox: plans, guards, and what stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kymatui
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import ELECTION
from kymatui.engine.cluster.ports import NAMESPACE, PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli.test_tasks import page_blocks
from tests.engine.places import eventually
from tests.sandboxes.starting import ready_sandbox

IMAGE = "registry.example.org/kymatui:0.1.0"
SPACE = "kcp-system"
NAME = "kymatui-operator"
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
FINALIZER = "operator.kyma-project.io/Kyma"
OPERATOR = ObjectRef(DEPLOYMENT, SPACE, NAME)
KYMAS = ObjectRef(CRD, "", "kymas.operator.kyma-project.io")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubeCluster]:
    with ready_sandbox("one") as running:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
        yield open_cluster(SessionOptions(str(running.kubeconfig)))


def install(*more: str) -> int:
    return main(["operator", "install", "--image", IMAGE, *more])


def uninstall(*more: str) -> int:
    return main(["operator", "uninstall", "--yes", *more])


def container(cluster: KubeCluster) -> dict[str, Any]:
    found: dict[str, Any] = (cluster.get(OPERATOR) or {})["spec"]["template"]["spec"]["containers"][0]
    return found


def put_kyma(cluster: KubeCluster, *finalizers: str) -> ObjectRef:
    metadata = {"name": "one", "namespace": SPACE, "finalizers": list(finalizers)}
    body = {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}}
    cluster.forget_kinds()
    cluster.create(body)
    return ObjectRef(KYMA, SPACE, "one")


def actions(document: dict[str, Any]) -> dict[str, str]:
    return {f"{step['kind']} {step['name']}": step["action"] for step in document["steps"]}


@contextmanager
def running_operator() -> Iterator[None]:
    command = [sys.executable, "-m", "kymatui", "operator", "run", "--namespace", SPACE, "--interval", "1s"]
    with subprocess.Popen(command, env=dict(os.environ)) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def test_an_installation_is_a_plan_and_is_done_once(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Cluster:")
    assert any("to create" in line for line in lines[:4])
    assert cluster.get(ObjectRef(NAMESPACE, "", SPACE)) is None
    assert install() == 2
    assert "not a terminal; no changes made" in capsys.readouterr().err
    assert install("--yes", "-o", "json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["outcome"] == "done"
    assert [one["name"] for one in done["plans"]] == ["kymatui-operator-crds", NAME]
    made = [step["name"] for one in done["plans"] for step in one["steps"] if step["kind"] == "Namespace"]
    assert made == [SPACE]
    assert {one["version"] for one in done["plans"]} == {kymatui.__version__}
    assert container(cluster)["image"] == IMAGE
    assert cluster.get(KYMAS) is not None
    assert install("--yes") == 0
    assert "no changes" in capsys.readouterr().out
    assert main(["upgrade", "--all", "--dry-run"]) == 0
    assert "run `kymatui operator upgrade`" in capsys.readouterr().err


def test_a_single_cluster_has_the_operator_where_its_kymas_are(cluster: KubeCluster) -> None:
    assert install("--single-cluster", "--yes") == 0
    assert cluster.get(ObjectRef(DEPLOYMENT, "kyma-system", NAME)) is not None
    assert cluster.get(OPERATOR) is None


def test_an_upgrade_changes_what_is_given_and_keeps_the_rest(
    cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["operator", "upgrade", "--yes"]) == 2
    assert "the operator is not installed in" in capsys.readouterr().err
    assert install("--yes", "--registry", "https://r.example/m", "--controllers", "kyma,manifest") == 0
    before = container(cluster)["args"]
    newer = IMAGE.replace("0.1.0", "0.2.0")
    assert main(["operator", "upgrade", "--image", newer, "--restricted-modules", "a,b", "--yes", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))["outcome"] == "done"
    after = container(cluster)
    assert after["image"] == newer
    assert after["args"] == [*before, "--restricted-modules=a,b"]
    assert main(["operator", "upgrade", "--yes"]) == 0
    assert "no changes" in capsys.readouterr().out
    assert main(["operator", "upgrade", "--image", "two words", "--yes"]) == 64
    assert main(["operator", "upgrade", "--purge-grace", "5m", "--yes"]) == 0
    assert main(["operator", "upgrade", "--skip-finalizer-purging-for", "*.example.org", "--yes"]) == 0
    purging = ["--purge-grace=300s", "--skip-finalizer-purging-for=*.example.org"]
    assert container(cluster)["args"] == [*after["args"], *purging]


def arguments_of(cluster: KubeCluster) -> list[str]:
    found = cluster.get(OPERATOR)
    assert found is not None
    arguments: list[str] = found["spec"]["template"]["spec"]["containers"][0]["args"]
    return arguments


def test_shards_stay_until_another_number_is_given(cluster: KubeCluster) -> None:
    assert install("--shards", "4", "--yes") == 0
    assert "--shards=4" in arguments_of(cluster)
    assert main(["operator", "upgrade", "--replicas", "3", "--yes"]) == 0
    assert "--shards=4" in arguments_of(cluster)
    assert main(["operator", "upgrade", "--listener-gateways", "10.1.0.0/16", "--yes"]) == 0
    assert "--listener-gateways=10.1.0.0/16" in arguments_of(cluster)
    assert main(["operator", "upgrade", "--shards", "8", "--yes"]) == 0
    assert [one for one in arguments_of(cluster) if one.startswith("--shards")] == ["--shards=8"]


def test_registries_without_tls_reach_the_operator_and_stay(cluster: KubeCluster) -> None:
    plain = ["--insecure-registry=a.example:5000", "--insecure-registry=b.example:5000"]
    assert install("--single-cluster", *plain, "--yes", "--namespace", SPACE) == 0
    assert arguments_of(cluster)[-2:] == plain
    assert main(["operator", "upgrade", "--insecure-registry=c.example:5000", "--replicas=1", "--yes"]) == 0
    assert arguments_of(cluster)[-3:] == [*plain, "--insecure-registry=c.example:5000"]
    assert main(["operator", "upgrade", "--insecure-registry=a.example:5000", "--yes"]) == 0
    assert arguments_of(cluster)[-3:] == [*plain, "--insecure-registry=c.example:5000"]


def test_shards_that_cannot_be_are_refused(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator", "run", "--shards", "65"]) == 64
    assert "--shards must be from 1 to 64" in capsys.readouterr().err


def test_monitoring_needs_its_crds(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("--yes", "--service-monitor", "--metrics-from", "monitoring", "--prometheus-rule") == 2
    said = capsys.readouterr().err
    assert "does not serve ServiceMonitor" in said
    assert "leave out --service-monitor" in said
    assert cluster.get(OPERATOR) is None
    for kind in ("ServiceMonitor", "PrometheusRule"):
        put_monitoring_crd(cluster, kind)
    assert install("--yes", "--service-monitor", "--metrics-from", "monitoring", "--prometheus-rule") == 0
    cluster.forget_kinds()
    rule = ObjectRef(GroupVersionKind("monitoring.coreos.com", "v1", "PrometheusRule"), SPACE, NAME)
    assert cluster.get(rule) is not None
    assert main(["operator", "upgrade", "--replicas", "1", "--yes"]) == 0
    assert cluster.get(rule) is not None
    assert (cluster.get(OPERATOR) or {})["spec"]["replicas"] == 1


def put_monitoring_crd(cluster: KubeCluster, kind: str) -> None:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    group = "monitoring.coreos.com"
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    metadata = {"name": f"{plural}.{group}"}
    cluster.create(
        {"apiVersion": CRD.api_version, "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}
    )


def test_a_cluster_of_lifecycle_manager_is_refused(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    labels = {"app": "klm"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "r.example/m:1"}]}}
    ref = ObjectRef(DEPLOYMENT, SPACE, "klm-controller-manager")
    cluster.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": ref.name, "namespace": SPACE},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
        }
    )
    assert install("--yes") == 2
    said = capsys.readouterr().err
    assert "lifecycle-manager manages" in said
    assert "klm-controller-manager runs it" in said
    assert cluster.get(KYMAS) is None
    cluster.patch(ref, {"spec": {"replicas": 0}}, PatchKind.MERGE)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    lease = {"holderIdentity": "klm-7d9f", "leaseDurationSeconds": 15, "renewTime": now}
    metadata = {"name": ELECTION, "namespace": SPACE}
    made = cluster.create(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": lease}
    )
    assert install("--yes") == 2
    assert f"klm-7d9f holds the Lease {SPACE}/{ELECTION}" in capsys.readouterr().err
    cluster.delete(read_ref(made))
    assert install("--yes") == 0


def hand_over(way: str, *more: str) -> int:
    return main(["operator", "handover", f"--{way}", "lifecycle-manager", *more])


def test_a_handover_waits_for_the_end_of_the_other_one_and_names_what_it_cannot_reach(
    cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install("--yes") == 0
    ref = put_kyma(cluster)
    status = {"status": {"state": "Ready"}}
    cluster.patch(ref, status, PatchKind.MERGE, manager="kymatui-operator", subresource="status")
    assert hand_over("to", "--yes") == 2
    assert "scale its Deployment to 0, first" in capsys.readouterr().err
    cluster.patch(OPERATOR, {"spec": {"replicas": 0}}, PatchKind.MERGE)
    before = cluster.get(ref)
    assert hand_over("to", "--dry-run") == 3
    printed = capsys.readouterr()
    assert "control plane   1" in printed.out
    assert "one             unknown: no Secret in kcp-system gives access" in printed.out
    assert hand_over("to") == 2
    assert hand_over("to", "--yes", "--read-only") == 4
    assert cluster.get(ref) == before
    assert hand_over("to", "--yes", "-o", "json") == 3
    done = json.loads(capsys.readouterr().out)
    assert (done["outcome"], done["clusters"][0]) == ("incomplete", {"kyma": "", "objects": [str(ref)]})
    assert hand_over("from", "--yes") == 2
    assert "lifecycle-manager wrote Kyma kcp-system/one" in capsys.readouterr().err


def test_crds_of_another_tool_stay_as_they_are(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator", "crds", "-o", "json"]) == 0
    for body in json.loads(capsys.readouterr().out)["items"]:
        if body["kind"] == "CustomResourceDefinition":
            body["metadata"]["labels"] = {"by": "somebody"}
        cluster.apply(body, manager="somebody")
    before = cluster.get(KYMAS)
    assert install("--yes") == 0
    assert cluster.get(KYMAS) == before
    assert uninstall("--delete-crds") == 0
    assert cluster.get(KYMAS) is not None
    assert cluster.get(OPERATOR) is None


def test_kymas_and_crds_stay_and_the_plan_says_what_they_need(
    cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert uninstall() == 0
    assert "not installed by kymatui" in capsys.readouterr().out
    assert install("--yes") == 0
    kyma = put_kyma(cluster, FINALIZER)
    capsys.readouterr()
    assert uninstall("--delete-crds", "--dry-run", "-o", "json") == 0
    operator, crds = json.loads(capsys.readouterr().out)["modules"]
    assert "1 Kyma stay; only an operator removes their finalizers" in operator["foreseen"][0]
    found = actions(crds)
    assert found["CustomResourceDefinition kymas.operator.kyma-project.io"] == "keep"
    assert found["CustomResourceDefinition watchers.operator.kyma-project.io"] == "delete"
    assert uninstall("--delete-crds") == 0
    assert cluster.get(OPERATOR) is None
    assert cluster.get(kyma) is not None
    assert cluster.get(KYMAS) is not None
    assert cluster.get(ObjectRef(CRD, "", "watchers.operator.kyma-project.io")) is None
    assert cluster.get(ObjectRef(NAMESPACE, "", SPACE)) is not None


def test_a_kyma_in_deletion_refuses_until_the_operator_has_deleted_it(
    cluster: KubeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install("--yes") == 0
    kyma = put_kyma(cluster, FINALIZER)
    cluster.delete(kyma)
    assert uninstall() == 2
    assert f"only the operator finishes the deletion of Kyma {SPACE}/one" in capsys.readouterr().err
    assert main(["delete", NAME, "--yes"]) == 2
    assert cluster.get(OPERATOR) is not None
    with running_operator():
        eventually(lambda: cluster.get(kyma) is None, "the Kyma is deleted", 30)
    assert uninstall() == 0
    assert cluster.get(OPERATOR) is None


def test_with_the_kymas_nothing_is_left(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("--yes") == 0
    kyma = put_kyma(cluster, FINALIZER)
    assert uninstall("--delete-kymas", "--delete-crds", "--dry-run") == 0
    assert f"Kyma {SPACE}/one" in capsys.readouterr().out
    assert cluster.get(kyma) is not None
    with running_operator():
        assert uninstall("--delete-kymas", "--delete-crds", "--timeout", "60s") == 0
    cluster.forget_kinds()
    assert cluster.get(KYMAS) is None
    assert cluster.get(OPERATOR) is None
    eventually(lambda: cluster.get(ObjectRef(NAMESPACE, "", SPACE)) is None, "its namespace is deleted", 30)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="the page uses kubectl")
def test_the_commands_of_the_page_work_as_written(cluster: KubeCluster, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    shell = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "IMAGE": IMAGE,
        "HOME": str(tmp_path),
    }
    blocks = [block for language, block in page_blocks((root / "deploy/README.md").read_text()) if language == "sh"]
    assert len(blocks) == 3
    for block in blocks:
        done = subprocess.run(
            ["bash", "-e", "-c", block], env=shell, cwd=root, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        assert cluster.get(OPERATOR) is None
