"""The first screen: every module of the catalog, live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from kymatui.ui.commands import ScreenCommand
from kymatui.ui.presenters.catalog_columns import ALL, COLUMNS, Sort, View, chosen, views
from kymatui.ui.presenters.filtering import Filter, parse_filter
from kymatui.ui.presenters.notices import Notice, notice
from kymatui.ui.screens.framed import FramedScreen
from kymatui.ui.text import plain
from kymatui.ui.widgets.row_list import Row
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.tones import toned
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs

if TYPE_CHECKING:
    from kymatui.domain.rows import Catalog

SORTABLE = tuple(column.id for column in COLUMNS)


class CatalogScreen(FramedScreen):
    """A table of modules with a view a channel, a filter, sorting, and the reason of the row under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(n), f"view({n})", "View", show=False, id=f"catalog.view-{n}") for n in range(10)),
        Binding("x", "detail(1)", "Explain", id="catalog.explain"),
        Binding("d", "detail(0)", "Details", show=False, id="catalog.overview"),
        Binding("v", "detail(2)", "Versions", show=False, id="catalog.versions"),
        Binding("e", "detail(3)", "Events", show=False, id="catalog.events"),
        Binding("y", "detail(4)", "YAML", show=False, id="catalog.yaml"),
        Binding("M", "matrix", "Channels side by side", show=False, id="catalog.matrix"),
        Binding("P", "list_problems", "Problems", show=False, id="catalog.problem-list"),
        Binding("Y", "copy_table", "Copy the table", show=False, id="catalog.copy-table"),
        Binding("ctrl+s", "save", "Save the table", show=False, id="catalog.save"),
        Binding("ctrl+z", "problems", "Only problems", show=False, id="catalog.problems"),
        Binding("N", "sort('name')", "Sort by name", show=False, id="catalog.sort-name"),
        Binding("S", "sort('state')", "Sort by state", show=False, id="catalog.sort-state"),
        Binding("A", "sort('age')", "Sort by age", show=False, id="catalog.sort-age"),
        Binding("D", "sort('drift')", "Sort by drift", show=False, id="catalog.sort-drift"),
        Binding("c", "copy", "Copy the name", show=False, id="catalog.copy"),
    ]

    name_in_help: ClassVar[str] = "Catalog"

    def __init__(self) -> None:
        super().__init__()
        self._view: View = ALL
        self._filter: Filter = parse_filter("")
        self._sort = Sort()
        self._only_problems = False
        self._columns = COLUMNS

    @property
    def trail(self) -> tuple[str, ...]:
        return ("modules",)

    def body(self) -> ComposeResult:
        settings = self.kymatui.settings
        self._columns, self._sort = chosen(settings.columns), Sort(settings.sort)
        yield ViewTabs(id="views")
        with Container(id="catalog-body"):
            yield RowTable(self._columns, id="modules")
            yield Static("", id="notice")
        yield Static("", id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.table.set_sort(self._sort.column, descending=self._sort.descending)
        self.table.focus()
        self.show_catalog()

    @property
    def table(self) -> RowTable:
        return self.query_one(RowTable)

    def main_widget(self) -> Widget:
        return self.table

    # what is shown

    def show_catalog(self) -> None:
        """Draws what the app knows now; called whenever that changed."""
        if not self.query(ViewTabs):  # not composed yet
            return
        app = self.kymatui
        offered = views(app.catalog)
        if self._view.label not in {view.label for view in offered}:
            self._view = ALL
        tabs = [Tab(view.key, view.label) for view in offered]
        self.query_one(ViewTabs).show(tabs, self._view.label, self._filter_note())
        rows = self._rows(app.catalog) if app.catalog is not None else []
        self.table.set_rows(rows)
        filtered = bool(self._filter) or self._only_problems or self._view != ALL
        self._show_notice(notice(app.snapshot, app.catalog, app.failure, shown=len(rows), filtered=filtered))
        self._show_reason()

    def _rows(self, catalog: Catalog) -> list[Row]:
        from kymatui.ui.presenters.catalog import Words, table_rows  # not before the first paint

        app = self.kymatui
        words = Words(app.clock(), app.glyphs, stale=bool(app.connection.stale_since))
        return table_rows(catalog, self._view, self._filter, self._sort, words, only_problems=self._only_problems)

    def _filter_note(self) -> str:
        parts = [f"/{self._filter.text}"] if self._filter else []
        if self._only_problems:
            parts.append("only problems")
        return "  ".join(parts)

    def _show_notice(self, found: Notice | None) -> None:
        self.query_one("#catalog-body").set_class(found is not None, "-notice")
        if found is not None:
            lines = [toned(found.title, found.tone, bold=True)]
            lines += [Content(f"\n{found.body}")] if found.body else []
            lines += [Content.styled(f"\n\n{found.hint}", "$foreground-muted")] if found.hint else []
            self.query_one("#notice", Static).update(Content.assemble(*lines))

    def _show_reason(self) -> None:
        catalog, key = self.kymatui.catalog, self.table.cursor_key
        module = catalog.row(key) if catalog is not None and key is not None else None
        parts = []
        if module is not None:
            from kymatui.ui.presenters.catalog import why

            reason = why(module)
            parts = [Content.styled(f"{plain(module.name)}  ", "bold"), toned(reason.text, reason.tone)]
            if reason.actor:
                parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        self.query_one("#reason", Static).update(Content.assemble(*parts))

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self._show_reason()

    # what the person asks for

    def action_view(self, number: int) -> None:
        offered = views(self.kymatui.catalog)
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
        """The same column again turns the order round."""
        turned = self._sort.column == column and not self._sort.descending
        self._sort = Sort(column, descending=turned)
        self.table.set_sort(column, descending=turned)
        self.show_catalog()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self._open(event.key)

    def action_detail(self, tab: int) -> None:
        if self.table.cursor_key is not None:
            self._open(self.table.cursor_key, tab)

    def _open(self, name: str, tab: int = 0) -> None:
        from kymatui.ui.screens.module import ModuleScreen

        self.app.push_screen(ModuleScreen(name, tab))

    @on(RowTable.HeaderClicked)
    def _header_clicked(self, event: RowTable.HeaderClicked) -> None:
        self.action_sort(event.column)

    def action_copy(self) -> None:
        if self.table.cursor_key is not None:
            self.app.copy_to_clipboard(self.table.cursor_key)
            self.notify(f"copied {self.table.cursor_key}", markup=False, timeout=2)

    def action_copy_table(self) -> None:
        """As TSV, which spreadsheets take."""
        from kymatui.ui.presenters.exporting import exported

        self.app.copy_to_clipboard(exported(self._columns, self.table.rows, "tsv"))
        self.notify(f"copied {len(self.table.rows)} rows", timeout=2)

    async def action_save(self) -> None:
        await self.action_command("save modules.csv")

    def _command_save(self, words: Sequence[str]) -> None:
        from kymatui.ui.presenters.exporting import FORMATS, exported, format_of

        name = words[0] if words else ""
        form = format_of(name)
        if form is None:
            self.kymatui.problem(f"save under which name? its ending chooses the format: {', '.join(FORMATS)}")
            return
        try:
            with open(name, "x", encoding="utf-8") as file:
                file.write(exported(self._columns, self.table.rows, form))
        except FileExistsError:
            self.kymatui.problem(f"{name} is there already; nothing was overwritten")
        except OSError as error:
            self.kymatui.problem(f"{name} cannot be written: {error.strerror or error}")
        else:
            self.notify(f"saved {len(self.table.rows)} rows to {name}", markup=False)

    def action_matrix(self) -> None:
        from kymatui.ui.screens.matrix import MatrixScreen

        self.app.push_screen(MatrixScreen())

    def action_list_problems(self) -> None:
        from kymatui.ui.screens.problems import ProblemsScreen

        self.app.push_screen(ProblemsScreen())

    def action_back(self) -> None:
        """Escape takes the filter away first."""
        if self._filter or self._only_problems:
            self._only_problems = False
            self.filter_changed("")
        elif self._view != ALL:
            self.action_view(0)

    @property
    def filter_text(self) -> str:
        return self._filter.text

    def filter_changed(self, text: str) -> str:
        self._filter = parse_filter(text)
        self.show_catalog()
        return self._filter.problem

    def commands(self) -> Sequence[ScreenCommand]:
        labels = tuple(view.label for view in views(self.kymatui.catalog))
        orders = tuple(f"{column}{way}" for column in SORTABLE for way in ("", ":desc"))
        return (
            ScreenCommand("view", "show one channel", self._command_view, usage="view NAME", arguments=lambda: labels),
            ScreenCommand(
                "sort", "order the rows", self._command_sort, usage="sort COLUMN[:desc]", arguments=lambda: orders
            ),
            ScreenCommand("channels", "all channels side by side", lambda _: self.action_matrix(), aliases=("matrix",)),
            ScreenCommand("errors", "everything that is wrong", lambda _: self.action_list_problems()),
            ScreenCommand("save", "write the table to a file", self._command_save, usage="save FILE.csv|json|md|tsv"),
            ScreenCommand(
                "columns",
                "choose the columns",
                self._command_columns,
                usage="columns NAME…",
                arguments=lambda: SORTABLE,
            ),
            ScreenCommand("problems", "only modules with a problem, or all", lambda _: self.action_problems()),
        )

    def _command_view(self, words: Sequence[str]) -> None:
        offered = {view.label: number for number, view in enumerate(views(self.kymatui.catalog))}
        if words and words[0] in offered:
            self.action_view(offered[words[0]])
        else:
            self.kymatui.problem(f"which view? {', '.join(offered)}")

    def _command_columns(self, words: Sequence[str]) -> None:
        unknown = [word for word in words if word not in SORTABLE]
        if unknown or not words:
            self.kymatui.problem(f"which columns? {', '.join(SORTABLE)}")
            return
        self._columns = chosen(words)
        self.table.set_columns(self._columns)

    def _command_sort(self, words: Sequence[str]) -> None:
        column, _, way = (words[0] if words else "").partition(":")
        if column not in SORTABLE or way not in ("", "asc", "desc"):
            self.kymatui.problem(f"sort by which column? {', '.join(SORTABLE)}; `:desc` behind it turns the order")
            return
        self._sort = Sort(column, descending=way == "desc")
        self.table.set_sort(column, descending=self._sort.descending)
        self.show_catalog()
