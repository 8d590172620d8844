"""Audit rules, their findings, and what an audit covers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.object_meta import format_time, parse_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.rights import MissingPermission
from kymatui.domain.snapshot.snapshots import Object, Snapshot

# The objects and permissions that an audit reads in addition to the catalog.


class InventoryOwner(StrEnum):
    """The owners of inventories; lifecycle-manager, or kymatui's operator in its role, keeps Manifests."""

    KYMATUI = "kymatui"
    KEEPER = "lifecycle-manager"
    HELM = "Helm"


class InstallationRecord(Struct, frozen=True):
    """One inventory of a module's objects.

    `by` is the owner of the inventory, `record` the object that stores it, `keeper` what works on the Kyma.
    One that `lacks_objects` is unfinished or deleted elsewhere; `unread` says why the objects are unknown.
    """

    module: str
    by: InventoryOwner
    record: ObjectRef
    refs: tuple[ObjectRef, ...] = ()
    lacks_objects: bool = False
    unread: str = ""
    keeper: Actor = Actor.KLM

    @property
    def owner(self) -> str:
        """Return the owner's name."""
        return self.keeper.value if self.by is InventoryOwner.KEEPER else self.by.value


class Inspection(Struct, frozen=True):
    """The objects and permissions that an audit read.

    `objects` maps each requested object to its content (metadata only for Secrets), None if it does not exist.
    `unread` maps each unreadable object to the reason. `sets` are the ids of known ApplySets and `releases` the
    known Helm releases as "namespace/name"; None if not all of them are known.
    """

    installations: tuple[InstallationRecord, ...] = ()
    objects: Mapping[ObjectRef, Object | None] = field(default_factory=dict)
    unread: Mapping[ObjectRef, str] = field(default_factory=dict)
    lacking: tuple[MissingPermission, ...] = ()
    sets: frozenset[str] | None = None
    releases: frozenset[str] | None = None


class AuditRule(Struct, frozen=True):
    """A rule of the audit: `why` it matters and its `remedy`, one or two sentences each."""

    id: str
    title: str
    severity: Severity
    why: str
    remedy: str


EARLIER_IDS: Final = {"runtime.unreached": "runtime.unreachable"}
"""Rules by the id that they had in earlier files."""


class AuditFinding(Struct, frozen=True):
    """One violation of a rule.

    `path` is the field and `value` its content (never that of a Secret); both are "" if there is none. `since` is
    in seconds of the Unix clock, None if unknown. `runtime` is the runtime of the fleet that has the violation. `level`
    is the severity where it is not the rule's: it grows with time. One about what was not read hides other findings:
    in its module, or about its object alone if `is_of_object`.
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
    level: Severity | None = None
    is_of_object: bool = False

    @property
    def severity(self) -> Severity:
        return self.level or self.rule.severity

    @property
    def fingerprint(self) -> str:
        """Return a hash that stays the same for one rule and place, even if message and value change."""
        runtime = (self.runtime,) if self.runtime else ()
        identity = "\0".join((self.rule.id, self.module, self.object, self.path, *runtime))
        return hashlib.sha256(identity.encode()).hexdigest()[:16]


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


# What an audit covers, the result of each rule, and how it differs from an earlier audit.


class AuditKind(StrEnum):
    """What an audit is about."""

    CLUSTER = "cluster"
    RUNTIME = "runtime"
    FLEET = "fleet"
    CONTEXTS = "contexts"


class AuditScope(Struct, frozen=True, kw_only=True):
    """What was audited, by whom, and with which requests.

    `names` are the runtimes or contexts, `users` the names that servers have for the user. `has_objects` means that
    single objects and rights were read. Only findings of `modules` and `rules` (of all if empty) are reported, from
    `severity` on.
    """

    kind: AuditKind = AuditKind.CLUSTER
    names: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    reads: int = 0
    writes: int = 0
    has_objects: bool = True
    modules: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    severity: Severity = Severity.INFO

    def covers(self, finding: AuditFinding) -> bool:
        """Return whether the finding is reported."""
        return (
            (not self.modules or finding.module in self.modules)
            and (not self.rules or finding.rule.id in self.rules)
            and severity_rank(finding.severity) <= severity_rank(self.severity)
        )


def join_scopes(
    kind: AuditKind, names: Iterable[str], scopes: Iterable[AuditScope], *, has_objects: bool = True
) -> AuditScope:
    """Return the scope of several audits as one."""
    each = tuple(scopes)
    return AuditScope(
        kind=kind,
        names=tuple(names),
        users=tuple(dict.fromkeys(user for scope in each for user in scope.users)),
        reads=sum(scope.reads for scope in each),
        writes=sum(scope.writes for scope in each),
        has_objects=has_objects,
    )


class AuditResult(StrEnum):
    """The results of a rule."""

    FAILED = "failed"
    IGNORED = "ignored"  # all its findings are
    INCOMPLETE = "incomplete"  # no findings, but not everything was read
    PASSED = "passed"
    NOT_APPLIED = "not applied"


class AuditOutcome(Struct, frozen=True):
    """The result of one rule; `why` explains one that is incomplete or not applied."""

    rule: AuditRule
    result: AuditResult
    findings: int = 0
    ignored: int = 0
    why: str = ""


class Baseline(Struct, frozen=True):
    """An earlier audit; `path` is its file, and `findings` are by fingerprint."""

    path: str
    cluster: str
    taken_at: str
    findings: Mapping[str, AuditFinding]

    @property
    def moment(self) -> str:
        """Return the time, also where the file has none."""
        return self.taken_at or "an unknown time"


class Trend(Struct, frozen=True):
    """What became of the findings of an earlier audit; of the `unknown` ones not enough was read."""

    baseline: Baseline
    unchanged: tuple[AuditFinding, ...] = ()
    gone: tuple[AuditFinding, ...] = ()
    unknown: tuple[AuditFinding, ...] = ()


def read_baseline(document: Mapping[str, Any], path: str) -> Baseline:
    """Read the JSON of an audit. Raise TypeError, KeyError, ValueError or AttributeError for anything else.

    One since a baseline has those of its findings that are not gone.
    """
    trend = document.get("trend") or {}
    lists = (document["findings"], trend.get("unchanged", []), trend.get("unknown", []))
    if not all(isinstance(part, list) for part in lists):
        raise TypeError("not a list of findings")
    seconds = parse_time(str(document.get("takenAt") or ""))
    taken_at = "" if seconds is None else format_time(seconds)
    findings = dict(map(_read_finding, chain.from_iterable(lists)))
    return Baseline(path, str(document.get("cluster") or ""), taken_at, findings)


def _read_finding(item: Mapping[str, Any]) -> tuple[str, AuditFinding]:
    """Read a finding with its fingerprint, which has the rule's id."""

    def text(key: str) -> str:
        return str(item.get(key) or "")

    identifier, fingerprint = text("rule"), str(item["fingerprint"])
    severity = Severity(item.get("severity", Severity.INFO))
    rule = AuditRule(EARLIER_IDS.get(identifier, identifier), "", severity, "", text("remedy"))
    runtime = text("runtime") or text("context")
    finding = AuditFinding(
        rule, text("message"), text("module"), text("object"), text("path"), text("value"), None, runtime=runtime
    )
    return (finding.fingerprint if identifier in EARLIER_IDS else fingerprint), finding
