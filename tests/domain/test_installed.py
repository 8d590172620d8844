"""What is installed, by whom, from what: records of kymatui and of helm as rows, whole, partial, or being deleted."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.audit.findings import Inspection
from kymatui.domain.audit.report import audit
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json, row_json
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.installed import (
    ANNOTATION_INVENTORY,
    InstallationPhase,
    ObjectCount,
    install_command,
    read_installations,
)
from kymatui.domain.inventories import (
    ANNOTATION_INSTALLS,
    Inventory,
    InventoryItem,
    InventoryState,
    Origin,
    inventory_owner,
    write_document,
)
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.module_templates import module_links
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.presence import Presence
from kymatui.domain.ownership import ANNOTATION_RELEASE, ANNOTATION_RELEASE_NAMESPACE, LABEL_PART_OF
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words
from tests.domain.builders import (
    NOW,
    Json,
    community_template,
    deployment,
    gvk,
    kyma,
    manifest,
    meta,
    report,
    resource,
    snapshot,
    stamp,
    template,
)

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
FILE = Origin("raw", "/home/ann/gate.yaml")


def inventory(state: InventoryState = InventoryState.INSTALLED, **more: Any) -> Inventory:
    """An inventory of eight ConfigMaps and a Deployment."""
    items = [InventoryItem(ObjectRef(CONFIG_MAP, "gates", f"c{number}")) for number in range(8)]
    items.append(InventoryItem(ObjectRef(DEPLOYMENT, "gates", "gate-manager")))
    defaults = {"name": "gate", "namespace": "gates", "origin": FILE, "version": "1.0.0"}
    return Inventory(**{**defaults, "state": state, "items": tuple(items), **more})


def record(found: Inventory) -> Json:
    metadata = {"name": f"kymatui.{found.name}", "namespace": found.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"inventory": write_document(found)}}


def release(
    name: str = "gate", status: str = "deployed", manager: str = "helm", found: Inventory | None = None
) -> Json:
    """The metadata of a release's Secret, as a list of metadata has it."""
    labels = {"name": name, "owner": "helm", "status": status, "version": "3"}
    entry = {"manager": manager, "operation": "Update", "time": stamp(60)}
    metadata: Json = {"name": f"sh.helm.release.v1.{name}.v3", "namespace": "gates", "labels": labels}
    metadata["managedFields"] = [entry]
    if found is not None:
        metadata["annotations"] = {ANNOTATION_INVENTORY: write_document(found)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def lease(holder: str = "ann@laptop pid 7 on 0a1b2c3d4e5f.67d9", seconds_ago: float = 3.0) -> Json:
    spec = {"holderIdentity": holder, "renewTime": stamp(seconds_ago), "leaseDurationSeconds": 15}
    metadata = {"name": "kymatui.gate", "namespace": "gates"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def workload(found: Any = None, **marks: Any) -> Json:
    raw = deployment("gate", "1.0.0")
    raw["metadata"] = {**raw["metadata"], "namespace": "gates"}
    if found is not None:
        labels = {**raw["metadata"].get("labels", {}), LABEL_PART_OF: inventory_owner(found).name}
        raw["metadata"]["labels"] = labels
    raw["metadata"]["annotations"] = {**raw["metadata"].get("annotations", {}), **marks}
    return raw


def applied(found: Inventory, *names: str) -> dict[ObjectRef, tuple[Json, ...]]:
    """The ConfigMaps of an inventory that exist, as their lists have them."""
    objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n, "namespace": "gates"}} for n in names]
    return {ObjectRef(CONFIG_MAP, found.namespace, f"kymatui.{found.name}"): tuple(objects)}


LISTED = {name: Feed(FeedState.LIVE, NOW) for name in (INVENTORY_FEED, RELEASE_FEED)}


def world(*found: Inventory, **more: Any) -> Snapshot:
    return snapshot(**{"inventories": tuple(map(record, found)), "feeds": LISTED, **more})


