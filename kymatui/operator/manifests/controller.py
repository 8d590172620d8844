"""The controller of one namespace's Manifests: changed ones, changed workloads and access Secrets, a slow resync."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import (
    LABEL_KYMA_NAME,
    LABEL_MANAGED_BY,
    LABEL_SKIP,
    OPERATOR,
    MalformedObject,
    field_managers,
)
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.objects.description import find_owners
from kymatui.domain.plans.kyma_manifest import MANAGED_BY
from kymatui.engine.cluster.ports import Changes, Cluster
from kymatui.errors import ConfigurationError, KymatuiError, NotFoundError, RefusedError
from kymatui.operator.framework.controller import GONE, KindWatch, RequeueIntervals, Wake
from kymatui.operator.framework.dependency_watches import WatchThread
from kymatui.operator.framework.work_queue import BACKOFF, WORKERS
from kymatui.operator.manifests.module_pass import ModuleContext, ModulePass
from kymatui.operator.manifests.standalone_context import StandaloneContext
from kymatui.operator.manifests.standalone_pass import StandalonePass
from kymatui.operator.monitoring.event_writer import skipped

RESYNC: Final = 1800.0
"""Seconds between two reconciliations of an unchanged Manifest."""
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
_OTHERS: Final = ("lifecycle-manager", "module-manager")
_OTHERS_PREFIX: Final = "declarative.kyma-project.io/"


class ManifestReconciler:
    """The reconciler of a cluster's Manifests, with a strategy for modules of Kymas and one for all others.

    Without `standalone`, Manifests that people create are left alone; without `modules`, all are taken for such ones.
    """

    def __init__(self, standalone: StandaloneContext | None = None, modules: ModuleContext | None = None) -> None:
        context = standalone or modules
        assert context is not None
        self.home: Cluster = context.home
        self.intervals = modules.intervals if modules is not None else RequeueIntervals(backoff=BACKOFF)
        self._standalone = standalone
        self._modules = modules
        self._watches, self._events = context.watches, context.events
        self._accesses = AccessSecretWatches(context.home)

    def begin(self, wake: Wake) -> None:
        self._watches.begin(wake)
        self._accesses.begin(wake)

    def end(self) -> None:
        """End the watches, and drop what reconciliations kept."""
        self._watches.end()
        self._accesses.end()
        if self._modules is not None:
            self._modules.runtimes.clear()

    def leave(self, ref: ObjectRef) -> None:
        """End the watches for a Manifest."""
        self._watches.unwatch(ref)
        self._accesses.leave(ref)

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Do what is possible now; return the seconds until the next try, None to wait for a change, or GONE.

        Raises RefusedError if another controller manages the Manifest, and the errors of the home cluster. Failures
        of an installation or of the target cluster go into the status; those of modules are raised, too.
        """
        raw = self.home.get(ref, cancel=cancel)
        if raw is None:
            self.leave(ref)
            return GONE
        modules = self._modules if is_of_kyma(raw) else None
        if modules is None and self._standalone is None:
            return None
        manifest = read_manifest(raw)
        if isinstance(manifest, MalformedObject):
            raise ConfigurationError(f"{ref} cannot be read: {manifest.reason}")
        if manifest.skipped:
            self._events(raw, skipped(LABEL_SKIP))
            self.leave(ref)
            return modules.intervals.success if modules is not None else None
        if modules is not None:
            return ModulePass(modules, manifest, cancel).run()
        assert self._standalone is not None
        if other := foreign_controller(raw):
            raise RefusedError(f"{ref} is managed by {other}", hint="stop that controller first", unchanged=True)
        if not self._standalone.namespace:  # in the namespace of a tenant, a Kyma's labels prove nothing
            if is_of_kyma(raw):
                raise RefusedError(
                    f"{ref} is a module of the Kyma {manifest.kyma}", hint="`kymatui operator run` reconciles modules"
                )
            self._accesses.need(ref, manifest)
        return StandalonePass(self._standalone, manifest, cancel).run()


class ManifestController:
    """The controller of a namespace's Manifests; implements `OperatorController`."""

    def __init__(
        self,
        reconciler: ManifestReconciler,
        namespace: str,
        *,
        name: str = "manifest",
        workers: int = WORKERS,
        resync: float = RESYNC,
    ) -> None:
        self.name = name
        self.workers = workers
        self.resync = resync
        self.intervals = reconciler.intervals
        self._reconciler = reconciler
        self._namespace = namespace
        self.begin, self.end, self.leave = reconciler.begin, reconciler.end, reconciler.leave

    def watches(self) -> Sequence[KindWatch]:
        kind = served_kind(self._reconciler.home) or MANIFEST
        return (KindWatch(kind, namespace=self._namespace, listed=True, label=LABEL_KYMA_NAME, edits=True),)

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Reconcile a Manifest. Raises RefusedError for another namespace's: others may write Manifests there."""
        if ref.namespace != self._namespace:
            raise RefusedError(
                f"{ref} is not reconciled: this operator installs Manifests of {self._namespace} only",
                hint=f"--manifest-namespaces {ref.namespace} installs it with the rights of a ServiceAccount there",
            )
        return self._reconciler.reconcile(ref, cancel)


