"""The reconciliation of a Kyma's module, as lifecycle-manager does it: each method gets as far as one pass can."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import ClassVar, Final, NoReturn

from msgspec import Struct, field

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANAGED_BY, last_write, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import FINALIZER_MODULE_CR, LABEL_FINALIZER, Manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import klm_manager_state
from kymatui.domain.ownership import owning_manifest
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, Object
from kymatui.engine.cluster.request_scope import ADOPT, note_change
from kymatui.engine.dryrun.field_takeover import LIFECYCLE_MANAGER, apply_owned
from kymatui.errors import ConfigurationError, ConflictError, KymatuiError, RegistryError, SourceError
from kymatui.operator.framework.applied_copies import AppliedModules
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.runtime_cache import KymaKey, RuntimeCache, is_connection_failure
from kymatui.operator.manifests.default_resource import (
    DefaultResource,
    describe_evaluation,
    evaluate_state,
    has_rules,
    resource_ref,
    stateful_pods,
)
from kymatui.operator.manifests.manifest_marks import REQUIRED_FINALIZERS, SYNCED_LAYER, WORKLOADS
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

CRD_KEPT: Final = "CrdKept"
PAUSE: Final = 1.0
"""Seconds until the controller reads again whether deleted objects are gone."""
_SLOW_LAYER: Final = 1.0
"""Seconds after which a new Manifest says that it is being processed, while its layer is read."""
_APPLIERS: Final = (OPERATOR_FIELD_MANAGER, LIFECYCLE_MANAGER)  # the latter where the sandbox plays lifecycle-manager
_CLOCKS_DIFFER: Final = 60.0  # seconds that the clocks of control plane and runtime may differ
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
    """One reconciliation of a module; failures are raised, so that the queue delays the next try."""

    unreachable: ClassVar[State | None] = None

    def __init__(self, context: ModuleContext, manifest: Manifest, cancel: threading.Event) -> None:
        creates = bool(manifest.resource) and manifest.policy == Policy.CREATE_AND_DELETE
        super().__init__(context, manifest, cancel, (RESOURCES, INSTALLATION, *((MODULE_CR,) if creates else ())))
        self.creates_resource = creates
        self.due = math.inf
        """Seconds until all objects have to be applied again."""
        if not manifest.state:  # in memory: it is written with what the reconciliation finds
            self.status.set_state(State.PROCESSING, "object has an empty state")

    @property
    def soon(self) -> float:
        return self.context.intervals.soon

    @property
    def pause(self) -> float:
        """Return the seconds until deleted objects are looked for again."""
        return min(PAUSE, self.context.intervals.of(self.status.state))

    @property
    def kyma(self) -> KymaKey:
        return (self.manifest.meta.namespace, self.manifest.kyma)

    def connect(self) -> Cluster | None:
        return self.context.runtimes.of(self.kyma, self.cancel)

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
            self.context.runtimes.forget(self.kyma)
        super().fail(error, state, message)

    @property
    def is_reported_elsewhere(self) -> bool:
        """Return whether the change is an event of the Kyma: the progress of a module that it reports."""
        return {self.manifest.state, self.status.state} <= _PROGRESS and not self.manifest.mandatory

    def finish(self) -> float:
        """Write the status; return the seconds until the next reconciliation."""
        self.write_status()
        return min(self.context.intervals.of(self.status.state), self.due)

    def annotate(self, layer: str) -> None:
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

    def install(self, cluster: Cluster) -> float:
        return ModuleInstallation(self, cluster).run()

    def delete(self, cluster: Cluster | None) -> float:
        """Delete as much as possible now; without a runtime, or of a released module, the finalizers."""
        self.context.applied.forget(self.manifest.ref)
        if cluster is None or self.manifest.unmanaged:  # the runtime no longer exists, or its objects stay
            self.context.watches.unwatch(self.manifest.ref)
            self.patch_metadata([])
            return self.soon
        try:
            return ModuleDeletion(self, cluster).run()
        except KymatuiError as error:
            self.fail(error)

    def pruning(self, cluster: Cluster) -> ResourcePruning:
        return ResourcePruning(cluster, self.mark, self.cancel, self._sibling_manifests)

    def _sibling_manifests(self) -> Sequence[object]:
        """Return the Manifests of the same Kyma, which may have the same CRDs."""
        ref, labels = self.manifest.ref, f"{LABEL_KYMA_NAME}={self.manifest.kyma}"
        return self.context.home.list(ref.kind, ref.namespace, labels=labels, cancel=self.cancel)

    def report_staying(self, pruning: ResourcePruning) -> None:
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


class ModuleInstallation:
    """The installation of a module on its runtime; a step tells whether the next one may follow."""

    def __init__(self, module_pass: ModulePass, cluster: Cluster) -> None:
        self._pass, self._cluster = module_pass, cluster
        self._context, self._status, self._cancel = module_pass.context, module_pass.status, module_pass.cancel
        self._kept: Mapping[ObjectRef, str] = {}
        """The CRDs and namespaces of an earlier version that stay because they are in use, with the reason."""

    @property
    def _manifest(self) -> Manifest:
        """Return the server's latest answer."""
        return self._pass.manifest

    def run(self) -> float:
        status = self._status
        try:
            layer = layer_of(self._manifest).ref
            with self._pass.visible_after(_SLOW_LAYER):  # a registry may take its time
                target = self._context.renderer.render(self._manifest, self._cluster)
        except KymatuiError as error:
            self._pass.fail(error)
        status.fulfil(RESOURCES)
        if not self._prune(target, layer):
            self._pass.write_status()
            return self._pass.pause
        live = self._apply(target)
        if status.differs and status.operation == CHANGED and not self._is_ready_at_once(live):
            self._pass.write_status()
            return self._pass.soon
        self._create_resource()
        if self._needs_resource_finalizer():
            self._pass.patch_metadata([*self._manifest.meta.finalizers, FINALIZER_MODULE_CR])
            return self._pass.soon
        state = self._check_state(live)
        if self._manifest.meta.annotations.get(SYNCED_LAYER) != layer and state is not State.ERROR:
            self._pass.write_status()
            self._pass.annotate(layer)
            self._report_kept()
            return self._pass.soon
        return self._pass.finish()

    def _prune(self, target: Sequence[Object], layer: str) -> bool:
        """Delete what the layer no longer has; return whether that is finished.

        Unlike lifecycle-manager, report what holds the upgrade: the Kyma's status already names the new version. And
        keep CRDs that have objects, until an interval finds none.
        """
        gone = obsolete(self._manifest.synced, refs_of(target))
        if not gone:
            return True
        if self._manifest.meta.annotations.get(SYNCED_LAYER) == layer:
            if all(is_definition(ref) or is_namespace(ref) for ref in gone):
                self._kept = self._retry_kept(target, gone)
                return True
            message = "resource syncTarget diff detected but in same oci layer, prevent sync resource to be deleted"
            self._pass.fail(ConfigurationError(message), State.WARNING)
        try:
            pruning = self._pass.pruning(self._cluster)
            pruned = pruning.prune_upgrade(gone)
        except KymatuiError as error:
            self._pass.fail(error)
        self._kept = pruned.kept
        if pruned.remaining:
            self._status.wait(f"waiting for the deletion of {names_of(pruned.remaining)} of the previous version")
            return False
        self._pass.report_staying(pruning)
        return True

    def _retry_kept(self, target: Sequence[Object], kept: Sequence[ObjectRef]) -> Mapping[ObjectRef, str]:
        """Return what stays in use; what no longer is, is deleted when all objects are applied again."""
        if self._applied_for(target) > 0:
            return dict.fromkeys(kept, "")
        try:
            return self._pass.pruning(self._cluster).retry_kept(kept)
        except KymatuiError as error:
            self._pass.fail(error)

    def _report_kept(self) -> None:
        """Record once for each upgrade which CRDs and namespaces stay."""
        for ref, why in self._kept.items():
            message = f"{ref} stays: {self._manifest.version} no longer has it, but {why or 'it is in use'}"
            reason = CRD_KEPT if is_definition(ref) else OBJECT_KEPT
            self._context.events(self._manifest.raw, ObjectEvent(EventType.WARNING, reason, message))

    def _apply(self, target: Sequence[Object]) -> list[Object]:
        """Apply all objects, each regardless of the others' errors; return the server's answers.

        What was applied less than an interval ago is not applied again: then return the workloads as they are now.
        """
        ref, now, applied_modules = self._manifest.ref, self._context.clock.now(), self._context.applied
        applied = refs_of(target)
        self._context.watches.watch(ref, self._cluster, [ref for ref in applied if ref.kind in WORKLOADS])
        if (seconds := self._applied_for(target)) > 0:
            known = applied_modules.unchanged_workloads(ref, self._cluster, self._cancel)
            if known is not None:
                self._pass.due = seconds
                self._record(applied)
                return known
        live, failed = [], list[KymatuiError]()
        for body in target:
            try:
                live.append(apply_owned(self._cluster, body, self._cancel))
            except KymatuiError as error:
                failed.append(error)
        self._note_adopted(live, now)
        if failed:
            applied_modules.forget(ref)
            self._pass.fail(failed[0] if len(failed) == 1 else _joined(failed))
        workloads = [body for body in live if read_ref(body).kind in WORKLOADS]
        applied_modules.record(ref, self._cluster, target, workloads, now)
        self._record(applied)
        return live

    def _note_adopted(self, live: Sequence[Object], now: float) -> None:
        """Note the objects that existed before the Manifest had them; namespaces are shared.

        What an earlier attempt created, which failed before it was recorded, is not written again.
        """
        known = set(self._manifest.synced)
        before = max(self._manifest.meta.created or 0.0, now - _CLOCKS_DIFFER)
        for body in live:
            ref, created = read_ref(body), read_meta(JsonReader(body)).created
            is_older = ref not in known and not is_namespace(ref) and created is not None and created < before
            if is_older and any((last_write(body, name) or 0.0) >= now - _CLOCKS_DIFFER for name in _APPLIERS):
                note_change(ADOPT, ref)

    def _applied_for(self, target: Sequence[Object]) -> float:
        """Return for how many more seconds the objects count as applied."""
        age = self._context.applied.age(self._manifest.ref, self._cluster, target, self._context.clock.now())
        return self._context.intervals.of(self._manifest.state) - age if age is not None else 0.0

    def _record(self, applied: tuple[ObjectRef, ...]) -> None:
        """Record the applied objects and the kept CRDs in the status; the module is processing while they are new."""
        synced = (*applied, *self._kept)
        if differs(self._manifest.synced, synced):
            self._status.set_state(State.PROCESSING, CHANGED)
        self._status.synced = synced

    def _is_ready_at_once(self, live: Sequence[Object]) -> bool:
        """Return whether new objects are ready already, so that one write of the status tells both.

        While the default CR or its finalizer is missing, the applied objects are written down first.
        """
        if self._needs_resource() or self._needs_resource_finalizer():
            return False
        try:
            return self._state(live)[0] is State.READY
        except KymatuiError:  # the next reconciliation reports it
            return False

    def _needs_resource(self) -> bool:
        return self._pass.creates_resource and not self._status.holds(MODULE_CR)

    def _create_resource(self) -> None:
        if not self._needs_resource():
            return
        try:
            DefaultResource(self._manifest, self._cluster, self._cancel).create()
        except KymatuiError as error:
            self._pass.fail(error)
        self._status.fulfil(MODULE_CR)

    def _needs_resource_finalizer(self) -> bool:
        owned = bool(self._manifest.resource) and self._manifest.policy != Policy.IGNORE
        return owned and FINALIZER_MODULE_CR not in self._manifest.meta.finalizers

    def _check_state(self, live: Sequence[Object]) -> State:
        """Return the module's state, and set it in the status if it is new."""
        state, message = self._state(live)
        if state.value != self._status.state:
            if state not in (State.PROCESSING, State.ERROR):
                self._status.fulfil(INSTALLATION)
            self._status.set_state(state, message)
        return state

    def _state(self, live: Sequence[Object]) -> tuple[State, str]:
        """Return the state and the operation: of the manager, and by customStateCheck once the manager is ready."""
        manager = next((body for body in live if read_ref(body).kind in WORKLOADS[:2]), None)
        pods = stateful_pods(self._cluster, manager, self._cancel) if manager is not None else []
        state = klm_manager_state([manager] if manager is not None else [], pods)
        if state is not State.READY:
            return state, "manager is in error state" if state is State.ERROR else WAITING
        if not has_rules(self._manifest):
            return state, READY
        ref = resource_ref(self._manifest, self._cluster)
        if ref is not None:
            self._context.watches.watch(self._manifest.ref, self._cluster, [ref], more=True)
        evaluation = evaluate_state(self._manifest, self._cluster, ref, self._context.clock.now())
        if evaluation.state is State.READY:
            return State.READY, READY
        return evaluation.state, describe_evaluation(evaluation, ref)