def offers() -> dict[str, Any]:
    """What makes gate a module of Kyma's own catalog."""
    return {"templates": [template("gate", "1.0.0")], "release_metas": [meta("gate", {"regular": "1.0.0"})]}


def catalog(*found: Inventory, **more: Any) -> Catalog:
    return build_catalog(world(*found, **more), NOW)


def row(*found: Inventory, name: str = "gate", **more: Any) -> ModuleRow:
    known = catalog(*found, **more).row(name)
    assert known is not None
    return known


def test_what_no_catalog_offers_has_a_row_by_its_record() -> None:
    gate = row(inventory(), workloads=[workload(inventory())])
    assert (gate.installed, gate.state, gate.presence) == ("1.0.0", State.READY, Presence.ENABLED)
    assert (gate.source_kind, gate.installed_by, gate.actor) == ("file", "kymatui", Actor.NOBODY)
    assert drift_words(gate.drift) == "unknown, no catalog offers it"
    assert not gate.drift.is_drift
    assert gate.workloads == (ObjectRef(DEPLOYMENT, "gates", "gate-manager"),) == (gate.manager,)


def community(*versions: str) -> dict[str, Any]:
    """What makes gate a community module with these versions."""
    info = {"documentation": "https://docs.example.org/gate", "repository": "https://git.example.org/gate"}
    return {"templates": [community_template("gate", version, info=info) for version in versions]}


def test_a_higher_version_than_the_catalogs_have_is_no_drift_but_from_a_catalog_that_is_not_read() -> None:
    recorded = inventory(origin=Origin("raw", "https://x.io/gate.yaml", "0.13.0"), version="0.13.0")
    running = deployment("gate", "0.13.0")
    resources = {gvk("gate"): (resource("gate", "Ready"),)}
    gate = row(recorded, workloads=[running], module_resources=resources, **community("0.11.0", "0.12.0"))
    assert (gate.installed, gate.desired, gate.newest) == ("0.13.0", "", "0.12.0")
    assert (gate.drift.kind, gate.drift.is_drift, gate.actor) == (DriftKind.UNKNOWN, False, Actor.NOBODY)
    assert gate.reason.text.startswith("0.13.0 installed by kymatui; the catalogs end at 0.12.0.")
    assert row(recorded, workloads=[running], **community("0.13.0")).drift.kind is DriftKind.UP_TO_DATE
    assert row(recorded, workloads=[running], **community("0.14.0")).drift.kind is DriftKind.BEHIND
    other = deployment("gate", "0.15.0")  # changed by hand
    assert row(recorded, workloads=[other], **community("0.12.0")).drift.kind is DriftKind.AHEAD


@pytest.mark.parametrize(
    ("running", "shown"), [("0.11.0", "gate-0.11.0"), ("0.13.0", "gate-0.12.0"), ("", "gate-0.12.0")]
)
def test_a_community_module_has_the_template_and_links_of_its_offer(running: str, shown: str) -> None:
    workloads = [deployment("gate", running)] if running else []
    gate = row(workloads=workloads, **community("0.11.0", "0.12.0"))
    assert gate.template is not None
    assert gate.template.path == f"default/{shown}"
    assert gate.shown is not None
    assert [link.name for link in module_links(gate.shown)] == ["documentation", "repository"]


