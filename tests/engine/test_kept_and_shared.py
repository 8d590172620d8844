"""What outlives an installation: kept objects with their namespaces and CRDs, and what other installations have."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml

from kymatui.adapters.files.backups import BackupFile
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import ObjectOwnership
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind, Write, WriteVerb
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import DeletionOutcome, uninstall_module
from kymatui.engine.deletion.uninstall_plan import CHART_CRDS, DeletionScope, UninstallPlan, plan_uninstall
from kymatui.engine.jobs.run import Progress, SystemClock, begin
from kymatui.engine.plans.plan import Action, Intent, Step
from kymatui.errors import ForbiddenError, InvalidError, PartlyDoneError, RefusedError
from kymatui.helm.rendering.releases import Release, Status, to_record
from tests.engine import objects as make
from tests.engine.charts import chart, chart_in, hook
from tests.engine.installing import LIMITS, apply, bundle, install, plan
from tests.engine.places import Json, Place, eventually

CRD_KIND, NAMESPACE_KIND = "CustomResourceDefinition", "Namespace"
POLICY = "helm.sh/resource-policy"
KEEP = "kept by its annotation helm.sh/resource-policy"
SHAPES: dict[str, Callable[..., Bundle]] = {"chart": chart, "file": bundle}


def kept(body: Json, value: str = "keep") -> Json:
    return {**body, "metadata": {**body["metadata"], "annotations": {POLICY: value}}}


def claim(name: str, namespace: str = "") -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
    return {**body, "metadata": {"name": name, "namespace": namespace}} if namespace else body


def displayed(place: Place, name: str, cluster: Cluster | None = None, **scope: Any) -> UninstallPlan:
    found = plan_uninstall(name, place.namespace, cluster or place.cluster, SystemClock(), scope=DeletionScope(**scope))
    assert found is not None
    return found


def delete(
    place: Place,
    found: UninstallPlan,
    *,
    cluster: Cluster | None = None,
    cascade: bool = False,
    backup: BackupFile | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DeletionOutcome:
    with begin(cluster or place.cluster, limits=LIMITS, backup=backup, progress=progress) as run:
        return uninstall_module(found, run, DeletionConsent(found.accepted, cascade=cascade))


def reasons(steps: Sequence[Step]) -> dict[tuple[str, str], str]:
    return {(step.ref.kind.kind, step.ref.name): step.reason for step in steps}


def there(place: Place, *bodies: Json) -> list[str]:
    """The names of those that exist and are not being deleted."""
    found = []
    place.raw.forget_kinds()
    for body in bodies:
        metadata = body["metadata"]
        where = "" if body["kind"] in (CRD_KIND, NAMESPACE_KIND) else metadata.get("namespace") or place.namespace
        live = place.get(body["apiVersion"], body["kind"], metadata["name"], where)
        if live is not None and not live["metadata"].get("deletionTimestamp"):
            found.append(metadata["name"])
    return found


def serves(place: Place, kind: str) -> bool:
    place.raw.forget_kinds()
    return bool(place.raw.kinds(place.group, kind))


def space(place: Place) -> Json:
    return make.namespace(place.namespace)


class LimitedCluster(KubeCluster):
    """A user who may not list some kinds."""

    def __init__(self, place: Place, *kinds: str) -> None:
        super().__init__(place.cluster.client)
        self._kinds = kinds

    def list(self, gvk: GroupVersionKind, namespace: str = "", **more: Any) -> list[Object]:
        if gvk.kind in self._kinds and (gvk.kind != "Secret" or not namespace):
            raise ForbiddenError(f"{gvk.kind} is forbidden", status=403)
        return super().list(gvk, namespace, **more)


# what is kept


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("brings_namespace", [False, True])
def test_a_kept_claim_keeps_its_namespace(place: Place, shape: str, brings_namespace: bool) -> None:
    objects = [kept(claim("data")), make.config_map("c"), *([space(place)] if brings_namespace else [])]
    install(place, SHAPES[shape](place, *objects, name="web"))
    found = displayed(place, "web")
    expected = {
        ("PersistentVolumeClaim", "data"): KEEP,
        (
            "Namespace",
            place.namespace,
        ): f"it contains other objects: PersistentVolumeClaim {place.namespace}/data ({KEEP})",
    }
    assert reasons(found.kept) == expected
    ended = delete(place, found)
    assert set(reasons(ended.kept)) == set(expected)
    assert {ref.name for ref in ended.gone} == {"c"}
    assert there(place, claim("data"), make.config_map("c"), space(place)) == ["data", place.namespace]


def test_a_kept_object_of_another_namespace_keeps_that_one_alone(place: Place) -> None:
    other = make.namespace(f"{place.name}-other")
    install(place, chart(place, other, kept(claim("data", other["metadata"]["name"])), make.config_map("c")))
    ended = delete(place, displayed(place, "web"))
    assert set(reasons(ended.kept)) == {("PersistentVolumeClaim", "data"), ("Namespace", f"{place.name}-other")}
    assert there(place, space(place)) == []
    assert there(place, claim("data", other["metadata"]["name"]), other) == ["data", f"{place.name}-other"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_kept_object_stays_when_its_live_annotation_is_removed(place: Place, shape: str) -> None:
    install(place, SHAPES[shape](place, kept(make.config_map("k")), make.config_map("c"), name="web"))
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "k")
    place.raw.patch(ref, {"metadata": {"annotations": {POLICY: None}}}, PatchKind.MERGE)
    ended = delete(place, displayed(place, "web"))
    assert "it was installed with the annotation" in reasons(ended.kept)["ConfigMap", "k"]
    assert there(place, make.config_map("k"), make.config_map("c"), space(place)) == ["k", place.namespace]


@pytest.mark.parametrize("with_backup", [True, False])
@pytest.mark.parametrize("value", ["keep", None], ids=["annotated", "unannotated"])
def test_what_is_kept_at_the_plan_or_at_the_deletion_stays(place: Place, value: str | None, with_backup: bool) -> None:
    body = make.config_map("k") if value else kept(make.config_map("k"))
    install(place, bundle(place, body, make.config_map("c"), name="web"))
    found = displayed(place, "web")
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "k")
    place.raw.patch(ref, {"metadata": {"annotations": {POLICY: value}}}, PatchKind.MERGE)
    backup = BackupFile(place.folder / "saved.yaml", place.cluster, ("web",)) if with_backup else None
    if backup is not None:
        backup.write(step.ref for step in found.deletions)
    ended = delete(place, found, backup=backup)
    assert set(reasons(ended.kept)) == {("ConfigMap", "k"), ("Namespace", place.namespace)}
    assert there(place, make.config_map("k"), make.config_map("c"), space(place)) == ["k", place.namespace]


def test_an_object_that_is_annotated_while_others_are_deleted_stays(place: Place) -> None:
    install(place, chart(place, make.config_map("k"), make.deployment("first")))
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "k")

    def meddle(progress: Progress) -> None:
        if progress.message.startswith("deleting Deployment"):
            place.raw.patch(ref, {"metadata": {"annotations": {POLICY: " Keep"}}}, PatchKind.MERGE)

    ended = delete(place, displayed(place, "web"), progress=meddle)
    assert reasons(ended.kept)["ConfigMap", "k"] == KEEP
    assert there(place, make.config_map("k"), space(place)) == ["k", place.namespace]


def test_a_kept_namespace_and_a_kept_crd_stay(place: Place) -> None:
    crd = kept(make.definition(place.group, "Thing"))
    install(place, bundle(place, crd, kept(space(place)), make.config_map("c"), name="web"))
    ended = delete(place, displayed(place, "web"))
    assert reasons(ended.kept) == {
        ("CustomResourceDefinition", f"things.{place.group}"): KEEP,
        ("Namespace", place.namespace): KEEP,
    }
    assert there(place, crd, space(place), make.config_map("c")) == [f"things.{place.group}", place.namespace]


def test_a_kept_custom_resource_keeps_its_crd_and_blocks_nothing(place: Place) -> None:
    crd, thing = make.definition(place.group, "Thing"), kept(make.custom(place.group, "Thing", "data"))
    install(place, bundle(place, crd, thing, make.custom(place.group, "Thing", "other"), name="web"))
    found = displayed(place, "web")
    assert {one.ref.name: one.ownership for one in found.remaining.instances} == {
        "data": ObjectOwnership.KEPT,
        "other": ObjectOwnership.MODULE,
    }
    assert f"1 object of its kind left: Thing {place.namespace}/data ({KEEP})" in reasons(found.kept).values()
    delete(place, found)
    assert there(place, crd, thing, make.custom(place.group, "Thing", "other"), space(place)) == [
        f"things.{place.group}",
        "data",
        place.namespace,
    ]


def test_a_users_kept_object_stays_whatever_a_person_consents_to(place: Place) -> None:
    crd, thing = make.definition(place.group, "Thing"), kept(make.custom(place.group, "Thing", "data", place.namespace))
    install(place, bundle(place, crd, make.config_map("c"), name="web"))
    place.kubectl(thing)
    with pytest.raises(RefusedError, match=r"still manages 1 object: Thing .*/data"):
        delete(place, displayed(place, "web"))
    delete(place, displayed(place, "web"), cascade=True)
    assert there(place, crd, thing, make.config_map("c")) == [f"things.{place.group}", "data"]


def test_a_custom_resource_that_existed_before_stays_with_its_crd(place: Place) -> None:
    crd, thing = make.definition(place.group, "Thing"), make.custom(place.group, "Thing", "data", place.namespace)
    place.make_namespace()
    place.kubectl(crd)
    eventually(lambda: serves(place, "Thing"), "the kind is served")
    place.kubectl(thing)
    install(place, Intent(bundle(place, crd, thing, name="web"), force=True))
    ended = delete(place, displayed(place, "web"), cascade=True)
    assert reasons(ended.kept)["Thing", "data"] == "it existed before the module"
    assert there(place, crd, thing) == [f"things.{place.group}", "data"]


# namespaces


def test_a_namespace_that_two_releases_share_stays_whatever_their_names(place: Place) -> None:
    install(place, chart(place, make.config_map("a"), name="op"))
    release = Release("op.v1", place.namespace, 1, Status.FAILED)
    place.raw.create(to_record(release))
    found = displayed(place, "op")
    assert f"Secret {place.namespace}/sh.helm.release.v1.op.v1.v1" in found.steps[-1].reason
    ended = delete(place, found)
    assert set(reasons(ended.kept)) == {("Namespace", place.namespace)}
    assert place.get("v1", "Secret", "sh.helm.release.v1.op.v1.v1") is not None


def test_another_object_of_the_inventorys_name_keeps_the_namespace(place: Place) -> None:
    install(place, bundle(place, make.config_map("a"), name="web"))
    place.kubectl(claim("kymatui.web", place.namespace))
    delete(place, displayed(place, "web"))
    assert there(place, claim("kymatui.web"), space(place)) == ["kymatui.web", place.namespace]


def test_kinds_that_may_not_be_listed_keep_a_namespace(place: Place) -> None:
    install(place, bundle(place, make.config_map("a"), name="web"))
    cluster = LimitedCluster(place, "PersistentVolumeClaim")
    found = displayed(place, "web", cluster)
    assert reasons(found.kept) == {
        ("Namespace", place.namespace): "it contains other objects: persistentvolumeclaims, which may not be listed"
    }
    delete(place, found, cluster=cluster)
    assert there(place, space(place), make.config_map("a")) == [place.namespace]


@pytest.mark.parametrize("owner_stays", [True, False])
def test_an_object_with_an_owner_elsewhere_keeps_the_namespace_while_that_exists(
    place: Place, owner_stays: bool
) -> None:
    install(place, bundle(place, make.config_map("a"), name="web"))
    role = place.kubectl(make.cluster_role(f"{place.name}-owner"))
    reference = {"apiVersion": role["apiVersion"], "kind": "ClusterRole", "name": role["metadata"]["name"]}
    owned = claim("data", place.namespace)
    owned["metadata"]["ownerReferences"] = [{**reference, "uid": role["metadata"]["uid"]}]
    place.kubectl(owned)
    found = displayed(place, "web")
    assert found.kept == ()
    assert "now it contains PersistentVolumeClaim" in found.steps[-1].reason
    if not owner_stays:
        place.raw.delete(ObjectRef(GroupVersionKind.of(role["apiVersion"], "ClusterRole"), "", reference["name"]))
    delete(place, found)
    assert there(place, space(place)) == ([place.namespace] if owner_stays else [])


# CRDs that others have


def crds_of(place: Place, name: str = "op1", **more: Any) -> tuple[Bundle, Json]:
    crd = make.definition(place.group, "Thing")
    return chart(place, make.config_map(name), name=name, crds=(crd,), **more), crd


def test_crds_of_a_chart_stay_unless_a_person_chooses_otherwise(place: Place) -> None:
    what, crd = crds_of(place)
    install(place, what)
    assert reasons(displayed(place, "op1").kept)[CRD_KIND, f"things.{place.group}"] == CHART_CRDS
    ended = delete(place, displayed(place, "op1"))
    assert reasons(ended.kept)[CRD_KIND, f"things.{place.group}"] == CHART_CRDS
    assert there(place, crd) == [f"things.{place.group}"]
    install(place, what)
    found = displayed(place, "op1", delete_crds=True)
    assert found.kept == ()
    delete(place, found)
    assert there(place, crd) == []


def helm_secret(place: Place, crd: Json, *, status: Status, in_manifest: bool) -> Json:
    """A release that helm wrote: of a CRD in its templates, or in the chart's folder crds/."""
    text = json.dumps(crd) if in_manifest else ""
    data = base64.b64encode(yaml.safe_dump(crd).encode()).decode()
    files = [] if in_manifest else [{"name": "crds/thing.yaml", "data": data}]
    document = {"metadata": {"name": "op", "version": "1.0.0"}, "templates": [], "files": files}
    made: Json = to_record(Release("op2", place.namespace, 1, status, chart=document, manifest=f"---\n{text}\n"))
    return made


