"""The reconciliation of one Manifest: from desired and actual state to actions and status."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, OPERATOR, MalformedObject, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.engine.sources.manifest_installs import InstallFailure
from kymatui.errors import ConfigurationError, KymatuiError, NotFoundError, RefusedError
from kymatui.operator.framework.controller import GONE
from kymatui.operator.manifests.access_secret_watches import AccessSecretWatches
from kymatui.operator.manifests.install_record import (
    InstallRecord,
    merge_records,
    read_record,
    record_patch,
    record_text,
)
from kymatui.operator.manifests.installation import ManifestInstallation, install_records, read_bundles
from kymatui.operator.manifests.manifest_marks import (
    FINALIZER,
    OLD_FINALIZER,
    ORPHAN_SECONDS,
    OWN_FINALIZERS,
)
from kymatui.operator.manifests.manifest_status import ReconcileResult, is_v1alpha1, new_status
from kymatui.operator.manifests.reconcile_context import ReconcileContext, foreign_controller
from kymatui.operator.manifests.uninstallation import ManifestUninstallation
from kymatui.operator.monitoring.event_correlation import state_event

SOON: Final = 5.0
"""Seconds until the next reconciliation of a pending Manifest without a watch."""
WATCHED: Final = 30.0
"""The same with a watch; still needed, because a slow start becomes a failure by time alone."""
LATER: Final = 60.0
"""Seconds until the next try after a failure that a person has to repair."""


class ManifestReconciler:
    """The reconciler of a cluster's Manifests; `accesses` registers those that need an access Secret."""

    def __init__(self, site: ReconcileContext, accesses: AccessSecretWatches | None = None) -> None:
        self._site = site
        self._accesses = accesses or AccessSecretWatches(site.home)

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Do what is possible now; return the seconds until the next try, None to wait for a change, or GONE.

        Raises RefusedError if another controller manages the Manifest, and the errors of the home cluster. Failures
        of an install or of the target cluster go into the status.
        """
        raw = self._site.home.get(ref, cancel=cancel)
        if raw is None:
            self.leave(ref)
            return GONE
        manifest = read_manifest(raw)
        if isinstance(manifest, MalformedObject):
            raise ConfigurationError(f"{ref} cannot be read: {manifest.reason}")
        if manifest.skipped:
            self.leave(ref)
            return None
        if other := foreign_controller(raw):
            raise RefusedError(f"{ref} is managed by {other}", hint="stop that controller first; no changes made")
        if not self._site.namespace:
            self._accesses.need(ref, manifest)
        return _Turn(self._site, manifest, cancel).run()

    def leave(self, ref: ObjectRef) -> None:
        """End the watches for a Manifest."""
        self._site.watches.unwatch(ref)
        self._accesses.leave(ref)


class _Turn:
    def __init__(self, site: ReconcileContext, manifest: Manifest, cancel: threading.Event) -> None:
        self._site = site
        self._manifest = manifest
        self._cancel = cancel

    def run(self) -> float | None:
        try:
            runtime = self._site.runtimes.of(self._manifest, self._cancel)
        except KymatuiError as error:
            return self._report(ReconcileResult(self._ill, f"the cluster cannot be reached: {error}"), LATER)
        if self._manifest.meta.deleting:
            return self._delete(runtime)
        if runtime is None:
            where = f"no Secret in {self._manifest.meta.namespace} is labelled {LABEL_KYMA_NAME}={self._manifest.kyma}"
            return self._report(ReconcileResult(State.ERROR, f"access secret not found: {where}"), LATER)
        if self._manifest.unmanaged:
            return self._let_go(runtime)
        if orphaned := self._orphaned():
            return self._report(ReconcileResult(State.ERROR, orphaned), LATER)
        self._hold()
        return self._install(runtime)

    @property
    def _ill(self) -> State:
        return State.DELETING if self._manifest.meta.deleting else State.ERROR

    # installation

    def _install(self, runtime: Cluster) -> float | None:
        read = read_bundles(self._site, self._manifest, runtime)
        known, wanted = read_record(self._manifest), install_records(read)
        self._record(merge_records(known, wanted))
        found = ManifestInstallation(self._site, self._manifest, runtime, self._cancel).install(read)
        broken = {one.install for one in read if isinstance(one.bundle, InstallFailure)}
        gone = [entry for entry in known if entry not in wanted and entry.install not in broken]
        left = ManifestUninstallation(self._site, self._manifest, runtime, self._cancel).remove(gone)
        if left.message:
            words = f"{found.message}; removing: {left.message}"
            found = replace(found, state=State.WARNING, message=words, waits=(*found.waits, *left.waits))
        else:
            self._record([entry for entry in merge_records(known, wanted) if entry not in gone])
        watched = self._site.watches.watch(self._ref, runtime, found.waits)
        soon = WATCHED if watched else SOON
        again = {State.READY: None, State.PROCESSING: soon}.get(found.state, LATER)
        return self._report(found, again)

    def _orphaned(self) -> str:
        """Return why the Manifest is orphaned, as lifecycle-manager decides: its Kyma is gone or ignores it."""
        manifest = self._manifest
        if not manifest.kyma or self._site.namespace:
            return ""
        kind = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
        if self._site.home.kind(kind) is None:
            return ""
        kyma = read_kyma(self._site.home.get(ObjectRef(kind, manifest.meta.namespace, manifest.kyma)))
        if not isinstance(kyma, Kyma):
            return f"orphaned manifest detected: there is no Kyma {manifest.kyma}"
        age = self._site.clock.now() - (manifest.meta.created or 0.0)
        if manifest.mandatory or age < ORPHAN_SECONDS or self._is_reported(kyma):
            return ""
        return f"orphaned manifest detected: the Kyma {manifest.kyma} does not report it"

    def _is_reported(self, kyma: Kyma) -> bool:
        tracked = [report.manifest.ref.name for report in kyma.reports if report.manifest is not None]
        return self._manifest.meta.name in tracked or kyma.report(self._manifest.module) is not None

    def _hold(self) -> None:
        wanted = OLD_FINALIZER if is_v1alpha1(self._manifest) else FINALIZER
        known = self._manifest.meta.finalizers
        if wanted not in known:
            self._patch({"metadata": {**self._seen(), "finalizers": [*known, wanted]}})

    # deletion and release

    def _delete(self, runtime: Cluster | None) -> float | None:
        entries = read_record(self._manifest)
        if runtime is None:
            self._release()  # the cluster and its content no longer exist
            return None
        left = ManifestUninstallation(self._site, self._manifest, runtime, self._cancel).remove(entries)
        if left.message:
            watched = self._site.watches.watch(self._ref, runtime, left.waits) and bool(left.waits)
            return self._report(ReconcileResult(State.DELETING, left.message), WATCHED if watched else SOON)
        self._release()
        return None

    def _let_go(self, runtime: Cluster) -> float | None:
        entries = read_record(self._manifest)
        try:
            ManifestUninstallation(self._site, self._manifest, runtime, self._cancel).let_go(entries)
        except NotFoundError as error:
            return self._report(ReconcileResult(State.ERROR, str(error)), LATER)
        self._report(ReconcileResult(State.UNMANAGED, "all objects stay, unmanaged"), None)
        self._release()
        with contextlib.suppress(NotFoundError):  # already gone, such as once its finalizers were removed
            self._site.home.delete(self._ref, uid=self._manifest.meta.uid, cancel=self._cancel)
        return None

    def _release(self) -> None:
        self._site.watches.unwatch(self._ref)
        left = [name for name in self._manifest.meta.finalizers if name not in OWN_FINALIZERS]
        if len(left) != len(self._manifest.meta.finalizers):
            self._patch({"metadata": {**self._seen(), "finalizers": left}})

    # writing

    @property
    def _ref(self) -> ObjectRef:
        return read_ref(self._manifest.raw)

    def _seen(self) -> Mapping[str, Any]:
        """Return the resourceVersion, which makes a patch of a whole list fail after another client's change."""
        version = self._manifest.raw["metadata"].get("resourceVersion")
        return {"resourceVersion": version} if version else {}

    def _record(self, entries: list[InstallRecord] | tuple[InstallRecord, ...]) -> None:
        if record_text(entries) != record_text(read_record(self._manifest)):
            self._patch(record_patch(entries))

    def _patch(self, patch: Mapping[str, Any], subresource: str = "") -> None:
        """Patch the Manifest and keep the server's result; a deleted Manifest is ignored."""
        try:
            made = self._site.home.patch(
                self._ref,
                patch,
                PatchKind.MERGE,
                manager=OPERATOR_FIELD_MANAGER,
                subresource=subresource,
                cancel=self._cancel,
            )
        except NotFoundError:
            return
        fresh = read_manifest(made)
        if isinstance(fresh, Manifest):
            self._manifest = fresh

    def _report(self, finding: ReconcileResult, again: float | None) -> float | None:
        status = new_status(self._manifest, finding, self._site.clock.now())
        if status is not None:
            event = state_event(self._manifest.state, status["state"], finding.message)
            self._patch({"status": status}, "status")
            if event is not None:
                self._site.events(self._manifest.raw, event)
        return again
