"""Audit rules and their findings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from kymatui.domain.catalog.rows import Catalog
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


class AuditFinding(Struct, frozen=True):
    """One violation of a rule.

    `path` is the field and `value` its content (never that of a Secret); both are "" if there is none. `since` is
    in seconds of the Unix clock, None if unknown. `runtime` is the runtime of the fleet that has the violation. `level`
    is the severity where it is not the rule's: it grows with time.
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
