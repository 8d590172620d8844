"""Bundles in a test's place, and the shortest way to plan them and to carry plans out."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.engine.apply import applier, planner
from kymatui.engine.apply.applier import ApplyOutcome
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.retries import RetryPolicy
from kymatui.engine.jobs.journal import Journal
from kymatui.engine.jobs.lease import LeaseTerms
from kymatui.engine.jobs.run import Progress, RunLimits, SystemClock, begin
from kymatui.engine.plans.plan import Intent, Plan, Step
from tests.engine.places import Json, Place

LIMITS = RunLimits(
    definitions=20.0,
    ready=20.0,
    hooks=20.0,
    gone=20.0,
    poll=1.0,
    lease=LeaseTerms(timeout=10.0),
    retry=RetryPolicy(backoff=Backoff(0.02, 0.2, 1.0, 1.25)),
)


def bundle(place: Place, *objects: Json, name: str = "module", **more: Any) -> Bundle:
    return Bundle(name, place.namespace, Origin("raw", f"{name}.yaml"), objects=objects, **more)


def plan(place: Place, what: Bundle | Intent, *, cluster: Cluster | None = None) -> Plan:
    intent = what if isinstance(what, Intent) else Intent(what)
    return planner.plan(intent, cluster or place.cluster, SystemClock(), retry=LIMITS.retry)


@dataclass
class Told:
    """What a run told."""

    messages: list[str] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        self.messages.append(progress.message)


def apply(
    place: Place,
    planned: Plan,
    *,
    wait: bool = True,
    limits: RunLimits = LIMITS,
    journal: Path | None = None,
    cancel: threading.Event | None = None,
    cluster: Cluster | None = None,
    told: Told | None = None,
    just_made: bool = False,
) -> ApplyOutcome:
    chosen = cluster or place.cluster
    book = Journal(journal, "this run" if journal is not None else "", time.time)
    with contextlib.closing(book), begin(chosen, limits=limits, journal=book, cancel=cancel, progress=told) as run:
        return applier.apply(planned, run, wait=wait, just_made=just_made)


def install(place: Place, what: Bundle | Intent, **more: Any) -> ApplyOutcome:
    return apply(place, plan(place, what), **more)


def actions(steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.ref.name, step.action.value) for step in steps]
