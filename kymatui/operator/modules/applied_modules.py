"""What was applied of each module lately: a reconciliation that follows at once has nothing to apply.

An installation takes several reconciliations, since each write of a Manifest wakes its controller; so does each change
of the module's workloads. Only the first one, and one an interval later, has to apply all objects: a change by another
client is undone then, as lifecycle-manager does.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from weakref import ReferenceType, ref

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.operator.manifests.manifest_marks import WORKLOADS


class AppliedModule(Struct, frozen=True):
    """A module as it was applied; `at` is in seconds of the Unix clock.

    `workloads` are the server's answers for what starts Pods, as uid and generation.
    """

    runtime: ReferenceType[Cluster]
    digest: bytes
    at: float
    workloads: tuple[tuple[ObjectRef, str, int], ...]


class AppliedModules:
    """The modules that one operator applied, by Manifest; thread-safe. After a restart each is applied again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[ObjectRef, AppliedModule] = {}

    def record(
        self, manifest: ObjectRef, runtime: Cluster, target: Sequence[Object], live: Sequence[Object], now: float
    ) -> None:
        """Record that all objects of `target` were applied; `live` are the server's answers."""
        workloads = tuple((read_ref(one), *_identity(one)) for one in live if read_ref(one).kind in WORKLOADS)
        with self._lock:
            self._known[manifest] = AppliedModule(ref(runtime), _digest(target), now, workloads)

    def forget(self, manifest: ObjectRef) -> None:
        with self._lock:
            self._known.pop(manifest, None)

    def age(self, manifest: ObjectRef, runtime: Cluster, target: Sequence[Object], now: float) -> float | None:
        """Return for how many seconds these objects are applied; None if others are, or none."""
        with self._lock:
            known = self._known.get(manifest)
        if known is None or known.runtime() is not runtime or known.digest != _digest(target):
            return None
        return max(now - known.at, 0.0)

    def unchanged_workloads(
        self, manifest: ObjectRef, runtime: Cluster, cancel: threading.Event
    ) -> list[Object] | None:
        """Return the workloads as they are now; None if one is gone or was edited since it was applied."""
        with self._lock:
            known = self._known.get(manifest)
        found = []
        for place, uid, generation in known.workloads if known is not None else ():
            live = runtime.get(place, cancel=cancel)
            if live is None or _identity(live) != (uid, generation):
                return None
            found.append(live)
        return found if known is not None else None


def _identity(live: Object) -> tuple[str, int]:
    metadata = live["metadata"]
    return str(metadata.get("uid") or ""), int(metadata.get("generation") or 0)


def _digest(target: Sequence[Object]) -> bytes:
    return hashlib.sha256(json.dumps(target, sort_keys=True, default=str).encode()).digest()
