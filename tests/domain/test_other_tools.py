"""Who did what last, and what the catalog says: six tools, ten verbs, on a cluster where kymatui works too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct

from kymatui.actions.modules.upgrade import OutdatedModule, _of_catalog
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.inventories import Inventory, InventoryItem, InventoryState, Origin, inventory_owner, write_document
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.modules.presence import Presence
from kymatui.domain.ownership import ANNOTATION_RELEASE, ANNOTATION_RELEASE_NAMESPACE, LABEL_PART_OF
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED, index_cluster
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.domain.versions.drift import DriftKind
from tests.domain.builders import NOW, Json, community_template, deployment, gvk, resource, snapshot

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
RECORD = ObjectRef(CONFIG_MAP, "kyma-system", "kymatui.gate")
MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "gate-manager")
CONFIGURATION = ObjectRef(CONFIG_MAP, "kyma-system", "gate")


class Tool(Struct, frozen=True):
    """How a tool writes objects: its field manager, the operation, its marks; and what the catalog calls it."""

    name: str
    manager: str
    operation: str = "Apply"
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


FLUX = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
RELEASE = {ANNOTATION_RELEASE: "gate", ANNOTATION_RELEASE_NAMESPACE: "kyma-system"}
TOOLS = (
    Tool("kubectl", "kubectl-client-side-apply", "Update"),
    Tool("kyma CLI", "cli"),
    Tool("the dashboard", "unknown", "Update"),
    Tool("Flux Kustomization flux-system/apps", "kustomize-controller", labels=FLUX),
    Tool(
        "Argo CD Application gates",
        "argocd-controller",
        annotations={"argocd.argoproj.io/tracking-id": "gates:apps/Deployment:gate"},
    ),
    Tool("helm", "helm", labels={"app.kubernetes.io/managed-by": "Helm"}, annotations=RELEASE),
)


class Said(Struct, frozen=True):
    """What the row of the module says; `by` is "" for the tool, and `words` a part of the reason."""

    presence: Presence
    installed: str
    drift: DriftKind
    actor: Actor = Actor.NOBODY
    by: str = "kymatui"
    words: str = ""


def record(version: str) -> Json:
    """What kymatui recorded: the manager and a ConfigMap, installed from a template."""
    origin = Origin("raw", "https://example.org/gate.yaml", version=version)
    items = (InventoryItem(CONFIGURATION), InventoryItem(MANAGER))
    known = Inventory("gate", "kyma-system", origin, version, InventoryState.INSTALLED, items, first=False)
    metadata = {"name": RECORD.name, "namespace": RECORD.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"inventory": write_document(known)}}


def manager(tag: str, *writers: Tool, ours: bool = False) -> Json:
    """The module's manager, with the marks of the tools that wrote it, and kymatui's if it is `ours`."""
    raw = deployment("gate", tag)
    metadata = raw["metadata"]
    labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    entries = [{"manager": tool.manager, "operation": tool.operation, "fieldsV1": {}} for tool in writers]
    for tool in writers:
        labels |= tool.labels
        annotations |= tool.annotations
    if ours:
        labels[LABEL_PART_OF] = inventory_owner(Inventory("gate", "kyma-system", Origin("raw", ""))).name
        entries.append({"manager": "kymatui", "operation": "Apply", "fieldsV1": {}})
    metadata |= {"labels": labels, "annotations": annotations, "managedFields": entries}
    return raw


def release(tool: Tool) -> list[Json]:
    """The metadata of the Secret in which helm records what it installs; the other tools record nothing."""
    labels = {"name": "gate", "owner": "helm", "status": "deployed", "version": "1"}
    entries = [{"manager": "Helm", "operation": "Update", "fieldsV1": {}}]
    name = "sh.helm.release.v1.gate.v1"
    metadata = {"name": name, "namespace": "kyma-system", "labels": labels, "managedFields": entries}
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata}] if tool.manager == "helm" else []


def install(tool: Tool) -> Json:
    return {"workloads": [manager("1.0.0", tool)], "releases": release(tool)}


def install_older(tool: Tool) -> Json:
    return {"workloads": [manager("0.9.0", tool)], "releases": release(tool)}


def upgrade(tool: Tool) -> Json:
    return {"workloads": [manager("1.0.0", tool, ours=True)], "inventories": [record("0.9.0")]}


def downgrade(tool: Tool) -> Json:
    return {"workloads": [manager("0.9.0", tool, ours=True)], "inventories": [record("1.0.0")]}


def apply_again(tool: Tool) -> Json:
    return {"workloads": [manager("1.0.0", tool, ours=True)], "inventories": [record("1.0.0")]}


def delete_all(tool: Tool) -> Json:
    return {"inventories": [record("1.0.0")], "applied": {RECORD: ()}}


def delete_manager(tool: Tool) -> Json:
    left = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate", "namespace": "kyma-system"}}
    return {"inventories": [record("1.0.0")], "applied": {RECORD: (left,)}}


def delete_cr(tool: Tool) -> Json:
    return {**apply_again(tool), "module_resources": {gvk("gate"): ()}}


def delete_record(tool: Tool) -> Json:
    return {"workloads": [manager("1.0.0", tool, ours=True)]}


def leave_crs(tool: Tool) -> Json:
    """Delete the manager of what the tool itself installed, and leave the module CR."""
    return {"module_resources": {gvk("gate"): (resource("gate"),)}}


CONFIGURED = {"module_resources": {gvk("gate"): (resource("gate"),)}}
VERBS = {
    install: Said(Presence.ENABLED, "1.0.0", DriftKind.UP_TO_DATE, by=""),
    install_older: Said(Presence.ENABLED, "0.9.0", DriftKind.BEHIND, Actor.YOU, by="", words="1.0.0 available"),
    upgrade: Said(Presence.ENABLED, "1.0.0", DriftKind.UP_TO_DATE),
    downgrade: Said(Presence.ENABLED, "0.9.0", DriftKind.BEHIND, Actor.YOU, words="kymatui upgrade gate"),
    apply_again: Said(Presence.ENABLED, "1.0.0", DriftKind.UP_TO_DATE),
    delete_all: Said(Presence.NOT_INSTALLED, "", DriftKind.NONE, Actor.YOU, by="-", words="another tool deleted it"),
    delete_manager: Said(Presence.ENABLED, "1.0.0", DriftKind.UNKNOWN, Actor.YOU, words="gate-manager is missing"),
    delete_cr: Said(Presence.NOT_CONFIGURED, "1.0.0", DriftKind.UP_TO_DATE, Actor.YOU, words="kymatui edit gate"),
    delete_record: Said(Presence.ENABLED, "1.0.0", DriftKind.UP_TO_DATE, by=""),
    leave_crs: Said(Presence.ORPHAN, "", DriftKind.NONE, Actor.YOU, by="-", words="the module's manager does not"),
}


def row(objects: Json) -> ModuleRow:
    configured = {} if "module_resources" in objects or "applied" in objects else CONFIGURED
    lists = {name: Feed(FeedState.LIVE, NOW) for name in (INVENTORY_FEED, RELEASE_FEED)}
    templates = [community_template("gate", version) for version in ("0.9.0", "1.0.0")]
    known = build_catalog(snapshot(**{"templates": templates, "feeds": lists, **configured, **objects}), NOW).row(
        "gate"
    )
    assert known is not None
    return known


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_another_tool_did_is_what_the_catalog_says(tool: Tool, verb: Any) -> None:
    gate, said = row(verb(tool)), VERBS[verb]
    assert (gate.presence, gate.installed, gate.drift.kind, gate.actor) == (
        said.presence,
        said.installed,
        said.drift,
        said.actor,
    ), gate.reason.text
    assert gate.installed_by == ("" if said.by == "-" else said.by or tool.name)
    assert said.words in gate.reason.text


RUNNING = [("0.9.0", "1.0.0", "1.0.0"), ("1.0.0", "0.9.0", None), ("main", "0.9.0", "1.0.0")]


@pytest.mark.parametrize(("running", "recorded", "upgrade_to"), RUNNING)
def test_everything_outdated_goes_by_what_runs(running: str, recorded: str, upgrade_to: str | None) -> None:
    """A tag that is no version says nothing: the record does."""
    gate = row({"workloads": [manager(running, TOOLS[0], ours=True)], "inventories": [record(recorded)]})
    assert gate.installation is not None
    assert gate.installation.inventory is not None
    link = [{"name": "rawManifest", "link": "https://example.org/gate.yaml"}]
    templates = [community_template("gate", version, resources=link) for version in ("0.9.0", "1.0.0")]
    index = index_cluster(snapshot(templates=templates)).templates
    outdated = _of_catalog(gate.installation.inventory, gate, index, devel=False)
    assert outdated is None or isinstance(outdated, OutdatedModule), outdated
    assert (outdated and outdated.version) == upgrade_to