@pytest.mark.parametrize(
    ("origin", "chart", "kind", "command"),
    [
        (FILE, False, "file", "kymatui install gate --file /home/ann/gate.yaml -n gates"),
        (Origin("raw", "https://x.io/gate.yaml", "1.0.0"), False, "template", "kymatui install gate --version 1.0.0"),
        (
            Origin("component", "x.io/prod//kyma/gate:1.0.0", "1.0.0"),
            False,
            "component",
            "kymatui install gate --component x.io/prod//kyma/gate:1.0.0 -n gates",
        ),
        (Origin("kustomize", "a b"), False, "kustomize", "kymatui install gate --kustomize 'a b' -n gates"),
        (Origin("helm", "oci://x.io/gate:1.0.0"), True, "chart", "kymatui install gate --chart oci://x.io/gate:1.0.0"),
        (
            Origin("helm", "https://x.io/gate", repository="https://x.io"),
            True,
            "chart",
            "kymatui install gate --chart gate --repo https://x.io --version 1.0.0 -n gates",
        ),
        (Origin("operator", "x.io/kymatui:1"), False, "operator", "kymatui operator upgrade"),
    ],
)
def test_the_source_and_the_command_that_installs_it_again(
    origin: Origin, chart: bool, kind: str, command: str
) -> None:
    found = inventory(InventoryState.PENDING, origin=origin, chart=chart)
    more: dict[str, Any] = {"releases": (release(status="pending-install", manager="kymatui", found=found),)}
    gate = row(**more) if chart else row(found)
    assert gate.source_kind == kind
    assert install_command(found).strip("`").startswith(command)
    assert install_command(found) in gate.reason.text
    assert shlex.split(install_command(found).strip("`"))[:1] == ["kymatui"]


UNFINISHED = [
    # recorded, leases, existing, presence, drift, objects, word of STATE
    (InventoryState.PENDING, (), 4, Presence.PARTIAL, DriftKind.INCOMPLETE, ObjectCount(9, 4), "partial"),
    (InventoryState.PENDING, None, 4, Presence.PARTIAL, DriftKind.INCOMPLETE, ObjectCount(9, 4), "partial"),
    (InventoryState.PENDING, (), None, Presence.PARTIAL, DriftKind.INCOMPLETE, ObjectCount(9), "partial"),
    (
        InventoryState.PENDING,
        (lease(seconds_ago=3600.0),),
        8,
        Presence.PARTIAL,
        DriftKind.INCOMPLETE,
        ObjectCount(9, 8),
        "partial",
    ),
    (InventoryState.PENDING, (lease(),), 4, Presence.INSTALLING, DriftKind.NONE, ObjectCount(9, 4), "installing"),
    (
        InventoryState.DELETING,
        (),
        3,
        Presence.DELETION_INTERRUPTED,
        DriftKind.INCOMPLETE,
        ObjectCount(9, 3),
        "deletion interrupted",
    ),
    (InventoryState.DELETING, (lease(),), 3, Presence.DELETING, DriftKind.NONE, ObjectCount(9, 3), "Deleting"),
]


@pytest.mark.parametrize(("recorded", "leases", "existing", "presence", "drift", "objects", "word"), UNFINISHED)
@pytest.mark.parametrize("offered", [True, False])
def test_an_unfinished_run_is_a_state_of_its_own(
    recorded: InventoryState,
    leases: Any,
    existing: int | None,
    presence: Presence,
    drift: DriftKind,
    objects: ObjectCount,
    word: str,
    offered: bool,
) -> None:
    found = inventory(recorded)
    there = {} if existing is None else applied(found, *(f"c{number}" for number in range(existing)))
    gate = row(found, leases=leases, applied=there, **(offers() if offered else {}))
    assert gate.run is not None
    assert (gate.presence, gate.run.objects, gate.state_words) == (presence, objects, word)
    assert gate.drift.kind is drift or (drift is DriftKind.NONE and not gate.drift.is_drift)
    interrupted = presence in (Presence.PARTIAL, Presence.DELETION_INTERRUPTED)
    assert gate.actor is (Actor.YOU if interrupted else Actor.NOBODY)
    assert ("`kymatui delete gate -n gates`" in gate.reason.text) is interrupted
    assert ("ann@laptop pid 7" in gate.reason.text) is not interrupted
    document = row_json(gate)["installation"]
    assert (document["state"], document["objects"]["existing"]) == (gate.run.phase.value, existing)


