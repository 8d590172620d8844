"""The object tree of a module: Manifest with inventory, module CRs, manager, and the objects they own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject, read_meta, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectKey, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State, parse_state
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.snapshot.cluster_index import WORKLOAD_FEEDS
from kymatui.domain.snapshot.missing_lists import RowFact, explain_gaps, explain_missing
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot, followed_kind

_OWNED = ("replicasets", "pods", "jobs")

WATCHED = frozenset({("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")})
"""Kinds that are always fully watched, besides module CRs: an object that is not seen does not exist."""


MAX_DEPTH = 50
"""Maximum levels of owners; real objects have fewer, and a hostile chain must not exhaust the stack."""


class NodeRole(StrEnum):
    """The reasons why an object is in the tree."""

    MANIFEST = "manifest"
    RESOURCE = "resource"
    MANAGER = "manager"
    DEFINITION = "definition"
    INVENTORY = "inventory"
    OWNED = "owned"


class ObjectVisibility(StrEnum):
    """The visibility of an object to kymatui."""

    SEEN = "seen"
    MISSING = "missing"  # its kind is watched, and the object does not exist
    UNWATCHED = "not watched"  # its kind is not watched
    UNLISTED = "not listed"  # its kind is watched, and its list is missing
    MALFORMED = "malformed"


class TreeNode(Struct, frozen=True):
    """One object and its children; `words` explain the state, `created` is None if unknown."""

    ref: ObjectRef
    role: NodeRole
    visibility: ObjectVisibility
    state: State
    message: str = ""
    created: float | None = None
    children: tuple[TreeNode, ...] = ()

    def walk(self) -> Iterator[TreeNode]:
        """Yield this node and all its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()


class ObjectTree(Struct, frozen=True):
    """The roots of the tree, and notes about what the tree cannot show."""

    roots: tuple[TreeNode, ...]
    notes: tuple[str, ...] = ()


_NOT_YET = "ReplicaSets, Pods and Jobs: loading"


def unseen_words(snapshot: Snapshot) -> str:
    """Return why Pods, ReplicaSets and Jobs may be missing in a tree, "" if all are listed."""
    names = sorted(name for name in snapshot.feeds if followed_kind(name) in _OWNED)
    reasons = [str(why) for why in explain_gaps(snapshot.feeds, names)]
    absent = [name for name in names if snapshot.feeds[name].state is FeedState.ABSENT]
    reasons += [f"unknown (the cluster does not serve {', '.join(absent)})"] if absent else []
    return "; ".join(reasons) if names else _NOT_YET


def build_tree(
    row: ModuleRow,
    locations: ObjectIndex,
    now: float,
    *,
    unseen: str = _NOT_YET,
    feeds: Mapping[str, Feed] | None = None,
) -> ObjectTree:
    """Return the tree of a module's observed objects; `now` is in seconds of the Unix clock.

    `unseen` says why ReplicaSets, Pods and Jobs may be missing; it becomes a note if the tree has a workload.
    `feeds` tell which kinds are listed: a missing object of another kind is "not watched".
    """
    growing = _Growing(locations, now, row, feeds or {})
    roots = tuple(growing.roots())
    notes = []
    recorded = row.installation is not None and row.installation.inventory is not None
    if row.installation is not None and row.installation.unread:
        notes.append(f"other installed objects are unknown: {row.installation.unread}")
    elif row.manifest is None and not recorded:
        why = row.unknown.get(RowFact.MANIFEST)
        manifest = "no Manifest in this cluster" if why is None else f"Manifest: {why}"
        notes.append(f"{manifest}, so other installed objects are unknown")
    if (why := row.unknown.get(RowFact.CHECKS)) is not None:
        notes.append(f"module CRs: {why}")
    if row.manager is None and (why := row.unknown.get(RowFact.STATE)) is not None:
        notes.append(f"module's manager: {why}")
    if unseen and any(node.ref.kind.group == "apps" for root in roots for node in root.walk()):
        notes.append(unseen)
    if any(node.visibility is ObjectVisibility.UNWATCHED for root in roots for node in root.walk()):
        notes.append("objects marked as not watched were installed; whether they still exist is unknown")
    return ObjectTree(roots, tuple(notes))