@pytest.mark.parametrize(
    ("status", "in_manifest", "stays"),
    [
        (Status.DEPLOYED, False, True),
        (Status.DEPLOYED, True, True),
        (Status.FAILED, False, True),
        (Status.PENDING_INSTALL, False, True),
        (Status.SUPERSEDED, False, False),
        (Status.UNINSTALLED, False, False),
    ],
)
def test_a_crd_that_a_release_of_helm_has_stays(place: Place, status: Status, in_manifest: bool, stays: bool) -> None:
    what, crd = crds_of(place)
    install(place, what)
    place.raw.create(helm_secret(place, crd, status=status, in_manifest=in_manifest))
    found = displayed(place, "op1", delete_crds=True)
    reason = reasons(found.kept).get((CRD_KIND, f"things.{place.group}"), "")
    assert reason == (f"Helm release {place.namespace}/op2 has it, too" if stays else "")
    delete(place, found)
    assert bool(there(place, crd)) is stays


def manifest_with(place: Place, crd: Json) -> Json:
    synced = {"group": "apiextensions.k8s.io", "version": "v1", "kind": CRD_KIND, "name": crd["metadata"]["name"]}
    metadata = {"name": "kyma-other", "namespace": "kcp-system"}
    return {"metadata": metadata, "status": {"synced": [{**synced, "namespace": ""}]}}


