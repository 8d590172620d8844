"""Where a Manifest's work is done, and who else may be at work on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Blobs, Clock, Cluster, Object
from kymatui.engine.controllers.runtime.dependency_watches import DependencyWatches
from kymatui.engine.jobs.run import Run, RunLimits, begin
from kymatui.engine.plans.transforms import Transform
from kymatui.engine.sources.render_target import RenderTarget

FINALIZER: Final = "declarative.kyma-project.io/finalizer"
OLD_FINALIZER: Final = f"{OPERATOR}/manifest"
OWN_FINALIZERS: Final = (FINALIZER, OLD_FINALIZER)
COMPONENT: Final = "app.kubernetes.io/component"
PART_OF: Final = "app.kubernetes.io/part-of"

ORPHAN_SECONDS: Final = 300.0
"""How long a Manifest may be unknown to its Kyma before it counts as orphaned, as with lifecycle-manager."""

_OTHERS = ("lifecycle-manager", "module-manager")
_OTHERS_PREFIX = "declarative.kyma-project.io/"


class Runtimes(Protocol):
    """The clusters that Manifests are for."""

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        """The cluster; None where the access to it is gone for good, so that nothing there can be reached any more.

        Raises KymatuiError, with what is wrong with the access, or why nobody answers there.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReconcileContext:
    """What a reconciler works with.

    home        the cluster that has the Manifests
    target_of   what a chart for a cluster is told of it, by the release's name
    transforms  what is done to every object besides the marks of its Manifest
    authenticated  what layers are fetched with that need the credentials of these pull Secrets; None: as all others
    lookouts    what wakes a Manifest besides its own changes
    folder      below which kustomizations lie that Manifests name by a path; None: none may be named so
    limits      how long one turn may wait for anything; short, since the next turn goes on where it ended
    """

    home: Cluster
    runtimes: Runtimes
    blobs: Blobs
    clock: Clock
    target_of: Callable[[Cluster], Callable[[str], RenderTarget]]
    transforms: tuple[Transform, ...] = ()
    authenticated: Callable[[Sequence[Object]], Blobs] | None = None
    lookouts: DependencyWatches = field(default_factory=DependencyWatches)
    folder: Path | None = None
    limits: RunLimits = field(default_factory=lambda: RunLimits(definitions=20.0, ready=0.0, hooks=120.0, gone=5.0))

    def begin(self, cluster: Cluster, cancel: threading.Event) -> AbstractContextManager[Run]:
        """A run of one turn on a cluster."""
        return begin(cluster, clock=self.clock, cancel=cancel, limits=self.limits, manager=OPERATOR_FIELD_MANAGER)


def foreign_controller(raw: Mapping[str, Any]) -> str:
    """The field manager of another controller that works on a Manifest, or "" where there is none."""
    for entry in JsonReader(raw).child("metadata").children("managedFields"):
        name = entry.text("manager")
        if name in _OTHERS or name.startswith(_OTHERS_PREFIX):
            return name
    return ""
