"""Releases of helm and kymatui on one cluster: what one tool does to its own touches nothing of the other's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.engine import Options, check, rollback
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import uninstall_module
from kymatui.engine.deletion.uninstall_plan import DeletionScope, plan_uninstall
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.run import SystemClock, begin
from kymatui.engine.plans.plan import Intent
from kymatui.engine.sources import chart_source
from kymatui.errors import HelmError, OutdatedError, PartlyDoneError, RefusedError
from kymatui.helm.rendering.releases import Status, from_record, to_record
from tests.engine import objects as make
from tests.engine.charts import chart_in, helm_installs, marked_by_helm, recorded_by_helm
from tests.engine.installing import LIMITS, apply, bundle, plan
from tests.engine.places import Json, Place

KINDS = ("ConfigMap", "Secret", "ServiceAccount", "Thing", "ClusterRole", "CustomResourceDefinition", "Namespace")
OF_KUBERNETES = ("kube-root-ca.crt", "default")
RECORDS = ("Secret", "ConfigMap")  # as HELM_DRIVER chooses
Key = tuple[str, str, str]


def everything(place: Place) -> dict[Key, str]:
    """The objects of a test's namespaces and group with their versions, records included."""
    place.raw.forget_kinds()
    objects: dict[Key, str] = {}
    for kind in place.raw.all_kinds():
        if kind.gvk.kind not in KINDS or "list" not in kind.verbs:
            continue
        for body in place.raw.list(kind.gvk):
            metadata = body["metadata"]
            key = kind.gvk.kind, metadata.get("namespace") or "", metadata["name"]
            if place.name in f"{key[1]} {key[2]}" and key[2] not in OF_KUBERNETES:
                objects[key] = metadata["resourceVersion"]
    return objects


def delete(place: Place, name: str, namespace: str, *, delete_crds: bool = False, gone: float = 20.0) -> None:
    found = plan_uninstall(name, namespace, place.cluster, SystemClock(), scope=DeletionScope(delete_crds))
    assert found is not None
    with begin(place.cluster, limits=replace(LIMITS, gone=gone)) as run:
        uninstall_module(found, run, DeletionConsent(found.accepted))


def by_kymatui(place: Place, name: str, namespace: str) -> None:
    delete(place, name, namespace, delete_crds=True)


def by_helm(place: Place, name: str, namespace: str) -> None:
    record = place.get("v1", "ConfigMap", f"sh.helm.release.v1.{name}.v1", namespace)
    driver = "configmap" if record is not None else "secret"
    environment = {**os.environ, "KUBECONFIG": str(place.kubeconfig), "HOME": str(place.folder), "HELM_DRIVER": driver}
    command = ["helm", "uninstall", name, "-n", namespace]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr


TOOLS = {
    "kymatui": pytest.param(by_kymatui, id="kymatui"),
    "helm": pytest.param(
        by_helm,
        id="helm",
        marks=pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm on the PATH"),
    ),
}


def objects_of(place: Place, name: str, namespace: str) -> list[Json]:
    """The objects of one release, whose names begin like those of the others."""
    role = f"{namespace}-{name}"
    return [make.config_map(f"{name}-map", x=name), make.service_account(name), make.cluster_role(role)]


@pytest.mark.parametrize("delete_by", TOOLS.values())
@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("deleted", ["web", "web-2", "web in another namespace"])
def test_a_deletion_leaves_objects_crds_and_records_of_the_other_releases(
    place: Place, deleted: str, record: str, delete_by: Callable[[Place, str, str], None]
) -> None:
    other, crd = f"{place.name}-b", make.definition(place.group, "Thing")
    own = chart_in(place.namespace, *objects_of(place, "web-2", place.namespace), name="web-2", crds=(crd,))
    apply(place, plan(place, own))  # makes the namespace
    for namespace in (place.namespace, other):
        thing = make.custom(place.group, "Thing", "web-thing", namespace)
        web = chart_in(namespace, *objects_of(place, "web", namespace), thing)
        helm_installs(place, web, crds=(crd,), config_map=record == "ConfigMap")
    before = everything(place)
    name, namespace = deleted.split()[0], other if "another" in deleted else place.namespace
    own_objects = {
        ("ConfigMap", namespace, f"{name}-map"),
        ("ServiceAccount", namespace, name),
        ("ClusterRole", "", f"{namespace}-{name}"),
        (record if name == "web" else "Secret", namespace, f"sh.helm.release.v1.{name}.v1"),
        *([("Thing", namespace, "web-thing")] if name == "web" else []),
    }
    assert own_objects < before.keys()
    delete_by(place, name, namespace)
    assert everything(place) == {key: version for key, version in before.items() if key not in own_objects}