def test_a_crd_that_an_inventory_or_a_manifest_has_stays(place: Place) -> None:
    what, crd = crds_of(place)
    install(place, what)
    install(place, bundle(place, crd, make.config_map("a"), name="second"))
    name = (CRD_KIND, f"things.{place.group}")
    found = displayed(place, "second", manifests=(manifest_with(place, crd),))
    words = f"Helm release {place.namespace}/op1, Manifest kcp-system/kyma-other have it, too"
    assert reasons(found.kept)[name] == words
    own = displayed(place, "second", manifests=(manifest_with(place, crd),), manifest="kcp-system/kyma-other")
    assert reasons(own.kept)[name] == f"Helm release {place.namespace}/op1 has it, too"
    delete(place, displayed(place, "second"))
    assert there(place, crd, make.config_map("a")) == [f"things.{place.group}"]
    install(
        place, bundle(place, make.custom(place.group, "Other", "x"), make.definition(place.group, "Other"), name="b")
    )
    delete(place, displayed(place, "b"))
    assert there(place, make.definition(place.group, "Other")) == []


def test_a_crd_stays_while_other_installations_are_unknown(place: Place) -> None:
    install(place, bundle(place, make.definition(place.group, "Thing"), make.config_map("a"), name="web"))
    found = displayed(place, "web", LimitedCluster(place, "Secret"))
    reason = reasons(found.kept)[CRD_KIND, f"things.{place.group}"]
    assert reason.startswith("it is unknown whether other installations have it: you may not list them")


