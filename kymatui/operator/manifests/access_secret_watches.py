"""Watches of the runtimes' access Secrets that wake the affected Manifests.

Only metadata of Secrets is watched, in namespaces with Manifests for runtimes. The watch also keeps the label that
names the Kyma: reading the Secrets would need a further permission.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Changes, Cluster
from kymatui.errors import KymatuiError
from kymatui.operator.framework.dependency_watches import WatchThread

SECRET: Final = GroupVersionKind("", "v1", "Secret")

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
