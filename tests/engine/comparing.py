"""What a cluster holds, without what is different in every run: ids, times, the place's own name."""

from __future__ import annotations

import json
from typing import Any

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.ownership import ANNOTATION_RUN
from tests.engine.places import Json


def contents(cluster: KubeCluster, namespace: str, group: str) -> dict[str, Json]:
    """Everything of a test's place, without what is different in every run: ids, times, the place's own name."""
    found: dict[str, Json] = {}
    for kind in cluster.all_kinds():
        if "list" not in kind.verbs or kind.gvk.kind in ("Event", "Lease", "PodMetrics", "NodeMetrics"):
            continue
        for body in cluster.list(kind.gvk, namespace if kind.namespaced else ""):
            name = body["metadata"]["name"]
            mine = kind.namespaced or name.startswith(namespace) or name.endswith(f".{group}")
            if mine and not body["metadata"].get("ownerReferences"):
                known = plain({key: part for key, part in body.items() if key != "status"}, namespace)
                found[f"{kind.gvk.kind} {known['metadata']['name']}"] = known
    return found


_VOLATILE = frozenset(
    {
        "creationTimestamp",
        "lastProbeTime",
        "lastTransitionTime",
        "lastUpdateTime",
        "managedFields",
        "resourceVersion",
        "startTime",
        "completionTime",
        "modifiedAt",
        "uid",
        "clusterIP",
        "clusterIPs",
        "batch.kubernetes.io/controller-uid",
        "controller-uid",
    }
)


def plain(value: Any, namespace: str) -> Any:
    """A document without what is different in every run."""
    if isinstance(value, dict):
        kind = value.get("type")
        if ANNOTATION_RUN in value:  # a digest in which the place's name is, and the revision
            value = {**value, ANNOTATION_RUN: str(value[ANNOTATION_RUN]).rpartition("-")[2]}
        found = {
            str(key).replace(namespace, "PLACE"): plain(part, namespace)
            for key, part in value.items()
            if key not in _VOLATILE
        }
        if kind == "helm.sh/release.v1":
            found["data"] = sorted(value["data"])
        if str(found.get("inventory", "")).startswith("{"):
            found["inventory"] = {**json.loads(found["inventory"]), "digest": "of what has the place's name in it"}
        if "applyset.kubernetes.io/id" in found or "applyset.kubernetes.io/part-of" in found:
            found = {key: part for key, part in found.items() if not key.startswith("applyset.")}
        return found
    if isinstance(value, list):
        return [plain(part, namespace) for part in value]
    if isinstance(value, str):
        return value.replace(namespace, "PLACE")
    return value
