"""What a module consists of, as deep as owners go, with what is not known said."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.object_tree import (
    MAX_DEPTH,
    NodeRole,
    ObjectTree,
    ObjectVisibility,
    TreeNode,
    build_tree,
    unseen_words,
)
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.object_index import ObjectIndex, index_objects
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, Snapshot, namespaced_feed
from tests.domain import builders as b

SYNCED = [
    {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "kyma-system", "name": "keda-manager"},
    {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "kyma-system", "name": "keda-metrics"},
    {"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "kyma-system", "name": "keda-config"},
]


def owned(kind: str, name: str, uid: str, owner: str, *, api: str = "v1", **more: Any) -> b.Json:
    metadata = {"name": name, "namespace": "kyma-system", "uid": uid, "ownerReferences": [{"uid": owner}]}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def snapshot(**more: Any) -> Snapshot:
    """keda, installed by a Manifest, with its manager's pods."""
    manifest = b.manifest("keda", "1.0.0")
    manifest["status"]["synced"] = SYNCED
    facts: dict[str, Any] = {
        "kymas": (b.kyma([{"name": "keda"}], status=[b.report("keda", "1.0.0")]),),
        "release_metas": (b.meta("keda", {"regular": "1.0.0"}),),
        "templates": (b.template("keda", "1.0.0"),),
        "manifests": (manifest,),
        "workloads": (b.deployment("keda", "1.0.0", uid="d"),),
        "module_resources": {b.gvk("keda"): (b.resource("keda", uid="r"),)},
        "owned": (
            owned("ReplicaSet", "keda-manager-1", "rs", "d", api="apps/v1"),
            owned("Pod", "keda-manager-1-a", "p", "rs", status={"phase": "Pending"}),
        ),
    }
    return Snapshot("test", **{**facts, **more})


def grown(found: Snapshot) -> ObjectTree:
    row = build_catalog(found, b.NOW).row("keda")
    assert row is not None
    return build_tree(row, index_objects(found, ReadCache()), b.NOW, unseen=unseen_words(found))


def paths(node: TreeNode, above: str = "") -> list[str]:
    here = f"{above}/{node.ref.kind.kind}:{node.ref.name}"
    return [here, *(path for child in node.children for path in paths(child, here))]


def node(found: ObjectTree, name: str) -> TreeNode:
    return next(node for root in found.roots for node in root.walk() if node.ref.name == name)


def test_the_manifest_its_inventory_and_everything_that_is_owned_hang_together() -> None:
    assert [path for root in grown(snapshot()).roots for path in paths(root)] == [
        "/Manifest:default-keda-1",
        "/Manifest:default-keda-1/ConfigMap:keda-config",
        "/Manifest:default-keda-1/Deployment:keda-manager",
        "/Manifest:default-keda-1/Deployment:keda-manager/ReplicaSet:keda-manager-1",
        "/Manifest:default-keda-1/Deployment:keda-manager/ReplicaSet:keda-manager-1/Pod:keda-manager-1-a",
        "/Manifest:default-keda-1/Deployment:keda-metrics",
        "/Keda:default",
    ]


def test_without_a_manifest_the_manager_is_a_root_and_the_rest_is_said_to_be_unknown() -> None:
    found = grown(snapshot(manifests=()))
    assert [(root.ref.name, root.role) for root in found.roots] == [
        ("default", NodeRole.RESOURCE),
        ("keda-manager", NodeRole.MANAGER),
    ]
    assert "no Manifest in this cluster, so other installed objects are unknown" in found.notes


@pytest.mark.parametrize(
    ("name", "sight", "state"),
    [
        ("keda-manager", ObjectVisibility.SEEN, State.READY),
        ("keda-metrics", ObjectVisibility.MISSING, State.ERROR),
        ("keda-config", ObjectVisibility.UNWATCHED, State.UNKNOWN),
        ("default", ObjectVisibility.SEEN, State.READY),
    ],
)
def test_missing_is_said_only_of_what_is_watched(name: str, sight: ObjectVisibility, state: State) -> None:
    found = node(grown(snapshot()), name)
    assert (found.visibility, found.state) == (sight, state)


def test_the_state_of_a_manifest_is_what_it_reports() -> None:
    broken = b.manifest("keda", "1.0.0", "Error")
    broken["status"]["conditions"] = [{"type": "Resources", "status": "False", "reason": "NotReady", "message": "no"}]
    found = grown(snapshot(manifests=(broken,))).roots[0]
    assert (found.state, found.message) == (State.ERROR, "NotReady: no")


def test_a_malformed_manifest_is_shown_as_malformed_with_the_reason() -> None:
    row = build_catalog(snapshot(), b.NOW).row("keda")
    assert row is not None
    odd = {**b.manifest("keda", "1.0.0"), "spec": "text"}
    found = build_tree(row, index_objects(snapshot(manifests=(odd,)), ReadCache()), b.NOW)
    assert (found.roots[0].visibility, found.roots[0].message) == (ObjectVisibility.MALFORMED, "spec is not an object")


def test_owners_that_own_each_other_are_shown_once() -> None:
    ring = (owned("ReplicaSet", "a", "u1", "d", api="apps/v1"), owned("Pod", "b", "u2", "u1"))
    back = replace(snapshot(), workloads=(b.deployment("keda", "1.0.0", uid="d", ownerReferences=[{"uid": "u2"}]),))
    found = grown(replace(back, owned=ring))
    assert [n.ref.name for root in found.roots for n in root.walk()].count("keda-manager") == 1


def test_a_chain_without_an_end_ends() -> None:
    chain = tuple(owned("Pod", f"p{n}", f"u{n}", f"u{n - 1}" if n else "d") for n in range(MAX_DEPTH * 100))
    found = grown(snapshot(owned=chain))
    assert "too deep" in node(found, f"p{MAX_DEPTH - 1}").message


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (None, "ReplicaSets, Pods and Jobs: loading"),
        (FeedState.LIVE, ""),
        (FeedState.FORBIDDEN, "forbidden (you may not list pods in kyma-system)"),
        (FeedState.FAILED, "unknown (could not list pods in kyma-system)"),
    ],
)
def test_why_pods_are_missing_is_said(state: FeedState | None, words: str) -> None:
    feeds = {namespaced_feed("pods", "kyma-system"): Feed(state)} if state is not None else {}
    found = grown(snapshot(feeds=feeds))
    assert (words in found.notes) is bool(words)


def test_objects_that_are_odd_are_passed_over() -> None:
    odd: list[Any] = [{"kind": "Pod"}, {"metadata": None}, {"metadata": {"ownerReferences": "x", "uid": 7}}]
    assert ObjectIndex.of(odd).owned_by({"metadata": {"uid": "x"}}) == []


def test_a_module_without_anything_has_an_empty_tree() -> None:
    found = snapshot(manifests=(), workloads=(), module_resources={}, owned=(), kymas=())
    row = build_catalog(found, b.NOW).row("keda")
    assert isinstance(row, ModuleRow)
    assert build_tree(row, index_objects(found, ReadCache()), b.NOW).roots == ()
