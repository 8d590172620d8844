"""The facts of a target cluster for rendering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster
from kymatui.helm.rendering.capabilities import KUBE_VERSION
from kymatui.structs import compare_by

Lookup = Callable[[str, str, str, str], dict[str, Any]]


class RenderTarget(Struct, frozen=True):
    """A cluster as charts see it.

    kube_version  "v1.34.2"
    served        "apps/v1" and "apps/v1/Deployment" for all served kinds; None: Helm's defaults
    lookup        (apiVersion, kind, namespace, name) → object, list or {}; None: always empty
    installed     the release exists, so charts see an upgrade
    revision      revision of the release, from 1
    """

    kube_version: str = KUBE_VERSION
    served: tuple[str, ...] | None = None
    lookup: Lookup | None = None
    installed: bool = False
    revision: int = 1

    __eq__, __hash__ = compare_by("kube_version", "served", "installed", "revision")


def chart_targets(cluster: Cluster) -> Callable[[str], RenderTarget]:
    """Return the targets for charts of Manifests, by release name.

    Charts always see an upgrade, as in the first module-manager, so that every reconciliation renders the same.
    """
    found = chart_target(cluster, installed=True)
    return lambda release: found


def chart_target(cluster: Cluster, *, installed: bool = False, revision: int = 1) -> RenderTarget:
    """Return a cluster's version, served kinds and lookup for a chart."""

    def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        gvk = GroupVersionKind.of(api_version, kind)
        if name:
            return cluster.get(ObjectRef(gvk, namespace, name)) or {}
        items = cluster.list(gvk, namespace)
        return {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": items} if items else {}

    found = RenderTarget(served=tuple(_served(cluster)), lookup=lookup, installed=installed, revision=revision)
    version = cluster.version()
    return replace(found, kube_version=version) if version else found


def _served(cluster: Cluster) -> list[str]:
    found: dict[str, None] = {}
    for kind in cluster.all_kinds():
        found[kind.gvk.api_version] = None
        found[f"{kind.gvk.api_version}/{kind.gvk.kind}"] = None
    return list(found)
