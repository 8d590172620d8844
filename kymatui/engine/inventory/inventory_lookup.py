"""Which store has the inventory of a bundle, and what it says."""

from __future__ import annotations

from kymatui.domain.inventories import Inventory
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.engine.inventory.inventory_store import ApplySetStore, InventoryStore
from kymatui.engine.inventory.release_store import ReleaseStore


def inventory_store_for(bundle: Bundle, cluster: Cluster, clock: Clock) -> InventoryStore:
    """Return the store of a bundle's inventory."""
    if bundle.release is not None:
        return ReleaseStore(cluster, bundle.name, bundle.namespace, clock.now)
    return ApplySetStore(cluster, bundle.name, bundle.namespace)


def read_inventory(cluster: Cluster, clock: Clock, name: str, namespace: str) -> Inventory | None:
    """Return the inventory of a name: from an ApplySet, else from a Helm release."""
    found = ApplySetStore(cluster, name, namespace).read()
    return found if found is not None else ReleaseStore(cluster, name, namespace, clock.now).read()
