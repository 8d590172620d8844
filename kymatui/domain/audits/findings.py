"""Rules and what they find."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kymatui.domain.audits.installations import Inspection
from kymatui.domain.problems import Actor, Severity
from kymatui.domain.rows import Catalog
from kymatui.domain.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for: `why` it matters, and the `remedy`, each in a sentence or two."""

    id: str
    title: str
    severity: Severity
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken.

    `path` is the field, `value` what stands there (never that of a Secret); "" where there is none. `since` is in
    seconds of the Unix clock, None where nobody knows. `runtime` is the one of a fleet that it was found in.
    """

    rule: Rule
    message: str
    module: str = ""
    object: str = ""
    path: str = ""
    value: str = ""
    since: float | None = None
    actor: Actor = Actor.NOBODY
    runtime: str = ""

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    @property
    def fingerprint(self) -> str:
        """The same for the same rule broken in the same place, whatever the words and the value are by now."""
        runtime = (self.runtime,) if self.runtime else ()
        place = "\0".join((self.rule.id, self.module, self.object, self.path, *runtime))
        return hashlib.sha256(place.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Case:
    """What is audited; `now` is in seconds of the Unix clock."""

    snapshot: Snapshot
    catalog: Catalog
    now: float
    inspection: Inspection = field(default_factory=Inspection)


Check = Callable[[Case], Iterator[Finding]]
"""Looks for the places where one or several rules are broken."""

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def severity_rank(severity: Severity) -> int:
    """0 for the worst."""
    return _ORDER.index(severity)
