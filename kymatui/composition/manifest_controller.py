"""The Manifest controller on real clusters: home, runtimes, registries, and what charts are told of their cluster."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.files.cache_folder import cache_folder
from kymatui.adapters.sessions.cluster.session_options import SessionOptions
from kymatui.engine.sources.render_target import manifest_targets

if TYPE_CHECKING:
    from kymatui.adapters.content.blob_fetcher import BlobFetcher
    from kymatui.adapters.sessions.control_plane.runtime_guards import RuntimeGuards
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.engine.controllers.manifest.reconcile_context import ReconcileContext


class FetchOptions(Struct, frozen=True):
    """Registries (host[:port]) that may go without TLS, and a file of certificates to trust.

    `registry` (HOST[:PORT][/PATH]) has the components of templates without a descriptor, "" if nobody named it; only
    with `http://` before it may it go without TLS.
    """

    insecure: tuple[str, ...] = ()
    ca: str | None = None
    registry: str = ""

    def with_registry(self, registry: str) -> FetchOptions:
        """Return the same options with the registry of components."""
        base = registry.rpartition("://")[2].strip("/")
        plain = (base.partition("/")[0],) if registry.startswith("http://") else ()
        return FetchOptions((*self.insecure, *plain), self.ca, base)


def open_fetcher(options: FetchOptions | None = None) -> BlobFetcher:
    """Return what sources are fetched with; layers and charts are kept in the platform's place for caches."""
    from kymatui.adapters.content.blob_fetcher import BlobFetcher
    from kymatui.adapters.content.chart_fetcher import ChartAccess

    chosen = options or FetchOptions()
    return BlobFetcher(cache=cache_folder("blobs"), insecure=chosen.insecure, access=ChartAccess(ca=chosen.ca))


class LazyFetcher:
    """Implements `Blobs`; the fetcher is made when something is fetched, since its libraries take 0.2 s to load."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._made: BlobFetcher | None = None

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        return self._fetcher().layer(repository, digest, insecure=insecure)

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> bytes:
        return self._fetcher().chart(reference, repository=repository, version=version)

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        return self._fetcher().chart_versions(reference, repository=repository)

    def url(self, address: str) -> bytes:
        return self._fetcher().url(address)

    def _fetcher(self) -> BlobFetcher:
        if self._made is None:
            self._made = open_fetcher(self._options)
        return self._made


def manifest_controller_context(
    options: SessionOptions | None = None,
    fetch: FetchOptions | None = None,
    *,
    folder: Path | None = None,
    secrets: Collection[str] = (),
    guards: RuntimeGuards | None = None,
    locked: bool = False,
) -> ReconcileContext:
    """Build the Manifest controller's context from options; nothing is sent before it runs.

    `secrets` are those that charts may read with `lookup`. `locked` is for one of several replicas that share the
    control plane.
    """
    from kymatui.adapters.kube.watch.locked_cluster import LockedCluster
    from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
    from kymatui.adapters.sessions.cluster.cluster_access import open_cluster
    from kymatui.adapters.sessions.control_plane.runtime_clients import SecretRuntimes
    from kymatui.engine.controllers.manifest.reconcile_context import ReconcileContext
    from kymatui.engine.jobs.run import SystemClock

    home = open_cluster(options)
    home = (LockedCluster if locked else RememberingCluster)(home.client, unattended=True)
    blobs = open_fetcher(fetch)
    runtimes = SecretRuntimes(home, guards=guards)
    clock = SystemClock()
    targets = partial(manifest_targets, clock, secrets)
    site = ReconcileContext(home, runtimes, blobs, clock, targets, authenticated=blobs.with_secrets, folder=folder)
    runtimes.closing = site.watches.forget
    return site


def site_namespace(site: ReconcileContext) -> str:
    """Return the namespace of the connection: that of `-n`, else of the context, "" without."""
    return _home_target(site).namespace


def site_target(site: ReconcileContext, namespace: str) -> ClusterTarget:
    """Return the cluster that has the Manifests, as plans name it; `namespace` is "" for all of them."""
    return replace(_home_target(site), namespace=namespace)


def _home_target(site: ReconcileContext) -> ClusterTarget:
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.adapters.sessions.cluster.cluster_target import read_cluster_target as cluster_target

    assert isinstance(site.home, KubeCluster)
    return cluster_target(site.home.client)
