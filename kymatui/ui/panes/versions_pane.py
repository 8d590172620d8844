"""Versions of the module: where each is available, and the changes between two of them."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widget import Widget

from kymatui.actions.modules.version_content import (
    VersionReader,
    VersionReport,
    compare_contents,
    compare_templates,
    template_key,
)
from kymatui.actions.session import Session
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.errors import DefectError
from kymatui.lists.module import VERSION_COLUMNS
from kymatui.sessions.fetching import FetchOptions, LazyFetcher
from kymatui.ui.connection.remote_reading import read_remote
from kymatui.ui.navigation.history import template_component_step
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.module import version_rows
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.document import TextScroll
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable

_STAYS = 0.25
"""Seconds that the cursor stays on a version before its manifest is fetched."""


class VersionsPane(Pane):
    """Tab that compares the version under the cursor with the installed or chosen version."""

    TITLE: ClassVar[str] = "versions"

    TABLE_OPENS: ClassVar[bool] = False

    LISTS_OBJECTS: ClassVar[bool] = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "base", "Compare with this version", id="module.base"),
        Binding("enter", "component", "Component of this version", id="module.component"),
        Binding("shift+down", "scroll_changes(5)", "Scroll changes down", show=False, id="module.changes-down"),
        Binding("shift+up", "scroll_changes(-5)", "Scroll changes up", show=False, id="module.changes-up"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._row: ModuleRow | None = None
        self._base = ""
        self._pair: tuple[object, ...] | None = None  # the versions that are compared
        self._found: VersionReport | None = None
        self._reading = False
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        newest_first = SortOrder("version", descending=True)
        yield LiveTable(VERSION_COLUMNS, id="offers", sort=newest_first, copied="version", opens=self.TABLE_OPENS)
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
        self.action_component()

    def action_component(self) -> None:
        """Open the component of the version under the cursor."""
        ref = self.entry()
        if ref is not None:
            self.kymatui.ways.open(template_component_step(ref))

    @on(RowTable.Highlighted)
    def _compare(self) -> None:
        """Display what the templates tell at once, and read manifests when the cursor stays."""
        key = self.query_one("#offers", LiveTable).cursor_key
        if self._row is None or key is None:
            return
        before = self._template(self._base or version_rows.base_key(self._row))
        after = self._template(key)
        if before is None or after is None:
            self.query_one("#changes", Facts).show([version_rows.UNKNOWN])
            return
        pair = (template_key(before), template_key(after))
        if pair != self._pair:
            self._pair, self._found, self._reading = pair, compare_templates(before, after), False
            if self._timer is not None:
                self._timer.stop()
            self._found = self._start(before, after, self._found)
        self._show()

    def _start(self, before: ModuleTemplate, after: ModuleTemplate, plain: VersionReport) -> VersionReport:
        """Read the manifests soon; where neither names one there is nothing to wait for."""
        reader, session = self._reader(), self.kymatui.view.session
        if before.ref == after.ref or session is None:
            return plain
        if nowhere := [template for template in (before, after) if not reader.has_source(template)]:
            return replace(plain, unread=tuple(why for template in nowhere for why in reader.read(template).unread))
        self._reading = True
        self._timer = self.set_timer(_STAYS, partial(self._read, before, after, session))
        return plain

    @work(exclusive=True, group="versions", exit_on_error=False)
    async def _read(self, before: ModuleTemplate, after: ModuleTemplate, session: Session) -> None:
        """Read in a thread; a request for other versions cancels it."""
        pair, reader = self._pair, self._reader()
        try:
            report = await read_remote(lambda: compare_contents(reader, lambda: session.cluster, before, after))
        except Exception as failure:  # noqa: BLE001 (else the pane would load for ever)
            report = replace(compare_templates(before, after), unread=(str(DefectError(failure)),))
        if pair == self._pair:
            self._found, self._reading = report, False
            if self.is_mounted:
                self._show()

    def _show(self) -> None:
        if self._found is not None:
            facts = version_rows.change_facts(self._found, reading=self._reading)
            self.query_one("#changes", Facts).show(facts)

    def _reader(self) -> VersionReader:
        """Return the reader of the cluster's view, which knows what was fetched for other modules and screens."""
        view = self.kymatui.view
        if view.versions is None:
            view.versions = VersionReader(LazyFetcher(FetchOptions()))
        return view.versions

    def ask_again(self) -> None:
        """Fetch again what could not be fetched, and ask again who is affected."""
        self._reader().forget()
        self._pair = None
        self._compare()

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
