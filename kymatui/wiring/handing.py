"""Handing over what kymatui installed to a lifecycle-manager that took it up: nothing is deleted on the way."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.domain.refs import ObjectRef

if TYPE_CHECKING:
    from kymatui.engine.inventories import Inventory
    from kymatui.engine.ports import Cluster


@dataclass(frozen=True, slots=True)
class HandedOver:
    """`taken` belong to lifecycle-manager alone now; `left` it did not take up: they stay in kymatui's inventory."""

    taken: tuple[ObjectRef, ...]
    left: tuple[ObjectRef, ...]


def to_be_handed_over(cluster: Cluster, module: str) -> Inventory | None:
    """What kymatui has installed of a module, None where that is nothing; a chart's release stays what it is."""
    from kymatui.wiring.installing import find_installed

    known = find_installed(cluster, module)
    return known if known is not None and not known.chart else None


def hand_over(cluster: Cluster, known: Inventory) -> HandedOver:
    """To be called when lifecycle-manager has applied the module; called again, it goes on where it was left."""
    from kymatui.engine import adopting
    from kymatui.engine.concurrency import each
    from kymatui.engine.keeping import SetKeeper
    from kymatui.engine.removals import own_marks

    mine = own_marks(known)
    refs = [item.ref for item in known.items]
    done = each(refs, lambda ref: adopting.hand_over(cluster, ref, mine), threading.Event())
    gone = {ref for ref, taken in zip(refs, done, strict=True) if not taken and cluster.get(ref) is None}
    left = tuple(ref for ref, taken in zip(refs, done, strict=True) if not taken and ref not in gone)
    keeper = SetKeeper(cluster, known.name, known.namespace)
    if left:
        keeper.note(replace(known, items=tuple(item for item in known.items if item.ref in left)))
    else:
        keeper.remove(known)
    return HandedOver(tuple(ref for ref, taken in zip(refs, done, strict=True) if taken), left)