class WithoutCrds(KubeCluster):
    """A server that refuses CRDs."""

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is WriteVerb.CREATE and write.ref.kind.kind == CRD_KIND:
            raise InvalidError("no CRD today", status=422)
        return super().write(write, cancel=cancel)


@pytest.mark.parametrize("failed_first", [True, False])
def test_objects_of_a_release_that_has_the_crd_too_are_not_touched(place: Place, failed_first: bool) -> None:
    """A chart that failed before its CRD was written has it in its inventory, and others installed it."""
    what, crd = crds_of(place)
    if failed_first:
        with pytest.raises(PartlyDoneError, match="no CRD today"):
            install(place, what, cluster=WithoutCrds(place.cluster.client))
        assert there(place, crd) == []
    else:
        install(place, what)
    thing = make.custom(place.group, "Thing", "data", f"{place.name}-b")
    second = chart_in(f"{place.name}-b", thing, name="op2", crds=(crd,))
    install(place, second)
    found = displayed(place, "op1", delete_crds=True)
    assert [(one.ref.name, one.ownership) for one in found.remaining.instances] == [("data", ObjectOwnership.OTHER)]
    delete(place, found, cascade=True)
    assert there(place, crd, thing) == [f"things.{place.group}", "data"]
    assert there(place, make.config_map("op1")) == []


