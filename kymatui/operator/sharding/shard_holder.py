"""The shards that this replica holds: taken, renewed and released as the replicas that are alive come and go."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.inventories import inventory_name
from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import FIELD_MANAGER, Cluster, Object
from kymatui.engine.inventory.ownership_marks import LABEL_HELM
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import CancelledError, ClusterError, ConflictError, NotFoundError
from kymatui.operator.sharding.lease_term import LeaseTerm


def _weight(*words: str) -> int:
    """Return the same number in all processes; `hash` differs between them."""
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest(), "big")


@lru_cache(maxsize=65_536)
def shard_of(name: str, shards: int) -> int:
    """Return the shard of a name. With one shard more, only the names of the new shard move."""
    return max(range(shards), key=lambda shard: _weight(name, str(shard)))


def assign_shards(shards: int, replicas: Iterable[str]) -> Mapping[int, str]:
    """Return the replica of each shard; the numbers of two replicas' shards differ by 1 at most.

    All replicas that see the same replicas get the same answer. It is empty without replicas.
    """
    names = sorted(set(replicas))
    if not names:
        return {}
    least, more = divmod(shards, len(names))
    loads = dict.fromkeys(names, 0)
    assigned: dict[int, str] = {}
    pairs = ((_weight(name, f"shard {shard}"), shard, name) for shard in range(shards) for name in names)
    for _, shard, name in sorted(pairs, reverse=True):
        if shard in assigned or loads[name] > least or (loads[name] == least and not more):
            continue
        more -= loads[name] == least
        loads[name] += 1
        assigned[shard] = name
    return assigned


SHARD_SECONDS: Final = 10.0
"""Seconds until a shard whose replica died is free: with the pause between two rounds, less than 15."""
_ROUNDS: Final = 5.0  # rounds in the duration of a Lease
_LONGER: Final = 3.0
"""Durations of a shard's Lease in that of the operator's own, which then needs few renewals."""
_TICK: Final = 0.1  # seconds between checks for expired terms: far below the duration of a Lease


class ShardPlan(Struct, frozen=True):
    """How an operator is sharded.

    leader     name that its Leases begin with
    namespace  namespace of the Leases
    shards     number of shards, the same for all replicas
    replica    name of this replica, unique
    duration   seconds of a Lease
    """

    leader: str
    namespace: str
    shards: int
    replica: str
    duration: float = SHARD_SECONDS

    @property
    def group(self) -> str:
        """Return the holder of the operator's own Lease, which all replicas with as many shards hold together."""
        return f"{self.shards} shards"


