"""Who works on a module works on it alone: a Lease in the cluster, with a name that people can ask.

A lease that its holder has not renewed for its duration (as seen from here: clocks of machines differ) is taken over,
and so is one whose holder was a process of this machine that is gone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kymatui.domain.objects import moment
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.holders import LABEL_HELM, inventory_name
from kymatui.engine.identities import is_dead
from kymatui.engine.ports import FIELD_MANAGER, Clock, Cluster, Object
from kymatui.errors import CancelledError, ClusterError, ConflictError, ForbiddenError, NotFoundError, RefusedError

LEASE: Final = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
DURATION: Final = 15.0
_LONG_AGO: Final = 300.0  # no two clocks that anybody relies on differ by more
_LOOK: Final = 0.5


@dataclass(frozen=True, slots=True)
class Terms:
    """`duration` of the lease, and how long to wait for somebody else's, in seconds."""

    duration: float = DURATION
    patience: float = 120.0


class Lease:
    """One lease; `hold` is the way to use it."""

    def __init__(
        self, cluster: Cluster, clock: Clock, name: str, namespace: str, identity: str, terms: Terms | None = None
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._ref = ObjectRef(LEASE, namespace, inventory_name(name))
        self._identity = identity
        self._terms = terms or Terms()
        self._version = ""
        self.waited = False

    @property
    def name(self) -> str:
        return self._ref.name

    @contextlib.contextmanager
    def hold(self, cancel: threading.Event, tell: Callable[[str], None]) -> Iterator[threading.Event]:
        """Yields an event that is set when `cancel` is, or when the lease was lost to somebody else.

        Raises RefusedError that names the holder where he does not let go in time.
        """
        self._acquire(cancel, tell)
        stopped, ended = threading.Event(), threading.Event()
        lost: list[str] = []
        keeper = threading.Thread(target=self._keep, args=(cancel, stopped, ended, lost), name="lease", daemon=True)
        keeper.start()
        try:
            yield stopped
        except CancelledError:
            if lost:
                raise RefusedError(lost[0], hint="somebody else is at work on it now; look, and run it again") from None
            raise
        finally:
            ended.set()
            keeper.join(5.0)
            if not lost:
                self._release()

    def clear(self) -> None:
        """Takes away what a run has left that was killed after its last step; nothing where somebody is at work."""
        with contextlib.suppress(NotFoundError, ConflictError, ForbiddenError):
            found = self._cluster.get(self._ref)
            if found is not None and self._is_free(found, self._clock.now()):
                self._cluster.delete(self._ref, resource_version=_version(found))

    # taking

    def _acquire(self, cancel: threading.Event, tell: Callable[[str], None]) -> None:
        if self._create():
            return
        began = self._clock.now()
        seen: tuple[str, float] = ("", began)
        while True:
            if cancel.is_set():
                raise CancelledError("stopped while waiting for the lease")
            found = self._cluster.get(self._ref)
            if found is None:
                if self._create():
                    return
                continue
            version = str(found["metadata"]["resourceVersion"])
            if version != seen[0]:
                seen = (version, self._clock.now())
            if self._is_free(found, seen[1]):
                if self._take(found):
                    return
                continue
            self._wait(found, began, tell, cancel)

    def _wait(self, found: Object, began: float, tell: Callable[[str], None], cancel: threading.Event) -> None:
        holder = _holder(found)
        if self._clock.now() - began >= self._terms.patience:
            raise RefusedError(
                f"{holder} is at work on {self._ref.namespace}/{self._ref.name.partition('.')[2]}",
                hint="wait until it is done; a lease whose holder is gone is taken over by itself",
            )
        self.waited = True
        tell(f"waiting for {holder}, who is at work on it")
        self._clock.sleep(_LOOK, cancel)

    def _is_free(self, found: Object, unchanged_since: float) -> bool:
        holder, spec = _holder(found), found.get("spec") or {}
        if not holder or holder == self._identity or is_dead(holder):
            return True
        duration = float(spec.get("leaseDurationSeconds") or self._terms.duration)
        if self._clock.now() - unchanged_since > duration:
            return True
        renewed = moment(str(spec.get("renewTime") or ""))
        return renewed is not None and self._clock.now() - renewed > duration + _LONG_AGO

    def _create(self) -> bool:
        try:
            self._version = _version(self._cluster.create(self._body({})))
        except ConflictError:
            return self._is_mine()
        return True

    def _take(self, found: Object) -> bool:
        try:
            self._version = _version(self._cluster.update(self._body(found)))
        except (ConflictError, NotFoundError):
            return self._is_mine()
        return True

    def _is_mine(self) -> bool:
        """Whether an attempt whose answer was lost has taken it after all."""
        found = self._cluster.get(self._ref)
        if found is None or _holder(found) != self._identity:
            return False
        self._version = _version(found)
        return True

    # keeping

    def _keep(self, cancel: threading.Event, stopped: threading.Event, ended: threading.Event, lost: list[str]) -> None:
        """Renews every third of the duration; passes on that somebody stopped the run."""
        due = self._clock.now() + self._terms.duration / 3
        while not ended.wait(0.05):
            if cancel.is_set():
                stopped.set()
            if self._clock.now() < due:
                continue
            due = self._clock.now() + self._terms.duration / 3
            taken_by = self._renew()
            if taken_by:
                lost.append(f"the lease of {self._ref} was lost to {taken_by}")
                stopped.set()
                return

    def _renew(self) -> str:
        """Who has taken the lease, or "". A server that does not answer now may answer in time."""
        try:
            found = self._cluster.get(self._ref)
            if found is None:
                return ""  # its namespace is being deleted, by this very run
            if _holder(found) != self._identity:
                return _holder(found) or "nobody"
            self._version = _version(self._cluster.update(self._body(found)))
        except ClusterError:
            return ""
        return ""

    def _release(self) -> None:
        with contextlib.suppress(ClusterError):  # whoever comes next takes it over when it has expired
            try:
                self._cluster.delete(self._ref, resource_version=self._version)
            except ConflictError:
                if self._is_mine():
                    self._cluster.delete(self._ref, resource_version=self._version)

    def _body(self, found: Object) -> dict[str, Any]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = found.get("spec") or {}
        mine = _holder(found) == self._identity
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._terms.duration)),
            "acquireTime": before.get("acquireTime", now) if mine else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if mine or not found else 1),
        }
        metadata = {"name": self._ref.name, "namespace": self._ref.namespace, "labels": {LABEL_HELM: FIELD_MANAGER}}
        if found:
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def _version(found: Object) -> str:
    return str(found["metadata"].get("resourceVersion") or "")


def _holder(found: Object) -> str:
    return str((found.get("spec") or {}).get("holderIdentity") or "")
