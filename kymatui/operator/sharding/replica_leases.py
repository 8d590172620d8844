"""The requests for the Leases of a sharded operator, as one replica sends them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.inventories import inventory_name
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import FIELD_MANAGER, Cluster, Object
from kymatui.engine.inventory.ownership_marks import LABEL_HELM
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import CancelledError, ClusterError, ConflictError, NotFoundError

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
        observed = {}
        for record in records:
            known = self._seen.get(record.name)
            same = known is not None and known[0].version == record.version
            observed[record.name] = known if known is not None and same else (record, now)
        self._seen, self._at = observed, now

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


_REPLICA: Final = "replica-"
_NONE: Final = LeaseRecord("", "", "", 0.0, 0)


class ObservedLease(Struct, frozen=True):
    """The holder of a Lease, "" if it is free; `is_new` means that it was written since the list before the last."""

    holder: str
    is_new: bool
    is_expired: bool


class ReplicaLeases:
    """The Leases: the operator's own, one for each shard, one for each replica. Thread-safe."""

    def __init__(self, cluster: Cluster, leader: str, namespace: str, replica: str, duration: float) -> None:
        self._cluster, self._leader, self._namespace = cluster, leader, namespace
        self._replica, self._duration = replica, duration
        self._observer = LeaseObserver(duration)
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}  # of this replica's last writes
        self.own_name = lease_name(leader)
        self._presence = lease_name(leader, _REPLICA + replica)

    @property
    def server(self) -> str:
        return self._cluster.name

    def shard_name(self, shard: int) -> str:
        return lease_name(self._leader, str(shard))

    def observe(self, cancel: threading.Event, clock: Callable[[], float]) -> None:
        """List all Leases."""
        leases = self._cluster.list(LEASE, self._namespace, labels=SELECTOR, cancel=cancel)
        records = (read_record(raw) for raw in leases)
        self._observer.observe([record for record in records if record.name.startswith(self.own_name)], clock())

    def record(self, name: str, now: float) -> ObservedLease:
        known = self._observer.get(name) or _NONE
        return ObservedLease(known.holder, self._observer.is_new(name), self._observer.is_expired(name, now))

    def own(self, now: float) -> ObservedLease:
        """Return the operator's own Lease."""
        return self.record(self.own_name, now)

    def alive(self, now: float) -> list[str]:
        """Return the replicas whose Leases have not expired."""
        names = self._observer.names(lease_name(self._leader, _REPLICA))
        prefix = len(lease_name(self._leader, _REPLICA))
        return [name[prefix:] for name in names if not self._observer.is_expired(name, now)]

    def announce(self, cancel: threading.Event) -> None:
        """Renew this replica's own Lease."""
        self.take(self._presence, self._replica, cancel)

    def take(self, name: str, holder: str, cancel: threading.Event, duration: float = 0.0) -> bool:
        """Create a Lease, or replace exactly the observed one; return whether that went well."""
        ref, known = lease_ref(name, self._namespace), self._observer.get(name)
        body = lease_body(ref, holder, duration or self._duration, known)
        try:
            answer = (self._cluster.update if known is not None else self._cluster.create)(body, cancel=cancel)
        except (ConflictError, NotFoundError):  # another replica was faster; the next round observes its Lease
            return False
        with self._lock:
            self._versions[name] = str(answer["metadata"].get("resourceVersion") or "")
        return True

    def delete(self, name: str) -> None:
        """Delete a Lease as this replica has written it last; another replica's stays."""
        with self._lock:
            version = self._versions.pop(name, "")
        if not version:
            return
        ref = lease_ref(name, self._namespace)
        with contextlib.suppress(ClusterError, CancelledError):  # it expires by itself, only later
            try:
                self._cluster.delete(ref, resource_version=version)
            except ConflictError:  # perhaps it was renewed, and the answer was lost
                live = self._cluster.get(ref)
                record = read_record(live) if live is not None else _NONE
                if record.holder == self._replica:
                    self._cluster.delete(ref, resource_version=record.version)

    def sweep(self, now: float, cancel: threading.Event) -> None:
        """Delete the Leases of replicas that have ended without a word."""
        for name in self._observer.names(lease_name(self._leader, _REPLICA)):
            record = self._observer.get(name)
            if record is not None and self._observer.age(name, now) >= 3 * self._duration:
                with contextlib.suppress(ConflictError, NotFoundError):
                    # renewed meanwhile, or deleted by another replica
                    ref = lease_ref(name, self._namespace)
                    self._cluster.delete(ref, resource_version=record.version, cancel=cancel)

    def leave(self, group: str) -> None:
        """Delete this replica's own Lease, and after the last replica's the operator's. Raises ClusterError."""
        self.delete(self._presence)
        leases = self._cluster.list(LEASE, self._namespace, labels=SELECTOR)
        records = {record.name: record for record in map(read_record, leases)}
        own = records.get(self.own_name)
        others = [name for name in records if name.startswith(f"{self.own_name}-")]
        if own is not None and own.holder == group and not others:
            with contextlib.suppress(ConflictError, NotFoundError):  # another replica has started, or was faster
                self._cluster.delete(lease_ref(self.own_name, self._namespace), resource_version=own.version)
