"""Rules and what they find."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kymatui.domain.audit.inspection import Inspection
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.snapshot.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class AuditRule:
    """What is looked for: `why` it matters, and the `remedy`, each in a sentence or two."""

    id: str
    title: str
    severity: Severity
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One place where a rule is broken.

    `path` is the field, `value` what stands there (never that of a Secret); "" where there is none. `since` is in
    seconds of the Unix clock, None where nobody knows. `runtime` is the one of a fleet that it was found in.
    """

    rule: AuditRule
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
class AuditInput:
    """What is audited; `now` is in seconds of the Unix clock."""

    snapshot: Snapshot
    catalog: Catalog
    now: float
    inspection: Inspection = field(default_factory=Inspection)


Check = Callable[[AuditInput], Iterator[AuditFinding]]
"""Looks for the places where one or several rules are broken."""

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def severity_rank(severity: Severity) -> int:
    """0 for the worst."""
    return _ORDER.index(severity)