def test_an_object_of_another_release_is_not_touched_where_the_charts_crd_stays(place: Place) -> None:
    what, crd = crds_of(place)
    install(place, what)
    thing = make.custom(place.group, "Thing", "data", f"{place.name}-b")
    install(place, chart_in(f"{place.name}-b", thing, name="app"))
    users = make.custom(place.group, "Thing", "users", place.namespace)
    place.kubectl(users)
    with pytest.raises(RefusedError, match=r"still manages 1 object: Thing .*/users"):
        delete(place, displayed(place, "op1"))
    delete(place, displayed(place, "op1"), cascade=True)
    assert there(place, crd, thing, users) == [f"things.{place.group}", "data"]


def test_consent_names_the_release_whose_object_goes_with_the_crd(place: Place) -> None:
    crd = make.definition(place.group, "Thing")
    install(place, bundle(place, crd, name="web"))
    install(place, chart(place, make.custom(place.group, "Thing", "data"), name="app"))
    with pytest.raises(
        RefusedError, match=rf"still manages 1 object \(1 Thing of the Helm release {place.namespace}/app\): Thing"
    ):
        delete(place, displayed(place, "web"))


# upgrades


def test_pruning_knows_the_same(place: Place) -> None:
    other = f"{place.name}-other"
    crd = make.definition(place.group, "Thing")
    old = (
        make.namespace(other),
        kept(make.config_map("k"), "KEEP "),
        kept(make.config_map("source")),
        crd,
        make.config_map("old"),
    )
    install(place, chart(place, *old, make.config_map("a")))
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "source")
    place.raw.patch(ref, {"metadata": {"annotations": {POLICY: None}}}, PatchKind.MERGE)
    install(place, chart_in(other, make.config_map("theirs"), name="theirs"))
    install(place, chart_in(f"{place.name}-b", make.config_map("b"), name="second", crds=(crd,)))
    planned = plan(place, Intent(chart(place, make.config_map("a")), prune_definitions=True, prune_namespaces=True))
    stays = reasons(planned.of(Action.KEEP))
    assert stays["ConfigMap", "k"] == KEEP
    assert "it was installed with the annotation" in stays["ConfigMap", "source"]
    assert stays[CRD_KIND, f"things.{place.group}"] == f"Helm release {place.name}-b/second has it, too"
    assert "owned by the Helm release" in stays["Namespace", other]
    apply(place, planned)
    assert there(place, crd, *old[:3], old[4]) == [f"things.{place.group}", other, "k", "source"]


