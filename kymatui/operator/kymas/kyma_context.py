"""The dependencies of the controllers of Kymas and of mandatory modules.

`RuntimeCatalog` and implementations of `RuntimeWebhookSync` write only what differs, so that a reconciliation
without a change writes nothing. They raise KymatuiError; the Kyma controller then sets the condition to False and tries
again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME, OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.ocm.descriptors import ComponentDescriptor
from kymatui.operator.catalogs.runtime_catalog import CatalogCache, RuntimeCatalog
from kymatui.operator.framework.applied_copies import AppliedCopies
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.runtime_cache import RuntimeCache
from kymatui.operator.monitoring.event_writer import Record, no_events


class RuntimeWebhookSync(Protocol):
    """The watcher's objects on a runtime and its certificate on the control plane: condition SKRWebhook."""

    def sync_webhook(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> bool:
        """Create or update them; return whether the webhook is ready."""
        ...

    def remove_webhook(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> bool:
        """Delete what exists; return whether anything did. `runtime` is None without an access Secret."""
        ...

    def forget_webhook(self, kyma: str) -> None:
        """Drop what is kept for a Kyma that no longer exists, or that another replica reconciles."""
        ...


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


def kyma_manifests(home: Cluster, kyma: Kyma, cancel: threading.Event, module: str = "") -> list[Manifest]:
    """Return all Manifests with the label of a Kyma, or those of one of its modules."""
    labels = f"{LABEL_KYMA_NAME}={kyma.meta.name}" + (f",{LABEL_MODULE_NAME}={module}" if module else "")
    manifests = home.list(MANIFEST, kyma.meta.namespace, labels=labels, cancel=cancel)
    return [manifest for manifest in map(read_manifest, manifests) if isinstance(manifest, Manifest)]


def installed_manifest(home: Cluster, kyma: Kyma, module: str, cancel: threading.Event) -> Manifest | None:
    """Return the Manifest of a module whose report names none: a refusal replaced it, as in lifecycle-manager."""
    manifests = kyma_manifests(home, kyma, cancel, module)
    return next((manifest for manifest in manifests if not (manifest.mandatory or manifest.unmanaged)), None)


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
    catalog: RuntimeCatalog | None = None
    webhook: RuntimeWebhookSync | None = None
    single: bool = False
    intervals: RequeueIntervals = field(default_factory=RequeueIntervals)
    watches: DependencyWatches = field(default_factory=DependencyWatches)
    events: Record = no_events
    is_unseen: Callable[[ObjectRef], bool] = never_certain
    marks: bool = False
    copies: AppliedCopies = field(default_factory=AppliedCopies)
    brief: float = 0.0
