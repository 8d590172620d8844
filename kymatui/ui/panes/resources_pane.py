"""Objects of the module as a tree with folding."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.object_tree import build_tree, unseen_words
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.panes.pane import ObjectListPane
from kymatui.ui.presenters.module.object_tree import (
    COLUMNS,
    TreeBranch,
    foldable_keys,
    narrow_branches,
    object_references,
    tree_branches,
    tree_rows,
)
from kymatui.ui.terminal.plain_widgets import Static, with_tone
from kymatui.ui.viewmodels.row_list import EMPTY
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class ResourcesPane(ObjectListPane):
    """Tab with the tree: Enter displays an object as YAML, left and right fold."""

    TITLE: ClassVar[str] = "resources"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "fold(True)", "Fold", id="module.fold"),
        Binding("right", "fold(False)", "Unfold", id="module.unfold"),
        Binding("z", "fold_all", "Fold or unfold all", show=False, id="module.fold-all"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._roots: tuple[TreeBranch, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._folded: set[str] = set()

    def compose(self) -> ComposeResult:
        yield LiveTable(COLUMNS, id="tree")
        yield Static("", id="tree-notes")

    def followed_objects(self, row: ModuleRow) -> FollowedObjects:
        """Return the objects to follow; Pods and other owned objects only while the tree is visible."""
        about = module_objects(row)
        return FollowedObjects(about, (*about, *self._refs.values()))

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        tree = build_tree(row, app.view.locations, app.clock(), unseen=unseen_words(snapshot), feeds=snapshot.feeds)
        self._roots, only = tree_branches(tree), app.only_namespace
        self._roots = narrow_branches(self._roots, only) if only else self._roots
        self._refs = dict(object_references(self._roots))
        self._notes = tree.notes
        self._redraw()

    def _redraw(self) -> None:
        self.target().show(tree_rows(self._roots, self._folded, self.kymatui.clock()))
        self._show_reason()

    @on(RowTable.Highlighted)
    def _show_reason(self) -> None:
        """Display the whole reason of the line under the cursor, and the unknown facts."""
        row = self.target().current
        words = row.cells["ready"] if row is not None else EMPTY
        parts = [with_tone(words.text, words.tone)] if words.text else []
        parts += [Content.styled(note, "$foreground-muted") for note in self._notes]
        self.query_one("#tree-notes", Static).update(Content("\n").join(parts))

    def action_fold(self, folded: bool) -> None:
        """Fold the line under the cursor, or its parent if it has no children."""
        table = self.target()
        key = table.cursor_key
        if key is None:
            return
        can = set(foldable_keys(self._roots))
        if folded and (key not in can or key in self._folded):
            key = max((other for other in can if key.startswith(f"{other}/")), key=len, default="")
            table.move_to(key)
        elif folded:
            self._folded.add(key)
        else:
            self._folded.discard(key)
        self._redraw()

    def action_fold_all(self) -> None:
        self._folded = set() if self._folded else set(foldable_keys(self._roots))
        self._redraw()

    def open_line(self, key: str) -> None:
        if key in self._refs:
            self.open_entry()
        else:
            self.action_fold(key not in self._folded)