def test_an_object_that_is_annotated_after_the_plan_is_not_pruned_and_keeps_its_namespace(place: Place) -> None:
    other = f"{place.name}-other"
    install(place, bundle(place, make.namespace(other), make.config_map("k", other), make.config_map("a")))
    planned = plan(place, Intent(bundle(place, make.config_map("a")), prune_namespaces=True))
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), other, "k")

    def meddle(_: Progress) -> None:
        place.raw.patch(ref, {"metadata": {"annotations": {POLICY: "keep"}}}, PatchKind.MERGE)

    with pytest.raises(PartlyDoneError, match=rf"not deleted: ConfigMap {other}/k: {KEEP}; Namespace {other} contains"):
        apply(place, planned, told=meddle)  # type: ignore[arg-type]
    assert there(place, make.config_map("k", other), make.namespace(other)) == ["k", other]


def test_a_namespace_with_kinds_that_may_not_be_listed_is_not_pruned(place: Place) -> None:
    other = f"{place.name}-other"
    install(place, bundle(place, make.namespace(other), make.config_map("a")))
    cluster = LimitedCluster(place, "PersistentVolumeClaim")
    planned = plan(place, Intent(bundle(place, make.config_map("a")), prune_namespaces=True), cluster=cluster)
    assert "persistentvolumeclaims, which may not be listed" in reasons(planned.of(Action.KEEP))["Namespace", other]


def test_a_crd_of_which_the_new_version_has_objects_is_not_pruned(place: Place) -> None:
    crd, thing = make.definition(place.group, "Thing"), make.custom(place.group, "Thing", "data")
    install(place, bundle(place, crd, thing))
    planned = plan(place, Intent(bundle(place, thing), prune_definitions=True))
    stays = reasons(planned.of(Action.KEEP))
    assert stays == {(CRD_KIND, f"things.{place.group}"): f"the new version still has Thing {place.namespace}/data"}


# hooks


@pytest.mark.parametrize("kind", ["crd", "namespace", "kept"])
def test_no_delete_policy_of_a_hook_deletes_what_others_may_lose_objects_with(place: Place, kind: str) -> None:
    body = {
        "crd": make.definition(place.group, "Thing"),
        "namespace": make.namespace(f"{place.name}-hook"),
        "kept": make.config_map("k"),
    }[kind]
    made = hook(body, "pre-install", "pre-upgrade", policies=("before-hook-creation", "hook-succeeded"))
    if kind == "kept":
        made.body["metadata"]["annotations"][POLICY] = "keep"
    where = place.namespace if kind == "kept" else ""
    uids = set()
    for version in ("1", "2"):
        install(place, chart(place, make.config_map("a", x=version), hooks=(made,), version=version))
        live = place.get(body["apiVersion"], body["kind"], body["metadata"]["name"], where)
        uids.add(live["metadata"]["uid"] if live is not None else version)
    assert len(uids) == 1
    assert live is not None
