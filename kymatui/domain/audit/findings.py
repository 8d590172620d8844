"""Audit rules and their findings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from kymatui.domain.audit.inspection import Inspection
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.snapshot.snapshots import Snapshot


class AuditRule(Struct, frozen=True):
    """A rule of the audit: `why` it matters and its `remedy`, one or two sentences each."""

    id: str
    title: str
    severity: Severity
    why: str
    remedy: str


class AuditFinding(Struct, frozen=True):
    """One violation of a rule.

    `path` is the field and `value` its content (never that of a Secret); both are "" if there is none. `since` is
    in seconds of the Unix clock, None if unknown. `runtime` is the runtime of the fleet that has the violation.
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
        """Return a hash that stays the same for one rule and place, even if message and value change."""
        runtime = (self.runtime,) if self.runtime else ()
        place = "\0".join((self.rule.id, self.module, self.object, self.path, *runtime))
        return hashlib.sha256(place.encode()).hexdigest()[:16]


class AuditInput(Struct, frozen=True):
    """The data of one audit; `now` is in seconds of the Unix clock."""

    snapshot: Snapshot
    catalog: Catalog
    now: float
    inspection: Inspection = field(default_factory=Inspection)


Check = Callable[[AuditInput], Iterator[AuditFinding]]
"""A function that yields the violations of one or more rules."""

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def severity_rank(severity: Severity) -> int:
    """Return the rank for sorting; 0 is the worst severity."""
    return _ORDER.index(severity)
