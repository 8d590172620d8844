"""The context of a reconciliation, and the detection of other controllers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Blobs, Clock, Cluster, Object
from kymatui.engine.jobs.run import Run, RunLimits, begin
from kymatui.engine.plans.transforms import Transform
from kymatui.engine.sources.render_target import ReleaseTargets
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.monitoring.event_writer import Record, no_events

_OTHERS = ("lifecycle-manager", "module-manager")
_OTHERS_PREFIX = "declarative.kyma-project.io/"


class Runtimes(Protocol):
    """The target clusters of Manifests."""

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        """Return the cluster, None if its access is permanently gone.

        Raises KymatuiError with the fault of the access or connection.
        """
        ...


class ReconcileContext(Struct, frozen=True):
    """The dependencies of a reconciler.

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


def foreign_controller(raw: Mapping[str, Any]) -> str:
    """Return the field manager of another controller of the Manifest, "" if there is none."""
    found = (name for name in field_managers(raw) if name in _OTHERS or name.startswith(_OTHERS_PREFIX))
    return next(found, "")
