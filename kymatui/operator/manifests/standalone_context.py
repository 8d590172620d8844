"""What Manifests that people create are reconciled with: clusters, sources, pull Secrets, and watches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.refs import SECRET
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.bundles.yaml_objects import unique_documents
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Blobs, Clock, Cluster, Object
from kymatui.engine.jobs.run import Run, RunLimits, begin
from kymatui.engine.plans.transforms import Transform
from kymatui.engine.sources.manifest_installs import InstallReader
from kymatui.engine.sources.render_target import ReleaseTargets
from kymatui.errors import ConfigurationError
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.monitoring.event_writer import Record, no_events


class Runtimes(Protocol):
    """The target clusters of Manifests."""

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        """Return the cluster, None if its access is permanently gone.

        Raises KymatuiError with the fault of the access or connection.
        """
        ...


class AccountCluster:
    """Implements `Runtimes` for a namespace outside of the Kymas'.

    `cluster` is the operator's own cluster with the rights of the namespace's ServiceAccount.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        if manifest.remote:
            raise ConfigurationError(
                f"{manifest.ref} is for a runtime, and only the Kymas' namespace has access to runtimes",
                hint="set spec.remote to false",
            )
        return self._cluster


class StandaloneContext(Struct, frozen=True):
    """The dependencies of the reconciliation of Manifests that people create.

    home        the cluster with the Manifests
    target_of   the facts of a cluster for a chart, by release
    transforms  transforms of every object, besides the Manifest's marks
    authenticated  creates blobs with pull Secrets; None: no credentials
    watches    wakes a Manifest on changes of its dependencies
    folder      parent folder of kustomizations named by path; None: not allowed
    limits      waits of one reconciliation; short, because the next one continues
    events      records Events about Manifests
    secrets     the cluster with the pull Secrets that Manifests select; None: home
    namespace   namespace whose Manifests belong to no Kyma, and have their objects there unless they name another;
                "": any
    """

    home: Cluster
    runtimes: Runtimes
    blobs: Blobs
    clock: Clock
    target_of: Callable[[Cluster], ReleaseTargets]
    transforms: tuple[Transform, ...] = ()
    authenticated: Callable[[Sequence[Object]], Blobs] | None = None
    watches: DependencyWatches = field(default_factory=DependencyWatches)
    folder: Path | None = None
    limits: RunLimits = field(default_factory=lambda: RunLimits(definitions=20.0, ready=0.0, hooks=120.0, gone=5.0))
    events: Record = no_events
    secrets: Cluster | None = None
    namespace: str = ""

    def begin(self, cluster: Cluster, cancel: threading.Event) -> AbstractContextManager[Run]:
        """Start the run of one reconciliation on a cluster."""
        return begin(cluster, clock=self.clock, cancel=cancel, limits=self.limits, manager=OPERATOR_FIELD_MANAGER)


# pull Secrets of layers


def authenticated(context: StandaloneContext, manifest: Manifest) -> Callable[[Mapping[str, Any]], Blobs] | None:
    """Return a function that creates blobs with the Secrets of a `credSecretSelector`; None if not supported."""
    make = context.authenticated
    if make is None:
        return None
    home = context.secrets or context.home
    return lambda selector: make(pull_secrets(home, manifest.meta.namespace, selector))


def pull_secrets(home: Cluster, namespace: str, selector: Mapping[str, Any]) -> list[Object]:
    """Return the selected Secrets of a namespace. Raises ConfigurationError, and the port's errors."""
    chosen = read_selector(selector)
    if isinstance(chosen, InvalidSelector):
        raise ConfigurationError(f"credSecretSelector cannot be read: {chosen.reason}")
    if chosen.empty:
        raise ConfigurationError("credSecretSelector is empty", hint="an empty selector matches every Secret")
    labels = ",".join(requirement.written for requirement in chosen.requirements)
    secrets = home.list(SECRET, namespace, labels=labels)
    if not secrets:
        raise ConfigurationError(
            f"no auth secret found in {namespace}: no Secret is labelled {labels}",
            hint="credSecretSelector of the Manifest names one by its labels",
        )
    return secrets


class RegistryLayers:
    """Implements `LayerReader` with the registries of layers, and the pull Secrets that Manifests select."""

    def __init__(self, context: StandaloneContext) -> None:
        self._context = context

    def objects(self, manifest: Manifest) -> Sequence[Object]:
        reader = InstallReader(manifest, self._context.blobs, authenticated=authenticated(self._context, manifest))
        return unique_documents(reader.bundle(manifest.installs[0]).objects)
