"""First screen: every module of the catalog, live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.notice_box import show_notice
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import LOGS, ScreenStep
from kymatui.ui.presenters.catalog.catalog_columns import (
    ALL_MODULES,
    CatalogView,
    catalog_views,
)
from kymatui.ui.presenters.catalog.table_notices import table_notice
from kymatui.ui.screens.column_choice import COLUMN_NAMES, ColumnChoice
from kymatui.ui.screens.module_action_screen import ModuleActionScreen
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine
from kymatui.ui.widgets.tone_styles import with_tone
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog


class CatalogScreen(ModuleActionScreen):
    """Table of modules with a view per channel, and the reason of the row under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                str(n),
                f"view({n})",
                "Show all modules, one channel, or community modules",
                show=False,
                id=f"catalog.view-{n}",
            )
            for n in range(10)
        ),
        Binding("x", "detail('checks')", "Explain", id="catalog.explain"),
        Binding("t", "detail('resources')", "Tree", id="catalog.tree"),
        Binding("v", "detail('versions')", "Versions", id="catalog.versions"),
        Binding("d", "detail('overview')", "Overview", show=False, id="catalog.overview"),
        Binding("e", "detail('events')", "Events", show=False, id="catalog.events"),
        Binding("y", "detail('yaml')", "YAML", show=False, id="catalog.yaml"),
        Binding("l", "detail('logs')", "Logs of the manager", show=False, id="catalog.logs"),
        Binding("h", "detail('history')", "History", show=False, id="catalog.history"),
        Binding("C", "columns", "Choose columns", show=False, id="catalog.columns"),
        Binding("ctrl+z", "problems", "Only problems", id="catalog.problems"),
        Binding("N", "sort('name')", "Sort by name", show=False, id="catalog.sort-name"),
        Binding("S", "sort('state')", "Sort by state", show=False, id="catalog.sort-state"),
        Binding("A", "sort('age')", "Sort by age", show=False, id="catalog.sort-age"),
        Binding("D", "sort('drift')", "Sort by drift", show=False, id="catalog.sort-drift"),
    ]

    name_in_help: ClassVar[str] = "Catalog"

    def __init__(self, runtime: str = "", module: str = "") -> None:
        """Take `runtime` as `namespace/name` of a Kyma on a control plane, "" on a single cluster.

        The cursor starts on `module`.
        """
        super().__init__()
        self._begin_at = module
        self._runtime = runtime
        self._view: CatalogView = ALL_MODULES
        self._columns = ColumnChoice(self.main_widget)
        self._only_problems = False
        self._can = (False, False)

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("modules", self._runtime)

    def body(self) -> ComposeResult:
        settings = self.kymatui.settings
        self._columns.choose(settings.columns)
        yield ViewTabs(id="views")
        with Container(id="catalog-body"):
            yield LiveTable(self._columns.chosen, id="modules", sort=SortOrder(settings.sort), copied="name")
            yield Static("", id="notice")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.main_widget().focus()
        self.show_catalog()

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    @property
    def targets(self) -> Sequence[str]:
        """Return the marked modules, else the module under the cursor."""
        table = self.main_widget()
        wanted = table.marked
        marked = [row.key for row in table.rows if row.key in wanted] if wanted else []
        return marked or ([table.cursor_key] if table.cursor_key is not None else [])

    # display

    def show_catalog(self) -> None:
        if not self.query(ViewTabs):  # not composed yet
            return
        app = self.kymatui
        offered = catalog_views(app.catalog)
        if self._view.label not in {view.label for view in offered}:
            self._view = ALL_MODULES
        self._columns.show(self._view)
        self.main_widget().show(self._rows(app.catalog) if app.catalog is not None else ())
        self._begin()
        self._show_around()

    def _begin(self) -> None:
        """Put the cursor on the requested module as soon as there are rows."""
        if self._begin_at and self.main_widget().rows:
            self.main_widget().move_to(self._begin_at)
            self._begin_at = ""

    def _choose_columns(self, names: Sequence[str]) -> None:
        self._columns.choose(names)
        self._columns.show(self._view)

    def _rows(self, catalog: Catalog) -> list[Row]:
        from kymatui.ui.presenters.catalog.catalog_rows import table_rows  # not before the first paint

        app = self.kymatui
        stale = bool(app.connection.stale_since) or app.failure is not None
        return table_rows(catalog, self._view, app.clock(), stale=stale, only_problems=self._only_problems)

    @on(LiveTable.Arranged)
    def _show_around(self) -> None:
        """Draw what depends on the filtered rows: the note, the notice instead of the table, the reason."""
        app, table = self.kymatui, self.main_widget()
        tabs = [Tab(view.key, view.label) for view in catalog_views(app.catalog)]
        self.query_one(ViewTabs).show(tabs, self._view.label, self._note(table))
        filtered = bool(table.filter_text) or self._only_problems or self._view != ALL_MODULES
        found = table_notice(app.snapshot, app.catalog, app.failure, shown=len(table.rows), filtered=filtered)
        show_notice(self.query_one("#catalog-body"), found)
        self._show_reason()
        can = (bool(table.rows), self._narrowed)
        if can != self._can:  # keys that need a row, and the key back
            self._can = can
            self.refresh_bindings()

    def _note(self, table: LiveTable) -> str:
        parts = [f"/{table.filter_text}"] if table.filter_text else []
        if self._only_problems:
            parts.append("only modules with problems")
        if parts:
            parts.append(f"{len(table.rows)} of {len(self.kymatui.catalog.rows) if self.kymatui.catalog else 0}")
        return "  ".join(parts)

    @on(RowTable.Highlighted)
    def _show_reason(self) -> None:
        catalog, key = self.kymatui.catalog, self.main_widget().cursor_key
        module = catalog.row(key) if catalog is not None and key is not None else None
        parts = []
        if module is not None:
            from kymatui.ui.presenters.catalog.catalog_rows import explain_row

            reason = explain_row(module)
            parts = [Content.styled(f"{sanitize(module.name)}  ", "bold"), with_tone(reason.text, reason.tone)]
            if reason.actor:
                parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        self.query_one(StatusLine).say(Content.assemble(*parts))

    # user input

    def action_view(self, number: int) -> None:
        offered = catalog_views(self.kymatui.catalog)
        if number < len(offered):
            self._view = offered[number]
            self.show_catalog()

    @on(ViewTabs.Chosen)
    def _view_chosen(self, event: ViewTabs.Chosen) -> None:
        self.action_view(event.number)

    def action_problems(self) -> None:
        self._only_problems = not self._only_problems
        self.show_catalog()

    def action_sort(self, column: str) -> None:
        """Sort by the column; by the same column again in reverse."""
        table = self.main_widget()
        table.sort_by(column)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.kymatui.ways.open(ScreenStep("module", event.key, "overview"))

    def action_detail(self, tab: str) -> None:
        key = self.main_widget().cursor_key
        if key is not None:
            self.kymatui.ways.open(ScreenStep(LOGS, key) if tab == LOGS else ScreenStep("module", key, tab))

    def why_off(self, action: str) -> str:
        if action == "detail" and self.is_mounted and self.main_widget().cursor_key is None:
            return "no module selected"
        if action == "back" and not self._narrowed and not self._runtime:
            return "this is the first screen"
        return super().why_off(action)

    @property
    def _narrowed(self) -> bool:
        return self.is_mounted and (bool(self.filter_line.text) or self._only_problems or self._view != ALL_MODULES)

    def action_back(self) -> None:
        """Clear what hides rows, the filter first."""
        if self.filter_line.text or self._only_problems:
            self._only_problems = False
            self.filter_line.set("")
            self.show_catalog()
        elif self._view != ALL_MODULES or not self._runtime:
            self.action_view(0)
        else:
            self.kymatui.ways.climb()

    # columns

    @work
    async def action_columns(self) -> None:
        from kymatui.ui.screens.catalog_columns_dialog import ColumnsScreen

        names = await self.app.push_screen_wait(ColumnsScreen([column.id for column in self._columns.chosen]))
        if names is not None:
            self._choose_columns(names)

    def commands(self) -> Sequence[ScreenCommand]:
        labels = tuple(view.label for view in catalog_views(self.kymatui.catalog))
        return (
            ScreenCommand(
                "view",
                "show all modules, one channel, or community modules",
                self._command_view,
                usage="view NAME",
                arguments=lambda: labels,
            ),
            ScreenCommand("bad", "show only modules with problems, or all", lambda _: self.action_problems()),
            ScreenCommand(
                "columns",
                "choose the columns and their order",
                self._command_columns,
                usage="columns NAME…",
                arguments=lambda: COLUMN_NAMES,
            ),
        )

    def _command_view(self, words: Sequence[str]) -> None:
        offered = {view.label: number for number, view in enumerate(catalog_views(self.kymatui.catalog))}
        if words and words[0] in offered:
            self.action_view(offered[words[0]])
        else:
            self.kymatui.problem(unknown_name("view", words[0] if words else "", offered, "view NAME"))

    def _command_columns(self, words: Sequence[str]) -> None:
        unknown = [word for word in words if word not in COLUMN_NAMES]
        if unknown:
            self.kymatui.problem(unknown_name("column", unknown[0], COLUMN_NAMES, "columns NAME…"))
        elif words:
            self._choose_columns(words)
        else:
            self.action_columns()
