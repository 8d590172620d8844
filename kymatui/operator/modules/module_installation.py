"""The installation of a module's Manifest: as far as one reconciliation gets, in lifecycle-manager's order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import klm_manager_state
from kymatui.domain.ownership import owning_manifest
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.errors import ClusterError, ConfigurationError, ConflictError, KymatuiError, NotFoundError
from kymatui.operator.manifests.custom_state_check import (
    describe_evaluation,
    evaluate_state,
    has_rules,
    resource_ref,
)
from kymatui.operator.manifests.manifest_marks import (
    LABEL_FINALIZER,
    POD,
    REQUIRED_FINALIZERS,
    STATEFUL_SET,
    SYNCED_LAYER,
    WORKLOADS,
)
from kymatui.operator.manifests.manifest_status import INSTALLATION, MODULE_CR, RESOURCES
from kymatui.operator.modules.default_resource import DefaultResource
from kymatui.operator.modules.module_status import CHANGED, READY, WAITING, differs
from kymatui.operator.modules.orphans import orphan_reason
from kymatui.operator.modules.reconcile_pass import (
    RESOURCE_FINALIZER,
    ReconcilePass,
    no_access,
)
from kymatui.operator.modules.resource_pruning import OBJECT_KEPT, names_of, obsolete
from kymatui.operator.modules.resource_rendering import layer_of, refs_of
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent

CRD_KEPT: Final = "CrdKept"
_PATIENCE: Final = 1.0
"""Seconds after which a new Manifest says that it is being processed, while its layer is read."""


class ModuleInstallation:
    """The installation in one reconciliation; each method does a step and tells whether the next one may follow."""

    def __init__(self, turn: ReconcilePass) -> None:
        self._pass = turn
        self._context = turn.context
        self._cancel: threading.Event = turn.cancel
        self._kept: Mapping[ObjectRef, str] = {}
        """The CRDs and namespaces of an earlier version that stay because they are in use, with the reason."""

    def run(self) -> float:
        """Return the seconds until the next reconciliation. Raises KymatuiError for a retry."""
        turn = self._pass
        turn.begin()
        runtime = self._runtime()
        if turn.manifest.unmanaged:
            if isinstance(runtime, ClusterError):
                turn.fail(runtime)
            return self._release(runtime)
        if reason := orphan_reason(turn.context.home, turn.context.clock, turn.manifest):
            turn.fail(ConfigurationError(reason))
        if not self._mark():
            return turn.soon
        if isinstance(runtime, ClusterError):
            turn.fail(runtime, None)
        return self._install(runtime)

    def _mark(self) -> bool:
        """Give a Manifest finalizers and its layer unless it was created with them; return whether it still exists.

        Until its layer can be read, a Manifest has the finalizers alone.
        """
        turn = self._pass
        metadata = turn.manifest.meta
        missing = [name for name in REQUIRED_FINALIZERS if name not in metadata.finalizers]
        layer = ""
        if SYNCED_LAYER not in metadata.annotations:
            with contextlib.suppress(KymatuiError):  # the installation reads it again, and reports the error
                layer = layer_of(turn.manifest).ref
        if not missing and not layer:
            return True
        return turn.mark([*metadata.finalizers, *missing] if missing else None, layer)

    def _runtime(self) -> Cluster | ClusterError:
        """Return the runtime, or why it does not answer, which is no state of the Manifest: its Kyma reports it."""
        turn = self._pass
        try:
            found = turn.runtime()
            if found is None:
                raise no_access(turn.manifest.kyma, turn.manifest.meta.namespace)
        except ClusterError as error:
            return error
        except KymatuiError as error:
            turn.fail(error)
        return found

    def _install(self, runtime: Cluster) -> float:
        turn, status = self._pass, self._pass.status
        try:
            layer = layer_of(turn.manifest).ref
            with turn.visible_after(_PATIENCE):  # a registry may take its time
                target = turn.context.renderer.render(turn.manifest, runtime)
        except KymatuiError as error:
            turn.fail(error)
        status.fulfil(RESOURCES)
        if not self._prune(runtime, target, layer):
            turn.write_status()
            return turn.pause
        live = self._apply(runtime, target)
        if status.differs and status.operation == CHANGED and not self._is_ready_at_once(runtime, live):
            turn.write_status()
            return turn.soon
        self._create_resource(runtime)
        if self._needs_resource_finalizer():
            turn.keep_finalizers([*turn.manifest.meta.finalizers, RESOURCE_FINALIZER])
            return turn.soon
        state = self._check_state(runtime, live)
        if turn.manifest.meta.annotations.get(SYNCED_LAYER) != layer and state is not State.ERROR:
            turn.write_status()
            turn.annotate_layer(layer)
            self._report_kept()
            return turn.soon
        return turn.finish()

    def _prune(self, runtime: Cluster, target: Sequence[Object], layer: str) -> bool:
        """Delete what the layer no longer has; return whether that is finished.

        Unlike lifecycle-manager, report what holds the upgrade: the Kyma's status already names the new version. And
        keep CRDs that have objects, until an interval finds none.
        """
        turn = self._pass
        gone = obsolete(turn.manifest.synced, refs_of(target))
        if not gone:
            return True
        if turn.manifest.meta.annotations.get(SYNCED_LAYER) == layer:
            if all(is_definition(ref) or is_namespace(ref) for ref in gone):
                self._kept = self._retry_kept(runtime, target, gone)
                return True
            words = "resource syncTarget diff detected but in same oci layer, prevent sync resource to be deleted"
            turn.fail(ConfigurationError(words), State.WARNING)
        try:
            pruning = turn.pruning(runtime)
            pruned = pruning.prune_upgrade(gone)
        except KymatuiError as error:
            turn.fail(error)
        self._kept = pruned.kept
        if pruned.left:
            turn.status.wait(f"waiting for the deletion of {names_of(pruned.left)} of the previous version")
            return False
        turn.report_staying(pruning)
        return True

    def _retry_kept(
        self, runtime: Cluster, target: Sequence[Object], kept: Sequence[ObjectRef]
    ) -> Mapping[ObjectRef, str]:
        """Return what stays in use; what no longer is, is deleted when all objects are applied again."""
        if self._applied_for(runtime, target) > 0:
            return dict.fromkeys(kept, "")
        try:
            return self._pass.pruning(runtime).retry_kept(kept)
        except KymatuiError as error:
            self._pass.fail(error)

    def _report_kept(self) -> None:
        """Record once for each upgrade which CRDs and namespaces stay."""
        manifest = self._pass.manifest
        for ref, why in self._kept.items():
            words = f"{ref} stays: {manifest.version} no longer has it, but {why or 'it is in use'}"
            reason = CRD_KEPT if is_definition(ref) else OBJECT_KEPT
            self._context.events(manifest.raw, ObjectEvent(EventType.WARNING, reason, words))

    def _apply(self, runtime: Cluster, target: Sequence[Object]) -> list[Object]:
        """Apply all objects, each regardless of the others' errors; return the server's answers.

        What was applied less than an interval ago is not applied again: then return the workloads as they are now.
        """
        turn = self._pass
        ref, now = turn.manifest.ref, self._context.clock.now()
        if (left := self._applied_for(runtime, target)) > 0:
            known = turn.context.applied.unchanged_workloads(ref, runtime, self._cancel)
            if known is not None:
                turn.due = left
                self._record(refs_of(target))
                return known
        live, failed = [], list[KymatuiError]()
        for body in target:
            try:
                live.append(runtime.apply(body, manager=OPERATOR_FIELD_MANAGER, force=True, cancel=self._cancel))
            except KymatuiError as error:
                failed.append(error)
        if failed:
            turn.context.applied.forget(ref)
            turn.fail(failed[0] if len(failed) == 1 else _joined(failed))
        turn.context.applied.record(ref, runtime, target, live, now)
        applied = refs_of(target)
        workloads = [ref for ref in applied if ref.kind in WORKLOADS]
        self._context.watches.watch(turn.manifest.ref, runtime, workloads)
        self._record(applied)
        return live

    def _applied_for(self, runtime: Cluster, target: Sequence[Object]) -> float:
        """Return for how many more seconds the objects count as applied."""
        turn = self._pass
        age = turn.context.applied.age(turn.manifest.ref, runtime, target, self._context.clock.now())
        return turn.context.intervals.of(turn.manifest.state) - age if age is not None else 0.0

    def _record(self, applied: tuple[ObjectRef, ...]) -> None:
        """Record the applied objects and the kept CRDs in the status; the module is processing while they are new."""
        turn = self._pass
        synced = (*applied, *self._kept)
        if differs(turn.manifest.synced, synced):
            turn.status.set_state(State.PROCESSING, CHANGED)
        turn.status.synced = synced

    def _is_ready_at_once(self, runtime: Cluster, live: Sequence[Object]) -> bool:
        """Return whether new objects are ready already, so that one write of the status tells both.

        While the default CR or its finalizer is missing, the applied objects are written down first.
        """
        if self._needs_resource() or self._needs_resource_finalizer():
            return False
        try:
            return self._state(runtime, live)[0] is State.READY
        except KymatuiError:  # the next reconciliation reports it
            return False

    def _needs_resource(self) -> bool:
        turn = self._pass
        creates = turn.manifest.policy == Policy.CREATE_AND_DELETE and bool(turn.manifest.resource)
        return creates and not turn.status.holds(MODULE_CR)

    def _create_resource(self, runtime: Cluster) -> None:
        turn, status = self._pass, self._pass.status
        if not self._needs_resource():
            return
        try:
            DefaultResource(turn.manifest, runtime, self._cancel).create()
        except KymatuiError as error:
            turn.fail(error)
        status.fulfil(MODULE_CR)

    def _needs_resource_finalizer(self) -> bool:
        manifest = self._pass.manifest
        owned = bool(manifest.resource) and manifest.policy != Policy.IGNORE
        return owned and RESOURCE_FINALIZER not in manifest.meta.finalizers

    def _check_state(self, runtime: Cluster, live: Sequence[Object]) -> State:
        """Return the module's state, and say it if it is new."""
        status = self._pass.status
        state, words = self._state(runtime, live)
        if state.value != status.state:
            if state not in (State.PROCESSING, State.ERROR):
                status.fulfil(INSTALLATION)
            status.set_state(state, words)
        return state

    def _state(self, runtime: Cluster, live: Sequence[Object]) -> tuple[State, str]:
        """Return the state and the operation: of the manager, and by customStateCheck once the manager is ready."""
        manager = next((one for one in live if read_ref(one).kind in WORKLOADS[:2]), None)
        pods = self._pods(runtime, manager) if manager is not None else []
        state = klm_manager_state([manager] if manager is not None else [], pods)
        manifest = self._pass.manifest
        if state is not State.READY:
            return state, "manager is in error state" if state is State.ERROR else WAITING
        if not has_rules(manifest):
            return state, READY
        ref = resource_ref(manifest, runtime)
        if ref is not None:
            self._context.watches.watch(manifest.ref, runtime, [ref], more=True)
        evaluation = evaluate_state(manifest, runtime, ref, self._context.clock.now())
        if evaluation.state is State.READY:
            return State.READY, READY
        return evaluation.state, describe_evaluation(evaluation, ref)

    def _pods(self, runtime: Cluster, manager: Object) -> list[Object]:
        ref = read_ref(manager)
        chosen = read_selector(manager.get("spec", {}).get("selector") or {})
        if ref.kind != STATEFUL_SET or isinstance(chosen, InvalidSelector) or chosen.empty:
            return []
        labels = ",".join(one.written for one in chosen.requirements)
        return runtime.list(POD, ref.namespace, labels=labels, cancel=self._cancel)

    # unmanaged modules

    def _release(self, runtime: Cluster) -> float:
        """Take the label managed-by off all applied objects, then delete the Manifest; the objects stay.

        Raises NotFoundError for an object that no longer exists, as lifecycle-manager does.
        """
        turn = self._pass
        finalizers = turn.manifest.meta.finalizers
        if LABEL_FINALIZER in finalizers:
            for ref in turn.manifest.synced:
                self._unlabel(runtime, ref)
            turn.keep_finalizers([name for name in finalizers if name != LABEL_FINALIZER])
            return turn.soon
        turn.delete_manifest()
        return turn.soon

    def _unlabel(self, runtime: Cluster, ref: ObjectRef) -> None:
        live = runtime.get(ref, cancel=self._cancel)
        if live is None:
            raise NotFoundError(f"{ref} is missing, so it cannot be released", hint="create it again", status=404)
        # an object that a user created again has the label alone, and loses it, as with lifecycle-manager
        is_of_others = owning_manifest(live) not in ("", self._pass.mark_of_objects)
        if not is_of_others and LABEL_MANAGED_BY in (live["metadata"].get("labels") or {}):
            patch = {"metadata": {"labels": {LABEL_MANAGED_BY: None}}}
            runtime.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)


def _joined(errors: Sequence[KymatuiError]) -> KymatuiError:
    """Return one error with the messages of all; of the first one's type, which decides about the connection."""
    first = errors[0]
    if isinstance(first, ConflictError) or not all(type(one) is type(first) for one in errors):
        return ConfigurationError("; ".join(str(one) for one in errors))
    return first
