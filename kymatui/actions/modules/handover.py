"""Handing over what kymatui installed to a lifecycle-manager that took it up: nothing is deleted on the way."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma_edit.module_edit import ModuleEdit
from kymatui.errors import ForbiddenError
from kymatui.first_use import dataclass, replace

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.engine.inventory.inventory import Inventory


@dataclass(frozen=True, slots=True)
class HandoverResult:
    """`taken` belong to lifecycle-manager alone now; `left` it did not take up: they stay in kymatui's inventory."""

    taken: tuple[ObjectRef, ...]
    left: tuple[ObjectRef, ...]


def find_handover(cluster: Cluster, module: str) -> Inventory | None:
    """Return what is installed of a module directly, by kymatui or as a Helm release; None where that is nothing."""
    from kymatui.actions.modules.module_sources import find_installed

    return find_installed(cluster, module)


def handover_notice(known: Inventory) -> str:
    """Return the effect, for the confirmation."""
    count = format_count(len(known.items), "object")
    words = f"{count} installed by kymatui: owner kymatui → lifecycle-manager, nothing is deleted"
    if not known.chart:
        return words
    return (
        f"{words}; the Helm release {known.namespace}/{known.name} is removed with its history, because `helm "
        "uninstall` would delete what lifecycle-manager manages"
    )


def handover_summary(known: Inventory, ended: HandoverResult) -> str:
    """Return what became of it."""
    words = f"{format_count(len(ended.taken), 'object')}: owner kymatui → lifecycle-manager"
    if ended.left:
        kept = ", so its Helm release stays" if known.chart else ""
        return f"{words}; lifecycle-manager has not adopted {', '.join(map(str, ended.left))}{kept}"
    return f"{words}; the Helm release {known.namespace}/{known.name} is removed" if known.chart else words


def planned_handover(cluster: Cluster, toggle: ModuleEdit) -> str:
    """Return what becomes of what kymatui installed when the edit is made; "" where it installed nothing."""
    try:
        known = find_handover(cluster, toggle.module)
    except ForbiddenError as error:
        return f"{toggle.module}: it is unknown whether kymatui installed it: {error}"
    return f"{toggle.module} {known.version}: {handover_notice(known)}" if known is not None else ""


def complete_handover(cluster: Cluster, toggle: ModuleEdit) -> str:
    """Release what kymatui installed once lifecycle-manager has applied it; return a message, "" for nothing."""
    try:
        known = find_handover(cluster, toggle.module)
    except ForbiddenError:  # the plan said that it is not known
        return ""
    return handover_summary(known, hand_over(cluster, known)) if known is not None else ""


def hand_over(cluster: Cluster, known: Inventory) -> HandoverResult:
    """Hand a module over after lifecycle-manager has applied it; a second call continues an interrupted one.

    A Helm release is kept while anything of it is left: it says what that is. Then its Secrets go, all revisions.
    """
    from kymatui.engine.cluster.concurrency import run_for_each
    from kymatui.engine.deletion.uninstall_plan import inventory_owner
    from kymatui.engine.inventory import ownership_transfer
    from kymatui.engine.inventory.inventory_store import ApplySetStore
    from kymatui.engine.inventory.release_store import ReleaseStore

    mine = inventory_owner(known)
    refs = [item.ref for item in known.items]
    done = run_for_each(refs, lambda ref: ownership_transfer.hand_over(cluster, ref, mine), threading.Event())
    gone = {ref for ref, taken in zip(refs, done, strict=True) if not taken and cluster.get(ref) is None}
    left = tuple(ref for ref, taken in zip(refs, done, strict=True) if not taken and ref not in gone)
    keeper = ApplySetStore(cluster, known.name, known.namespace)
    if known.chart:
        if not left:
            ReleaseStore(cluster, known.name, known.namespace, time.time).remove(known)
    elif left:
        keeper.note(replace(known, items=tuple(item for item in known.items if item.ref in left)))
    else:
        keeper.remove(known)
    return HandoverResult(tuple(ref for ref, taken in zip(refs, done, strict=True) if taken), left)
