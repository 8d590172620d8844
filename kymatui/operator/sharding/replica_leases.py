"""The requests for the Leases of a sharded operator, as one replica sends them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import CancelledError, ClusterError, ConflictError, NotFoundError
from kymatui.operator.sharding.lease_records import (
    SELECTOR,
    LeaseObserver,
    LeaseRecord,
    lease_body,
    lease_name,
    lease_ref,
    read_record,
)

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
        found = self._cluster.list(LEASE, self._namespace, labels=SELECTOR, cancel=cancel)
        records = (read_record(raw) for raw in found)
        self._observer.observe([one for one in records if one.name.startswith(self.own_name)], clock())

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
            made = (self._cluster.update if known is not None else self._cluster.create)(body, cancel=cancel)
        except (ConflictError, NotFoundError):  # another replica was faster; the next round observes its Lease
            return False
        with self._lock:
            self._versions[name] = str(made["metadata"].get("resourceVersion") or "")
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
        found = self._cluster.list(LEASE, self._namespace, labels=SELECTOR)
        records = {one.name: one for one in map(read_record, found)}
        own = records.get(self.own_name)
        others = [name for name in records if name.startswith(f"{self.own_name}-")]
        if own is not None and own.holder == group and not others:
            with contextlib.suppress(ConflictError, NotFoundError):  # another replica has started, or was faster
                self._cluster.delete(lease_ref(self.own_name, self._namespace), resource_version=own.version)
