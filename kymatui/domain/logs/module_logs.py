"""The containers of a module: those of its manager's Pods, or of every Pod of its tree."""

from __future__ import annotations

from msgspec import Struct

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.object_tree import build_tree
from kymatui.domain.catalog.rows import CatalogOrigin, ModuleRow
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.logs.log_sources import PodContainer, containers_of, pods_below
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_gaps
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import EVENTS, Snapshot, followed_kind


class ModuleLogs(Struct, frozen=True):
    """The containers, the Pods that have none yet, and why more Pods may exist (None if all are listed)."""

    containers: tuple[PodContainer, ...] = ()
    waiting: tuple[ObjectRef, ...] = ()
    gap: UnknownFact | None = None


def log_roots(row: ModuleRow, locations: ObjectIndex, *, whole: bool = False) -> tuple[ObjectRef, ...]:
    """Return the objects whose Pods have the logs: the manager, or with `whole` all objects of the tree.

    Of what no catalog offers, each workload is one.
    """
    if not whole and row.origin is CatalogOrigin.NONE:  # no template says which of its workloads is its manager
        return row.workloads
    if not whole:
        return (row.manager,) if row.manager is not None else ()
    tree = build_tree(row, locations, 0.0)
    return tuple(dict.fromkeys((*module_objects(row), *(node.ref for root in tree.roots for node in root.walk()))))


def find_logs(roots: tuple[ObjectRef, ...], snapshot: Snapshot, locations: ObjectIndex) -> ModuleLogs:
    """Return the containers of the Pods below these objects; the objects have to be followed."""
    pods = pods_below(roots, locations)
    found = [(read_ref(pod), containers_of(pod)) for pod in pods]
    feeds = [name for name in snapshot.feeds if followed_kind(name) not in ("", EVENTS)]
    return ModuleLogs(
        tuple(one for _, containers in found for one in containers),
        tuple(ref for ref, containers in found if not containers),
        next(iter(explain_gaps(snapshot.feeds, feeds)), None),
    )
