"""The context of a run: cluster, clock, cancellation, journal and progress."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.ports import FIELD_MANAGER, Backup, Clock, Cluster
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryingCluster, RetryPolicy
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.lease import Lease, LeaseTerms


class Progress(Struct, frozen=True):
    """The current activity: `words` for people, an object or None, and `done` of `total` steps, counted in `unit`s.

    `waits` is who has to act (NOBODY: the cluster), None while working; `waits_for` is the awaited thing if `words`
    is a sentence about the wait.
    """

    message: str
    ref: ObjectRef | None = None
    done: int = 0
    total: int = 0
    waits: Actor | None = None
    waits_for: str = ""
    unit: str = "object"

    @property
    def about(self) -> str:
        """Return the object, "" if the message names it."""
        return str(self.ref) if self.ref is not None and str(self.ref) not in self.message else ""


FRESH: Final = 10.0
"""Seconds for which a new plan is carried out without another comparison, if the lease had no other holder."""
USER_ACTION_SECONDS: Final = 30.0
"""Seconds for which an unattended run waits for a person: what starts often looks broken for a moment."""


class RunLimits(Struct, frozen=True):
    """The time limits in seconds, and the number of parallel requests.

    broken  how long an object may be in an error that only a person can repair, before a wait for it ends
    poll    interval for reading again without a reported change
    absent  how long a written object may be missing, as others may recreate it
    """

    definitions: float = 60.0
    ready: float = 300.0
    hooks: float = 300.0
    gone: float = 300.0
    broken: float = float("inf")
    poll: float = 15.0
    absent: float = 10.0
    width: int = WIDTH
    lease: LeaseTerms = field(default_factory=LeaseTerms)
    retry: RetryPolicy = DEFAULT_RETRY


class SystemClock:
    """The machine's clock, as a `Clock`."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        if cancel is None:
            time.sleep(seconds)
        else:
            cancel.wait(seconds)


class Run(Struct, frozen=True):
    """The context of one run, from `begin`; steps take it as first argument. `backup` is None without one."""

    cluster: Cluster
    clock: Clock
    cancel: threading.Event
    journal: Journal
    report: Callable[[Progress], None]
    limits: RunLimits
    manager: str
    identity: str
    outside: Cluster
    backup: Backup | None = None

    def step(self, what: str, on: object = "") -> AbstractContextManager[None]:
        """Write the lines of a step to the journal."""
        return self.journal.step(what, on)

    @contextlib.contextmanager
    def alone(self, name: str, namespace: str) -> Iterator[tuple[Run, bool]]:
        """Hold the lease of this name; yield the run to continue with, and whether it had to wait."""
        lease = self._lease(name, namespace)
        with lease.hold(self.cancel, lambda words: self.report(Progress(words))) as stopped:
            cluster = RetryingCluster(self.outside, self.clock, stopped, self.limits.retry)
            yield replace(self, cluster=cluster, cancel=stopped), lease.waited

    def tidy(self, name: str, namespace: str) -> None:
        """Delete an unused lease."""
        self._lease(name, namespace).clear()

    def _lease(self, name: str, namespace: str) -> Lease:
        # A cancelled run still has to release the lease, so its requests have a cancel event of their own.
        steady = RetryingCluster(self.outside, self.clock, threading.Event(), self.limits.retry)
        return Lease(steady, self.clock, name, namespace, self.identity, self.limits.lease)


@contextlib.contextmanager
def begin(
    cluster: Cluster,
    *,
    clock: Clock | None = None,
    cancel: threading.Event | None = None,
    journal: Journal = NO_JOURNAL,
    progress: Callable[[Progress], None] | None = None,
    limits: RunLimits | None = None,
    manager: str = FIELD_MANAGER,
    backup: Backup | None = None,
) -> Iterator[Run]:
    """Start a run on a cluster; `progress` is called from any thread. The journal is that of its job, and stays open.

    The holder of Leases is the run of the journal, so that a killed job is recognised in both.
    """
    chosen_clock, chosen_cancel, chosen = clock or SystemClock(), cancel or threading.Event(), limits or RunLimits()
    identity = journal.run or own_identity()
    patient = RetryingCluster(cluster, chosen_clock, chosen_cancel, chosen.retry)
    yield Run(
        patient, chosen_clock, chosen_cancel, journal, progress or _silent, chosen, manager, identity, cluster, backup
    )


def _silent(progress: Progress) -> None:
    """Ignore the progress."""