@pytest.mark.parametrize("deleted", ["web", "web-2"])
@pytest.mark.parametrize("owner", ["web", "web-2"])
def test_an_object_in_two_releases_goes_with_the_one_in_its_marks_only(place: Place, deleted: str, owner: str) -> None:
    """helm's record and kymatui's have it, as after --take-ownership or --force; its marks name the owner."""
    shared = make.config_map("shared", x="1")
    own = chart_in(place.namespace, shared, make.config_map("own"), name="web-2")
    theirs = chart_in(place.namespace, shared, make.config_map("theirs"))
    apply(place, plan(place, own))
    place.raw.delete(ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "shared"))
    helm_installs(place, theirs)
    marked = marked_by_helm(theirs if owner == "web" else own, shared)
    place.raw.apply(marked, manager="helm", force=True)
    before = everything(place)
    delete(place, deleted, place.namespace)
    gone = {name for _, _, name in before.keys() - everything(place).keys()}
    record, single = f"sh.helm.release.v1.{deleted}.v1", "theirs" if deleted == "web" else "own"
    assert gone == {record, single, *(["shared"] if owner == deleted else [])}


def test_a_file_and_a_release_of_one_name_are_two_installations(place: Place) -> None:
    apply(place, plan(place, bundle(place, make.config_map("filed"), name="web")))
    helm_installs(place, chart_in(place.namespace, make.config_map("charted")))
    before = everything(place)
    delete(place, "web", place.namespace)
    assert {name for _, _, name in before.keys() - everything(place).keys()} == {"filed", "kymatui.web"}


@pytest.mark.parametrize("record", RECORDS)
def test_a_check_of_what_helm_installed_compares_with_the_values_of_its_release(place: Place, record: str) -> None:
    """Nothing differs although a chart's defaults do, and although kymatui would write another record."""
    loaded = chart_source.from_path(templated(place))
    known = chart_source.chart_bundle(loaded, name="web", namespace=place.namespace, values={"size": 7})
    helm_installs(place, known, config_map=record == "ConfigMap")
    store = ReleaseStore(place.cluster, "web", place.namespace, SystemClock().now)
    values, (stored, revision) = store.values(), store.bundle_of(1)
    assert (values, revision, check(stored, place.cluster).consistent) == ({"size": 7}, 1, True)
    same = chart_source.chart_bundle(loaded, name="web", namespace=place.namespace, values=values)
    assert check(same, place.cluster).consistent
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "web-map")
    place.raw.patch(ref, {"data": {"size": "9"}}, PatchKind.MERGE, manager="kubectl-edit")
    report = check(same, place.cluster)
    (drift,) = report.drifts
    assert [(field.path, field.expected, field.actual) for field in drift.fields] == [("data.size", "7", "9")]
    assert not report.consistent
    assert check(stored, place.cluster).drifts == report.drifts, "by the release itself, without its chart"


def templated(place: Place) -> str:
    folder = place.folder / "web"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("size: 1\n")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-map}\ndata: {size: '{{ .Values.size }}'}\n"
    (folder / "templates" / "map.yaml").write_text(text)
    return str(folder)


# what a killed helm left pending


def left_pending(place: Place, status: Status) -> Bundle:
    """What a helm leaves that was killed between its record and the first object, and the chart of the next run."""
    helm_installs(place, chart_in(place.namespace, make.config_map("a", x="1"), config={"x": 1}))
    pending = chart_in(place.namespace, make.config_map("a", x="2"), config={"x": 2})
    if status is Status.PENDING_INSTALL:
        place.raw.delete(ObjectRef(SECRET, place.namespace, "sh.helm.release.v1.web.v1"))
        place.raw.delete(ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "a"))
    version = 1 if status is Status.PENDING_INSTALL else 2
    place.raw.create(to_record(recorded_by_helm(pending, version, status)), manager="Helm")
    return pending


UNDO = {
    Status.PENDING_INSTALL: "helm uninstall web -n {}",
    Status.PENDING_UPGRADE: "helm rollback web 1 -n {}",
    Status.PENDING_ROLLBACK: "helm rollback web 1 -n {}",
}


@pytest.mark.parametrize("status", UNDO)
def test_what_helm_left_pending_is_refused_with_the_commands_that_end_it(place: Place, status: Status) -> None:
    pending, before = left_pending(place, status), everything(place)
    words = rf"helm is working on release {place.namespace}/web, or was interrupted: revision \d is {status.value}"
    for attempt in (lambda: plan(place, pending), lambda: delete(place, "web", place.namespace)):
        with pytest.raises(RefusedError, match=words) as refused:
            attempt()
        assert f"`{UNDO[status].format(place.namespace)}`" in refused.value.hint
        assert f"`kymatui install web --chart … -n {place.namespace} --force`" in refused.value.hint
    report = check(pending, place.cluster)
    assert (report.consistent, report.plan.unfinished) == (False, True)
    assert everything(place) == before


@pytest.mark.parametrize("status", UNDO)
def test_force_continues_what_helm_left_pending_after_the_plan_said_so(place: Place, status: Status) -> None:
    pending = left_pending(place, status)
    forced = plan(place, Intent(pending, force=True))
    assert [note for note in forced.notes if f"is {status.value}; this plan marks it as failed" in note]
    apply(place, forced)
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "2"}
    history = [from_record(secret) for secret in place.raw.list(SECRET, place.namespace, labels="owner=helm,name=web")]
    ended = {release.version: release.status.value for release in history}
    first = {} if status is Status.PENDING_INSTALL else {1: "superseded"}
    assert ended == {**first, len(first) + 1: "failed", len(first) + 2: "deployed"}


