"""The Leases of a sharded operator as they are in the cluster, and how long each has not been renewed.

Times in Leases are for people: clocks of machines differ. What counts is how long a Lease has stood unchanged here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.inventories import inventory_name
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import FIELD_MANAGER, Object
from kymatui.engine.inventory.ownership_marks import LABEL_HELM
from kymatui.engine.jobs.lease import LEASE

SELECTOR: Final = f"{LABEL_HELM}={FIELD_MANAGER}"


class LeaseRecord(Struct, frozen=True):
    """One Lease; `holder` is "" for a free one."""

    name: str
    holder: str
    version: str
    duration: float
    transitions: int


def read_record(raw: Object) -> LeaseRecord:
    metadata, spec = JsonReader(raw).child("metadata"), JsonReader(raw).child("spec")
    return LeaseRecord(
        metadata.text("name"),
        spec.text("holderIdentity"),
        metadata.text("resourceVersion"),
        float(spec.integer("leaseDurationSeconds")),
        spec.integer("leaseTransitions"),
    )


class LeaseObserver:
    """The Leases of the last list, and since when each has been as it is."""

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self._at = 0.0
        self._seen: dict[str, tuple[LeaseRecord, float]] = {}

    def observe(self, records: Iterable[LeaseRecord], now: float) -> None:
        """Take a complete list whose answer arrived at this time."""
        seen = {}
        for one in records:
            known = self._seen.get(one.name)
            same = known is not None and known[0].version == one.version
            seen[one.name] = known if known is not None and same else (one, now)
        self._seen, self._at = seen, now

    def get(self, name: str) -> LeaseRecord | None:
        known = self._seen.get(name)
        return known[0] if known is not None else None

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._seen if name.startswith(prefix))

    def age(self, name: str, now: float) -> float:
        """Return for how many seconds a Lease has been observed unchanged."""
        known = self._seen.get(name)
        return now - known[1] if known is not None else 0.0

    def is_new(self, name: str) -> bool:
        """Return whether a Lease was written between the last two lists, or the last list is the first one."""
        known = self._seen.get(name)
        return known is not None and known[1] == self._at

    def is_expired(self, name: str, now: float) -> bool:
        """Return whether the holder has not renewed it for its duration."""
        known = self._seen.get(name)
        return known is None or self.age(name, now) >= max(known[0].duration, self._duration)


def lease_ref(name: str, namespace: str) -> ObjectRef:
    return ObjectRef(LEASE, namespace, name)


def lease_name(leader: str, suffix: str = "") -> str:
    """Return the name of a Lease: of the operator itself, of a shard, or of a replica."""
    return inventory_name(f"{leader}-{suffix}" if suffix else leader)


def lease_body(ref: ObjectRef, holder: str, duration: float, known: LeaseRecord | None) -> dict[str, Any]:
    """Return a Lease to create, or (`known`) to replace in exactly the known version."""
    now = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    taken = known is not None and known.holder != holder
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": max(1, round(duration)),
        "renewTime": now,
        "leaseTransitions": (known.transitions if known is not None else 0) + taken,
    }
    metadata = {"name": ref.name, "namespace": ref.namespace, "labels": {LABEL_HELM: FIELD_MANAGER}}
    if known is not None:
        metadata["resourceVersion"] = known.version
    return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}
