"""The reconciliation of one Kyma, in lifecycle-manager's order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import (
    LABEL_KYMA_NAME,
    LABEL_MANAGED_BY,
    LABEL_SKIP,
    OPERATOR,
    MalformedObject,
    read_ref,
)
from kymatui.domain.kubernetes.refs import CRD, ObjectRef
from kymatui.domain.kyma.kyma_conditions import KymaCondition
from kymatui.domain.kyma.kymas import NO_CHANNEL, SKIP_WINDOWS, Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State, modules_condition
from kymatui.domain.modules.risks import NO_ACCESS
from kymatui.domain.plans.kyma_manifest import MANAGED_BY
from kymatui.domain.remote.kyma_sync import restored_spec
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.errors import (
    CancelledError,
    ConfigurationError,
    ConflictError,
    KymatuiError,
    NotFoundError,
    UnauthorizedError,
)
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, TEMPLATE
from kymatui.operator.framework.controller import GONE, KindWatch, Wake
from kymatui.operator.framework.runtime_cache import KymaKey, is_connection_failure
from kymatui.operator.kymas.kyma_context import KYMA, KYMA_FINALIZER, MANIFEST, KymaContext, kyma_manifests
from kymatui.operator.kymas.kyma_status import (
    METADATA_FAILURE,
    REMOTE_INSTALLATION,
    STATUS_FAILURE,
    KymaStatusDraft,
    success,
)
from kymatui.operator.kymas.manifest_writes import ManifestWrites, set_finalizers
from kymatui.operator.kymas.module_reports import ModuleReports
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA, RUNTIME_NAMESPACE, RuntimeKyma, with_runtime_spec
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent
from kymatui.operator.monitoring.event_writer import skipped

MOST_MODULES: Final = 500
SPREAD: Final = 0.06
"""Seconds for each Kyma over which a change of the catalog is spread: 5 minutes for 5000 Kymas."""
_WAITING = "waiting for all modules to become ready"


class RuntimeAccessResult(Struct, frozen=True):
    """The runtime of a Kyma, None without an access Secret; `error` is why there is no access despite a Secret."""

    cluster: Cluster | None = None
    error: KymatuiError | None = None


class KymaController:
    """The controller of a control plane's Kymas; implements `OperatorController`."""

    name = "kyma"

    def __init__(self, context: KymaContext, *, workers: int) -> None:
        self.workers = workers
        self.intervals = context.intervals
        self.resync = context.intervals.success
        self._context = context
        self._reports = ModuleReports(context)

    def watches(self) -> Sequence[KindWatch]:
        namespace = self._context.namespace
        return (
            KindWatch(KYMA, namespace=namespace, listed=True, edits=True),
            KindWatch(MANIFEST, namespace=namespace, label=LABEL_KYMA_NAME, owner=_owner, delay=self.intervals.soon),
            KindWatch(TEMPLATE, self._all, namespace, spread=SPREAD),
            KindWatch(RELEASE_META, self._all, namespace, spread=SPREAD),
        )

    def begin(self, wake: Wake) -> None:
        self._context.watches.begin(wake)

    def end(self) -> None:
        self._context.watches.end()
        self._context.runtimes.clear()

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Do what is possible now; return the seconds until the next reconciliation, GONE for a deleted Kyma.

        Raises the errors of both clusters, which are in the status, too.
        """
        raw = self._context.home.get(ref, cancel=cancel)
        kyma = read_kyma(raw) if raw is not None else None
        if kyma is None:
            self.leave(ref)
            return GONE
        if isinstance(kyma, MalformedObject):
            raise ConfigurationError(f"{ref} cannot be read: {kyma.reason}")
        if kyma.meta.label_is_true(LABEL_SKIP) and not kyma.meta.deleting:
            self._context.events(kyma.raw, skipped(LABEL_SKIP))
            return self._context.intervals.success
        access = self._access(kyma, cancel)
        if kyma.meta.deleting and access.error is None:
            return self._delete(kyma, access.cluster, cancel)
        status = new_draft(self._context, kyma)
        if access.cluster is None:
            return self._without_access(kyma, status, access.error)
        return KymaPass(self._context, self._reports, kyma, access.cluster, status, cancel).run()

    def leave(self, ref: ObjectRef) -> None:
        """Drop what is kept for a Kyma that no longer exists, or that another replica reconciles."""
        self._context.watches.unwatch(ref)
        self._context.runtimes.leave((ref.namespace, ref.name))
        if self._context.webhook is not None:
            self._context.webhook.forget_webhook(ref.name)

    def _all(self, changed: ObjectRef) -> None:
        """Reconcile all Kymas: each has its own part of the catalog."""
        self._context.templates.changed()

    def _access(self, kyma: Kyma, cancel: threading.Event) -> RuntimeAccessResult:
        try:
            return RuntimeAccessResult(self._context.runtimes.of(_key(kyma), cancel))
        except CancelledError:
            raise
        except KymatuiError as error:
            return RuntimeAccessResult(error=error)

    def _delete(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> float | None:
        try:
            more = KymaDeletion(self._context, kyma, runtime, cancel).step()
        except KymatuiError as error:
            if is_connection_failure(error):
                self._context.runtimes.forget(_key(kyma))
            if isinstance(error, ConflictError):
                return self._context.intervals.soon
            raise
        return min(1.0, self._context.intervals.busy) if more else self._context.intervals.success

    def _without_access(self, kyma: Kyma, status: KymaStatusDraft, error: KymatuiError | None) -> float:
        """Report that the runtime cannot be reached; the particular reason is on the Manifests.

        As with lifecycle-manager, modules keep their states where the runtime refuses the credentials, and a Kyma that
        is being deleted says so where the access Secret can be used.
        """
        if kyma.meta.deleting and not isinstance(error, ConfigurationError):
            status.set_state(State.DELETING, WAITING_FOR_MODULES)
        else:
            if not isinstance(error, UnauthorizedError):
                status.fail_modules(NO_ACCESS)
            status.set_state(State.ERROR, NO_ACCESS)
        status.write(self._context.home, failed=error is not None)
        if error is not None:
            raise error
        return self._context.intervals.error


class KymaPass:
    """One reconciliation of a Kyma that is not being deleted and has a runtime."""

    def __init__(
        self,
        context: KymaContext,
        reports: ModuleReports,
        kyma: Kyma,
        runtime: Cluster,
        status: KymaStatusDraft,
        cancel: threading.Event,
    ) -> None:
        self._context = context
        self._reports = reports
        self._kyma = kyma
        self._runtime = runtime
        self._remote = RuntimeKyma(runtime, cancel, lambda: context.events(kyma.raw, REMOTE_INSTALLATION))
        self._status = status
        self._cancel = cancel
        self._live: Object = {}
        """The runtime's Kyma as this pass has read or created it."""

    def run(self) -> float:
        try:
            return self._run()
        except ConflictError:
            return self._context.intervals.soon  # another client wrote meanwhile
        except CancelledError:
            raise
        except KymatuiError as error:
            if is_connection_failure(error):
                self._context.runtimes.forget(_key(self._kyma))
                self._context.copies.forget(self._runtime, RUNTIME_NAMESPACE)  # the next pass begins with a request
            raise

    def _run(self) -> float:
        if not self._context.single:
            self._reach_runtime()
        self._mark()
        if not self._context.single:
            self._copy_crds()
            self._take_spec()
        else:
            self._status.set(KymaCondition.CRDS, holds=True)
            self._require_spec()
        if not self._kyma.state:
            self._status.set_state(State.PROCESSING, "started processing")
            self._status.write(self._context.home)
            self._mirror()
            return self._context.intervals.soon
        self._process()
        self._mirror()
        return self._context.intervals.of(self._status.state)

    def _fail(self, error: KymatuiError, words: str = "") -> None:
        """Write the error to the status, and raise it; the runtime's copy stays as it is."""
        self._record(error, words)
        raise error

    def _fail_on_both(self, error: KymatuiError, words: str = "") -> None:
        """Write the error to the status, on the runtime, too, whose users can act on it; raise it."""
        self._record(error, words)
        if not self._context.single:
            with contextlib.suppress(KymatuiError):  # the first error says more, and the next pass copies again
                self._remote.mirror_status(self._status.document(), self._live)
        raise error

    def _record(self, error: KymatuiError, words: str = "") -> None:
        """Write the error to the status.

        Raises a conflict, which is no state of the Kyma: the next pass begins with what the other client wrote.
        """
        if isinstance(error, CancelledError | ConflictError):
            raise error
        self._status.set_state(State.ERROR, f"{words}: {error}" if words else str(error))
        self._status.write(self._context.home, failed=True)

    def _reach_runtime(self) -> None:
        try:
            self._remote.ensure_namespace(self._context.copies, self._context.brief)
        except KymatuiError as error:
            self._context.runtimes.forget(_key(self._kyma))  # the next reconciliation reads the access Secret again
            if not isinstance(error, UnauthorizedError | CancelledError):
                self._status.fail_modules(str(error))
            self._fail(error)

    def _mark(self) -> None:
        """Add finalizer and label of a new Kyma. Raises NotFoundError if it no longer exists."""
        metadata = self._kyma.meta
        if "foregroundDeletion" in metadata.finalizers:
            return
        patch: dict[str, object] = {}
        if KYMA_FINALIZER not in metadata.finalizers:
            patch["finalizers"] = [*metadata.finalizers, KYMA_FINALIZER]
            patch["resourceVersion"] = self._kyma.raw["metadata"].get("resourceVersion")
        if LABEL_MANAGED_BY not in metadata.labels:
            patch["labels"] = {LABEL_MANAGED_BY: MANAGED_BY}
        if not patch:
            return
        body: dict[str, object] = {"metadata": patch}
        # lifecycle-manager writes only what is not the default
        if (self._kyma.raw.get("spec") or {}).get(SKIP_WINDOWS) is False:
            body["spec"] = {SKIP_WINDOWS: None}
        answer = self._context.home.patch(
            read_ref(self._kyma.raw), body, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel
        )
        fresh = read_kyma(answer)
        if isinstance(fresh, Kyma):
            self._kyma = fresh

    def _copy_crds(self) -> None:
        try:
            if self._context.catalog is not None:
                self._context.catalog.sync_crds(self._kyma, self._runtime, self._cancel)
        except KymatuiError as error:
            self._status.set(KymaCondition.CRDS, holds=False)
            self._fail(error, "could not sync CRDs")
        self._status.set(KymaCondition.CRDS, holds=True)

    def _take_spec(self) -> None:
        """Take channel and modules from the runtime's Kyma, in memory only."""
        words = "could not replace control plane kyma spec with remote kyma spec"
        try:
            self._live = self._remote.fetch(self._kyma, self._restored_spec)
            self._kyma = with_runtime_spec(self._kyma, self._live)
        except KymatuiError as error:
            self._fail(error, words)
        self._require_spec(words)
        self._context.watches.watch(self._kyma.ref, self._runtime, [RUNTIME_KYMA])

    def _restored_spec(self) -> Mapping[str, Any]:
        is_new = not self._kyma.active_channel  # and gets the stored spec, whatever Manifests there are
        manifests = () if is_new else kyma_manifests(self._context.home, self._kyma, self._cancel)
        return restored_spec(self._kyma, manifests)

    def _require_spec(self, words: str = "") -> None:
        """Refuse the channel "none", and more modules than a catalog has: each costs time, and users write the list."""
        if len(self._kyma.modules) > MOST_MODULES:
            error = ConfigurationError(
                f"spec.modules has {len(self._kyma.modules)} entries, more than {MOST_MODULES}",
                hint="remove the entries of modules that the catalog does not have",
            )
            self._fail_on_both(error, words)
        if self._kyma.channel.lower() == NO_CHANNEL:
            error = ConfigurationError('invalid kyma spec: value "none" is not allowed in spec.channel')
            self._fail(error, words)

    def _process(self) -> None:
        """Reconcile modules, catalog and webhook, each regardless of the others' errors; write the status."""
        modules, others = (
            self._modules(),
            [pass_error for pass_error in (self._catalog(), self._webhook()) if pass_error is not None],
        )
        if not modules:
            self._reports.follow(self._kyma, self._status, self._cancel)  # the first copy of a catalog takes seconds
            states = [str(module.get("state", "")) for module in self._status.modules]
            self._status.set(KymaCondition.MODULES, holds=modules_condition(states))
        if modules or others:
            error = _first_of(*modules, *others)
            if any(map(is_connection_failure, others)):
                self._fail(error)
            self._fail_on_both(error)
        state = self._status.computed
        self._status.set_state(state, "kyma is ready" if state is State.READY else _WAITING, self._kyma.channel)
        self._status.write(self._context.home)

    def _modules(self) -> list[KymatuiError]:
        try:
            return self._reports.reconcile(self._kyma, self._status, self._cancel)
        except KymatuiError as error:
            return [error]

    def _catalog(self) -> KymatuiError | None:
        try:
            if self._context.catalog is not None and not self._context.single:
                self._context.catalog.sync_catalog(self._kyma, self._runtime, self._cancel)
        except KymatuiError as error:
            self._status.set(KymaCondition.CATALOG, holds=False)
            return error
        self._status.set(KymaCondition.CATALOG, holds=True)
        return None

    def _webhook(self) -> KymatuiError | None:
        webhook = self._context.webhook
        if webhook is None:
            return None
        try:
            ready = webhook.sync_webhook(self._kyma, self._runtime, self._cancel)
        except KymatuiError as error:
            self._status.set(KymaCondition.WEBHOOK, holds=False)
            return error
        self._status.set(KymaCondition.WEBHOOK, holds=ready)
        return None

    def _mirror(self) -> None:
        if self._context.single:
            return
        reason = METADATA_FAILURE
        try:
            self._remote.mirror_metadata(self._kyma, self._live)
            reason = STATUS_FAILURE
            self._remote.mirror_status(self._status.document(), self._live)
        except ConflictError:  # the Kyma changed meanwhile: a new reconciliation, and no failure to report
            raise
        except KymatuiError as error:
            self._context.events(self._kyma.raw, ObjectEvent(EventType.WARNING, reason, str(error)))
            self._fail(error, "could not synchronize remote kyma status")


