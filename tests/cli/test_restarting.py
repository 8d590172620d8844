"""`kymatui restart` and `unpause`: the plan, the replaced Pods, what is refused, and the Role that it names."""

from __future__ import annotations

import argparse
import json
import threading
from typing import Any

import pytest
import yaml

from kymatui.actions.batch import BatchJob, run_items
from kymatui.actions.edits.object_edit import ObjectItem
from kymatui.actions.edits.restart import RESTARTED_AT, Restart, Restarting, plan_restarts
from kymatui.cli.commands.modules.restart import RestartView, choose_object
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.jobs.wait import NotReadyError
from kymatui.errors import UsageError
from tests.engine.places import eventually

pytestmark = pytest.mark.xdist_group("restarting")

NAMESPACE = "kyma-system"
PODS = GroupVersionKind("", "v1", "Pod")
KEDA = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), NAMESPACE, "keda-manager")
REGISTRY = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "docker-registry", "dockerregistry-operator")
"""Nothing applies it again."""
WARDEN = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), NAMESPACE, "warden-operator")


def pods(cluster: Cluster, workload: ObjectRef) -> set[str]:
    listed = cluster.list(PODS, NAMESPACE)
    return {name for pod in listed if (name := pod["metadata"]["name"]).rsplit("-", 2)[0] == workload.name}


def restarted_at(cluster: Cluster, ref: ObjectRef) -> str:
    body = cluster.get(ref)
    assert body is not None
    return str((body["spec"]["template"]["metadata"].get("annotations") or {}).get(RESTARTED_AT, ""))


def test_the_managers_pods_are_replaced_and_awaited(cluster: Cluster, run: Any) -> None:
    before = pods(cluster, KEDA)
    status, out, err = run("restart", "keda", "--dry-run")
    assert (status, err) == (0, "")
    assert "1 workload to restart" in out
    assert f"{KEDA}   1 Pod replaced" in out
    assert restarted_at(cluster, KEDA) == ""
    status, out, err = run("restart", "keda")
    assert (status, out) == (2, ""), "nobody confirmed it"
    status, out, err = run("restart", "keda", "--yes")
    assert (status, out) == (0, f"{KEDA} restarted\n")
    assert f"waiting for {KEDA}" in err
    eventually(lambda: not pods(cluster, KEDA) & before, "the old Pods have ended")
    assert len(pods(cluster, KEDA)) == len(before)
    status, out, _ = run("module", "keda", "-o", "json")
    row = json.loads(out)
    assert (status, row["installedBy"], row["state"]) == (0, "lifecycle-manager", "Ready")


def test_all_workloads_of_several_modules_are_one_plan(cluster: Cluster, run: Any) -> None:
    status, out, _ = run("restart", "keda", "warden", "--all", "--yes", "--no-wait", "-o", "json")
    document = json.loads(out)
    assert (status, document["outcome"]) == (0, "accepted")
    restarted = {(plan["module"], plan["object"]["name"]): plan["pods"] for plan in document["plans"]}
    assert {("keda", "keda-operator"): 1, ("keda", "keda-manager"): 1, ("warden", "warden-operator"): 1}.items() <= (
        restarted.items()
    )
    assert restarted_at(cluster, WARDEN)


