"""The objects and permissions that an audit reads in addition to the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.snapshot.snapshots import Object


class InventoryOwner(StrEnum):
    """The owners of inventories; lifecycle-manager, or kymatui's operator in its role, keeps Manifests."""

    KYMATUI = "kymatui"
    KEEPER = "lifecycle-manager"
    HELM = "Helm"


class InstallationRecord(Struct, frozen=True):
    """One inventory of a module's objects.

    `by` is the owner of the inventory, `record` the object that stores it, `keeper` what works on the Kyma.
    An `is_unfinished` one lacks objects by itself; `unread` says why the objects are unknown.
    """

    module: str
    by: InventoryOwner
    record: ObjectRef
    refs: tuple[ObjectRef, ...] = ()
    is_unfinished: bool = False
    unread: str = ""
    keeper: Actor = Actor.KLM

    @property
    def owner(self) -> str:
        """Return the owner's name."""
        return self.keeper.value if self.by is InventoryOwner.KEEPER else self.by.value


class MissingPermission(Struct, frozen=True):
    """A permission that the user lacks, and the operation that needs it."""

    verb: str
    resource: str
    namespace: str
    needed_for: str
    module: str = ""


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
