"""The dependencies of the controllers of Kymas and of mandatory modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.ocm.descriptors import ComponentDescriptor
from kymatui.operator.catalogs.catalog_cache import CatalogCache
from kymatui.operator.framework.applied_copies import AppliedCopies
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.requeue_intervals import RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache
from kymatui.operator.framework.runtime_sync import RuntimeCatalogSync, RuntimeWebhookSync
from kymatui.operator.monitoring.event_writer import Record, no_events

KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
KYMA_FINALIZER: Final = f"{OPERATOR}/Kyma"


class Components(Protocol):
    """Component descriptors by name and version."""

    def component(self, name: str, version: str) -> ComponentDescriptor:
        """Return a descriptor. Raises RegistryError, DescriptorError, ConfigurationError."""
        ...


def never_certain(ref: ObjectRef) -> bool:
    """Return False: without a watch only the server knows whether an object exists."""
    return False


class KymaContext(Struct, frozen=True):
    """The dependencies.

    namespace  the namespace of Kymas, Manifests and the catalog
    registry   the registry in Manifests ("http://HOST:PORT"); "": the location in a template's own descriptor
    settings   restricted modules and maintenance policy
    catalog    copies the catalog to runtimes; None: control plane and runtime are one cluster, or nothing copies it
    webhook    sets the watcher up on runtimes; None: nothing does
    single     whether control plane and runtime are one cluster
    events     records Events about Kymas
    is_unseen  tells that a live watch of the control plane has not seen an object
    marks      whether this process reconciles Manifests, so that new ones are created as their controller wants them
    copies     what was applied to runtimes
    brief      seconds within which what a runtime had is not read again: the steps of an installation follow each other
    """

    home: Cluster
    clock: Clock
    namespace: str
    runtimes: RuntimeCache
    templates: CatalogCache
    components: Components
    registry: str = ""
    settings: ControllerSettings = field(default_factory=ControllerSettings)
    catalog: RuntimeCatalogSync | None = None
    webhook: RuntimeWebhookSync | None = None
    single: bool = False
    intervals: RequeueIntervals = field(default_factory=RequeueIntervals)
    watches: DependencyWatches = field(default_factory=DependencyWatches)
    events: Record = no_events
    is_unseen: Callable[[ObjectRef], bool] = never_certain
    marks: bool = False
    copies: AppliedCopies = field(default_factory=AppliedCopies)
    brief: float = 0.0
