"""What the installation and the deletion of a module's Manifest share: its access, its status, its writes."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any, Final, NoReturn

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, PatchKind
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ConfigurationError,
    ConflictError,
    KymatuiError,
    NotFoundError,
)
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.requeue_intervals import RequeueIntervals
from kymatui.operator.framework.runtime_cache import KymaKey, RuntimeCache, is_connection_failure
from kymatui.operator.manifests.manifest_marks import SYNCED_LAYER
from kymatui.operator.modules.applied_modules import AppliedModules
from kymatui.operator.modules.module_status import ModuleStatus
from kymatui.operator.modules.resource_pruning import OBJECT_KEPT, ResourcePruning, describe_staying
from kymatui.operator.modules.resource_rendering import ModuleRenderer
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent, state_event
from kymatui.operator.monitoring.event_writer import PATCH_OBJECT, PATCH_STATUS, Record, no_events

RESOURCE_FINALIZER: Final = "resource.kyma-project.io/finalizer"
_PROGRESS: Final = frozenset({"", State.PROCESSING.value, State.READY.value})
PAUSE: Final = 1.0  # seconds until the controller reads again whether deleted objects are gone


class ManifestChangedError(KymatuiError):
    """Another client changed the Manifest during its reconciliation, which then begins again."""


class ModuleContext(Struct, frozen=True):
    """The dependencies of the reconciliation of modules' Manifests.

    home    the control plane
    events  records Events about Manifests
    """

    home: Cluster
    clock: Clock
    runtimes: RuntimeCache
    renderer: ModuleRenderer
    intervals: RequeueIntervals
    watches: DependencyWatches = field(default_factory=DependencyWatches)
    events: Record = no_events
    applied: AppliedModules = field(default_factory=AppliedModules)


class ReconcilePass:
    """One reconciliation of one Manifest; `manifest` is the server's latest answer."""

    def __init__(self, context: ModuleContext, manifest: Manifest, cancel: threading.Event) -> None:
        self.context = context
        self.manifest = manifest
        self.cancel = cancel
        self.status = ModuleStatus(manifest, context.clock.now())
        self.due = math.inf
        """Seconds until all objects have to be applied again."""

    @property
    def kyma(self) -> KymaKey:
        return (self.manifest.meta.namespace, self.manifest.kyma)

    @property
    def soon(self) -> float:
        return self.context.intervals.soon

    @property
    def pause(self) -> float:
        """Return the seconds until deleted objects are looked for again."""
        return min(PAUSE, self.context.intervals.of(self.status.state))

    def runtime(self) -> Cluster | None:
        """Return the runtime, None without an access Secret. Raises ConfigurationError."""
        return self.context.runtimes.of(self.kyma, self.cancel)

    def begin(self) -> None:
        """Give a new Manifest its first state, in memory: it is written with what the reconciliation finds."""
        if not self.manifest.state:
            self.status.set_state(State.PROCESSING, "object has an empty state")

    def write_status(self, *, failed: bool = False) -> None:
        """Write the status and record its change; `failed`: an error is raised afterwards, with its own event.

        The progress of a module is an event of its Kyma; that of a mandatory one, which no Kyma reports, is recorded.
        """
        if not self.status.differs:
            return
        event = state_event(self.manifest.state, self.status.state, self.status.operation)
        if {self.manifest.state, self.status.state} <= _PROGRESS and not self.manifest.mandatory:
            event = None
        self.patch(self.status.patch(), "status")
        if event is not None and not failed:
            self.context.events(self.manifest.raw, event)

    @contextlib.contextmanager
    def visible_after(self, seconds: float) -> Iterator[None]:
        """Write the status if the block takes longer; the block itself changes neither status nor Manifest."""

        def write() -> None:
            with contextlib.suppress(KymatuiError):  # the end of the reconciliation writes it again
                self.write_status()

        if not self.status.differs:
            yield
            return
        timer = threading.Timer(seconds, copy_context().run, [write])  # the write keeps the bounds of the pass
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def finish(self) -> float:
        """Write the status; return the seconds until the next reconciliation."""
        self.write_status()
        return min(self.context.intervals.of(self.status.state), self.due)

    def fail(self, error: KymatuiError, state: State | None = State.ERROR) -> NoReturn:
        """Write the status with an error (None: as it is), and raise it. A useless connection is dropped."""
        if isinstance(error, CancelledError | ManifestChangedError):
            raise error
        if state is not None:
            self.status.set_state(state, str(error))
        if is_connection_failure(error):
            self.context.runtimes.forget(self.kyma)
        self.write_status(failed=True)
        raise error

    @property
    def mark_of_objects(self) -> str:
        """Return the value of the annotation that marks the Manifest's objects."""
        return f"{self.manifest.meta.namespace}/{self.manifest.meta.name}"

    def pruning(self, runtime: Cluster) -> ResourcePruning:
        """Return the deletion of the Manifest's objects on its runtime."""
        return ResourcePruning(runtime, self.mark_of_objects, self.cancel, self._other_manifests)

    def _other_manifests(self) -> Sequence[object]:
        """Return the Manifests of the same Kyma, which may have the same CRDs."""
        ref, labels = read_ref(self.manifest.raw), f"{LABEL_KYMA_NAME}={self.manifest.kyma}"
        return self.context.home.list(ref.kind, ref.namespace, labels=labels, cancel=self.cancel)

    def report_staying(self, pruning: ResourcePruning) -> None:
        """Record which objects of the status stay, and why."""
        if pruning.staying:
            event = ObjectEvent(EventType.WARNING, OBJECT_KEPT, describe_staying(pruning.staying))
            self.context.events(self.manifest.raw, event)

    def keep_finalizers(self, names: Sequence[str]) -> None:
        self.mark(names, "")

    def mark(self, finalizers: Sequence[str] | None, layer: str) -> bool:
        """Write finalizers (None leaves them) and a layer ("" leaves it); return whether the Manifest still exists."""
        metadata: dict[str, Any] = {} if finalizers is None else {**self._version(), "finalizers": list(finalizers)}
        if layer:
            metadata["annotations"] = {SYNCED_LAYER: layer}
        return self.patch({"metadata": metadata})

    def annotate_layer(self, ref: str) -> None:
        self.mark(None, ref)

    def delete_manifest(self) -> None:
        self.context.home.delete(read_ref(self.manifest.raw), uid=self.manifest.meta.uid, cancel=self.cancel)

    def _version(self) -> Mapping[str, Any]:
        """Return the resourceVersion, which makes a patch of a whole list fail after another client's change."""
        version = self.manifest.raw["metadata"].get("resourceVersion")
        return {"resourceVersion": version} if version else {}

    def patch(self, patch: Mapping[str, Any], subresource: str = "") -> bool:
        """Patch the Manifest; return whether it still exists."""
        try:
            made = self.context.home.patch(
                read_ref(self.manifest.raw),
                patch,
                PatchKind.MERGE,
                manager=OPERATOR_FIELD_MANAGER,
                subresource=subresource,
                cancel=self.cancel,
            )
        except NotFoundError:
            return False
        except ConflictError as error:
            raise ManifestChangedError(f"{self.manifest.ref} changed meanwhile") from error
        except ClusterError as error:
            event = ObjectEvent(EventType.WARNING, PATCH_STATUS if subresource else PATCH_OBJECT, str(error))
            self.context.events(self.manifest.raw, event)
            raise
        fresh = read_manifest(made)
        if isinstance(fresh, Manifest):
            self.manifest = fresh
        return True


def no_access(kyma: str, namespace: str) -> ConfigurationError:
    """Return the error of a runtime without an access Secret."""
    return ConfigurationError(
        f"access secret not found: no Secret in {namespace} has the label operator.kyma-project.io/kyma-name={kyma}",
        hint="create the Secret with the runtime's kubeconfig in its key config",
    )
