"""The reconciliation of a Kyma's module, as lifecycle-manager does it: each method gets as far as one pass can."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import ClassVar, Final, NoReturn

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANAGED_BY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import klm_manager_state
from kymatui.domain.ownership import owning_manifest
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, Object
from kymatui.errors import (
    ConfigurationError,
    ConflictError,
    KymatuiError,
    RegistryError,
    SourceError,
)
from kymatui.operator.framework.applied_copies import AppliedModules
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.requeue_intervals import RequeueIntervals
from kymatui.operator.framework.runtime_cache import KymaKey, RuntimeCache, is_connection_failure
from kymatui.operator.manifests.default_resource import (
    DefaultResource,
    describe_evaluation,
    evaluate_state,
    has_rules,
    resource_ref,
    stateful_pods,
)
from kymatui.operator.manifests.manifest_marks import (
    LABEL_FINALIZER,
    REQUIRED_FINALIZERS,
    SYNCED_LAYER,
    WORKLOADS,
)
from kymatui.operator.manifests.manifest_pass import ManifestPass
from kymatui.operator.manifests.manifest_status import (
    CHANGED,
    INSTALLATION,
    MODULE_CR,
    READY,
    RESOURCES,
    WAITING,
    WAITING_FOR_CRS,
    differs,
)
from kymatui.operator.manifests.resource_pruning import (
    OBJECT_KEPT,
    ResourcePruning,
    describe_staying,
    names_of,
    obsolete,
)
from kymatui.operator.manifests.resource_rendering import ModuleRenderer, layer_of, refs_of
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent
from kymatui.operator.monitoring.event_writer import Record, no_events

RESOURCE_FINALIZER: Final = "resource.kyma-project.io/finalizer"
CRD_KEPT: Final = "CrdKept"
PAUSE: Final = 1.0
"""Seconds until the controller reads again whether deleted objects are gone."""
_SLOW_LAYER: Final = 1.0
"""Seconds after which a new Manifest says that it is being processed, while its layer is read."""
_PROGRESS: Final = frozenset({"", State.PROCESSING.value, State.READY.value})


class ModuleContext(Struct, frozen=True):
    """The dependencies of the reconciliation of modules.

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