class _Growing:
    """The builder of one tree; each object appears once, at its first place."""

    def __init__(self, locations: ObjectIndex, now: float, row: ModuleRow, feeds: Mapping[str, Feed]) -> None:
        self._locations = locations
        self._feeds = feeds
        self._now = now
        self._row = row
        self._placed: set[ObjectKey] = set()
        self._checked = {checked.resource.key: checked for checked in row.checked}

    def roots(self) -> Iterator[TreeNode]:
        row = self._row
        resources = list(self._nodes((checked.resource for checked in row.checked), NodeRole.RESOURCE))
        if row.manifest is not None:
            yield self._manifest(row.manifest)
        yield from resources
        template = row.shown
        kind = template.resource_kind if template is not None else None
        yield from self._nodes((row.manager,) if row.manager is not None else (), NodeRole.MANAGER)
        installed = row.installation.refs if row.installation is not None and row.manifest is None else ()
        yield from self._nodes((*row.workloads, *sorted(installed, key=_by_kind)), NodeRole.INVENTORY)
        if kind is not None:
            yield from self._nodes(self._definitions(kind), NodeRole.DEFINITION)

    def _definitions(self, kind: GroupVersionKind) -> Iterator[ObjectRef]:
        definition = self._locations.definition_of(kind)
        if definition is not None:
            yield read_ref(definition)

    def _manifest(self, ref: ObjectRef) -> TreeNode:
        raw = self._locations.find(ref)
        read = read_manifest(raw) if raw is not None else None
        node = self._node(ref, NodeRole.MANIFEST)
        if isinstance(read, Manifest):
            inventory = tuple(self._nodes(sorted(read.synced, key=_by_kind), NodeRole.INVENTORY))
            condition = next((c for c in read.conditions if c.status != "True"), None)
            words = (
                ": ".join(part for part in (condition.reason, condition.message) if part)
                if condition is not None
                else ""
            )
            state = node.state if node.state is State.DELETING else parse_state(read.state) or State.UNKNOWN
            return replace(node, state=state, message=words, children=(*node.children, *inventory))
        if isinstance(read, MalformedObject):
            return replace(node, visibility=ObjectVisibility.MALFORMED, state=State.ERROR, message=read.reason)
        return node

    def _nodes(self, refs: Iterable[ObjectRef], role: NodeRole, depth: int = 0) -> Iterator[TreeNode]:
        for ref in refs:
            if ref.key not in self._placed:
                yield self._node(ref, role, depth)

    def _node(self, ref: ObjectRef, role: NodeRole, depth: int = 0) -> TreeNode:
        self._placed.add(ref.key)
        raw = self._locations.find(ref)
        if raw is None:
            return self._unseen(ref, role)
        state, words = self._state(ref, raw)
        owned = [read_ref(child) for child in self._locations.owned_by(raw)]
        if depth >= MAX_DEPTH and owned:
            words, owned = f"{words}; its owned objects are nested too deeply to be displayed", []
        children = self._nodes(sorted(owned, key=_by_kind), NodeRole.OWNED, depth + 1)
        return TreeNode(
            ref, role, ObjectVisibility.SEEN, state, words, read_meta(JsonReader(raw)).created, tuple(children)
        )

    def _state(self, ref: ObjectRef, raw: Object) -> tuple[State, str]:
        """Return an object's state and message: a module CR's own status or checks, else its readiness."""
        checked = self._checked.get(ref.key)
        if checked is not None:
            held = f"finalizers: {', '.join(checked.finalizers)}" if checked.deleting and checked.finalizers else ""
            return parse_state(checked.status_state) or checked.klm.state, checked.message or held
        readiness = check_readiness(raw, self._now)
        return readiness.state, readiness.message

    def _unseen(self, ref: ObjectRef, role: NodeRole) -> TreeNode:
        location = (ref.kind.group, ref.kind.kind, ref.namespace)
        why = explain_missing(self._feeds, [WORKLOAD_FEEDS[ref.kind.kind]]) if location[:2] in WATCHED else None
        if why is not None:
            return TreeNode(ref, role, ObjectVisibility.UNLISTED, State.UNKNOWN, str(why))
        if location[:2] in WATCHED or role is NodeRole.RESOURCE or location in self._locations.places:
            return TreeNode(ref, role, ObjectVisibility.MISSING, State.ERROR, "expected, but does not exist")
        return TreeNode(ref, role, ObjectVisibility.UNWATCHED, State.UNKNOWN)


def _by_kind(ref: ObjectRef) -> tuple[str, str, str]:
    return ref.kind.kind, ref.namespace, ref.name
