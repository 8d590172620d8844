"""What is installed under a name, as it is written in the cluster: upgrades and deletions need no more than that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.engine.bundles.bundle import Origin
from kymatui.engine.cluster.kind_order import versionless_key
from kymatui.errors import ConfigurationError

SCHEMA: Final = "kymatui.io/inventory/v1"
KEY: Final = "inventory"


class InventoryState(StrEnum):
    """How far the last run came."""

    PENDING = "pending"  # at work, or cut off
    INSTALLED = "installed"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class InventoryItem:
    """One object. `adopted` ones were there before, and stay when the rest is deleted.

    `definition` ones are of a chart's `crds/`: created, and never changed.
    """

    ref: ObjectRef
    adopted: bool = False
    definition: bool = False


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is installed under a name in a namespace.

    items             in the order of installation; while a run is at work both the old and the new ones
    digest            of the bundle that is (or is being) installed
    done              of hooks, those of the present run that ended well
    resource_created  the default resources were created once; they are never created again
    made_namespace    the namespace did not exist before
    chart             it is kept in a Helm release Secret, in `revision`
    rollback_to       the revision that is being gone back to, 0 for none
    adopting          the run at work, or cut off, takes over what is there
    resource_version  of the object that it was read from
    finished          what a later run would not have to tidy up after a run that was cut off
    """

    name: str
    namespace: str
    origin: Origin
    version: str = ""
    state: InventoryState = InventoryState.PENDING
    items: tuple[InventoryItem, ...] = ()
    digest: str = ""
    done: tuple[str, ...] = ()
    resource: ObjectRef | None = None
    resources: tuple[ObjectRef, ...] = ()
    resource_created: bool = False
    policy: Policy = Policy.CREATE_AND_DELETE
    associated: tuple[GroupVersionKind, ...] = ()
    made_namespace: bool = False
    first: bool = True
    chart: bool = False
    revision: int = 0
    resource_version: str = ""
    finished: bool = False
    rollback_to: int = 0
    adopting: bool = False

    @property
    def defaults(self) -> tuple[ObjectRef, ...]:
        """The default resource and the further ones."""
        return (*((self.resource,) if self.resource is not None else ()), *self.resources)

    def is_cut_off(self, digest: str) -> bool:
        """Whether the last run installed a bundle of that digest, and did not come to its end."""
        return self.state is InventoryState.PENDING and self.digest == digest

    def item(self, ref: ObjectRef) -> InventoryItem | None:
        wanted = versionless_key(ref)
        return next((item for item in self.items if versionless_key(item.ref) == wanted), None)

    def holds(self, ref: ObjectRef) -> bool:
        return self.item(ref) is not None


def reset_if_deleting(inventory: Inventory | None) -> Inventory | None:
    """The same for whoever installs: after a deletion that was cut off he begins anew, default resource and all."""
    if inventory is None or inventory.state is not InventoryState.DELETING:
        return inventory
    return replace(inventory, first=True, resource_created=False, done=())


def merge_items(old: Iterable[InventoryItem], new: Iterable[InventoryItem]) -> tuple[InventoryItem, ...]:
    """Both, each object once; what is said of an old one stays, in the version of the new one."""
    before = {versionless_key(item.ref): item for item in old}
    found: dict[tuple[str, str, str, str], InventoryItem] = {}
    for item in new:
        known = before.get(versionless_key(item.ref))
        found[versionless_key(item.ref)] = replace(known, ref=item.ref) if known is not None else item
    for key, item in before.items():
        found.setdefault(key, item)
    return tuple(found.values())


def write_document(inventory: Inventory) -> str:
    """An inventory as JSON."""
    plain = msgspec.to_builtins(replace(inventory, resource_version="", finished=False))
    return msgspec.json.encode({"schema": SCHEMA, **plain}, order="deterministic").decode()


def read_document(text: str | bytes, where: str) -> Inventory:
    """An inventory out of `write_document`; raises ConfigurationError that names `where` it stands."""
    try:
        document: Mapping[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        if document.get("schema") != SCHEMA:
            raise ConfigurationError(
                f"{where} is an inventory of another version of kymatui ({document.get('schema')!r})",
                hint="use that version, or a newer one",
            )
        return msgspec.convert(document, Inventory)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{where} holds no inventory that can be read: {error}") from error
