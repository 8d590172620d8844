"""What was looked at for an audit besides the catalog: the objects that modules consist of, and rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Object


@dataclass(frozen=True, slots=True)
class InstallationRecord:
    """One account of what a module consists of.

    `by` says who keeps it ("kymatui", "lifecycle-manager", "Helm") and `record` in which object; `unfinished` what a
    run that was cut off was doing; `unread` why its objects are not known.
    """

    module: str
    by: str
    record: ObjectRef
    refs: tuple[ObjectRef, ...] = ()
    unfinished: str = ""
    unread: str = ""


@dataclass(frozen=True, slots=True)
class MissingPermission:
    """A right that the user lacks, and what needs it."""

    verb: str
    resource: str
    namespace: str
    needed_for: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """`objects` maps what was asked for to what is there (of Secrets the metadata alone), None where it is gone.

    `unread` tells why others could not be read. `marks` are those that installations set on their objects: the ids of
    ApplySets and, as "namespace/name", Helm releases; None where nobody knows all of them.
    """

    installations: tuple[InstallationRecord, ...] = ()
    objects: Mapping[ObjectRef, Object | None] = field(default_factory=dict)
    unread: Mapping[ObjectRef, str] = field(default_factory=dict)
    lacking: tuple[MissingPermission, ...] = ()
    sets: frozenset[str] | None = None
    releases: frozenset[str] | None = None
