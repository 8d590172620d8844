"""Tree of a module's objects as lines with branches, groups by kind, and folding."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.object_tree import NodeRole, ObjectTree, ObjectVisibility, TreeNode
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.states import State, worst_state
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import SIGNS, Cell, Column, with_age
from kymatui.ui.viewmodels.row_list import Row

COLUMNS = (
    Column("object", "OBJECT", 34, flex=3),
    Column("namespace", "NAMESPACE", 12, flex=1, priority=1),
    Column("state", "STATE", 13),
    Column("ready", "READINESS", 20, flex=4, wraps=True),
    Column("age", "AGE", 4, priority=2, right=True),
    Column("role", "ROLE", 10, priority=3),
)

_SIGHTS = {
    ObjectVisibility.MISSING: "missing",
    ObjectVisibility.UNWATCHED: "not watched",
    ObjectVisibility.UNLISTED: "not listed",
    ObjectVisibility.MALFORMED: "malformed",
}


class TreeBranch(Struct, frozen=True):
    """Branch of the tree: an object, or the objects of one kind (`node` is None)."""

    key: str
    label: str
    node: TreeNode | None
    children: tuple[TreeBranch, ...] = ()

    @property
    def state(self) -> State:
        """Return the object's state, or the worst state of a group."""
        if self.node is not None:
            return self.node.state
        return worst_state(child.state for child in self.children) or State.UNKNOWN


def tree_branches(tree: ObjectTree) -> tuple[TreeBranch, ...]:
    """Return the tree with the objects of one Manifest grouped by kind."""
    return tuple(_branch(node, "") for node in tree.roots)


def narrow_branches(roots: Iterable[TreeBranch], namespace: str) -> tuple[TreeBranch, ...]:
    """Return the branches without the objects of other namespaces; objects of no namespace and parents stay."""
    branches = []
    for branch in roots:
        below = narrow_branches(branch.children, namespace)
        if below or (branch.node is not None and branch.node.ref.namespace in ("", namespace)):
            branches.append(replace(branch, children=below))
    return tuple(branches)


def _branch(node: TreeNode, above: str, *, short: bool = False) -> TreeBranch:
    key = f"{above}/{node.ref.kind.kind}.{node.ref.kind.group}:{node.ref.namespace}:{node.ref.name}"
    return TreeBranch(
        key, node.ref.name if short else f"{node.ref.kind.kind} {node.ref.name}", node, tuple(_children(node, key))
    )


def _children(node: TreeNode, key: str) -> Iterator[TreeBranch]:
    installed = [child for child in node.children if child.role is NodeRole.INVENTORY]
    for (kind, group), nodes in groupby(installed, key=lambda child: (child.ref.kind.kind, child.ref.kind.group)):
        alike, here = list(nodes), f"{key}/{kind}.{group}"
        if len(alike) == 1:
            yield _branch(alike[0], key)
        else:
            below = tuple(_branch(child, here, short=True) for child in alike)
            yield TreeBranch(here, f"{kind} × {len(below)}", None, below)
    yield from (_branch(child, key) for child in node.children if child.role is not NodeRole.INVENTORY)


def tree_rows(roots: Iterable[TreeBranch], folded: Collection[str], now: float) -> list[Row]:
    """Return the rows that are not folded."""
    lines = _outline(tuple(roots), (), "", folded)
    return [_row(branch, lasts, above, branch.key in folded, now) for branch, lasts, above in lines]


def _outline(
    branches: tuple[TreeBranch, ...], lasts: tuple[bool, ...], above: str, folded: Collection[str]
) -> Iterator[tuple[TreeBranch, tuple[bool, ...], str]]:
    """Yield each branch with, per level, whether it is the last there, and the parent's key."""
    for number, branch in enumerate(branches):
        here = (*lasts, number == len(branches) - 1)
        yield branch, here, above
        if branch.key not in folded:
            yield from _outline(branch.children, here, branch.key, folded)


def foldable_keys(roots: Iterable[TreeBranch]) -> Iterator[str]:
    """Yield the keys of all lines with children."""
    for branch in roots:
        if branch.children:
            yield branch.key
            yield from foldable_keys(branch.children)


def object_references(roots: Iterable[TreeBranch]) -> Iterator[tuple[str, ObjectRef]]:
    """Yield the object of each line with the line's key."""
    for branch in roots:
        if branch.node is not None:
            yield branch.key, branch.node.ref
        yield from object_references(branch.children)


def _row(branch: TreeBranch, lasts: tuple[bool, ...], above: str, folded: bool, now: float) -> Row:
    node = branch.node
    tone = TONES[branch.state]
    word = str(branch.state)
    words, created = ("", None) if node is None else (node.message, node.created)
    if node is not None and node.visibility is not ObjectVisibility.SEEN:
        word = _SIGHTS[node.visibility]
    elif node is None and all(
        c.node is not None and c.node.visibility is ObjectVisibility.UNWATCHED for c in branch.children
    ):
        word = _SIGHTS[ObjectVisibility.UNWATCHED]
    cells = {
        "object": Cell(sanitize(f"{_lines(lasts)}{_fold(branch, folded)}{branch.label}"), _object_tone(node)),
        "namespace": Cell(sanitize(node.ref.namespace) if node is not None else "", "muted"),
        "state": Cell(f"{SIGNS.get(tone, '')} {word}", tone),
        "ready": Cell(sanitize(words), "muted" if tone in ("ready", "muted") else tone),
        "age": with_age(Cell("", "muted", since=created), now),
        "role": Cell(str(node.role) if node is not None else "", "muted"),
    }
    return Row(branch.key, cells, parent=above, unseen=node.ref.kind.kind if node is not None else "")


def _object_tone(node: TreeNode | None) -> str:
    if node is None:
        return ""
    return "muted" if node.visibility is ObjectVisibility.UNWATCHED else ""


def _fold(branch: TreeBranch, folded: bool) -> str:
    if not branch.children:
        return ""
    return "▸ " if folded else "▾ "


def _lines(lasts: tuple[bool, ...]) -> str:
    """Return the branch drawing `│  ├─ `; "" for roots."""
    if len(lasts) == 1:
        return ""
    return "".join("   " if last else "│  " for last in lasts[1:-1]) + ("└─ " if lasts[-1] else "├─ ")
