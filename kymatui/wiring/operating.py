"""The Manifest controller on real clusters: home, runtimes, registries, and what charts are told of their cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.wiring.options import SessionOptions
from kymatui.wiring.places import cache_folder

if TYPE_CHECKING:
    from kymatui.adapters.fetching import Fetcher
    from kymatui.domain.targets import ClusterTarget
    from kymatui.engine.controllers.manifest.places import Site
    from kymatui.engine.ports import Cluster
    from kymatui.engine.sources.targets import Target


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """Registries (host[:port]) that may go without TLS, and a file of certificates to trust."""

    insecure: tuple[str, ...] = ()
    ca: str | None = None


def fetcher(options: FetchOptions | None = None) -> Fetcher:
    """What sources are fetched with; layers and charts are kept in the platform's place for caches."""
    from kymatui.adapters.charts import Access
    from kymatui.adapters.fetching import Fetcher

    chosen = options or FetchOptions()
    return Fetcher(cache=cache_folder("blobs"), insecure=chosen.insecure, access=Access(ca=chosen.ca))


class LateFetcher:
    """Implements `Blobs`; the fetcher is made when something is fetched, since its libraries take 0.2 s to load."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._made: Fetcher | None = None

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        return self._fetcher().layer(repository, digest, insecure=insecure)

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> bytes:
        return self._fetcher().chart(reference, repository=repository, version=version)

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        return self._fetcher().chart_versions(reference, repository=repository)

    def url(self, address: str) -> bytes:
        return self._fetcher().url(address)

    def _fetcher(self) -> Fetcher:
        if self._made is None:
            self._made = fetcher(self._options)
        return self._made


def manifest_site(
    options: SessionOptions | None = None, fetch: FetchOptions | None = None, *, folder: Path | None = None
) -> Site:
    """All that the Manifest controller works with, from the words of a command line. Nothing is sent before it runs."""
    from kymatui.engine.controllers.manifest.places import Site
    from kymatui.engine.running import SystemClock
    from kymatui.wiring.engine import open_cluster
    from kymatui.wiring.runtimes import SecretRuntimes

    home = open_cluster(options)
    blobs = fetcher(fetch)
    runtimes = SecretRuntimes(home)
    site = Site(home, runtimes, blobs, SystemClock(), targets, authenticated=blobs.with_secrets, folder=folder)
    runtimes.closing = site.lookouts.forget
    return site


def site_target(site: Site, namespace: str) -> ClusterTarget:
    """Return the cluster that has the Manifests, as plans name it; `namespace` is "" for all of them."""
    from kymatui.adapters.kube.clusters import KubeCluster
    from kymatui.wiring.targets import target_of as cluster_target

    assert isinstance(site.home, KubeCluster)
    return replace(cluster_target(site.home.client), namespace=namespace)


def targets(cluster: Cluster) -> Callable[[str], Target]:
    """What charts of Manifests are told of a cluster, by the name of their release.

    As the first module-manager had it, they always see an upgrade, so that they render the same on every turn.
    """
    found = target_of(cluster, installed=True)
    return lambda release: found


def target_of(cluster: Cluster, *, installed: bool = False, revision: int = 1) -> Target:
    """What a chart is told of a cluster: its version, what it serves, and whatever it looks up."""
    from kymatui.engine.sources.targets import Target

    def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        gvk = GroupVersionKind.of(api_version, kind)
        if name:
            return cluster.get(ObjectRef(gvk, namespace, name)) or {}
        items = cluster.list(gvk, namespace)
        return {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": items} if items else {}

    found = Target(served=tuple(_served(cluster)), lookup=lookup, installed=installed, revision=revision)
    version = _version(cluster)
    return replace(found, kube_version=version) if version else found


def _version(cluster: Cluster) -> str:
    """The server's version, "" where it does not tell; charts may ask for one."""
    from kymatui.adapters.kube.clusters import KubeCluster

    return str(cluster.client.version().get("gitVersion") or "") if isinstance(cluster, KubeCluster) else ""


def _served(cluster: Cluster) -> list[str]:
    found: dict[str, None] = {}
    for kind in cluster.all_kinds():
        found[kind.gvk.api_version] = None
        found[f"{kind.gvk.api_version}/{kind.gvk.kind}"] = None
    return list(found)