def test_the_words_count_what_exists() -> None:
    found = inventory(InventoryState.PENDING)
    text = row(found, leases=(), applied=applied(found, "c0", "c1", "c2", "c3", "c4")).reason.text
    assert text.startswith(
        "Installation of 1.0.0 stopped after 5 of 9 objects. Delete it with `kymatui delete gate -n gates`, or"
    )
    upgrade = inventory(InventoryState.PENDING, first=False)
    text = row(upgrade, leases=(), applied=applied(upgrade, "c0")).reason.text
    assert text.startswith("Upgrade to 1.0.0 stopped; 1 of 9 objects exist. ")
    deletion = inventory(InventoryState.DELETING)
    assert row(deletion, leases=(), applied=applied(deletion)).reason.text.startswith(
        "Deletion stopped; only its record"
    )
    text = row(deletion, leases=(), applied=applied(deletion, "c0")).reason.text
    assert text == "Deletion stopped; 1 object is left. Complete it (`kymatui delete gate -n gates`)."
    assert "is unknown" in row(found, leases=()).reason.text
    assert "may have stopped" in row(found).reason.text


def test_an_unfinished_run_is_a_problem_and_one_finding_of_an_audit() -> None:
    for state in (InventoryState.PENDING, InventoryState.DELETING):
        seen = world(inventory(state), leases=())
        problems = [one for one in build_catalog(seen, NOW).problems if one.module == "gate"]
        assert [(one.actor, one.counts) for one in problems] == [(Actor.YOU, True)]
        findings = [one for one in audit(seen, NOW, inspection=Inspection()).findings if one.module == "gate"]
        assert [one.rule.id for one in findings] == ["install.unfinished"]
    running = world(inventory(InventoryState.PENDING), leases=(lease(),))
    assert "install.unfinished" not in {one.rule.id for one in audit(running, NOW, inspection=Inspection()).findings}


def test_an_installed_workload_that_is_gone_is_an_error() -> None:
    gate = row(inventory())
    assert (gate.state, gate.presence, gate.actor) == (State.ERROR, Presence.ENABLED, Actor.YOU)
    assert "Deployment gates/gate-manager is missing" in gate.reason.text


CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def with_crd() -> Inventory:
    items = inventory().items
    return inventory(items=(*items, InventoryItem(ObjectRef(CRD, "", "gates.example.org"))))


DELETED = [  # the inventory, the objects that exist, whether another tool deleted it, what is left
    (inventory(), (), True, ObjectCount(9, 0)),
    (inventory(), ("c0",), False, None),  # the workload can be repaired
    (with_crd(), ("c0", "c1"), True, ObjectCount(10, 2)),  # manager and CRD are gone: so are the module CRs
    (inventory(items=()), (), False, None),
    (inventory(items=(InventoryItem(ObjectRef(CONFIG_MAP, "gates", "c0")),)), ("c0",), False, None),
]


@pytest.mark.parametrize(("found", "existing", "is_deleted", "objects"), DELETED)
@pytest.mark.parametrize("offered", [True, False])
def test_what_another_tool_deleted_is_not_installed(
    found: Inventory, existing: tuple[str, ...], is_deleted: bool, objects: ObjectCount | None, offered: bool
) -> None:
    there = applied(found, *existing)
    listed = {name: Feed(FeedState.LIVE, NOW) for name in ("deployments.apps", "customresourcedefinitions")}
    more = {"applied": there, "feeds": LISTED | listed, **(offers() if offered else {})}
    gate = row(found, **more)
    assert gate.run is not None
    assert (gate.run.phase is InstallationPhase.DELETED_ELSEWHERE, gate.run.objects) == (is_deleted, objects)
    assert (gate.presence is Presence.NOT_INSTALLED) is is_deleted
    rules = {one.rule.id for one in audit(world(found, **more), NOW, inspection=Inspection()).findings}
    assert ("install.deleted" in rules) is is_deleted
    if is_deleted:
        assert (gate.state, gate.installed, gate.installed_by, gate.actor) == (State.NOT_INSTALLED, "", "", Actor.YOU)
        assert gate.reason.text == (
            "Not installed: another tool deleted it; ConfigMap gates/kymatui.gate still records it. "
            "Delete the record, or install it again (`kymatui delete gate -n gates`)."
        )
        assert row_json(gate)["installation"]["state"] == "deleted by another tool"


