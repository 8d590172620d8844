"""The facts of a target cluster for rendering."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.engine.inventory.release_store import read_inventory
from kymatui.engine.sources.chart_lookup import Lookup, cluster_lookup, manifest_lookup
from kymatui.helm.rendering.capabilities import KUBE_VERSION
from kymatui.structs import compare_by

ReleaseTargets = Callable[[str, str], "RenderTarget"]
"""A function that returns the target for a release, by name and namespace."""


class RenderTarget(Struct, frozen=True):
    """A cluster as charts see it.

    kube_version  "v1.34.2"
    served        "apps/v1" and "apps/v1/Deployment" for all served kinds; None: Helm's defaults
    lookup        (apiVersion, kind, namespace, name) → object, list or {}; None: always empty
    installed     the release exists, so charts see an upgrade
    revision      revision of the release, from 1
    all_private   nothing that `lookup` returns may be in errors and plans; else nothing of Secrets
    """

    kube_version: str = KUBE_VERSION
    served: tuple[str, ...] | None = None
    lookup: Lookup | None = None
    installed: bool = False
    revision: int = 1
    all_private: bool = False

    __eq__, __hash__ = compare_by("kube_version", "served", "installed", "revision")


def manifest_targets(clock: Clock, secrets: Collection[str], cluster: Cluster) -> ReleaseTargets:
    """Return the targets for charts of Manifests on a cluster; `secrets` are those that `lookup` may read.

    Charts always see an upgrade, as in the first module-manager, so that every reconciliation renders the same.
    """
    manifest_target = replace(chart_target(cluster, installed=True), all_private=True)

    def target(release: str, namespace: str) -> RenderTarget:
        read = partial(read_inventory, cluster, clock, release, namespace)
        return replace(manifest_target, lookup=manifest_lookup(cluster, secrets, read))

    return target


def chart_target(cluster: Cluster, *, installed: bool = False, revision: int = 1) -> RenderTarget:
    """Return a cluster's version, served kinds and lookup for a chart."""
    lookup = cluster_lookup(cluster)
    target = RenderTarget(served=tuple(_served(cluster)), lookup=lookup, installed=installed, revision=revision)
    version = cluster.version()
    return replace(target, kube_version=version) if version else target


def _served(cluster: Cluster) -> list[str]:
    served: dict[str, None] = {}
    for kind in cluster.all_kinds():
        served[kind.gvk.api_version] = None
        served[f"{kind.gvk.api_version}/{kind.gvk.kind}"] = None
    return list(served)
