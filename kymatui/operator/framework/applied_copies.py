"""Applies that are left out: of unchanged objects, and of modules that were applied less than an interval ago."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import ReferenceType, WeakKeyDictionary

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.dryrun.field_takeover import apply_owned

_WITH_STATUS: Final = frozenset({"CustomResourceDefinition", "Deployment", "Certificate"})
"""Kinds whose resourceVersion changes with their status, too."""


class AppliedCopies:
    """The states of objects after their last apply, for each connected cluster; thread-safe.

    After a restart each object is applied once, which changes nothing on the server.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Cluster, dict[ObjectRef, str]] = WeakKeyDictionary()
        self._checked: WeakKeyDictionary[Cluster, dict[ObjectRef, float]] = WeakKeyDictionary()

    def apply(
        self, cluster: Cluster, body: Mapping[str, Any], live: Object | None, manager: str, cancel: threading.Event
    ) -> bool:
        """Apply an object unless it is known to be in this state; return whether it was applied."""
        ref, digest = read_ref(body), _digest(body)
        with self._lock:
            known = self._known.setdefault(cluster, {}).get(ref)
        if live is not None and known == f"{digest} {_state(live)}":
            return False
        applied = apply_owned(cluster, body, cancel, manager)
        with self._lock:
            self._known.setdefault(cluster, {})[ref] = f"{digest} {_state(applied)}"
        return True

    def ensure(
        self, cluster: Cluster, body: Mapping[str, Any], manager: str, cancel: threading.Event, *, within: float = 0.0
    ) -> None:
        """Apply an object unless it still is as it was applied; read it only for that.

        What was found right less than `within` seconds ago is not read again.
        """
        ref, now = read_ref(body), time.monotonic()
        with self._lock:
            is_new = ref not in self._known.get(cluster, {})
            checked = self._checked.setdefault(cluster, {}).get(ref, -math.inf)
        if not is_new and now - checked < within:
            return
        self.apply(cluster, body, None if is_new else cluster.get(ref, cancel=cancel), manager, cancel)
        with self._lock:
            self._checked.setdefault(cluster, {})[ref] = now

    def forget(self, cluster: Cluster, ref: ObjectRef) -> None:
        """Forget an object that is deleted, or may be."""
        with self._lock:
            self._known.get(cluster, {}).pop(ref, None)
            self._checked.get(cluster, {}).pop(ref, None)


class AppliedModule(Struct, frozen=True):
    """A module as it was applied; `at` is in seconds of the Unix clock.

    `workloads` are the server's answers for what starts Pods, as uid and generation.
    """

    runtime: ReferenceType[Cluster]
    digest: str
    at: float
    workloads: tuple[tuple[ObjectRef, str, int], ...]


class AppliedModules:
    """The modules that one operator applied, by Manifest; thread-safe. After a restart each is applied again.

    An installation takes several reconciliations, since each write of a Manifest wakes its controller; so does each
    change of the module's workloads. Only the first one, and one an interval later, has to apply all objects: a change
    by another client is undone then, as lifecycle-manager does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[ObjectRef, AppliedModule] = {}

    def record(
        self, manifest: ObjectRef, runtime: Cluster, target: Sequence[Object], workloads: Sequence[Object], now: float
    ) -> None:
        """Record that all objects of `target` were applied; `workloads` are the server's answers about some of them."""
        identities = tuple((read_ref(live), *_identity(live)) for live in workloads)
        with self._lock:
            self._known[manifest] = AppliedModule(weakref.ref(runtime), _digest(target), now, identities)

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
        workloads = []
        for workload, uid, generation in known.workloads if known is not None else ():
            live = runtime.get(workload, cancel=cancel)
            if live is None or _identity(live) != (uid, generation):
                return None
            workloads.append(live)
        return workloads if known is not None else None


def _identity(live: Object) -> tuple[str, int]:
    metadata = live["metadata"]
    return str(metadata.get("uid") or ""), int(metadata.get("generation") or 0)


def _digest(body: object) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()


def _state(live: Object) -> str:
    """Return what changes with each change that has to be undone; a generation leaves out labels."""
    metadata = live["metadata"]
    if live.get("kind") in _WITH_STATUS:
        mark = (metadata.get("labels") or {}).get(LABEL_MANAGED_BY)
        return f"{metadata.get('uid')} {metadata.get('generation')} {mark}"
    return f"{metadata.get('uid')} {metadata.get('resourceVersion')}"
