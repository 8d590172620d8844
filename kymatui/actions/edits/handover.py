"""Handing over what kymatui installed to a lifecycle-manager that took it up: nothing is deleted on the way."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.modules.module_sources import find_installations
from kymatui.domain.inventories import Inventory, inventory_owner
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.module_edit import ModuleEdit
from kymatui.domain.ownership import applying_keeper
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.engine.inventory import ownership_marks
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits


class HandoverResult(Struct, frozen=True):
    """`taken` belong to what works on the Kyma alone now; `remaining` stay in kymatui's inventory."""

    taken: tuple[ObjectRef, ...]
    remaining: tuple[ObjectRef, ...]


def find_handovers(edits: ClusterKymaEdits, module: str) -> tuple[Inventory, ...]:
    """Return the direct installations of a module: those with its manager or CRDs, as names are not unique."""
    inventories, own = find_installations(edits.cluster, module), edits.module_objects(module)
    return tuple(inventory for inventory in inventories if any(item.ref.key in own for item in inventory.items))


def handover_notice(known: Inventory, keeper: Actor) -> str:
    """Return the effect, for the confirmation."""
    count = format_count(len(known.items), "object")
    words = f"{count} installed by kymatui: owner kymatui → {keeper}, nothing is deleted"
    if not known.chart:
        return words
    return (
        f"{words}; the Helm release {known.namespace}/{known.name} is removed with its history, because `helm "
        f"uninstall` would delete what {keeper} manages"
    )


def handover_summary(known: Inventory, ended: HandoverResult, keeper: Actor) -> str:
    """Return what became of it."""
    words = f"{format_count(len(ended.taken), 'object')}: owner kymatui → {keeper}"
    if ended.remaining:
        kept = ", so its Helm release stays" if known.chart else ""
        return f"{words}; {keeper} has not adopted {', '.join(map(str, ended.remaining))}{kept}"
    return f"{words}; the Helm release {known.namespace}/{known.name} is removed" if known.chart else words


def planned_handover(edits: ClusterKymaEdits, toggle: ModuleEdit) -> str:
    """Return what becomes of what is installed directly when the edit is made; "" where nothing is."""
    try:
        with optional_requests():
            inventories = find_handovers(edits, toggle.module)
    except KymatuiError as error:
        return f"{toggle.module}: it is unknown whether kymatui installed it: {error}"
    return "; ".join(
        f"{toggle.module} {known.version}: {handover_notice(known, edits.keeper)}" for known in inventories
    )


def awaits_handover(edits: ClusterKymaEdits, toggle: ModuleEdit) -> bool:
    """Return whether the Kyma's controller already applies a module that is still installed directly."""
    try:
        own = edits.module_objects(toggle.module)
        refs = [
            item.ref
            for inventory in find_handovers(edits, toggle.module)
            for item in inventory.items
            if item.ref.key in own
        ]
        lives = [edits.cluster.get(ref) for ref in refs]
    except KymatuiError:  # then nothing is known that could be continued
        return False
    return any(applying_keeper(live) is not None for live in lives)


def complete_handover(edits: ClusterKymaEdits, toggle: ModuleEdit) -> str:
    """Release what is installed directly once lifecycle-manager has applied it; return a message, "" for nothing.

    The edit is made by then, so that a failure is a message and no error.
    """
    try:
        inventories = find_handovers(edits, toggle.module)
        return "; ".join(
            handover_summary(known, hand_over(edits.cluster, known), edits.keeper) for known in inventories
        )
    except ForbiddenError:  # the plan said that it is not known
        return ""
    except CancelledError:
        raise
    except KymatuiError as error:
        return f"enabled; the direct installation is not released: {error}; run the command again"


def hand_over(cluster: Cluster, known: Inventory) -> HandoverResult:
    """Hand a module over after the Kyma's controller has applied it; a second call continues an interrupted one.

    A Helm release is kept while anything of it is left: it says what that is. Then its Secrets go, all revisions.
    """
    from kymatui.engine.inventory.release_store import ReleaseStore, refuse_pending

    refuse_pending(known)
    mine = inventory_owner(known)
    refs = [item.ref for item in known.items]
    done = run_for_each(refs, lambda ref: ownership_marks.hand_over(cluster, ref, mine), threading.Event())
    gone = {ref for ref, taken in zip(refs, done, strict=True) if not taken and cluster.get(ref) is None}
    remaining = tuple(ref for ref, taken in zip(refs, done, strict=True) if not taken and ref not in gone)
    keeper = ApplySetStore(cluster, known.name, known.namespace)
    if known.chart:
        if not remaining:
            ReleaseStore(cluster, known.name, known.namespace, time.time).remove(known)
    elif remaining:
        keeper.note(replace(known, items=tuple(item for item in known.items if item.ref in remaining)))
    else:
        keeper.remove(known)
    return HandoverResult(tuple(ref for ref, taken in zip(refs, done, strict=True) if taken), remaining)
