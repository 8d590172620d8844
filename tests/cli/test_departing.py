"""`kymatui delete` where lifecycle-manager is in charge: the flowchart from one end to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.actions.edits import module_edits
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.apply import applier, planner
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import SystemClock, begin
from kymatui.engine.plans.plan import Intent
from kymatui.helm.rendering.releases import Release, Status, to_record
from kymatui.sandbox.fault_client import FaultClient
from tests.engine import objects as make
from tests.engine.charts import chart_in
from tests.sandboxes.resuming import resume_reconciliation

pytestmark = pytest.mark.xdist_group("departing")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")
TRANSPARENT = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "TransparentProxy")
CAP_OPERATOR = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "CAPOperator")
APPLICATION = GroupVersionKind("applicationconnector.kyma-project.io", "v1alpha1", "Application")
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
TEMPLATES, MANIFESTS = "moduletemplates.operator.kyma-project.io", "manifests.operator.kyma-project.io"


def stations(text: str) -> dict[str, str]:
    return {one["title"]: one["progressed"] for one in json.loads(text)["stations"]}


def test_what_users_made_is_counted_and_deleted_first_and_then_the_kyma_lets_the_module_go(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    status, out, err = run("delete", "serverless", "--dry-run")
    assert (status, "no changes; 1 module refused" in out, "--cascade deletes them too" in err) == (2, True, True)
    assert "kymatui deletes" not in out
    status, out, err = run("delete", "serverless", "--yes", "-o", "json")
    found = json.loads(out)
    assert (status, found["charge"], found["turn"], found["outcome"]) == (2, "kyma", "clear", "refused")
    assert [one["object"] for one in found["remaining"] if one["byTheModule"]] == ["Serverless kyma-system/default"]
    assert "still manages 3 objects: Function" in err
    assert stations(out)["Delete them"] == "now"
    assert len(cluster.list(FUNCTION)) == 3
    kept = tmp_path / "kept.yaml"
    status, out, err = run("delete", "serverless", "--yes", "--cascade", "--backup", str(kept))
    print(err)
    assert (status, out.split(";")[0]) == (0, "serverless is deleted")
    assert "lifecycle-manager may create it again after you delete it" in err
    assert not cluster.list(FUNCTION)
    names = [body["kind"] for body in yaml.safe_load_all(kept.read_text())]
    assert names.count("Function") == 3
    assert "Serverless" in names
    for words in (("--yes",), ("--dry-run",), ()):
        status, out, err = run("restore", str(kept), *words)
        assert (status, "run `kymatui enable serverless`, then restore again" in err) == (2, True), err
        assert ("[y/N]" in err, "no object of the backup can be created now: the cluster does not serve" in err) == (
            False,
            True,
        )
    assert run("delete", "serverless", "--yes")[0] == 0


def test_what_kubectl_installed_is_adopted_before_it_is_deleted(run: Any) -> None:
    status, out, err = run("delete", "docker-registry", "--yes")
    assert (status, out) == (2, "")
    assert "docker-registry was not installed by kymatui" in err
    assert "`kymatui adopt docker-registry`" in err


def test_42_the_policy_is_set_to_ignore_first_so_that_the_resource_can_be_deleted_by_hand(
    run: Any, cluster: KubeCluster
) -> None:
    status, out, err = run("delete", "cluster-ip", "--yes", "--way", "ignore", "--no-backup")
    assert (status, out) == (0, "cluster-ip is deleted; 1 object deleted by kymatui\n")
    assert err.index("the policy is set") < err.index("deleting ClusterIP") < err.index("is removed from the Kyma")


def test_with_policy_ignore_the_default_resource_is_the_users_to_delete(run: Any) -> None:
    assert run("policy", "keda", "Ignore", "--yes")[0] == 0
    status, _, err = run("delete", "keda", "--yes", "--no-backup")
    assert status == 2
    assert "still manages 1 object (the default CR): Keda" in err


def test_42_unmanaging_instead_leaves_everything_where_it_is(run: Any, cluster: KubeCluster) -> None:
    status, out, _ = run("delete", "btp-operator", "--yes", "--way", "unmanage", "--no-backup")
    assert status == 0
    assert "lifecycle-manager has released btp-operator; its objects stay" in out
    status, _, err = run("delete", "btp-operator", "--yes")
    assert status == 2
    assert "kymatui adopt btp-operator" in err


def release_of_another(cluster: KubeCluster, name: str, namespace: str) -> None:
    """Install a Helm release that only shares the name of a module."""
    planned = planner.plan(Intent(chart_in(namespace, make.config_map("a"), name=name)), cluster, SystemClock())
    with begin(cluster) as going:
        applier.apply(planned, going)


def test_what_lifecycle_manager_has_let_go_of_is_taken_over_and_given_back_with_nothing_deleted(
    run: Any, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("adopt", "istio", "--yes")[0] == 2, "it is managed"
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "btp-manager-controller-manager")
    before = cluster.get(ref)
    assert "owner: lifecycle-manager → kymatui" in run("adopt", "btp-operator", "--dry-run")[1]
    status, _, err = run("adopt", "btp-operator", "--version", "99.0.0", "--yes")
    assert (status, "1.1.17 is installed, so 99.0.0 cannot be adopted" in err) == (2, True), err
    assert "`kymatui upgrade btp-operator --version 99.0.0`" in err
    status, _, err = run("adopt", "btp-operator", "--yes")
    assert status == 0, err
    now = cluster.get(ref)
    assert before is not None
    assert now is not None
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    assert {"kymatui"} <= field_managers(now)
    assert not {LIFECYCLE_APPLIER} & field_managers(now)
    assert run("adopt", "btp-operator", "--yes")[1] == "btp-operator: no changes (10 unchanged)\n"
    for namespace in ("team-a", "team-b"):
        release_of_another(cluster, "btp-operator", namespace)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(module_edits, "complete_handover", lambda *_: "")  # as if the process had ended
        status, _, err = run("manage", "btp-operator", "--yes")
    assert status == 0, err
    assert "owner kymatui → lifecycle-manager, nothing is deleted" in err
    assert "Helm release" not in err
    status, out, err = run("manage", "btp-operator", "--dry-run")
    assert "owner kymatui → lifecycle-manager, nothing is deleted" in err
    status, out, err = run("manage", "btp-operator", "--yes")
    assert (status, "owner kymatui → lifecycle-manager" in out) == (0, True), err
    assert "no change" in run("manage", "btp-operator", "--yes")[1]
    for namespace in ("team-a", "team-b"):
        assert cluster.list(SECRET, namespace, labels="owner=helm,name=btp-operator")
    again = cluster.get(ref)
    assert again is not None
    assert again["metadata"]["uid"] == before["metadata"]["uid"]
    assert "kymatui" not in field_managers(again)
    assert run("check", "btp-operator")[0] == 2, "kymatui has no record of it any more"


def test_51_a_resource_of_the_module_that_is_not_its_default_one_holds_the_deletion(
    run: Any, cluster: KubeCluster
) -> None:
    body = {
        "apiVersion": TRANSPARENT.api_version,
        "kind": TRANSPARENT.kind,
        "metadata": {"name": "second", "namespace": "default"},
    }
    cluster.apply(body, manager="user")
    status, out, err = run("delete", "transparent-proxy", "--yes", "-o", "json")
    assert status == 2
    assert "still manages 1 object: TransparentProxy default/second" in err
    assert json.loads(out)["turn"] == "clear"
    cluster.delete(ObjectRef(TRANSPARENT, "default", "second"))


@pytest.fixture
def faults(kubeconfig: Path) -> Iterator[FaultClient]:
    found = FaultClient.for_kubeconfig(kubeconfig)
    yield found
    found.send("clear", {})


@pytest.mark.parametrize("verb", ["delete", "disable"])  # one lists, the other watches
@pytest.mark.parametrize("resource", [DEFINITIONS, TEMPLATES, MANIFESTS])
def test_a_list_that_breaks_off_once_does_not_change_the_plan(
    run: Any, faults: FaultClient, verb: str, resource: str
) -> None:
    words = (verb, "application-connector", "--cascade", "--dry-run", "-o", "json")
    whole = run(*words)
    faults.send("drop", {"resource": resource, "count": 1})
    assert run(*words) == whole
    assert whole[0] == 0
    assert faults.send("list", {})["faults"] == []


def test_the_default_cr_is_never_a_users_object_while_templates_are_not_listed(run: Any, faults: FaultClient) -> None:
    default = "ApplicationConnector kyma-system/default"
    words = ("delete", "application-connector", "--accept-unknown", "--cascade", "--dry-run", "-o", "json")
    faults.send("unauthorized", {"resource": TEMPLATES})
    status, out, _ = run(*words)
    assert status == 0
    assert {one["object"]: one["byTheModule"] for one in json.loads(out)["remaining"]}[default] is True
    faults.send("unauthorized", {"resource": MANIFESTS})  # they have the default CR, too
    status, out, err = run(*words)
    assert (status, json.loads(out)["outcome"]) == (2, "refused")
    assert f"its default CR is unknown: could not list {TEMPLATES}" in err


def test_what_lifecycle_manager_applied_from_the_manifest_goes_with_the_module(run: Any, cluster: KubeCluster) -> None:
    deployments = cluster.list(GroupVersionKind("apps", "v1", "Deployment"))
    found = next(one for one in deployments if "application-connector" in one["metadata"]["name"])
    owner = "deprecated-operator.kyma-project.io/owned-by"
    owners = {
        "from-the-manifest": (found["metadata"]["annotations"][owner], LIFECYCLE_APPLIER),
        "another-module": ("kcp-system/another", LIFECYCLE_APPLIER),
        "copied": (found["metadata"]["annotations"][owner], "kubectl"),
    }
    for name, (manifest, manager) in owners.items():
        body = {
            "apiVersion": APPLICATION.api_version,
            "kind": "Application",
            "metadata": {"name": name, "namespace": "default", "annotations": {owner: manifest}},
        }
        cluster.apply(body, manager=manager)
    status, out, err = run("delete", "application-connector", "--yes", "-o", "json")
    own = {one["object"]: one["byTheModule"] for one in json.loads(out)["remaining"]}
    words = "still manages 2 objects (1 Application of the Manifest kcp-system/another, 1 Application of users)"
    assert (status, words.replace(", 1", " and 1") in err) == (2, True), err
    assert [own[f"Application default/{name}"] for name in owners] == [True, False, False]
    status, out, err = run("delete", "application-connector", "--cascade", "--dry-run")
    assert "kymatui only watches" not in out
    assert "kymatui deletes 2 managed objects first; then kymatui removes the module from the Kyma" in out
    for name in ("another-module", "copied"):
        cluster.delete(ObjectRef(APPLICATION, "default", name))
    out = run("delete", "application-connector", "--dry-run")[1]
    assert "first;" not in out
    assert "kymatui removes the module from the Kyma, and lifecycle-manager deletes the module's own objects" in out
    cluster.delete(ObjectRef(APPLICATION, "default", "from-the-manifest"))


def test_a_module_whose_crd_a_helm_release_has_is_not_disabled(run: Any, cluster: KubeCluster) -> None:
    crd = "applications.applicationconnector.kyma-project.io"
    manifest = f"---\nkind: CustomResourceDefinition\nmetadata: {{name: {crd}}}\n"
    secret = to_record(Release("other", "default", 1, Status.DEPLOYED, manifest=manifest))
    cluster.create(secret)
    for words in (("disable", "application-connector", "--cascade"), ("delete", "application-connector", "--cascade")):
        status, out, err = run(*words, "--yes")
        assert status == 2, out
        assert f"CRD {crd}: Helm release default/other has it, too" in err
    cluster.delete(ObjectRef(SECRET, "default", secret["metadata"]["name"]))
    assert run("disable", "application-connector", "--cascade", "--dry-run")[0] == 0


def test_50_with_a_dead_manager_one_finalizer_of_one_object_is_let_go_by_typing_its_name(
    run: Any, cluster: KubeCluster
) -> None:
    resume_reconciliation(cluster, "application-connector")
    name = "applications.applicationconnector.kyma-project.io"
    body = {
        "apiVersion": APPLICATION.api_version,
        "kind": "Application",
        "metadata": {"name": "held", "namespace": "default", "finalizers": ["example.org/held"]},
    }
    cluster.apply(body, manager="operator")
    words = ("delete", "application-connector", "--yes", "--cascade", "--no-backup", "--timeout", "0.3")
    status, _, err = run(*words)
    assert (status, cluster.get(ObjectRef(DEFINITION, "", name)) is not None) == (3, True)
    assert "blocked by finalizer example.org/held (set by operator)" in err
    assert "has to remove the finalizers and is running" in err
    status, out, _ = run("finalizers", "application-connector")
    assert (status, "example.org/held" in out, "operator" in out) == (0, True, True)
    let_go = ("finalizers", "application-connector", "--object", "default/held", "--remove", "example.org/held")
    assert run(*let_go)[0] == 2, "nobody typed it"
    assert run(*let_go, "--typed", "hel")[0] == 2
    assert run(*let_go, "--typed", "default/held")[:2] == (0, "Application default/held deleted\n")
    assert (
        run("finalizers", "application-connector")[1] == "no finalizer blocks the deletion of application-connector\n"
    )
    status, out, _ = run(*words[:-2])  # entered again: it goes on where it was left
    assert (status, out) == (0, "application-connector is deleted\n")


def test_resources_without_their_manager_are_told_of_kept_and_deleted_when_that_is_agreed_to(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    status, out, err = run("delete", "cap-operator", "--yes", "-o", "json")
    found = json.loads(out)
    assert (status, found["charge"], found["turn"]) == (2, "nobody", "clear")
    assert "the manager of cap-operator is missing" in found["warning"]
    assert "--cascade deletes them too" in err
    kept = tmp_path / "kept.yaml"
    status, out, _ = run("delete", "cap-operator", "--yes", "--cascade", "--backup", str(kept), "-o", "json")
    found = json.loads(out)
    assert (status, found["gone"]) == (0, ["CAPOperator cap-operator-system/default"])
    assert "CustomResourceDefinition capoperators.operator.kyma-project.io" in [one["object"] for one in found["kept"]]
    assert run("restore", str(kept), "--yes")[:2] == (0, "1 created\n")

    held = ObjectRef(
        GroupVersionKind("operator.kyma-project.io", "v1alpha1", "CAPOperator"), "cap-operator-system", "default"
    )
    hold = {"metadata": {"finalizers": ["example.org/held"]}}
    cluster.patch(held, hold, PatchKind.MERGE, manager="somebody")
    words = ("delete", "cap-operator", "--yes", "--cascade", "--no-backup", "--timeout", "0.3")
    assert run(*words)[0] == 3
    status, _, err = run(*words)  # entered again, with all that is left on its way out
    assert (status, "blocked by finalizer example.org/held" in err) == (3, True), err
    cluster.patch(held, {"metadata": {"finalizers": None}}, PatchKind.MERGE, manager="somebody")
    assert "is not installed in " in run(*words)[1]
