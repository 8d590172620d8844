"""The deletion of a module's Manifest: user's CRs first, then the default CR, the objects, and the finalizers."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.errors import KymatuiError, RegistryError, SourceError
from kymatui.operator.manifests.manifest_marks import REQUIRED_FINALIZERS, SYNCED_LAYER
from kymatui.operator.manifests.manifest_status import INSTALLATION, RESOURCES
from kymatui.operator.modules.default_resource import DefaultResource
from kymatui.operator.modules.module_status import CHANGED, READY, WAITING_FOR_CRS, differs
from kymatui.operator.modules.reconcile_pass import RESOURCE_FINALIZER, ReconcilePass
from kymatui.operator.modules.resource_pruning import obsolete
from kymatui.operator.modules.resource_rendering import layer_of, refs_of


class ModuleDeletion:
    """The deletion in one reconciliation."""

    def __init__(self, turn: ReconcilePass) -> None:
        self._pass = turn

    def run(self) -> float:
        """Return the seconds until the next reconciliation. Raises KymatuiError for a retry."""
        turn = self._pass
        turn.context.applied.forget(turn.manifest.ref)
        turn.begin()
        try:
            runtime = turn.runtime()
        except KymatuiError as error:
            turn.fail(error)
        if runtime is None or turn.manifest.unmanaged:
            return self._release_all()  # the runtime no longer exists, or its objects stay
        try:
            return self._delete(runtime)
        except KymatuiError as error:
            turn.fail(error)

    def _delete(self, runtime: Cluster) -> float:
        turn, status = self._pass, self._pass.status
        if not turn.manifest.synced:
            turn.context.runtimes.forget(turn.kyma)  # the access Secret may be gone, which ends the deletion
        layer = self._layer()
        if SYNCED_LAYER not in turn.manifest.meta.annotations:
            turn.annotate_layer(layer)
            return turn.soon
        resource = DefaultResource(turn.manifest, runtime, turn.cancel)
        found = resource.find()
        if found.others:
            status.set_state(State.DELETING, WAITING_FOR_CRS)
            return turn.finish()
        target = self._kept(runtime) if found.default is not None else []
        gone = obsolete(turn.manifest.synced, refs_of(target)) if target is not None else []
        if gone:
            pruning = turn.pruning(runtime)
            if not pruning.prune(gone):
                return turn.pause
            turn.report_staying(pruning)
        if resource.is_owned and self._delete_resource(resource):
            return turn.soon
        if target is not None and self._apply(runtime, target):
            turn.write_status()
            return turn.soon
        if status.state != State.DELETING:
            status.fulfil(INSTALLATION)
            status.set_state(State.DELETING, READY)
            turn.write_status()
            return turn.soon
        if turn.manifest.meta.annotations[SYNCED_LAYER] != layer:
            turn.annotate_layer(layer)
            return turn.soon
        return self._release()

    def _layer(self) -> str:
        """Return the layer's digest; an unusable source must not keep the objects from being deleted."""
        try:
            return layer_of(self._pass.manifest).ref
        except SourceError:
            return self._pass.manifest.meta.annotations.get(SYNCED_LAYER, "none")

    def _kept(self, runtime: Cluster) -> list[Object] | None:
        """Return the objects that stay applied while the default CR exists, so that its manager can finalize it.

        None if the registry does not have them (any more): what is applied stays.
        """
        try:
            objects = self._pass.context.renderer.render(self._pass.manifest, runtime)
        except (RegistryError, SourceError):
            return None
        self._pass.status.fulfil(RESOURCES)
        return objects

    def _delete_resource(self, resource: DefaultResource) -> bool:
        """Delete the default CR; return whether the finalizer of the deleted one was taken off just now."""
        turn = self._pass
        found = resource.find().default
        if found is not None:
            resource.delete(found)
            return False
        finalizers = turn.manifest.meta.finalizers
        if RESOURCE_FINALIZER not in finalizers:
            return False
        turn.keep_finalizers([name for name in finalizers if name != RESOURCE_FINALIZER])
        return True

    def _apply(self, runtime: Cluster, target: Sequence[Object]) -> bool:
        """Apply what stays; return whether the list of applied objects changed."""
        turn, status = self._pass, self._pass.status
        for body in target:
            runtime.apply(body, manager=OPERATOR_FIELD_MANAGER, force=True, cancel=turn.cancel)
        applied = refs_of(target)
        status.synced = applied
        if not differs(turn.manifest.synced, applied):
            return False
        if status.state != State.WARNING:
            status.set_state(State.DELETING, CHANGED)
        return True

    def _release(self) -> float:
        turn = self._pass
        finalizers = turn.manifest.meta.finalizers
        left = [name for name in finalizers if name not in REQUIRED_FINALIZERS]
        if len(left) != len(finalizers):
            turn.keep_finalizers(left)
            return turn.soon
        if turn.status.state != State.WARNING:
            turn.status.set_state(State.DELETING, f"waiting as other finalizers are present: {list(finalizers)}")
        return turn.finish()

    def _release_all(self) -> float:
        self._pass.context.watches.unwatch(self._pass.manifest.ref)
        self._pass.keep_finalizers([])
        return self._pass.soon
