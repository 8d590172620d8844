"""Versions of the module: where each is available, and the changes between two of them."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.version_diff import compare_versions
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.module import version_rows
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.scrolling import TextScroll


class VersionsPane(Pane):
    """Tab that compares the version under the cursor with the installed or chosen version."""

    TITLE: ClassVar[str] = "versions"

    TABLE_OPENS: ClassVar[bool] = False

    LISTS_OBJECTS: ClassVar[bool] = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b,enter", "base", "Compare with this version", id="module.base"),
        Binding("J", "scroll_changes(5)", "Scroll changes down", show=False, id="module.changes-down"),
        Binding("K", "scroll_changes(-5)", "Scroll changes up", show=False, id="module.changes-up"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._row: ModuleRow | None = None
        self._base = ""

    def compose(self) -> ComposeResult:
        newest_first = SortOrder("version", descending=True)
        yield LiveTable(version_rows.COLUMNS, id="offers", sort=newest_first, copied="version", opens=self.TABLE_OPENS)
        with TextScroll(id="changes-box"):
            yield Facts(id="changes")

    def target(self) -> Widget:
        return self.query_one("#offers")

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        del snapshot
        self._row = row
        known = {version_rows.offer_key(offer) for offer in row.offers}
        base = self._base if self._base in known else version_rows.base_key(row)
        self.query_one("#offers", LiveTable).show(version_rows.offer_lines(row, base))
        self._compare()

    def action_scroll_changes(self, by: int) -> None:
        self.query_one("#changes-box").scroll_relative(y=by, animate=False)

    def action_base(self) -> None:
        """Choose the version under the cursor as base of comparisons; again to reset to the installed."""
        key = self.query_one("#offers", LiveTable).cursor_key
        self._base = key if key is not None and key != self._base else ""
        snapshot = self.kymatui.view.snapshot
        if self._row is not None and snapshot is not None:
            self.draw(self._row, snapshot)

    @on(RowTable.Chosen)
    def _chosen(self) -> None:
        self.action_base()

    @on(RowTable.Highlighted)
    def _compare(self) -> None:
        key = self.query_one("#offers", LiveTable).cursor_key
        if self._row is None or key is None:
            return
        before = self._template(self._base or version_rows.base_key(self._row))
        after = self._template(key)
        unknown = [version_rows.UNKNOWN]
        facts = (
            version_rows.change_facts(compare_versions(before, after))
            if before is not None and after is not None
            else unknown
        )
        self.query_one("#changes", Facts).show(facts)

    def entry(self) -> ObjectRef | None:
        """Return the ModuleTemplate of the version under the cursor."""
        key = self.query_one("#offers", LiveTable).cursor_key
        offers = self._row.offers if self._row is not None else ()
        return next((offer.template for offer in offers if version_rows.offer_key(offer) == key), None)

    def _template(self, key: str) -> ModuleTemplate | None:
        """Read the template of an offer again; rows have only its name."""
        ref = next((offer.template for offer in self._row.offers if version_rows.offer_key(offer) == key), None)  # type: ignore[union-attr]
        body = self.kymatui.view.locations.find(ref) if ref is not None else None
        read = read_template(body) if body is not None else None
        return read if isinstance(read, ModuleTemplate) else None
