"""Contexts of the kubeconfig, the recently used first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import KymatuiError
from kymatui.lists.columns import ABSENT, SIGNS, Cell, Column
from kymatui.moments import format_duration
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.flows.flow_app import flow_app
from kymatui.ui.navigation.history import CONTEXTS
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from kymatui.sessions.contexts import ContextEntry


class ContextsScreen(ListScreen):
    """Table of contexts; Enter switches to one."""

    KIND = CONTEXTS
    name_in_help: ClassVar[str] = "Contexts"

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[ContextEntry] = ()

    def body(self) -> ComposeResult:
        yield LiveTable(COLUMNS, id="contexts", sort=SortOrder(""), copied="name")
        yield Static(Content("Reading the kubeconfig …"), id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.ask_again()

    def ask_again(self) -> None:
        """Read the kubeconfig again."""
        self.run_worker(self._read(), exclusive=True)

    async def _read(self) -> None:
        message = "No contexts in the kubeconfig."
        try:
            self._entries = await flow_app(self).contexts.entries()
        except KymatuiError as error:
            self._entries, message = (), sanitize(f"{error}. {error.hint}" if error.hint else str(error))
        self.query_one("#nothing", Static).update(Content(message))
        self.show_catalog()

    def show_catalog(self) -> None:
        if self.query(LiveTable):
            app = flow_app(self)
            self.main_widget().show(context_rows(self._entries, app.contexts.here, app.clock()))
            self.set_class(not self._entries, "-empty")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        key = self.main_widget().cursor_key
        entry = next((candidate for candidate in self._entries if candidate.name == key), None)
        self.query_one(StatusLine).show(Content(explain_context(entry)))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        app = flow_app(self)
        app.jobs.run_flow(app.contexts.switch(event.key))


COLUMNS = (
    Column("name", "CONTEXT", 20, flex=3),
    Column("status", "STATUS", 10),
    Column("mode", "MODE", 9),
    Column("cluster", "CLUSTER", 14, flex=2, priority=1),
    Column("user", "USER", 14, flex=2, priority=2),
    Column("namespace", "NAMESPACE", 12, flex=1, priority=4),
    Column("accent", "ACCENT", 7, priority=5),
    Column("used", "USED", 5, priority=3, right=True),
)


def context_rows(entries: Iterable[ContextEntry], here: str, now: float) -> list[Row]:
    """Return one row per context in the given order; `here` is the open one."""
    return [_row(entry, here, now) for entry in entries]


def _row(entry: ContextEntry, here: str, now: float) -> Row:
    cells = {
        "name": Cell(sanitize(entry.name), "strong"),
        "status": _status(entry, here),
        "mode": Cell("read-only", "ready") if entry.read_only else Cell("RW", "warning"),
        "cluster": Cell(sanitize(entry.cluster)),
        "user": Cell(sanitize(entry.user) or ABSENT, "" if entry.user else "muted"),
        "namespace": Cell(sanitize(entry.namespace) or ABSENT, "" if entry.namespace else "muted"),
        "accent": Cell(entry.accent or ABSENT, "" if entry.accent else "muted"),
        "used": Cell(format_duration(now - entry.used), "muted", -entry.used, entry.used) if entry.used else Cell(""),
    }
    return Row(entry.name, cells, labels={"server": entry.server})


def _status(entry: ContextEntry, here: str) -> Cell:
    if entry.name == here:
        return Cell(f"{SIGNS['ready']} open", "ready")
    if entry.problem:
        return Cell(f"{SIGNS['error']} unusable", "error")
    return Cell("default" if entry.is_current else "", "muted")


def explain_context(entry: ContextEntry | None) -> str:
    """Return the line under the table: the server of a context, or why it cannot be used."""
    if entry is None:
        return ""
    return sanitize(entry.problem or f"server {entry.server}")