class ModuleDeletion:
    """The deletion of a module: the user's CRs first, the default CR, the objects, the finalizers."""

    def __init__(self, module_pass: ModulePass, cluster: Cluster) -> None:
        self._pass, self._cluster = module_pass, cluster
        self._context, self._status, self._cancel = module_pass.context, module_pass.status, module_pass.cancel

    @property
    def _manifest(self) -> Manifest:
        """Return the server's latest answer."""
        return self._pass.manifest

    def run(self) -> float:
        if not self._manifest.synced:
            self._context.runtimes.forget(self._pass.kyma)  # the access Secret may be gone, which ends the deletion
        layer = self._layer()
        if SYNCED_LAYER not in self._manifest.meta.annotations:
            self._pass.annotate(layer)
            return self._pass.soon
        resource = DefaultResource(self._manifest, self._cluster, self._cancel)
        existing = resource.find()
        if existing.others:
            self._status.set_state(State.DELETING, WAITING_FOR_CRS)
            return self._pass.finish()
        target = self._needed_objects() if existing.default is not None else []
        gone = obsolete(self._manifest.synced, refs_of(target)) if target is not None else []
        if gone:
            pruning = self._pass.pruning(self._cluster)
            if not pruning.prune(gone):
                return self._pass.pause
            self._pass.report_staying(pruning)
        if resource.is_owned and self._delete_resource(resource):
            return self._pass.soon
        if target is not None and self._keep_applied(target):
            self._pass.write_status()
            return self._pass.soon
        if self._status.state != State.DELETING:
            self._status.fulfil(INSTALLATION)
            self._status.set_state(State.DELETING, READY)
            self._pass.write_status()
            return self._pass.soon
        if self._manifest.meta.annotations[SYNCED_LAYER] != layer:
            self._pass.annotate(layer)
            return self._pass.soon
        if existing.default is not None and FINALIZER_MODULE_CR not in self._manifest.meta.finalizers:
            return self._pass.finish()  # nothing else keeps the Manifest until the CR is gone, and then the objects
        if self._pass.drop_finalizers(*REQUIRED_FINALIZERS):
            return self._pass.soon
        if self._status.state != State.WARNING:
            finalizers = list(self._manifest.meta.finalizers)
            self._status.set_state(State.DELETING, f"waiting as other finalizers are present: {finalizers}")
        return self._pass.finish()

    def _layer(self) -> str:
        """Return the layer's digest; an unusable source must not keep the objects from being deleted."""
        try:
            return layer_of(self._manifest).ref
        except SourceError:
            return self._manifest.meta.annotations.get(SYNCED_LAYER, "none")

    def _needed_objects(self) -> list[Object] | None:
        """Return the objects that stay applied while the default CR exists, so that its manager can finalize it.

        None if the registry does not have them (any more): what is applied stays.
        """
        try:
            objects = self._context.renderer.render(self._manifest, self._cluster)
        except (RegistryError, SourceError):
            return None
        self._status.fulfil(RESOURCES)
        return objects

    def _delete_resource(self, resource: DefaultResource) -> bool:
        """Delete the default CR; return whether the finalizer of the deleted one was taken off just now."""
        default = resource.find().default
        if default is not None:
            resource.delete(default)
            return False
        return self._pass.drop_finalizers(FINALIZER_MODULE_CR)

    def _keep_applied(self, target: Sequence[Object]) -> bool:
        """Apply what stays; return whether the list of applied objects changed."""
        for body in target:
            apply_owned(self._cluster, body, self._cancel)
        self._status.synced = refs_of(target)
        if not differs(self._manifest.synced, self._status.synced):
            return False
        if self._status.state != State.WARNING:
            self._status.set_state(State.DELETING, CHANGED)
        return True


def _joined(errors: Sequence[KymatuiError]) -> KymatuiError:
    """Return one error with the messages of all; of the first one's type, which decides about the connection."""
    first = errors[0]
    if isinstance(first, ConflictError) or not all(type(error) is type(first) for error in errors):
        return ConfigurationError("; ".join(str(error) for error in errors))
    return first
