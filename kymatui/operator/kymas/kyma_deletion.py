"""The deletion of a Kyma: one step in each reconciliation, in lifecycle-manager's order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import CancelledError, ConflictError, KymatuiError, NotFoundError
from kymatui.operator.kymas.kyma_context import KYMA_FINALIZER, KymaContext
from kymatui.operator.kymas.kyma_status import KymaStatusDraft, success
from kymatui.operator.kymas.manifest_writes import ManifestWrites, set_finalizers
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA, RuntimeKyma
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent

_CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_RUNTIME_STEPS: Final = (
    ("DeleteSkrModuleTemplateCrd", ObjectRef(_CRD, "", f"moduletemplates.{OPERATOR}")),
    ("DeleteSkrModuleReleaseMetaCrd", ObjectRef(_CRD, "", f"modulereleasemetas.{OPERATOR}")),
    ("DeleteSkrKyma", RUNTIME_KYMA),
    ("DeleteSkrKymaCrd", ObjectRef(_CRD, "", f"kymas.{OPERATOR}")),
)
WAITING_FOR_MODULES: Final = "waiting for modules to be deleted"

Step = Callable[[], bool]
"""A function that does a step of a deletion, and returns False if it was done already."""


class KymaDeletion:
    """The deletion of one Kyma; `runtime` is None without an access Secret, whose cluster is taken for gone."""

    def __init__(self, context: KymaContext, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> None:
        self._context = context
        self._kyma = kyma
        self._runtime = runtime
        self._cancel = cancel
        self._writes = ManifestWrites(context.home, cancel)
        self._status = new_draft(context, kyma)

    def step(self) -> bool:
        """Do the next step and record it; return whether more may follow. Raises the errors of both clusters."""
        for reason, step in self._steps():
            try:
                done = step()
            except KymatuiError as error:
                if not isinstance(error, CancelledError | ConflictError):
                    self._record(ObjectEvent(EventType.WARNING, reason, str(error)))
                raise
            if done:
                self._record(success(reason))
                return True
        return False

    def _record(self, event: ObjectEvent) -> None:
        self._context.events(self._kyma.raw, event)

    def _steps(self) -> Iterator[tuple[str, Step]]:
        """Yield the steps with lifecycle-manager's names."""
        yield "SetKcpKymaStateDeleting", self._set_deleting
        runtime = None if self._context.single else self._runtime
        if runtime is not None:
            remote = RuntimeKyma(runtime, self._cancel)
            yield "SetSkrKymaStateDeleting", lambda: remote.set_deleting(self._status.stamp)
        yield "DeleteManifests", self._delete_manifests
        yield "DeleteSkrWebhookResources", self._remove_webhook
        if runtime is not None:
            for reason, ref in _RUNTIME_STEPS:
                yield reason, partial(self._delete, runtime, ref)
        yield "EnsureManifestDeletion", lambda: bool(self._writes.of_kyma(self._kyma))
        yield "DropKymaFinalizer", self._release

    def _set_deleting(self) -> bool:
        if self._kyma.state == State.DELETING:
            return False
        self._status.set_state(State.DELETING, WAITING_FOR_MODULES)
        self._status.write(self._context.home)
        return True

    def _delete_manifests(self) -> bool:
        manifests = self._writes.of_kyma(self._kyma)
        if all(manifest.meta.deleting for manifest in manifests):
            return False
        for error in self._writes.delete_all(manifest.ref for manifest in manifests):
            raise error
        return True

    def _remove_webhook(self) -> bool:
        webhook = self._context.webhook
        return webhook is not None and webhook.remove_webhook(self._kyma, self._runtime, self._cancel)

    def _delete(self, runtime: Cluster, ref: ObjectRef) -> bool:
        """Delete an object of the runtime; return whether it still existed."""
        if runtime.get(ref, cancel=self._cancel) is None:
            return False
        try:
            runtime.delete(ref, cancel=self._cancel)
        except NotFoundError:  # deleted between the read and the deletion
            return False
        return True

    def _release(self) -> bool:
        finalizers = self._kyma.meta.finalizers
        if KYMA_FINALIZER in finalizers:
            remaining = [name for name in finalizers if name != KYMA_FINALIZER]
            set_finalizers(self._context.home, self._kyma.raw, remaining, self._cancel)
            self._record(success("DropKymaFinalizer"))
        return False


def new_draft(context: KymaContext, kyma: Kyma) -> KymaStatusDraft:
    """Return the status of a Kyma for one reconciliation."""
    webhook = context.webhook is not None
    return KymaStatusDraft(kyma, context.clock.now(), webhook=webhook, events=context.events)