class ShardHolder:
    """The shards of one replica; `changed` hears of each shard that was gained or lost. Thread-safe.

    Replicas with another number of shards, and an operator without shards, wait for the operator's own Lease.
    """

    def __init__(
        self,
        cluster: Cluster,
        plan: ShardPlan,
        changed: Callable[[int], None],
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan, self._changed, self._tell, self._clock = plan, changed, tell, clock
        self._leases = ReplicaLeases(cluster, plan.leader, plan.namespace, plan.replica, plan.duration)
        self._lock = threading.Lock()
        self._terms: dict[int, LeaseTerm] = {}
        self._ended: dict[int, LeaseTerm] = {}  # whose Leases are not released yet
        self._previous = float("-inf")  # when the request of the last list began
        self._shared = float("-inf")  # when the operator's own Lease was certainly renewed
        self._announced = self._stopping = False
        self._last_words = ""

    @property
    def held(self) -> list[int]:
        """Return the shards that are held now."""
        with self._lock:
            return sorted(shard for shard, term in self._terms.items() if term.is_held)

    def shard_of(self, name: str) -> int:
        return shard_of(name, self._plan.shards)

    def term_of(self, name: str) -> LeaseTerm | None:
        """Return the term of the shard of a name, None if another replica may hold it."""
        with self._lock:
            term = self._terms.get(self.shard_of(name))
        return term if term is not None and term.is_held else None

    def run(self, stopped: threading.Event) -> None:
        """Hold shards until `stopped` is set; then all terms have ended, and `release` has to follow.

        Raises any unexpected error of a round.
        """
        defects: list[BaseException] = []
        cancel = threading.Event()

        def rounds() -> None:
            try:
                self._rounds(cancel)
            except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
                defects.append(error)

        thread = threading.Thread(target=rounds, name="shards", daemon=True)
        thread.start()
        while not stopped.wait(_TICK) and thread.is_alive():
            self._end_expired()
        cancel.set()
        with self._lock:
            self._stopping = True
        for shard in self._all():
            self._end(shard)
        thread.join(self._plan.duration)
        if defects:
            raise defects[0]

    def release(self) -> None:
        """Delete the Leases of this replica, each once its writes have ended. Nothing may work under a term."""
        with self._lock:
            ended = list(self._ended)
        for shard in ended:
            self._release(shard)
        with contextlib.suppress(ClusterError):  # Leases that stay expire by themselves
            self._leases.leave(self._plan.group)

    # rounds

    def _rounds(self, cancel: threading.Event) -> None:
        while not cancel.is_set():
            late = threading.Event()  # a round that hangs would keep the next one from renewing
            timer = threading.Timer(self._plan.duration / 2, late.set)
            timer.daemon = True
            timer.start()
            try:
                self._round(late)
            except CancelledError:
                self._log_change(f"no answer from {self._leases.server}: shards are kept until their Leases expire")
            except ClusterError as error:
                self._log_change(f"shards cannot be renewed: {error}")
            finally:
                timer.cancel()
            cancel.wait(self._plan.duration / _ROUNDS * (0.9 + 0.2 * JITTER_RANDOM.random()))

    def _round(self, cancel: threading.Event) -> None:
        began = self._clock()
        self._leases.observe(cancel, self._clock)
        until = self._share(began, cancel)
        self._previous = began
        if until is None:
            for shard in self._all():
                self._lose(shard)
            return
        self._leases.announce(cancel)
        if not self._announced:
            self._announced = True  # the others see this replica before it takes what it would have to release
            return
        replicas = self._leases.alive(self._clock())
        target = assign_shards(self._plan.shards, {*replicas, self._plan.replica})
        mine = [shard for shard in range(self._plan.shards) if target[shard] == self._plan.replica]
        run_for_each(mine, partial(self._hold, until - self._plan.duration, cancel), cancel)
        for shard in set(self._all()) - set(mine):
            self._lose(shard)
        self._leases.sweep(self._clock(), cancel)

    def _share(self, began: float, cancel: threading.Event) -> float | None:
        """Renew the operator's own Lease together with the others; return until when it is certainly held."""
        group, longer = self._plan.group, _LONGER * self._plan.duration
        record = self._leases.own(self._clock())
        if record.holder not in ("", group) and not record.is_expired:
            self._log_change(f"waiting for {record.holder}, which holds the Lease {self._leases.own_name}")
            self._shared = float("-inf")
            return None
        if record.holder == group and record.is_new and self._previous > self._shared:
            self._shared = self._previous  # another replica, or this one, has written it since then
        if record.holder != group or began - self._shared > self._plan.duration:
            at = self._clock()
            if self._leases.take(self._leases.own_name, group, cancel, longer):
                self._shared = at
        return self._shared + longer if self._shared > float("-inf") else None

    def _hold(self, since: float, cancel: threading.Event, shard: int) -> None:
        """Renew a shard, or take it if it is free."""
        with self._lock:
            if shard in self._ended:
                return  # it is being released; then it may be taken again
            term = self._terms.get(shard)
        began, name = self._clock(), self._leases.shard_name(shard)
        record = self._leases.record(name, began)
        if term is not None and record.holder != self._plan.replica:
            self._forget(shard)
            return
        if record.holder not in ("", self._plan.replica) and not record.is_expired:
            return
        try:
            taken = self._leases.take(name, self._plan.replica, cancel)
        except ClusterError:
            return  # the term expires unless the next round renews it
        if not taken:
            return
        if term is not None and term.renew(min(began, since)):
            return
        if term is not None and shard not in self._ended:
            self._forget(shard)
        with self._lock:
            if shard in self._ended:
                return  # its release follows
            is_over = self._stopping
            if not is_over:
                self._terms[shard] = LeaseTerm(shard, min(began, since), self._plan.duration, self._clock)
        if is_over:
            self._leases.delete(name)  # no release knows of it
        else:
            self._changed(shard)

    # the end of terms

    def _all(self) -> list[int]:
        with self._lock:
            return list(self._terms)

    def _end_expired(self) -> None:
        for shard in self._all():
            with self._lock:
                term = self._terms.get(shard)
            if term is not None and not term.is_held:
                self._forget(shard)

    def _forget(self, shard: int) -> None:
        """End the term of a shard whose Lease is not certainly this replica's: it is not released."""
        self._end(shard)
        with self._lock:
            self._ended.pop(shard, None)

    def _end(self, shard: int) -> None:
        """End the term of a shard: no further write begins."""
        with self._lock:
            term = self._terms.pop(shard, None)
            if term is None:
                return
            self._ended[shard] = term
        term.end()
        self._changed(shard)

    def _lose(self, shard: int) -> None:
        """Give a shard to another replica as soon as its writes have ended."""
        self._end(shard)
        threading.Thread(target=self._release, args=(shard,), name="shard-release", daemon=True).start()

    def _release(self, shard: int) -> None:
        with self._lock:
            term = self._ended.get(shard)
        if term is None:
            return
        try:
            if term.wait_written():
                self._leases.delete(self._leases.shard_name(shard))
        finally:
            with self._lock:
                self._ended.pop(shard, None)

    def _log_change(self, words: str) -> None:
        if words != self._last_words:
            self._last_words = words
            self._tell(words)


# The requests for the Leases of a sharded operator, as one replica sends them.


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
