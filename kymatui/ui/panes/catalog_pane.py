"""Modules of the catalog in views: all, one channel each, community modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.catalog import COLUMN_NAMES, OFFERED, CatalogColumn, choose_columns
from kymatui.ui.base.screen_app import ScreenPart
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.panes.table_pane import TablePane, sort_keys, view_keys
from kymatui.ui.presenters.catalog.catalog_views import ALL_MODULES, CatalogView, catalog_views, columns_of
from kymatui.ui.presenters.catalog.table_notices import table_notice
from kymatui.ui.terminal.plain_widgets import with_tone
from kymatui.ui.viewmodels.display_text import as_screen_commands
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.view_tabs import Tab

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.modules.state_checks import ModuleSignature


class CatalogPane(ScreenPart, TablePane):
    """Table of modules with a view per channel; the cursor starts on `module`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *view_keys("catalog.view", 10, "Show all modules, one channel, or community modules"),
        Binding("C", "columns", "Choose columns", show=False, id="catalog.columns"),
        *sort_keys("catalog"),
    ]

    def __init__(self, module: str = "") -> None:
        super().__init__()
        self._begin_at = module
        self._view: CatalogView = ALL_MODULES
        self._columns = ColumnChoice(lambda: self.table)
        self._can = (False, False)
        self._is_restored = False

    @property
    def is_narrowed(self) -> bool:
        """Return whether a view or a filter hides modules."""
        return bool(self.table.filter_text) or self.only_problems or self._view != ALL_MODULES

    def new_table(self) -> LiveTable:
        settings = self.kymatui.settings
        self._columns.choose(settings.columns)
        return LiveTable(self._columns.chosen, id="modules", sort=SortOrder(settings.sort), copied="name")

    def widen(self) -> bool:
        """Clear what hides rows, the filter first; return whether anything did."""
        if self.table.filter_text or self.only_problems:
            self.only_problems = False
            self.table.set_filter("")
            self.draw()
            return True
        if self._view != ALL_MODULES:
            self.show_view(0)
            return True
        return False

    # display

    def _restore(self) -> None:
        """Take the order, the filter and the columns that the context was left with, once."""
        view = self.kymatui.favourites.view
        if self._is_restored or view is None:
            return
        self._is_restored = True
        if view.columns:
            self._columns.choose(view.columns)
            self._columns.show(self._view)
        if view.sort:
            column, _, direction = view.sort.partition(":")
            self.table.set_order(SortOrder(column, descending=bool(direction)))
        if view.filter and not self.table.filter_text:
            self.table.set_filter(view.filter)

    def note_view(self) -> None:
        """Remember the order, the filter and the columns for the context."""
        view = self.kymatui.favourites.view
        if not self._is_restored or view is None:
            return
        chosen, order = tuple(column.id for column in self._columns.chosen), self.table.order or SortOrder()
        sort = "" if order == SortOrder(self.kymatui.settings.sort) else order.column + ":desc" * order.descending
        columns = () if chosen == tuple(self.kymatui.settings.columns) else chosen
        self.kymatui.favourites.leave(replace(view, sort=sort, filter=self.table.filter_text, columns=columns))

    def draw(self) -> None:
        app = self.kymatui
        self._restore()
        if self._view.label not in {view.label for view in catalog_views(app.catalog)}:
            self._view = ALL_MODULES
        self._columns.show(self._view)
        self.table.show(self._rows(app.catalog) if app.catalog is not None else ())
        if self._begin_at and self.table.rows:
            self.table.move_to(self._begin_at)
            self._begin_at = ""
        self.show_around()

    def _rows(self, catalog: Catalog) -> list[Row]:
        from kymatui.ui.presenters.catalog.catalog_rows import table_rows  # not before the first paint

        app = self.kymatui
        return table_rows(
            catalog,
            self._view,
            app.clock(),
            stale=app.view.is_outdated,
            only_problems=self.only_problems,
            namespace=app.only_namespace,
            pinned=app.favourites.names,
            signatures=self._signatures(catalog),
        )

    def _signatures(self, catalog: Catalog) -> Mapping[str, ModuleSignature]:
        """Return what is known of signatures; registries are asked only for a column that is on the screen."""
        view, settings = self.kymatui.view, self.kymatui.settings
        if view.snapshot is None or not any(column.id == "signed" for column in self._columns.chosen):
            return {}
        return view.watch_signatures(settings.registry, settings.public_key).known(catalog, view.snapshot)

    def ask_again(self) -> None:
        """Ask the registries again."""
        if self.kymatui.view.signatures is not None:
            self.kymatui.view.signatures.forget()
            self.draw()

    def show_around(self) -> None:
        app, table = self.kymatui, self.table
        tabs = [Tab(view.key, view.label) for view in catalog_views(app.catalog)]
        hidden_by = ["only modules with problems"] if self.only_problems else []
        hidden_by += [f"namespace {sanitize(app.only_namespace)}"] if app.only_namespace else []
        self.show_views(tabs, self._view.label, hidden_by, len(app.catalog.rows) if app.catalog is not None else 0)
        notice = table_notice(
            app.view.snapshot,
            app.catalog,
            app.view.failure,
            shown=len(table.rows),
            filtered=self.is_narrowed,
            namespace=app.only_namespace,
            step=app.view.connection.step,
        )
        self.show_notice(notice)
        can = (bool(table.rows), self.is_narrowed)
        if can != self._can:  # keys that need a row, and the key back
            self._can = can
            self.refresh_bindings()

    def reason(self) -> Content:
        catalog, key = self.kymatui.catalog, self.table.cursor_key
        module = catalog.row(key) if catalog is not None and key is not None else None
        if module is None:
            return Content("")
        from kymatui.lists.catalog_cells import SIGNATURE_TONES, explain_row

        reason = explain_row(module)
        signature = self._signatures(catalog).get(module.name) if catalog is not None else None
        parts = [
            Content.styled(f"{sanitize(module.name)}  ", "bold"),
            with_tone(as_screen_commands(reason.text), reason.tone),
        ]
        if reason.actor:
            parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        if signature is not None and signature.why:
            parts.append(with_tone(f"   signature {sanitize(str(signature))}", SIGNATURE_TONES[signature.status]))
        return Content.assemble(*parts)

    # user input

    def show_view(self, number: int) -> None:
        offered = catalog_views(self.kymatui.catalog)
        if number < len(offered):
            self._view = offered[number]
            self.draw()

    def _choose_columns(self, names: Sequence[str]) -> None:
        self._columns.choose(names)
        self.draw()
        self.note_view()

    @work
    async def action_columns(self) -> None:
        from kymatui.ui.dialogs.columns_dialog import ColumnsScreen

        names = await self.app.push_screen_wait(ColumnsScreen([column.id for column in self._columns.chosen]))
        if names is not None:
            self._choose_columns(names)

    def commands(self) -> Sequence[ScreenCommand]:
        labels = tuple(view.label for view in catalog_views(self.kymatui.catalog))
        return (
            ScreenCommand(
                "view NAME",
                "show all modules, one channel, or community modules",
                lambda words: self.choose_view("view", labels, words, "view NAME"),
                arguments=lambda: labels,
            ),
            ScreenCommand("bad", "show only modules with problems, or all", lambda _: self.toggle_problems()),
            ScreenCommand(
                "columns NAME…",
                "choose the columns and their order",
                self._command_columns,
                arguments=lambda: COLUMN_NAMES,
            ),
        )

    def _command_columns(self, words: Sequence[str]) -> None:
        unknown = [word for word in words if word not in COLUMN_NAMES]
        if unknown:
            self.kymatui.problem(unknown_name("column", unknown[0], COLUMN_NAMES, "columns NAME…"))
        elif words:
            self._choose_columns(words)
        else:
            self.action_columns()


class ColumnChoice:
    """Chosen columns of one screen, applied to its `table`."""

    def __init__(self, table: Callable[[], LiveTable]) -> None:
        self._table = table
        self._chosen: tuple[CatalogColumn, ...] = ()

    @property
    def chosen(self) -> Sequence[CatalogColumn]:
        return self._chosen

    def choose(self, names: Sequence[str]) -> None:
        self._chosen = choose_columns(names)

    def show(self, view: CatalogView) -> None:
        """Display the columns of the view; drop a sort order whose column is gone."""
        table, columns = self._table(), columns_of(view, self._chosen)
        if table.grid.columns == columns:
            return
        table.set_columns(columns)
        if OFFERED not in columns and table.order is not None and table.order.column == OFFERED.id:
            table.set_order(SortOrder())
