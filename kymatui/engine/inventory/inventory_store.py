"""Storage of inventories: a ConfigMap with ApplySet labels, or Helm's release Secrets."""

from __future__ import annotations

from typing import Final, Protocol

from msgspec.structs import replace

from kymatui.domain.inventories import (
    KEY,
    Inventory,
    InventoryState,
    applyset_id,
    inventory_name,
    read_document,
    write_document,
)
from kymatui.domain.kubernetes.object_meta import resource_version_of
from kymatui.domain.kubernetes.refs import CONFIG_MAP, ObjectRef
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.inventory.ownership_marks import LABEL_APPLYSET, LABEL_HELM
from kymatui.errors import NotFoundError, RefusedError

_ANNOTATIONS: Final = "applyset.kubernetes.io"
_TOOLING: Final = "kymatui/v1"


class InventoryStore(Protocol):
    """The store of one inventory; every method can be repeated and interrupted at any request."""

    def read(self) -> Inventory | None:
        """Return the inventory, None if nothing is installed."""

    def begin(self, inventory: Inventory, bundle: Bundle) -> Inventory:
        """Store the inventory before the first write of a bundle, so that all its objects can be found."""

    def note(self, inventory: Inventory) -> Inventory:
        """Store the inventory during a run: completed hook, created default CR, started deletion."""

    def finish(self, inventory: Inventory) -> Inventory:
        """Store the inventory of a completed run, with the remaining items."""

    def fail(self, inventory: Inventory, reason: str) -> Inventory:
        """Store the failure of a run."""

    def remove(self, inventory: Inventory) -> None:
        """Delete the inventory."""


class ApplySetStore:
    """The store in a ConfigMap `kymatui.NAME`, the parent of an ApplySet."""

    def __init__(self, cluster: Cluster, name: str, namespace: str) -> None:
        self._cluster = cluster
        self._name, self._namespace = name, namespace
        self._ref = ObjectRef(CONFIG_MAP, namespace, inventory_name(name))

    def read(self) -> Inventory | None:
        config_map = self._cluster.get(self._ref)
        if config_map is None:
            return None
        read = read_document((config_map.get("data") or {}).get(KEY, ""), str(self._ref))
        version = resource_version_of(config_map)
        return replace(read, resource_version=version, finished=read.state is InventoryState.INSTALLED)

    def begin(self, inventory: Inventory, bundle: Bundle) -> Inventory:
        return self._write(inventory)

    def note(self, inventory: Inventory) -> Inventory:
        return self._write(inventory)

    def finish(self, inventory: Inventory) -> Inventory:
        return self._write(replace(inventory, state=InventoryState.INSTALLED, first=False))

    def fail(self, inventory: Inventory, reason: str) -> Inventory:
        return inventory  # its state is already PENDING

    def remove(self, inventory: Inventory) -> None:
        try:
            self._cluster.delete(self._ref)
        except NotFoundError:  # deleted with its namespace, or by another run
            return

    def _write(self, inventory: Inventory) -> Inventory:
        written = self._cluster.apply(self._body(inventory), force=True)
        return replace(inventory, resource_version=resource_version_of(written))

    def _body(self, inventory: Inventory) -> Object:
        groups = sorted({_group_kind(item.ref) for item in inventory.items})
        elsewhere = sorted({item.ref.namespace for item in inventory.items} - {"", self._namespace})
        metadata = {
            "name": self._ref.name,
            "namespace": self._namespace,
            "labels": {LABEL_APPLYSET: applyset_id(self._ref.name, self._namespace), LABEL_HELM: "kymatui"},
            "annotations": {
                f"{_ANNOTATIONS}/tooling": _TOOLING,
                f"{_ANNOTATIONS}/contains-group-kinds": ",".join(groups),
                f"{_ANNOTATIONS}/additional-namespaces": ",".join(elsewhere),
            },
        }
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: write_document(inventory)}}


def _group_kind(ref: ObjectRef) -> str:
    return f"{ref.kind.kind}.{ref.kind.group}" if ref.kind.group else ref.kind.kind


def refuse_other_kind(inventory: Inventory | None, *, chart: bool) -> None:
    """Raise RefusedError if a chart would replace a non-chart installation, or the reverse."""
    if inventory is None or inventory.chart is chart:
        return
    was, expected = ("a Helm release", "none") if inventory.chart else ("no Helm release", "one")
    raise RefusedError(
        f"{inventory.namespace}/{inventory.name} is installed as {was}; this installation would be {expected}",
        hint="delete it first, or use another name",
    )