def test_what_is_not_listed_is_not_deleted() -> None:
    assert row(inventory()).presence is not Presence.NOT_INSTALLED


FLUX, FLUX_HELM, TRACKING = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "argocd.argoproj.io/tracking-id"
WRITERS: list[tuple[dict[str, str], dict[str, str], str, str]] = [
    ({f"{FLUX}/name": "apps", f"{FLUX}/namespace": "flux"}, {}, "kustomize-controller", "Flux Kustomization flux/apps"),
    ({f"{FLUX}/name": "apps"}, {f"{FLUX}/reconcile": "disabled"}, "kustomize-controller", "Flux"),
    ({f"{FLUX_HELM}/name": "gate", f"{FLUX_HELM}/namespace": "a"}, {}, "helm-controller", "Flux HelmRelease a/gate"),
    ({}, {TRACKING: "gates_prod:apps/Deployment:gates/gate"}, "argocd-controller", "Argo CD Application gates/prod"),
    ({LABEL_PART_OF: "applyset-x-v1"}, {}, "kubectl", "kubectl ApplySet applyset-x-v1"),
    ({LABEL_PART_OF: "applyset-x-v1"}, {}, "kymatui", ""),
]


@pytest.mark.parametrize(("labels", "annotations", "manager", "tool"), WRITERS)
def test_what_applies_an_object_is_named_by_its_marks(
    labels: dict[str, str], annotations: dict[str, str], manager: str, tool: str
) -> None:
    raw = deployment("gate", "1.0.0")
    managed = [{"manager": manager, "operation": "Apply", "fieldsV1": {}}]
    raw["metadata"] |= {"labels": labels, "annotations": annotations, "managedFields": managed}
    shown: dict[str, Any] = {"templates": [community_template("gate", "1.0.0")], "workloads": [raw]}
    assert row(**shown).installed_by == tool
    by_tool = catalog(**shown).installed_by(tool.partition(" ")[0].lower() or "nothing")
    assert [entry.name for entry in by_tool.rows] == (["gate"] if tool else [])
    if manager == "helm-controller":
        assert row(**shown, releases=(release(manager=manager),)).installed_by == tool


TOOLS = [
    ("cli", "kyma CLI"),
    ("unknown", "the dashboard"),
    ("kubectl", "kubectl"),
    ("kubectl-client-side-apply", "kubectl"),
    ("kustomize-controller", "Flux"),
    ("argocd-controller", "Argo CD"),
    ("kubectl-edit", ""),  # an edit is no installation
    ("kube-controller-manager", ""),
]


@pytest.mark.parametrize(("manager", "tool"), TOOLS)
def test_a_tool_without_records_is_named_by_what_it_wrote(manager: str, tool: str) -> None:
    raw = deployment("gate", "1.0.0")
    raw["metadata"]["managedFields"] = [{"manager": manager, "operation": "Apply", "fieldsV1": {}}]
    shown: dict[str, Any] = {"templates": [community_template("gate", "1.0.0")], "workloads": [raw]}
    gate = row(**shown)
    assert (gate.manager is not None, gate.installed_by) == (True, tool)
    assert row_json(gate)["installedBy"] == (tool or None)
    recorded = row(inventory(), **shown)
    assert recorded.installed_by == "kymatui", "a record says more"
    report = audit(world(**shown), NOW, inspection=Inspection(sets=frozenset(), releases=frozenset()))
    (text,) = (one.message for one in report.findings if one.rule.id == "module.unrecorded")
    assert (f", which {tool} installed, is running" in text) is bool(tool)


