"""Applies that are left out while neither the wanted nor the live object has changed since the last one."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Cluster, Object

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
        ref, wanted = read_ref(body), _digest(body)
        with self._lock:
            known = self._known.setdefault(cluster, {}).get(ref)
        if live is not None and known == f"{wanted} {_state(live)}":
            return False
        applied = cluster.apply(body, manager=manager, force=True, cancel=cancel)
        with self._lock:
            self._known.setdefault(cluster, {})[ref] = f"{wanted} {_state(applied)}"
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


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()


def _state(live: Object) -> str:
    """Return what changes with each change that has to be undone; a generation leaves out labels."""
    metadata = live["metadata"]
    if live.get("kind") in _WITH_STATUS:
        mark = (metadata.get("labels") or {}).get(LABEL_MANAGED_BY)
        return f"{metadata.get('uid')} {metadata.get('generation')} {mark}"
    return f"{metadata.get('uid')} {metadata.get('resourceVersion')}"
