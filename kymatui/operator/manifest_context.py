"""The Manifest controller on real clusters: home, runtimes, registries, and what charts are told of their cluster."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.engine.sources.render_target import manifest_targets
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.fetching import FetchOptions, open_fetcher

if TYPE_CHECKING:
    from kymatui.operator.manifests.standalone_context import StandaloneContext
    from kymatui.sessions.control_plane.runtime_guards import RuntimeGuards


def open_manifest_context(
    options: SessionOptions | None = None,
    fetch: FetchOptions | None = None,
    *,
    folder: Path | None = None,
    secrets: Collection[str] = (),
    guards: RuntimeGuards | None = None,
    locked: bool = False,
) -> StandaloneContext:
    """Build the Manifest controller's context from options; nothing is sent before it runs.

    `secrets` are those that charts may read with `lookup`. `locked` is for one of several replicas that share the
    control plane.
    """
    from kymatui.adapters.kube.watch.locked_cluster import LockedCluster
    from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
    from kymatui.engine.jobs.run import SystemClock
    from kymatui.operator.manifests.standalone_context import StandaloneContext
    from kymatui.sessions.cluster.cluster_access import open_cluster
    from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes

    home = open_cluster(options)
    home = (LockedCluster if locked else RememberingCluster)(home.client, unattended=True)
    blobs = open_fetcher(fetch)
    runtimes = SecretRuntimes(home, guards=guards)
    clock = SystemClock()
    targets = partial(manifest_targets, clock, secrets)
    context = StandaloneContext(home, runtimes, blobs, clock, targets, authenticated=blobs.with_secrets, folder=folder)
    runtimes.closing = context.watches.forget
    return context


def connection_namespace(context: StandaloneContext) -> str:
    """Return the namespace of the connection: that of `-n`, else of the context, "" without."""
    return _home_target(context).namespace


def connection_target(context: StandaloneContext, namespace: str) -> ClusterTarget:
    """Return the cluster that has the Manifests, as plans name it; `namespace` is "" for all of them."""
    return replace(_home_target(context), namespace=namespace)


def _home_target(context: StandaloneContext) -> ClusterTarget:
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.sessions.cluster.cluster_access import read_cluster_target as cluster_target

    assert isinstance(context.home, KubeCluster)
    return cluster_target(context.home.client)