class ModulePass(ManifestPass[ModuleContext]):
    """One reconciliation of a module's Manifest; failures are raised, so that the queue delays the next try."""

    unreachable: ClassVar[State | None] = None

    def __init__(self, context: ModuleContext, manifest: Manifest, cancel: threading.Event) -> None:
        creates = bool(manifest.resource) and manifest.policy == Policy.CREATE_AND_DELETE
        super().__init__(context, manifest, cancel, (RESOURCES, INSTALLATION, *((MODULE_CR,) if creates else ())))
        self._creates_resource = creates
        self._due = math.inf
        """Seconds until all objects have to be applied again."""
        self._kept: Mapping[ObjectRef, str] = {}
        """The CRDs and namespaces of an earlier version that stay because they are in use, with the reason."""
        if not manifest.state:  # in memory: it is written with what the reconciliation finds
            self.status.set_state(State.PROCESSING, "object has an empty state")

    @property
    def soon(self) -> float:
        return self.context.intervals.soon

    @property
    def _pause(self) -> float:
        """Return the seconds until deleted objects are looked for again."""
        return min(PAUSE, self.context.intervals.of(self.status.state))

    @property
    def _kyma(self) -> KymaKey:
        return (self.manifest.meta.namespace, self.manifest.kyma)

    def connect(self) -> Cluster | None:
        return self.context.runtimes.of(self._kyma, self.cancel)

    def new_marks(self) -> tuple[Sequence[str], str]:
        """Return the marks; until its layer can be read, a Manifest has the finalizers alone."""
        layer = ""
        if SYNCED_LAYER not in self.manifest.meta.annotations:
            with contextlib.suppress(KymatuiError):  # the installation reads it again, and reports the error
                layer = layer_of(self.manifest).ref
        return REQUIRED_FINALIZERS, layer

    def fail(self, error: KymatuiError, state: State | None = State.ERROR, message: str = "") -> NoReturn:
        """Write the status with an error, and raise it. A useless connection is dropped."""
        if is_connection_failure(error):
            self.context.runtimes.forget(self._kyma)
        super().fail(error, state, message)

    @property
    def is_reported_elsewhere(self) -> bool:
        """Return whether the change is an event of the Kyma: the progress of a module that it reports."""
        return {self.manifest.state, self.status.state} <= _PROGRESS and not self.manifest.mandatory

    def _finish(self) -> float:
        """Write the status; return the seconds until the next reconciliation."""
        self.write_status()
        return min(self.context.intervals.of(self.status.state), self._due)

    def _annotate(self, layer: str) -> None:
        self.patch_metadata(annotations={SYNCED_LAYER: layer})

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

    # installation

    def install(self, cluster: Cluster) -> float:
        status = self.status
        try:
            layer = layer_of(self.manifest).ref
            with self.visible_after(_SLOW_LAYER):  # a registry may take its time
                target = self.context.renderer.render(self.manifest, cluster)
        except KymatuiError as error:
            self.fail(error)
        status.fulfil(RESOURCES)
        if not self._prune(cluster, target, layer):
            self.write_status()
            return self._pause
        live = self._apply(cluster, target)
        if status.differs and status.operation == CHANGED and not self._is_ready_at_once(cluster, live):
            self.write_status()
            return self.soon
        self._create_resource(cluster)
        if self._needs_resource_finalizer():
            self.patch_metadata([*self.manifest.meta.finalizers, RESOURCE_FINALIZER])
            return self.soon
        state = self._check_state(cluster, live)
        if self.manifest.meta.annotations.get(SYNCED_LAYER) != layer and state is not State.ERROR:
            self.write_status()
            self._annotate(layer)
            self._report_kept()
            return self.soon
        return self._finish()

    def _prune(self, cluster: Cluster, target: Sequence[Object], layer: str) -> bool:
        """Delete what the layer no longer has; return whether that is finished.

        Unlike lifecycle-manager, report what holds the upgrade: the Kyma's status already names the new version. And
        keep CRDs that have objects, until an interval finds none.
        """
        gone = obsolete(self.manifest.synced, refs_of(target))
        if not gone:
            return True
        if self.manifest.meta.annotations.get(SYNCED_LAYER) == layer:
            if all(is_definition(ref) or is_namespace(ref) for ref in gone):
                self._kept = self._retry_kept(cluster, target, gone)
                return True
            message = "resource syncTarget diff detected but in same oci layer, prevent sync resource to be deleted"
            self.fail(ConfigurationError(message), State.WARNING)
        try:
            pruning = self._pruning(cluster)
            pruned = pruning.prune_upgrade(gone)
        except KymatuiError as error:
            self.fail(error)
        self._kept = pruned.kept
        if pruned.left:
            self.status.wait(f"waiting for the deletion of {names_of(pruned.left)} of the previous version")
            return False
        self._report_staying(pruning)
        return True

    def _retry_kept(
        self, cluster: Cluster, target: Sequence[Object], kept: Sequence[ObjectRef]
    ) -> Mapping[ObjectRef, str]:
        """Return what stays in use; what no longer is, is deleted when all objects are applied again."""
        if self._applied_for(cluster, target) > 0:
            return dict.fromkeys(kept, "")
        try:
            return self._pruning(cluster).retry_kept(kept)
        except KymatuiError as error:
            self.fail(error)

    def _report_kept(self) -> None:
        """Record once for each upgrade which CRDs and namespaces stay."""
        for ref, why in self._kept.items():
            message = f"{ref} stays: {self.manifest.version} no longer has it, but {why or 'it is in use'}"
            reason = CRD_KEPT if is_definition(ref) else OBJECT_KEPT
            self.context.events(self.manifest.raw, ObjectEvent(EventType.WARNING, reason, message))

    def _apply(self, cluster: Cluster, target: Sequence[Object]) -> list[Object]:
        """Apply all objects, each regardless of the others' errors; return the server's answers.

        What was applied less than an interval ago is not applied again: then return the workloads as they are now.
        """
        ref, now, applied_modules = self.manifest.ref, self.context.clock.now(), self.context.applied
        applied = refs_of(target)
        self.context.watches.watch(ref, cluster, [ref for ref in applied if ref.kind in WORKLOADS])
        if (seconds := self._applied_for(cluster, target)) > 0:
            known = applied_modules.unchanged_workloads(ref, cluster, self.cancel)
            if known is not None:
                self._due = seconds
                self._record(applied)
                return known
        live, failed = [], list[KymatuiError]()
        for body in target:
            try:
                live.append(cluster.apply(body, manager=OPERATOR_FIELD_MANAGER, force=True, cancel=self.cancel))
            except KymatuiError as error:
                failed.append(error)
        if failed:
            applied_modules.forget(ref)
            self.fail(failed[0] if len(failed) == 1 else _joined(failed))
        workloads = [body for body in live if read_ref(body).kind in WORKLOADS]
        applied_modules.record(ref, cluster, target, workloads, now)
        self._record(applied)
        return live

    def _applied_for(self, cluster: Cluster, target: Sequence[Object]) -> float:
        """Return for how many more seconds the objects count as applied."""
        age = self.context.applied.age(self.manifest.ref, cluster, target, self.context.clock.now())
        return self.context.intervals.of(self.manifest.state) - age if age is not None else 0.0

    def _record(self, applied: tuple[ObjectRef, ...]) -> None:
        """Record the applied objects and the kept CRDs in the status; the module is processing while they are new."""
        synced = (*applied, *self._kept)
        if differs(self.manifest.synced, synced):
            self.status.set_state(State.PROCESSING, CHANGED)
        self.status.synced = synced

    def _is_ready_at_once(self, cluster: Cluster, live: Sequence[Object]) -> bool:
        """Return whether new objects are ready already, so that one write of the status tells both.

        While the default CR or its finalizer is missing, the applied objects are written down first.
        """
        if self._needs_resource() or self._needs_resource_finalizer():
            return False
        try:
            return self._state(cluster, live)[0] is State.READY
        except KymatuiError:  # the next reconciliation reports it
            return False

    def _needs_resource(self) -> bool:
        return self._creates_resource and not self.status.holds(MODULE_CR)

    def _create_resource(self, cluster: Cluster) -> None:
        if not self._needs_resource():
            return
        try:
            DefaultResource(self.manifest, cluster, self.cancel).create()
        except KymatuiError as error:
            self.fail(error)
        self.status.fulfil(MODULE_CR)

    def _needs_resource_finalizer(self) -> bool:
        owned = bool(self.manifest.resource) and self.manifest.policy != Policy.IGNORE
        return owned and RESOURCE_FINALIZER not in self.manifest.meta.finalizers

    def _check_state(self, cluster: Cluster, live: Sequence[Object]) -> State:
        """Return the module's state, and set it in the status if it is new."""
        state, message = self._state(cluster, live)
        if state.value != self.status.state:
            if state not in (State.PROCESSING, State.ERROR):
                self.status.fulfil(INSTALLATION)
            self.status.set_state(state, message)
        return state

    def _state(self, cluster: Cluster, live: Sequence[Object]) -> tuple[State, str]:
        """Return the state and the operation: of the manager, and by customStateCheck once the manager is ready."""
        manager = next((body for body in live if read_ref(body).kind in WORKLOADS[:2]), None)
        pods = stateful_pods(cluster, manager, self.cancel) if manager is not None else []
        state = klm_manager_state([manager] if manager is not None else [], pods)
        if state is not State.READY:
            return state, "manager is in error state" if state is State.ERROR else WAITING
        if not has_rules(self.manifest):
            return state, READY
        ref = resource_ref(self.manifest, cluster)
        if ref is not None:
            self.context.watches.watch(self.manifest.ref, cluster, [ref], more=True)
        evaluation = evaluate_state(self.manifest, cluster, ref, self.context.clock.now())
        if evaluation.state is State.READY:
            return State.READY, READY
        return evaluation.state, describe_evaluation(evaluation, ref)

    # deletion

    def delete(self, cluster: Cluster | None) -> float:
        """Delete as much as possible now: user's CRs first, then the default CR, the objects, and the finalizers."""
        self.context.applied.forget(self.manifest.ref)
        if cluster is None or self.manifest.unmanaged:  # the runtime no longer exists, or its objects stay
            self.context.watches.unwatch(self.manifest.ref)
            self.patch_metadata([])
            return self.soon
        try:
            return self._delete(cluster)
        except KymatuiError as error:
            self.fail(error)

    def _delete(self, cluster: Cluster) -> float:
        if not self.manifest.synced:
            self.context.runtimes.forget(self._kyma)  # the access Secret may be gone, which ends the deletion
        layer = self._layer()
        if SYNCED_LAYER not in self.manifest.meta.annotations:
            self._annotate(layer)
            return self.soon
        resource = DefaultResource(self.manifest, cluster, self.cancel)
        existing = resource.find()
        if existing.others:
            self.status.set_state(State.DELETING, WAITING_FOR_CRS)
            return self._finish()
        target = self._needed_objects(cluster) if existing.default is not None else []
        gone = obsolete(self.manifest.synced, refs_of(target)) if target is not None else []
        if gone:
            pruning = self._pruning(cluster)
            if not pruning.prune(gone):
                return self._pause
            self._report_staying(pruning)
        if resource.is_owned and self._delete_resource(resource):
            return self.soon
        if target is not None and self._keep_applied(cluster, target):
            self.write_status()
            return self.soon
        if self.status.state != State.DELETING:
            self.status.fulfil(INSTALLATION)
            self.status.set_state(State.DELETING, READY)
            self.write_status()
            return self.soon
        if self.manifest.meta.annotations[SYNCED_LAYER] != layer:
            self._annotate(layer)
            return self.soon
        if self.drop_finalizers(*REQUIRED_FINALIZERS):
            return self.soon
        if self.status.state != State.WARNING:
            finalizers = list(self.manifest.meta.finalizers)
            self.status.set_state(State.DELETING, f"waiting as other finalizers are present: {finalizers}")
        return self._finish()

    def _layer(self) -> str:
        """Return the layer's digest; an unusable source must not keep the objects from being deleted."""
        try:
            return layer_of(self.manifest).ref
        except SourceError:
            return self.manifest.meta.annotations.get(SYNCED_LAYER, "none")

    def _needed_objects(self, cluster: Cluster) -> list[Object] | None:
        """Return the objects that stay applied while the default CR exists, so that its manager can finalize it.

        None if the registry does not have them (any more): what is applied stays.
        """
        try:
            objects = self.context.renderer.render(self.manifest, cluster)
        except (RegistryError, SourceError):
            return None
        self.status.fulfil(RESOURCES)
        return objects

    def _delete_resource(self, resource: DefaultResource) -> bool:
        """Delete the default CR; return whether the finalizer of the deleted one was taken off just now."""
        default = resource.find().default
        if default is not None:
            resource.delete(default)
            return False
        return self.drop_finalizers(RESOURCE_FINALIZER)

    def _keep_applied(self, cluster: Cluster, target: Sequence[Object]) -> bool:
        """Apply what stays; return whether the list of applied objects changed."""
        for body in target:
            cluster.apply(body, manager=OPERATOR_FIELD_MANAGER, force=True, cancel=self.cancel)
        self.status.synced = refs_of(target)
        if not differs(self.manifest.synced, self.status.synced):
            return False
        if self.status.state != State.WARNING:
            self.status.set_state(State.DELETING, CHANGED)
        return True

    def _pruning(self, cluster: Cluster) -> ResourcePruning:
        return ResourcePruning(cluster, self.mark, self.cancel, self._sibling_manifests)

    def _sibling_manifests(self) -> Sequence[object]:
        """Return the Manifests of the same Kyma, which may have the same CRDs."""
        ref, labels = self.manifest.ref, f"{LABEL_KYMA_NAME}={self.manifest.kyma}"
        return self.context.home.list(ref.kind, ref.namespace, labels=labels, cancel=self.cancel)

    def _report_staying(self, pruning: ResourcePruning) -> None:
        """Record which objects of the status stay, and why."""
        if pruning.staying:
            event = ObjectEvent(EventType.WARNING, OBJECT_KEPT, describe_staying(pruning.staying))
            self.context.events(self.manifest.raw, event)

    # unmanaged modules

    def release(self, cluster: Cluster) -> float:
        """Take the label managed-by off all applied objects, then delete the Manifest; the objects stay.

        Raises NotFoundError for an object that no longer exists, as lifecycle-manager does.
        """
        if LABEL_FINALIZER in self.manifest.meta.finalizers:
            self.release_objects(cluster, self.manifest.synced, owning_manifest, (LABEL_MANAGED_BY,))
            self.drop_finalizers(LABEL_FINALIZER)
        else:
            self.delete_manifest()
        return self.soon


def _joined(errors: Sequence[KymatuiError]) -> KymatuiError:
    """Return one error with the messages of all; of the first one's type, which decides about the connection."""
    first = errors[0]
    if isinstance(first, ConflictError) or not all(type(error) is type(first) for error in errors):
        return ConfigurationError("; ".join(str(error) for error in errors))
    return first
