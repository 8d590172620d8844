"""Leases: one run at a time works on a module, with a readable holder.

A lease is taken over if its holder has not renewed it for its duration (as observed here, because clocks of
machines differ), or was a process of this machine that has ended. A holder that cannot renew stops earlier, after
two thirds of the duration, as in client-go.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.inventories import inventory_name
from kymatui.domain.kubernetes.object_meta import parse_time, resource_version_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import FIELD_MANAGER, Clock, Cluster, Object
from kymatui.engine.inventory.ownership_marks import LABEL_HELM
from kymatui.engine.jobs.identity import is_dead
from kymatui.errors import CancelledError, ClusterError, ConflictError, ForbiddenError, NotFoundError, RefusedError

LEASE: Final = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
DURATION: Final = 15.0  # seconds, client-go's default
_LONG_AGO: Final = 300.0  # seconds; usable clocks never differ by more
_UNKNOWN: Final = "an unknown holder"
_LAST_RENEWAL: Final = 2.0  # seconds that the end of a run waits for a renewal in progress
_LOOK: Final = 0.5  # seconds between two reads of a Lease that another process holds


class LeaseTerms(Struct, frozen=True):
    """The `duration` of a lease and the time to wait for another holder, in seconds.

    `standby` means that the holder keeps the lease for as long as it runs, and does not change one thing and end.
    """

    duration: float = DURATION
    timeout: float = 120.0
    standby: bool = False


class Lease:
    """One lease; use `hold`."""

    def __init__(
        self, cluster: Cluster, clock: Clock, name: str, namespace: str, identity: str, terms: LeaseTerms | None = None
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._ref = ObjectRef(LEASE, namespace, inventory_name(name))
        self._identity = identity
        self._terms = terms or LeaseTerms()
        self._version = ""
        self._renewed = 0.0
        self._trying_since: float | None = None
        self._taken_by = ""
        self.waited = False
        self.cut_off = False
        """Whether it could not be renewed in time, without another known holder."""

    @property
    def name(self) -> str:
        return self._ref.name

    @contextlib.contextmanager
    def hold(self, cancel: threading.Event, report: Callable[[str], None]) -> Iterator[threading.Event]:
        """Yield an event that is set on `cancel`, and when the lease is lost or could not be renewed in time.

        Raises RefusedError that names the holder after the time limit.
        """
        self._acquire(cancel, report)
        stopped, ended = threading.Event(), threading.Event()
        lost: list[str] = []
        keeper = threading.Thread(target=self._keep, args=(cancel, stopped, ended, lost), name="lease", daemon=True)
        keeper.start()
        try:
            yield stopped
        except CancelledError:
            if lost:
                raise RefusedError(lost[0], hint=self._advice()) from None
            raise
        finally:
            ended.set()
            keeper.join(5.0)
            if not lost:
                self._release()

    def clear(self) -> None:
        """Delete the lease of a killed run; do nothing while another run is active."""
        with contextlib.suppress(NotFoundError, ConflictError, ForbiddenError):
            # another run has taken or deleted it, or it expires by itself
            lease = self._cluster.get(self._ref)
            if lease is not None and self._is_free(lease, self._clock.now()):
                self._cluster.delete(self._ref, resource_version=resource_version_of(lease))

    # acquisition

    def _acquire(self, cancel: threading.Event, report: Callable[[str], None]) -> None:
        if self._create():
            return
        began = self._clock.now()
        last_version: tuple[str, float] = ("", began)
        while True:
            if cancel.is_set():
                raise CancelledError("stopped")
            lease = self._cluster.get(self._ref)
            if lease is None:
                if self._create():
                    return
                continue
            version = str(lease["metadata"]["resourceVersion"])
            if version != last_version[0]:
                last_version = (version, self._clock.now())
            if self._is_free(lease, last_version[1]):
                if self._take(lease):
                    return
                continue
            self._wait(lease, began, report, cancel)

    def _wait(self, lease: Object, began: float, report: Callable[[str], None], cancel: threading.Event) -> None:
        holder = _holder(lease)
        if self._clock.now() - began >= self._terms.timeout:
            raise RefusedError(
                f"{holder} is already changing {self._ref.namespace}/{self._ref.name.partition('.')[2]}",
                hint="wait until it has finished; the lease of a holder that ended expires by itself",
            )
        self.waited = True
        if self._terms.standby:
            name = f"{self._ref.namespace}/{self._ref.name}"
            report(f"standby: {holder} works; starts when its Lease {name} ends")
        else:
            report(f"waiting until {holder} has finished its change")
        self._clock.sleep(_LOOK, cancel)

    def _is_free(self, lease: Object, unchanged_since: float) -> bool:
        holder, spec = _holder(lease), lease.get("spec") or {}
        if not holder or holder == self._identity or is_dead(holder):
            return True
        duration = float(spec.get("leaseDurationSeconds") or self._terms.duration)
        if self._clock.now() - unchanged_since > duration:
            return True
        renewed = parse_time(str(spec.get("renewTime") or ""))
        return renewed is not None and self._clock.now() - renewed > duration + _LONG_AGO

    def _create(self) -> bool:
        try:
            self._version = resource_version_of(self._cluster.create(self._body({})))
        except ConflictError:
            return self._is_mine()
        return True

    def _take(self, lease: Object) -> bool:
        try:
            self._version = resource_version_of(self._cluster.update(self._body(lease)))
        except (ConflictError, NotFoundError):
            return self._is_mine()
        return True

    def _is_mine(self) -> bool:
        """Return whether an attempt without an answer has taken the lease."""
        lease = self._cluster.get(self._ref)
        if lease is None or _holder(lease) != self._identity:
            return False
        self._version = resource_version_of(lease)
        return True

    # renewal

    def _keep(self, cancel: threading.Event, stopped: threading.Event, ended: threading.Event, lost: list[str]) -> None:
        """Renew every third of the duration, and forward `cancel` to the run."""
        third = self._terms.duration / 3
        self._renewed = self._clock.now()
        due, renewal = self._renewed + third, threading.Thread(target=self._renew)
        while not ended.wait(0.05):
            if cancel.is_set():
                stopped.set()
            now = self._clock.now()
            if self._taken_by or self._is_late(now, third):
                lost.append(self._why_lost(now))
                stopped.set()
                return
            if now >= due and not renewal.is_alive():
                due = now + third
                self._trying_since = now if self._trying_since is None else self._trying_since
                # A separate thread, because this one must notice the time limit even if the server does not answer.
                renewal = threading.Thread(target=self._renew, name="lease-renewal", daemon=True)
                renewal.start()
        if renewal.ident is not None:
            renewal.join(_LAST_RENEWAL)  # what it writes after the release would leave the lease behind

    def _is_late(self, now: float, third: float) -> bool:
        since = self._trying_since
        self.cut_off = since is not None and now - since >= third and now - self._renewed >= 2 * third
        return self.cut_off

    def _why_lost(self, now: float) -> str:
        if self._taken_by:
            return f"the lease of {self._ref} was lost to {self._taken_by}"
        return f"the lease of {self._ref} could not be renewed for {now - self._renewed:.0f} s"

    def _advice(self) -> str:
        if self._taken_by:
            return "another client may be changing it now; check, then run the command again"
        return "run the command again when the cluster answers"

    def _renew(self) -> None:
        """Renew the lease, and note another holder; an unreachable server may still answer in time."""
        began = self._clock.now()
        with contextlib.suppress(ClusterError):
            lease = self._cluster.get(self._ref)
            if lease is None and self._terms.standby:
                if not self._create():  # another one that waits was faster
                    self._taken_by = self._other_holder()
                    return
            elif lease is not None:  # else this run is deleting the namespace
                if _holder(lease) != self._identity:
                    self._taken_by = _holder(lease) or _UNKNOWN
                    return
                self._version = resource_version_of(self._cluster.update(self._body(lease)))
            self._renewed, self._trying_since = began, None

    def _other_holder(self) -> str:
        try:
            lease = self._cluster.get(self._ref)
        except ClusterError:
            lease = None
        return _holder(lease or {}) or _UNKNOWN

    def _release(self) -> None:
        with contextlib.suppress(ClusterError):  # the next run takes it over after it expires
            try:
                self._cluster.delete(self._ref, resource_version=self._version)
            except ConflictError:
                if self._is_mine():
                    self._cluster.delete(self._ref, resource_version=self._version)

    def _body(self, lease: Object) -> dict[str, Any]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = lease.get("spec") or {}
        mine = _holder(lease) == self._identity
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._terms.duration)),
            "acquireTime": before.get("acquireTime", now) if mine else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if mine or not lease else 1),
        }
        metadata = {"name": self._ref.name, "namespace": self._ref.namespace, "labels": {LABEL_HELM: FIELD_MANAGER}}
        if lease:
            metadata["resourceVersion"] = lease["metadata"]["resourceVersion"]
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def _holder(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
