"""The objects of the control plane that an event of a runtime concerns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.watchers.runtime_events import RuntimeEvent

KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
RUNTIME_ID: Final = "kyma-project.io/runtime-id"
_OLDEST: Final = 30.0  # seconds that a runtime's Kyma is remembered


class EventTargets:
    """Kymas by the runtime of a certificate, and the Manifests that have an object; thread-safe."""

    def __init__(self, home: Cluster, namespace: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._namespace = namespace
        self._clock = clock
        self._lock = threading.Lock()
        self._kymas: dict[str, tuple[float, ObjectRef]] = {}

    def kyma(self, runtime: str, cancel: threading.Event) -> ObjectRef | None:
        """Return the only Kyma with this runtime id, None if there is none. Raise ClusterError."""
        with self._lock:
            at, known = self._kymas.get(runtime, (float("-inf"), None))
        if known is not None and self._clock() - at < _OLDEST:
            return known
        found = self._home.list(KYMA, self._namespace, labels=f"{RUNTIME_ID}={runtime}", cancel=cancel)
        if len(found) != 1:
            return None
        ref = read_ref(found[0])
        with self._lock:
            now = self._clock()
            self._kymas = {key: value for key, value in self._kymas.items() if now - value[0] < _OLDEST}
            self._kymas[runtime] = now, ref
        return ref

    def of(self, kyma: ObjectRef, event: RuntimeEvent, cancel: threading.Event) -> Iterable[ObjectRef]:
        """Yield what an event of a Kyma's runtime concerns: the Kyma itself, or the Manifests with the object."""
        if (event.group, event.kind) == (OPERATOR, KYMA.kind):
            yield kyma
            return
        labels = f"{LABEL_KYMA_NAME}={kyma.name}"
        for raw in self._home.list(MANIFEST, self._namespace, labels=labels, cancel=cancel):
            manifest = read_manifest(raw)
            if isinstance(manifest, Manifest) and any(_is_same(ref, event) for ref in _objects(manifest)):
                yield ObjectRef(MANIFEST, manifest.meta.namespace, manifest.meta.name)


def _objects(manifest: Manifest) -> Iterator[ObjectRef]:
    """Yield the module CR and the installed objects of a Manifest."""
    if manifest.resource:
        yield read_ref(manifest.resource)
    yield from manifest.synced


def _is_same(ref: ObjectRef, event: RuntimeEvent) -> bool:
    """Return whether an event is about an object; a Manifest may name no namespace, and another version."""
    same = (ref.kind.group, ref.kind.kind, ref.name) == (event.group, event.kind, event.name)
    return same and ref.namespace in ("", event.namespace)