def is_of_kyma(raw: Mapping[str, Any]) -> bool:
    """Return whether a Kyma's controller wrote a Manifest, by its labels or, where these were taken off, its owner."""
    labels = (raw.get("metadata") or {}).get("labels") or {}
    if labels.get(LABEL_MANAGED_BY) == MANAGED_BY and labels.get(LABEL_KYMA_NAME):
        return True
    kinds = [owner.ref.kind for owner in find_owners(raw) if owner.is_controller]
    return any(kind.group == OPERATOR and kind.kind == "Kyma" for kind in kinds)


def foreign_controller(raw: Mapping[str, Any]) -> str:
    """Return the field manager of another controller of the Manifest, "" if there is none."""
    names = (name for name in field_managers(raw) if name in _OTHERS or name.startswith(_OTHERS_PREFIX))
    return next(names, "")


def served_kind(home: Cluster) -> GroupVersionKind | None:
    """Return the cluster's preferred version of Manifests, None if it serves none."""
    return next((served.gvk for served in home.kinds(OPERATOR, MANIFEST.kind)), None)


def manifest_kind(home: Cluster) -> GroupVersionKind:
    """Return the cluster's preferred version of Manifests. Raises NotFoundError."""
    kind = served_kind(home)
    if kind is None:
        raise NotFoundError(f"{home.name} does not serve Manifests", hint="install the Manifest CRD there", status=404)
    return kind


KymaKey = tuple[str, str]
"""Namespace and name of a Kyma."""


class AccessSecretWatches:
    """The watches of access Secrets; inactive before `begin`, and thread-safe."""

    def __init__(self, home: Cluster) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._wake: Callable[[ObjectRef], None] | None = None
        self._needed_by: dict[KymaKey, set[ObjectRef]] = {}
        self._kymas: dict[ObjectRef, KymaKey] = {}
        self._streams: dict[str, WatchThread] = {}
        self._seen: dict[ObjectRef, KymaKey] = {}  # the Kyma of each Secret, which its label may have named before

    def begin(self, wake: Callable[[ObjectRef], None]) -> None:
        """Start calling `wake` with Manifests to reconcile, from any thread."""
        with self._lock:
            self._wake = wake

    def need(self, ref: ObjectRef, manifest: Manifest) -> None:
        """Register a Manifest before its Secret is read, so that no change is missed.

        If the watch fails, the resync finds the change.
        """
        if not (manifest.remote and manifest.kyma):
            self.leave(ref)
            return
        kyma = (ref.namespace, manifest.kyma)
        with self._lock:
            if self._wake is None or self._kymas.get(ref) == kyma:
                return
            self._drop(ref)
            self._kymas[ref] = kyma
            self._needed_by.setdefault(kyma, set()).add(ref)
            if ref.namespace in self._streams:
                return
            try:
                changes = self._home.follow([(SECRET, ref.namespace)], LABEL_KYMA_NAME)
            except KymatuiError:
                self._drop(ref)  # the next reconciliation tries again
                return
            self._streams[ref.namespace] = WatchThread(changes, partial(self._touched, changes))

    def leave(self, ref: ObjectRef) -> None:
        """Unregister a Manifest; the last one of a namespace ends its watch."""
        with self._lock:
            self._drop(ref)
            idle = self._streams.keys() - {namespace for namespace, _ in self._needed_by}
            ended = [self._streams.pop(namespace) for namespace in idle]
            self._seen = {secret: kyma for secret, kyma in self._seen.items() if secret.namespace not in idle}
        for stream in ended:
            stream.close()

    def end(self) -> None:
        with self._lock:
            streams = list(self._streams.values())
            for known in (self._streams, self._needed_by, self._kymas, self._seen):
                known.clear()
            self._wake = None
        for stream in streams:
            stream.close()

    def _drop(self, ref: ObjectRef) -> None:
        kyma = self._kymas.pop(ref, None)
        if kyma is not None:
            self._needed_by[kyma].discard(ref)
            if not self._needed_by[kyma]:
                del self._needed_by[kyma]

    def _touched(self, changes: Changes, refs: Iterable[ObjectRef]) -> None:
        """Wake the Manifests of the Kymas that changed Secrets name now, or named before."""
        named = {ref: (ref.namespace, name) for ref in refs if (name := changes.label_of(ref))}
        existing = named.keys() & changes.known() if named else set()
        with self._lock:
            before = {kyma for ref in refs if (kyma := self._seen.pop(ref, None)) is not None}
            self._seen.update((ref, named[ref]) for ref in existing)
        self._wake_manifests(before | set(named.values()))

    def _wake_manifests(self, kymas: set[KymaKey]) -> None:
        with self._lock:
            wake = self._wake
            woken = [ref for kyma in kymas for ref in self._needed_by.get(kyma, ())]
        if wake is not None:
            for ref in woken:
                wake(ref)
