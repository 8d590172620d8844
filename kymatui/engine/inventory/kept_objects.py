"""Why an installed object stays, whatever becomes of its installation: one answer for every deletion."""

from __future__ import annotations

from kymatui.domain.inventories import InventoryItem
from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.ownership import RESOURCE_POLICY, Owner, OwnerKind, read_owner, resource_policy
from kymatui.engine.cluster.kind_order import is_definition, is_namespace, is_system_namespace
from kymatui.engine.cluster.ports import Object
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS


def keep_reason(item: InventoryItem, live: Object, mine: Owner, *, adopt: bool = False, unmarked: bool = False) -> str:
    """Return why an object stays, "" if it may be deleted.

    The annotation counts in the live object and in the source from which it was installed, as helm reads that one.
    With `adopt`, an object without an owner may be deleted if kubectl or lifecycle-manager wrote it; an `unmarked`
    one, as a namespace that the installation created, never had marks.
    """
    if is_namespace(item.ref) and is_system_namespace(item.ref.name):
        return "a system namespace"
    if item.adopted:
        return "it existed before the module"
    if reason := resource_policy(live):
        return reason
    if item.kept:
        return f"kept: it was installed with the annotation {RESOURCE_POLICY}"
    created_once = item.definition and is_definition(item.ref)  # others may write the inventory
    return _foreign_claim(live, mine, adopt=adopt, unmarked=unmarked or created_once)


def _foreign_claim(live: Object, mine: Owner, *, adopt: bool, unmarked: bool) -> str:
    owner = read_owner(live)
    if adopt and (owner is None or owner.kind is OwnerKind.LIFECYCLE_MANAGER):
        writers = field_managers(live)
        return (
            ""
            if writers & ADOPTED_MANAGERS
            else f"written by {', '.join(sorted(writers)) or 'an unknown field manager'}"
        )
    if owner is not None and owner != mine:
        return f"owned by the {owner} now"
    if owner is None and not unmarked:
        return "its ownership labels were removed, so another client uses it"
    return ""