def test_one_pod_is_deleted_and_created_again(cluster: Cluster, run: Any) -> None:
    eventually(lambda: len(pods(cluster, WARDEN)) == 1, "the rollout has ended")
    (name,) = pods(cluster, WARDEN)
    status, out, err = run("restart", "warden", "--object", f"Pod/{name}", "--yes")
    assert (status, out) == (0, f"Pod {NAMESPACE}/{name} restarted\n")
    assert "deleted; its ReplicaSet creates a new one" in err
    assert len(pods(cluster, WARDEN)) == 1
    assert name not in pods(cluster, WARDEN)
    status, _, err = run("restart", "warden", "--object", f"Pod/{name}", "--yes")
    assert status == 64
    assert f'no workload or Pod "Pod/{name}" of warden; did you mean Pod/warden-operator-' in err


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"paused": True}}, "is paused: nothing is restarted before its rollout is resumed"),
        ({"spec": {"replicas": 0}}, "has no Pods to restart: it is scaled to zero"),
    ],
)
def test_what_would_not_restart_is_refused(cluster: Cluster, run: Any, change: dict[str, Any], reason: str) -> None:
    cluster.patch(REGISTRY, change, PatchKind.MERGE)
    try:
        status, out, err = run("restart", "docker-registry", "--yes")
        assert (status, out) == (2, "")
        assert f"{REGISTRY} {reason}" in err
        status, out, err = run("restart", "keda", "docker-registry", "--dry-run")
        assert status == 2
        assert f"refused: {REGISTRY} {reason}" in " ".join(out.split())
    finally:
        cluster.patch(REGISTRY, {"spec": {"paused": None, "replicas": 1}}, PatchKind.MERGE)


def test_a_name_of_several_objects_names_each(cluster: Cluster, run: Any) -> None:
    other = "elsewhere"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    body = cluster.get(REGISTRY)
    assert body is not None
    copied = {"namespace": other, "name": REGISTRY.name, "labels": body["metadata"].get("labels") or {}}
    cluster.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": copied, "spec": body["spec"]})
    roots = (REGISTRY, ObjectRef(REGISTRY.kind, other, REGISTRY.name))
    short = f"Deployment/{REGISTRY.name}"
    with pytest.raises(UsageError) as raised:
        choose_object(roots, short, "docker-registry")
    assert raised.value.hint == (
        f"choose one: Deployment/docker-registry/{REGISTRY.name}, Deployment/{other}/{REGISTRY.name}"
    )
    assert choose_object(roots, f"Deployment/{other}/{REGISTRY.name}", "docker-registry") == roots[1]
    assert choose_object(roots[:1], short, "docker-registry") == roots[0]
    assert run("restart", "docker-registry", "--all", "--object", short)[0] == 64


def test_a_stateful_set_that_keeps_pods_of_its_partition_is_refused(cluster: Cluster) -> None:
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"namespace": "default", "name": "db"}}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}}
    spec = {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template}
    kept = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    ref = read_ref(cluster.create({**body, "spec": {**spec, "updateStrategy": kept}}))
    (item,) = plan_restarts(cluster, {"shop": [ref]}, 0.0)
    assert str(item.refusal) == f"{ref} replaces only its Pods from number 2 on (rollingUpdate.partition)"
    assert restarted_at(cluster, ref) == ""


def test_the_error_of_some_restarts_advises_to_restart_only_these(cluster: Cluster) -> None:
    failed = NotReadyError(f"after 3 s {REGISTRY} is not ready", ())
    items = [
        ObjectItem("warden", Restart(WARDEN, {}, {}, (), {}), result={}),
        ObjectItem("docker-registry", Restart(REGISTRY, {}, {}, (), {}), result={}, error=failed),
    ]
    view = RestartView(ClusterTarget("prod"), argparse.Namespace(), cluster, ("restart",), is_list=True)
    error = view.failure(items)
    assert str(error) == f"1 of 2 workloads not restarted: docker-registry: {failed}"
    assert error.hint == "a second run restarts the others again; name what failed with --object KIND/NAME"


def test_a_pod_that_is_left_is_no_restart(cluster: Cluster, run: Any) -> None:
    (name,) = pods(cluster, WARDEN)
    ref = ObjectRef(PODS, NAMESPACE, name)
    cluster.patch(ref, {"metadata": {"finalizers": ["example.org/hold"]}}, PatchKind.MERGE)
    try:
        status, out, err = run("restart", "warden", "--object", f"Pod/{name}", "--yes", "--timeout", "2")
        assert (status, out) == (1, "")
        assert f"after 2 s {ref} is not deleted yet" in err
    finally:
        cluster.patch(ref, {"metadata": {"finalizers": None}}, PatchKind.MERGE)


