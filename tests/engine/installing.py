"""Bundles in a test's place, and the shortest way to plan them and to carry plans out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kymatui.engine import applying, planning
from kymatui.engine.applying import Outcome
from kymatui.engine.bundles import Bundle, Origin
from kymatui.engine.leases import Terms
from kymatui.engine.plans import Intent, Plan, Step
from kymatui.engine.ports import Cluster
from kymatui.engine.retrying import Patience
from kymatui.engine.running import Limits, Progress, SystemClock, begin
from tests.engine.places import Json, Place

LIMITS = Limits(
    definitions=20.0,
    ready=20.0,
    hooks=20.0,
    gone=20.0,
    look=1.0,
    lease=Terms(patience=10.0),
    patience=Patience(first=0.02, most=0.2),
)


def bundle(place: Place, *objects: Json, name: str = "module", **more: Any) -> Bundle:
    return Bundle(name, place.namespace, Origin("raw", f"{name}.yaml"), objects=objects, **more)


def plan(place: Place, what: Bundle | Intent, *, cluster: Cluster | None = None) -> Plan:
    intent = what if isinstance(what, Intent) else Intent(what)
    return planning.plan(intent, cluster or place.cluster, SystemClock(), patience=LIMITS.patience)


@dataclass
class Told:
    """What a run told."""

    words: list[str] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        self.words.append(progress.words)


def apply(
    place: Place,
    planned: Plan,
    *,
    wait: bool = True,
    limits: Limits = LIMITS,
    journal: Path | None = None,
    cancel: threading.Event | None = None,
    cluster: Cluster | None = None,
    told: Told | None = None,
    just_made: bool = False,
) -> Outcome:
    chosen = cluster or place.cluster
    with begin(chosen, limits=limits, journal=journal, cancel=cancel, tell=told) as run:
        return applying.apply(planned, run, wait=wait, just_made=just_made)


def install(place: Place, what: Bundle | Intent, **more: Any) -> Outcome:
    return apply(place, plan(place, what), **more)


def actions(steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.ref.name, step.action.value) for step in steps]