def test_the_state_is_that_of_the_worst_workload() -> None:
    found = inventory()
    broken = {**workload(found), "status": {"conditions": [{"type": "Available", "status": "False"}]}}
    broken["metadata"] = {**broken["metadata"], "name": "gate-webhook", "creationTimestamp": stamp(3600)}
    both = replace(found, items=(*found.items, InventoryItem(ObjectRef(DEPLOYMENT, "gates", "gate-webhook"))))
    gate = row(both, workloads=[workload(found), broken])
    assert gate.manager is not None
    assert gate.manager.name == "gate-webhook"
    assert gate.state is State.PROCESSING
    assert len(gate.workloads) == 2


# Helm releases

MARKS = {ANNOTATION_RELEASE: "gate", ANNOTATION_RELEASE_NAMESPACE: "gates"}


@pytest.mark.parametrize(
    ("manager", "installer"),
    [("helm", "helm"), ("Helm", "helm"), ("helm-controller", "flux"), ("terraform-provider-helm_v2", None)],
)
def test_releases_of_others_are_apart_and_name_who_made_them(manager: str, installer: str | None) -> None:
    labelled = workload(**MARKS)
    labelled["metadata"]["labels"] = {**labelled["metadata"].get("labels", {}), "helm.sh/chart": "gate-2.3.4"}
    seen = catalog(releases=(release(manager=manager),), workloads=[labelled])
    assert seen.rows == ()
    (gate,) = seen.releases
    assert gate == seen.row("gate")
    assert gate.installed_by == (installer or manager)
    assert (gate.installed, gate.source_kind, gate.state) == ("2.3.4", "chart", State.READY)
    assert gate.manager == ObjectRef(DEPLOYMENT, "gates", "gate-manager")
    assert [one.name for one in seen.installed_by("all").rows] == ["gate"]
    assert [one.name for one in seen.installed_by("kymatui").rows] == []
    document = catalog_to_json(seen)
    assert (document["modules"], document["counts"]["releases"]) == ([], 1)


def test_a_release_of_kymatui_is_a_row_with_its_version_and_objects() -> None:
    gate = row(releases=(release(manager="kymatui", found=inventory(chart=True)),), workloads=[workload(**MARKS)])
    assert (gate.installed_by, gate.installed, gate.source_kind) == ("kymatui", "1.0.0", "chart")
    assert gate.installation is not None
    assert len(gate.installation.refs) == 9


@pytest.mark.parametrize(
    ("status", "manager", "phase"),
    [
        ("deployed", "kymatui", InstallationPhase.INSTALLED),
        ("failed", "kymatui", InstallationPhase.PARTIAL),
        ("pending-upgrade", "kymatui", InstallationPhase.PARTIAL),
        ("uninstalling", "kymatui", InstallationPhase.DELETION_INTERRUPTED),
        ("deployed", "helm", InstallationPhase.INSTALLED),
        ("failed", "helm", InstallationPhase.INSTALLED),
        ("pending-install", "helm", InstallationPhase.INSTALLING),
        ("odd", "helm", InstallationPhase.INSTALLED),
    ],
)
def test_helms_status_of_a_release(status: str, manager: str, phase: InstallationPhase) -> None:
    gate = row(releases=(release(status=status, manager=manager),), leases=())
    assert gate.run is not None
    assert gate.run.phase is phase
    assert ("failed, says helm" in gate.reason.text) is ((status, manager) == ("failed", "helm"))


@pytest.mark.parametrize(
    ("status", "deployed", "command"),
    [
        ("pending-install", False, "helm uninstall gate -n gates"),
        ("pending-upgrade", True, "helm rollback gate 2 -n gates"),
        ("pending-rollback", True, "helm rollback gate 2 -n gates"),
    ],
)
def test_what_helm_left_pending_names_the_command_that_undoes_it(status: str, deployed: bool, command: str) -> None:
    before = release()
    before["metadata"] = {**before["metadata"], "labels": {**before["metadata"]["labels"], "version": "2"}}
    gate = row(releases=(release(status=status), *([before] if deployed else [])), leases=())
    assert gate.reason.text.startswith(f"helm is working on it ({status}), or was interrupted; how many")
    assert f"(`{command}`)" in gate.reason.text
    assert gate.reason.advice is not None
    assert (gate.reason.advice.command, gate.actor) == (command, Actor.NOBODY)


