"""Watches of the runtimes' access Secrets that wake the affected Manifests.

Only metadata of Secrets is watched, in namespaces with Manifests for runtimes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.controllers.runtime.dependency_watches import WatchThread
from kymatui.errors import KymatuiError

SECRET: Final = GroupVersionKind("", "v1", "Secret")
_FEW: Final = 16
"""Up to this number, changed Secrets are read one by one; above it, with one list of all labelled ones."""

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
        self._seen: dict[ObjectRef, tuple[KymaKey, str]] = {}  # Kyma and version of each Secret

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
                changes = self._home.follow([(SECRET, ref.namespace)])
            except KymatuiError:
                self._drop(ref)  # the next reconciliation tries again
                return
            self._streams[ref.namespace] = WatchThread(changes, self._touched)

    def leave(self, ref: ObjectRef) -> None:
        """Unregister a Manifest; the last one of a namespace ends its watch."""
        with self._lock:
            self._drop(ref)
            idle = self._streams.keys() - {namespace for namespace, _ in self._needed_by}
            ended = [self._streams.pop(namespace) for namespace in idle]
            self._seen = {secret: seen for secret, seen in self._seen.items() if secret.namespace not in idle}
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

    def _touched(self, refs: Iterable[ObjectRef]) -> None:
        touched = list(refs)
        try:
            found = dict(self._read(touched))
        except KymatuiError:  # wake all: each reconciliation reports the cluster's error
            self._wake_manifests({(ref.namespace, "") for ref in touched})
            return
        with self._lock:
            changed = {kyma for ref in touched for kyma in self._changed(ref, found.get(ref))}
        self._wake_manifests(changed)

    def _read(self, refs: list[ObjectRef]) -> Iterator[tuple[ObjectRef, Object]]:
        if len(refs) <= _FEW:
            yield from ((ref, live) for ref in refs if (live := self._home.get(ref)) is not None)
            return
        for namespace in {ref.namespace for ref in refs}:
            for live in self._home.list(SECRET, namespace, labels=LABEL_KYMA_NAME):
                yield read_ref(live), live

    def _changed(self, ref: ObjectRef, live: Object | None) -> Iterator[KymaKey]:
        """Yield the previous and current Kyma of a Secret if it changed."""
        before = self._seen.pop(ref, None)
        metadata = JsonReader(live or {}).child("metadata")
        name = metadata.labels("labels").get(LABEL_KYMA_NAME, "")
        now = ((ref.namespace, name), metadata.text("resourceVersion")) if name else None
        if now is not None:
            self._seen[ref] = now
        if before != now:
            yield from (seen[0] for seen in (before, now) if seen is not None)

    def _wake_manifests(self, kymas: set[KymaKey]) -> None:
        """Wake the Manifests of these Kymas; a name of "" means all of the namespace."""
        with self._lock:
            wake = self._wake
            all_of = {namespace for namespace, name in kymas if not name}
            woken = [ref for ref, kyma in self._kymas.items() if kyma in kymas or kyma[0] in all_of]
        if wake is not None:
            for ref in woken:
                wake(ref)
