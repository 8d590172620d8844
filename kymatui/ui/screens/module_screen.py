"""One module in tabs: overview, tree, checks, versions, events, objects and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.navigation.history import YAML, ScreenStep
from kymatui.ui.panes.checks_pane import ChecksPane
from kymatui.ui.panes.module_panes import DocumentsPane, EventsPane, HistoryPane, OverviewPane
from kymatui.ui.panes.pane import Pane
from kymatui.ui.panes.resources_pane import ResourcesPane
from kymatui.ui.panes.versions_pane import VersionsPane
from kymatui.ui.screens.module_action_screen import ModuleActionScreen
from kymatui.ui.terminal.plain_widgets import Box
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs

PANES: tuple[type[Pane], ...] = (
    OverviewPane,
    ResourcesPane,
    ChecksPane,
    VersionsPane,
    EventsPane,
    DocumentsPane,
    HistoryPane,
)
TABS = tuple(Tab(str(number), pane.TITLE) for number, pane in enumerate(PANES, 1))
_KEYS = {key: pane.TITLE for key, pane in zip("dtxveyh", PANES, strict=True) if key not in "dy"}


class ModuleScreen(ModuleActionScreen):
    """Screen that follows one module; a deleted module is reported and stays readable."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(tab.key, f"tab('{tab.label}')", "Open a tab", show=False, id=f"module.tab-{tab.key}")
            for tab in TABS
        ),
        *(
            Binding(key, f"tab('{title}')", title.capitalize(), show=False, id=f"module.{title}")
            for key, title in _KEYS.items()
        ),
        Binding(
            "d", "object('describe')", "Describe the selected object or the module", show=False, id="module.overview"
        ),
        Binding("y", "object('yaml')", "YAML of the object or of the module", show=False, id="module.yaml"),
        Binding("tab", "tab(1)", "Next tab", show=False, id="module.next-tab"),
        Binding("shift+tab", "tab(-1)", "Previous tab", show=False, id="module.previous-tab"),
    ]

    name_in_help: ClassVar[str] = "Module"

    def __init__(self, name: str, tab: str = "") -> None:
        super().__init__()
        self._module_name = name
        self._tab = tab or TABS[0].label
        self._last: ModuleRow | None = None
        self._panes: dict[str, Pane] = {}  # opened panes by title

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("module", self._module_name, self._tab)

    def body(self) -> ComposeResult:
        yield ViewTabs(id="views")
        with Box(id="module-tabs"):
            yield self._new_pane(self._tab)

    async def on_mount(self) -> None:  # type: ignore[override]  # a pane has to be there before keys are taken
        super().on_mount()
        await self.action_tab(self._tab)

    def on_unmount(self) -> None:
        self.kymatui.view.follow(self, FollowedObjects())

    def main_widget(self) -> Widget:
        return self.pane.target() if self.pane is not None else self

    @property
    def targets(self) -> Sequence[str]:
        return (self._module_name,)

    # display

    @property
    def module(self) -> ModuleRow | None:
        """Return the current row, or the last row of a deleted module."""
        catalog = self.kymatui.catalog
        row = catalog.row(self._module_name) if catalog is not None else None
        self._last = row or self._last
        return self._last

    def show_catalog(self) -> None:
        """Draw the open tab; other tabs are drawn when opened."""
        row, snapshot, pane = self.module, self.kymatui.view.snapshot, self.pane
        if row is None or snapshot is None or pane is None:
            return
        pane.draw(row, snapshot)
        self.kymatui.view.follow(self, pane.followed_objects(row))
        self._show_tabs()

    @on(Pane.Noted)
    @on(Document.Moved)
    @on(LiveTable.Arranged)
    def _show_tabs(self) -> None:
        note = self.pane.note if self.pane is not None else ""
        table = self.filter_line.table
        main = self.main_widget()
        if isinstance(main, Document) and main.filter_text:
            note = f"/{main.filter_text}  {main.place}"
        elif table is not None and table.filter_text:
            note = f"/{table.filter_text}  {len(table.rows)} of {len(table.everything)}"
        self.query_one(ViewTabs).show(TABS, self._tab, note)

    # tabs

    async def action_tab(self, tab: str | int) -> None:
        """Open a tab by its title, or the one that many tabs further."""
        titles = [entry.label for entry in TABS]
        title = tab if isinstance(tab, str) else titles[(titles.index(self._tab) + tab) % len(titles)]
        await self._open(title)
        self.kymatui.ways.visits.turn(title)

    async def _open(self, title: str) -> Pane:
        self._tab = title
        if title not in self._panes:
            await self.query_one("#module-tabs").mount(self._new_pane(title))
        pane = self.pane = self._panes[title]
        for other in self._panes.values():
            other.display = other is pane
        self.show_catalog()
        self._show_tabs()
        self.set_focus(pane.target())
        return pane

    def _new_pane(self, title: str) -> Pane:
        kind = next(kind for kind in PANES if title == kind.TITLE)
        self._panes[title] = kind(id=f"pane-{title}")
        return self._panes[title]

    async def action_object(self, tab: str) -> None:
        """Open the object of a line, else the tab of the module: its own objects, or the overview."""
        if self.pane is not None and self.pane.LISTS_OBJECTS:
            self.pane.open_entry(tab)
        else:
            await self.action_tab(DocumentsPane.TITLE if tab == YAML else OverviewPane.TITLE)

    def ask_again(self) -> None:
        if self.pane is not None:
            self.pane.ask_again()

    async def show_tab(self, tab: str) -> None:
        if tab and tab != self._tab:
            await self._open(tab)

    @on(ViewTabs.Chosen)
    async def _tab_chosen(self, event: ViewTabs.Chosen) -> None:
        await self.action_tab(TABS[event.number].label)

    def why_off(self, action: str, choice: object = "") -> str:
        if action == "filter" and self.is_mounted and self.filter_line.target is None:
            return "nothing to filter here"
        return super().why_off(action, choice)

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {**super().exports(), **(self.pane.exports() if self.pane is not None else {})}