def test_a_module_without_manager_and_a_name_of_no_module_are_errors(run: Any) -> None:
    status, out, err = run("restart", "registry-proxy", "--yes")
    assert (status, out) == (1, "")
    assert "registry-proxy has no manager in cluster" in err
    assert run("restart", "kda")[0] == 64


def test_without_rights_it_names_the_role_that_suffices(cluster: Cluster, run: Any) -> None:
    _, out, _ = run("rights", "restart", "keda", "--as", "jane", "-o", "yaml")
    roles = [body for body in yaml.safe_load_all(out) if body["kind"].endswith("Role")]
    for body in yaml.safe_load_all(out):
        cluster.create(body)
    granted = {
        (verb, name)
        for role in roles
        for rule in role["rules"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ())
    }
    assert granted == {("get", "keda-manager"), ("patch", "keda-manager")}
    assert run("restart", "keda", "--as", "jane", "--yes", "--no-wait")[0] == 0
    status, _, err = run("restart", "warden", "--as", "jane", "--yes")
    assert status == 1
    assert "`kymatui rights restart warden`" in err


def test_what_pauses_a_module_ends_and_another_one_is_left(cluster: Cluster, run: Any) -> None:
    cluster.patch(REGISTRY, {"spec": {"replicas": 0, "paused": True}}, PatchKind.MERGE)
    status, out, err = run("unpause", "keda", "docker-registry", "warden", "--dry-run")
    assert (status, err) == (0, "")
    fields = [line.split() for line in out.splitlines()]
    assert ["metadata.labels.operator.kyma-project.io/skip-reconciliation", '"true"', "→", "none"] in fields
    assert ["spec.paused", "true", "→", "none"] in fields
    assert ["spec.replicas", "0", "→", "1"] in fields
    status, out, _ = run("unpause", "keda", "docker-registry", "--yes")
    assert status == 0
    assert out.splitlines()[1] == f"{REGISTRY} changed"
    assert run("unpause", "keda", "docker-registry", "--yes")[:2] == (0, "no changes: nothing is paused\n")
    body = cluster.get(REGISTRY)
    assert body is not None
    assert (body["spec"]["replicas"], body["spec"].get("paused")) == (1, None)


def test_the_kyma_is_unpaused_by_its_own_option(cluster: Cluster, run: Any) -> None:
    kyma = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), NAMESPACE, "default")
    cluster.patch(kyma, {"metadata": {"labels": {LABEL_SKIP: "true"}}}, PatchKind.MERGE)
    status, out, _ = run("unpause", "--kyma", "--yes")
    assert (status, out) == (0, f"{kyma} changed\n")
    body = cluster.get(kyma)
    assert body is not None
    assert LABEL_SKIP not in body["metadata"].get("labels", {})
    assert [run("unpause", *words)[0] for words in ((), ("keda", "--kyma"))] == [64, 64]


def test_a_pod_that_nothing_creates_again_is_refused_and_a_replaced_one_is_left(cluster: Cluster) -> None:
    ref = ObjectRef(PODS, "default", "alone")
    container = {"name": "main", "image": "registry.example.org/main:1"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "alone"}}
    cluster.create({**body, "spec": {"containers": [container]}})
    (item,) = plan_restarts(cluster, {"shop": [ref], "shop-ui": [ref]}, 0.0)
    assert str(item.refusal) == f"{ref} has no controller that would create it again"
    live = cluster.get(ref)
    assert live is not None
    stale = {**live, "metadata": {**live["metadata"], "uid": "another"}}
    planned = Restart(ref, stale, {}, (), {}, controller=KEDA)
    items = [ObjectItem("shop", planned)]
    (ended,) = run_items(items, Restarting(cluster, 0.0, lambda progress: None), Silent(), BatchJob(threading.Event()))
    assert ended.error is not None
    assert cluster.get(ref) is not None


class Silent:
    def begin(self, items: Any) -> None: ...

    def stop(self, items: Any) -> None: ...