@pytest.mark.parametrize("status", UNDO)
def test_the_values_of_a_pending_revision_are_those_that_continue_it(place: Place, status: Status) -> None:
    left_pending(place, status)
    assert ReleaseStore(place.cluster, "web", place.namespace, SystemClock().now).values() == {"x": 2}


def test_helm_that_starts_after_the_plan_keeps_its_release(place: Place) -> None:
    helm_installs(place, chart_in(place.namespace, make.config_map("a", x="1")))
    found = plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    assert found is not None
    started = chart_in(place.namespace, make.config_map("a", x="2"))
    place.raw.create(to_record(recorded_by_helm(started, 2, Status.PENDING_UPGRADE)), manager="Helm")
    before = everything(place)
    with pytest.raises(RefusedError, match="helm is working on"), begin(place.cluster, limits=LIMITS) as run:
        uninstall_module(found, run, DeletionConsent(found.accepted))
    assert everything(place) == before


def test_helm_that_starts_after_the_plan_is_not_overtaken(place: Place) -> None:
    helm_installs(place, chart_in(place.namespace, make.config_map("a", x="1")))
    forced = plan(place, Intent(chart_in(place.namespace, make.config_map("a", x="3")), force=True))
    started = chart_in(place.namespace, make.config_map("a", x="2"))
    place.raw.create(to_record(recorded_by_helm(started, 2, Status.PENDING_UPGRADE)), manager="Helm")
    with pytest.raises(OutdatedError, match="another client has changed web since the plan"):
        apply(place, forced)
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "1"}


# releases in ConfigMaps (HELM_DRIVER=configmap)


def records(place: Place, kind: str) -> dict[str, str]:
    """The records of releases in the place's namespace, with their states."""
    found = place.raw.list(GroupVersionKind("", "v1", kind), place.namespace, labels="owner=helm")
    return {body["metadata"]["name"]: body["metadata"]["labels"]["status"] for body in found}


def test_a_release_in_config_maps_is_upgraded_checked_and_rolled_back_where_it_is(place: Place) -> None:
    helm_installs(place, chart_in(place.namespace, make.config_map("a", x="1"), config={"x": 1}), config_map=True)
    bigger = chart_in(place.namespace, make.config_map("a", x="2"), config={"x": 2})
    apply(place, plan(place, bigger))
    assert check(bigger, place.cluster).consistent
    assert ReleaseStore(place.cluster, "web", place.namespace, SystemClock().now).values() == {"x": 2}
    rollback("web", place.namespace, place.cluster, options=Options(limits=LIMITS))
    assert (place.get("v1", "ConfigMap", "a") or {})["data"] == {"x": "1"}
    one, two, three = (f"sh.helm.release.v1.web.v{number}" for number in (1, 2, 3))
    assert records(place, "ConfigMap") == {one: "superseded", two: "superseded", three: "deployed"}
    assert records(place, "Secret") == {}


def test_an_interrupted_deletion_of_a_release_in_config_maps_continues(place: Place) -> None:
    helm_installs(place, chart_in(place.namespace, make.config_map("a", x="1")), config_map=True)
    held = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "a")
    place.raw.patch(held, {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE)
    with pytest.raises(PartlyDoneError):
        delete(place, "web", place.namespace, gone=0.1)
    assert records(place, "ConfigMap") == {"sh.helm.release.v1.web.v1": "uninstalling"}
    place.release(held)
    delete(place, "web", place.namespace)
    assert records(place, "ConfigMap") == records(place, "Secret") == {}


def test_a_crd_of_a_release_in_config_maps_is_kept_for_it(place: Place) -> None:
    crd = make.definition(place.group, "Thing")
    apply(place, plan(place, bundle(place, crd, name="web-2")))
    helm_installs(place, chart_in(place.namespace, make.config_map("a")), crds=(crd,), config_map=True)
    delete(place, "web-2", place.namespace)
    assert place.get(crd["apiVersion"], crd["kind"], crd["metadata"]["name"], "") is not None


@pytest.mark.parametrize("record", RECORDS)
def test_a_newer_format_is_refused_before_anything_is_written(place: Place, record: str) -> None:
    own = chart_in(place.namespace, make.config_map("a", x="1"))
    helm_installs(place, own, config_map=record == "ConfigMap")
    newer = to_record(recorded_by_helm(own, 2), config_map=record == "ConfigMap")
    newer["metadata"]["name"] = "sh.helm.release.v2.web.v2"
    place.raw.create({**newer, **({"type": "helm.sh/release.v2"} if record == "Secret" else {})}, manager="Helm")
    before = everything(place)
    words = rf"{record} {place.namespace}/sh.helm.release.v2.web.v2 is no release in the format of helm 3 and 4"
    for attempt in (lambda: plan(place, own), lambda: delete(place, "web", place.namespace)):
        with pytest.raises(HelmError, match=words):
            attempt()
    assert everything(place) == before