def _first_of(*errors: KymatuiError) -> KymatuiError:
    """Return the error that ends a reconciliation: the cancellation, else the first that is no conflict."""
    cancelled = (error for error in errors if isinstance(error, CancelledError))
    return next(cancelled, None) or next((error for error in errors if not isinstance(error, ConflictError)), errors[0])


def _key(kyma: Kyma) -> KymaKey:
    return (kyma.meta.namespace, kyma.meta.name)


def _owner(manifest: ObjectRef, kyma: str) -> Iterable[ObjectRef]:
    return (ObjectRef(KYMA, manifest.namespace, kyma),) if kyma else ()


# The deletion of a Kyma: one step in each reconciliation, in lifecycle-manager's order.


_RUNTIME_STEPS: Final = (
    ("DeleteSkrModuleTemplateCrd", ObjectRef(CRD, "", f"moduletemplates.{OPERATOR}")),
    ("DeleteSkrModuleReleaseMetaCrd", ObjectRef(CRD, "", f"modulereleasemetas.{OPERATOR}")),
    ("DeleteSkrKyma", RUNTIME_KYMA),
    ("DeleteSkrKymaCrd", ObjectRef(CRD, "", f"kymas.{OPERATOR}")),
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
        yield "EnsureManifestDeletion", lambda: bool(self._manifests())
        yield "DropKymaFinalizer", self._release

    def _set_deleting(self) -> bool:
        if self._kyma.state == State.DELETING:
            return False
        self._status.set_state(State.DELETING, WAITING_FOR_MODULES)
        self._status.write(self._context.home)
        return True

    def _delete_manifests(self) -> bool:
        manifests = self._manifests()
        if all(manifest.meta.deleting for manifest in manifests):
            return False
        for error in ManifestWrites(self._context.home, self._cancel).delete_all(item.ref for item in manifests):
            raise error
        return True

    def _manifests(self) -> Sequence[Manifest]:
        return kyma_manifests(self._context.home, self._kyma, self._cancel)

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
