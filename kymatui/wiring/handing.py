"""Handing over what kymatui installed to a lifecycle-manager that took it up: nothing is deleted on the way."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.domain.refs import ObjectRef
from kymatui.domain.texts import counted

if TYPE_CHECKING:
    from kymatui.engine.inventories import Inventory
    from kymatui.engine.ports import Cluster


@dataclass(frozen=True, slots=True)
class HandedOver:
    """`taken` belong to lifecycle-manager alone now; `left` it did not take up: they stay in kymatui's inventory."""

    taken: tuple[ObjectRef, ...]
    left: tuple[ObjectRef, ...]


def to_be_handed_over(cluster: Cluster, module: str) -> Inventory | None:
    """What is installed of a module directly, by kymatui or as a Helm release; None where that is nothing."""
    from kymatui.wiring.installing import find_installed

    return find_installed(cluster, module)


def told_before(known: Inventory) -> str:
    """What becomes of it, for whoever is asked."""
    words = (
        f"{counted(len(known.items), 'object')} installed by kymatui: new owner lifecycle-manager, nothing is deleted"
    )
    if not known.chart:
        return words
    return (
        f"{words}; the Helm release {known.namespace}/{known.name} is forgotten then, with its history: `helm "
        "uninstall` would take away what lifecycle-manager looks after"
    )


def told_after(known: Inventory, ended: HandedOver) -> str:
    """What became of it."""
    words = f"{counted(len(ended.taken), 'object')}: owner kymatui → lifecycle-manager"
    if ended.left:
        kept = ", and so its Helm release stays" if known.chart else ""
        return f"{words}; lifecycle-manager has not taken up {', '.join(map(str, ended.left))}{kept}"
    return f"{words}; the Helm release {known.namespace}/{known.name} is forgotten" if known.chart else words


def hand_over(cluster: Cluster, known: Inventory) -> HandedOver:
    """To be called when lifecycle-manager has applied the module; called again, it goes on where it was left.

    A Helm release is kept while anything of it is left: it says what that is. Then its Secrets go, all revisions.
    """
    from kymatui.engine import adopting
    from kymatui.engine.concurrency import each
    from kymatui.engine.keeping import SetKeeper
    from kymatui.engine.releases import ReleaseKeeper
    from kymatui.engine.removals import own_marks

    mine = own_marks(known)
    refs = [item.ref for item in known.items]
    done = each(refs, lambda ref: adopting.hand_over(cluster, ref, mine), threading.Event())
    gone = {ref for ref, taken in zip(refs, done, strict=True) if not taken and cluster.get(ref) is None}
    left = tuple(ref for ref, taken in zip(refs, done, strict=True) if not taken and ref not in gone)
    keeper = SetKeeper(cluster, known.name, known.namespace)
    if known.chart:
        if not left:
            ReleaseKeeper(cluster, known.name, known.namespace, time.time).remove(known)
    elif left:
        keeper.note(replace(known, items=tuple(item for item in known.items if item.ref in left)))
    else:
        keeper.remove(known)
    return HandedOver(tuple(ref for ref, taken in zip(refs, done, strict=True) if taken), left)