def test_a_record_of_a_newer_helm_is_listed_and_not_read() -> None:
    newer = release()
    newer["metadata"] = {**newer["metadata"], "name": "sh.helm.release.v2.gate.v3"}
    (found,) = read_installations((), (newer,))
    assert found.unread == "a newer helm wrote its record, in a format that kymatui does not read"


def test_the_newest_revision_counts() -> None:
    old = release(status="failed")
    old["metadata"] = {**old["metadata"], "labels": {**old["metadata"]["labels"], "version": "2"}}
    (found,) = read_installations((), (release(), old))
    assert found.status == "deployed"


def test_a_release_of_helm_with_a_modules_name_or_manager_is_in_the_modules_row() -> None:
    seen = catalog(releases=(release(),), **offers())
    assert [one.installed_by for one in seen.rows] == ["helm"]
    assert seen.releases == ()
    marks = {ANNOTATION_RELEASE: "other", ANNOTATION_RELEASE_NAMESPACE: "gates"}
    own = deployment("gate", "1.0.0")
    own["metadata"] = {**own["metadata"], "annotations": marks}
    seen = catalog(releases=(release("other"),), workloads=[own], **offers())
    assert [(one.name, one.installed_by) for one in seen.rows] == [("gate", "helm")]
    assert seen.releases == ()


# names, owners, rights


def test_installations_of_one_name_are_told_apart() -> None:
    twice = (inventory(), inventory(namespace="other"))
    assert [one.name for one in catalog(*twice).rows] == ["gates/gate", "other/gate"]
    assert [one.name for one in catalog(*twice, **offers()).rows] == ["gate", "other/gate"]


def test_what_a_manifest_records_is_the_manifests() -> None:
    owned = manifest("gate", "1.0.0")
    owned["metadata"]["annotations"] = {ANNOTATION_INSTALLS: '[["raw-manifest","gate","gates"]]'}
    found = kyma([{"name": "gate"}], status=[report("gate", "1.0.0")])
    seen = catalog(inventory(InventoryState.PENDING), manifests=[owned], kymas=[found])
    (gate,) = seen.rows
    assert gate.installation is None
    assert gate.installed_by == "lifecycle-manager"
    assert gate.presence is not Presence.PARTIAL
    marked = workload(inventory(), **{"kymatui.io/manifest": "kcp-system/gate"})
    assert catalog(inventory(InventoryState.PENDING), workloads=[marked]).rows == ()


def test_an_inventory_of_another_version_is_a_row_that_says_so() -> None:
    raw = record(inventory())
    raw["data"] = {"inventory": '{"schema":"kymatui.io/inventory/v9"}'}
    gate = row(inventories=(raw,))
    assert gate.installation is not None
    assert "another version of kymatui" in gate.installation.unread
    assert gate.presence is Presence.ENABLED


def test_lists_that_are_forbidden_are_unknown_and_no_problem_that_counts() -> None:
    forbidden = {name: Feed(FeedState.FORBIDDEN, NOW, "no") for name in (INVENTORY_FEED, RELEASE_FEED)}
    seen = build_catalog(snapshot(feeds=forbidden), NOW)
    assert seen.problem_count == 0
    assert [one.about for one in seen.problems] == [INVENTORY_FEED, RELEASE_FEED]
    document = catalog_to_json(seen)
    assert document["counts"]["releases"] is None
    assert set(document["unknown"]) == {"installations", "releases"}
    assert seen.modules_unknown is None
