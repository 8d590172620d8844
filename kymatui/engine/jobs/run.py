"""What a run has about it: the cluster, a clock, a way to stop it, a journal, and somebody to tell."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.ports import FIELD_MANAGER, Backup, Clock, Cluster
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryingCluster, RetryPolicy
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.journal import RUN_STEP, Journal, JournalMark
from kymatui.engine.jobs.lease import Lease, LeaseTerms


@dataclass(frozen=True, slots=True)
class Progress:
    """What happens at this moment: `words` for people, about an object or none; `done` of `total` steps.

    `waits` is who has to act for it to continue (NOBODY: the cluster itself), None while it works; `waits_for` what is
    waited for, where `words` are a sentence about the wait.
    """

    words: str
    ref: ObjectRef | None = None
    done: int = 0
    total: int = 0
    waits: Actor | None = None
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How long to wait, in seconds, and how many requests may be under way at a time.

    look    how often something is looked at again though nothing is said to have changed
    absent  how long something that was written may be gone, for those who delete it to make it anew
    """

    definitions: float = 60.0
    ready: float = 300.0
    hooks: float = 300.0
    gone: float = 300.0
    look: float = 15.0
    absent: float = 10.0
    width: int = WIDTH
    lease: LeaseTerms = field(default_factory=LeaseTerms)
    patience: RetryPolicy = DEFAULT_RETRY


class SystemClock:
    """Implements `Clock` with the machine's."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        if cancel is None:
            time.sleep(seconds)
        else:
            cancel.wait(seconds)


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `begin` makes it; steps take it as their first argument. `backup` is None where none is kept."""

    cluster: Cluster
    clock: Clock
    cancel: threading.Event
    journal: Journal
    tell: Callable[[Progress], None]
    limits: RunLimits
    manager: str
    identity: str
    outside: Cluster
    backup: Backup | None = None

    @contextlib.contextmanager
    def step(self, what: str, on: object = "") -> Iterator[None]:
        """A step with its lines in the journal."""
        self.journal.write(JournalMark.BEGUN, what, on)
        try:
            yield
        except BaseException as error:
            self.journal.write(JournalMark.FAILED, what, on, f"{type(error).__name__}: {error}")
            raise
        self.journal.write(JournalMark.DONE, what, on)

    @contextlib.contextmanager
    def alone(self, name: str, namespace: str) -> Iterator[tuple[Run, bool]]:
        """Nobody else works on this name meanwhile; yields the run to go on with, and whether it had to wait."""
        lease = self._lease(name, namespace)
        with lease.hold(self.cancel, lambda words: self.tell(Progress(words))) as stopped:
            cluster = RetryingCluster(self.outside, self.clock, stopped, self.limits.patience)
            yield replace(self, cluster=cluster, cancel=stopped), lease.waited

    def tidy(self, name: str, namespace: str) -> None:
        """Takes a lease away that nobody holds any more."""
        self._lease(name, namespace).clear()

    def _lease(self, name: str, namespace: str) -> Lease:
        # A run that is stopped still has to let go: no request of the lease is cancelled.
        steady = RetryingCluster(self.outside, self.clock, threading.Event(), self.limits.patience)
        return Lease(steady, self.clock, name, namespace, self.identity, self.limits.lease)


@contextlib.contextmanager
def begin(
    cluster: Cluster,
    *,
    clock: Clock | None = None,
    cancel: threading.Event | None = None,
    journal: Path | None = None,
    tell: Callable[[Progress], None] | None = None,
    limits: RunLimits | None = None,
    manager: str = FIELD_MANAGER,
    purpose: str = "",
    backup: Backup | None = None,
) -> Iterator[Run]:
    """A run on a cluster. `tell` is called from any thread.

    With a purpose ("install keda 1.5.0") the journal says when the whole run began and ended, so that one that is
    killed between two steps is known for what it was.
    """
    chosen_clock, chosen_cancel, chosen = clock or SystemClock(), cancel or threading.Event(), limits or RunLimits()
    identity = own_identity()
    book = Journal(journal, identity, chosen_clock.now)
    patient = RetryingCluster(cluster, chosen_clock, chosen_cancel, chosen.patience)
    run = Run(patient, chosen_clock, chosen_cancel, book, tell or _silent, chosen, manager, identity, cluster, backup)
    try:
        with run.step(RUN_STEP, purpose) if purpose else contextlib.nullcontext():
            yield run
    finally:
        book.close()


def _silent(progress: Progress) -> None:
    """Nobody wants to know."""
