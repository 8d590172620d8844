"""First screen on a control plane: every runtime, live, optionally in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.notice_box import show_notice
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.fleet.fleet_notices import fleet_notice
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine
from kymatui.ui.widgets.tone_styles import with_tone
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs

if TYPE_CHECKING:
    from kymatui.domain.fleet.runtimes import Runtime
    from kymatui.ui.connection.fleet_view import FleetReading
    from kymatui.ui.flows.flow_app import FleetFlowApp
    from kymatui.ui.presenters.fleet.runtime_rows import RuntimeFilter

GROUPS = ("", "plan", "region", "platform-region", "channel", "state", "account")
BY_STATE = SortOrder("state")


class RuntimeTable(LiveTable, inherit_bindings=False):
    """Table where `g` groups, and only Home goes to the first row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        replace(one, key="home") if isinstance(one, Binding) and one.id == "table.first" else one
        for one in (*RowTable.BINDINGS, *LiveTable.BINDINGS)
    ]


class FleetScreen(FramedScreen):
    """One line per runtime or per group; the screen names active filters, and Escape clears them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "group", "Group", id="fleet.group"),
        Binding("m", "open('matrix')", "Versions", id="fleet.matrix"),
        Binding("w", "open('waits')", "Waiting", id="fleet.waits"),
        Binding("h", "open('recent')", "Last hour", id="fleet.recent"),
        Binding("d", "compare", "Compare", id="fleet.compare"),
        Binding("a,p", "edit_runtimes", "Edit marked runtimes", id="fleet.edit"),
        Binding("ctrl+z", "problems", "Only problems", id="fleet.problems"),
        Binding("N", "sort('name')", "Sort by name", show=False, id="fleet.sort-name"),
        Binding("S", "sort('state')", "Sort by state", show=False, id="fleet.sort-state"),
        Binding("A", "sort('age')", "Sort by age", show=False, id="fleet.sort-age"),
        Binding("D", "sort('drift')", "Sort by drift", show=False, id="fleet.sort-drift"),
        *(
            Binding(
                str(n),
                f"group_by({n})",
                "List runtimes, or group them by plan, region …",
                show=False,
                id=f"fleet.group-{n}",
            )
            for n in range(len(GROUPS))
        ),
    ]

    name_in_help: ClassVar[str] = "Fleet"

    def __init__(self) -> None:
        super().__init__()
        self._group = ""
        self._narrow: tuple[RuntimeFilter, ...] = ()
        self._only_problems = False
        self._shown_columns: object = None
        self._shown: tuple[object, ...] | None = None

    @property
    def fleet_app(self) -> FleetFlowApp:
        return cast("FleetFlowApp", self.app)

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("fleet")

    def body(self) -> ComposeResult:
        yield ViewTabs(id="views")
        with Container(id="catalog-body"):
            yield RuntimeTable(id="runtimes", sort=BY_STATE, copied="name")
            yield Static("", id="notice")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.main_widget().focus()
        self.show_catalog()

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def action_compare(self) -> None:
        """Connect to the runtime under the cursor and compare it with its control plane."""
        from kymatui.ui.presenters.fleet.runtime_rows import key_of

        key = self.main_widget().cursor_key
        if self._group or not key:
            return
        self.fleet_app.look_at(key_of(key))
        self.fleet_app.ways.open(ScreenStep("compare"))

    @property
    def targets(self) -> Sequence[str]:
        """Return the marked runtimes in table order, including those hidden by a filter."""
        table = self.main_widget()
        marked = table.marked
        shown = [row.key for row in table.rows if row.key in marked]
        return (*shown, *sorted(marked - {*shown}))

    def action_edit_runtimes(self) -> None:
        """Plan one edit for every marked runtime; write nothing before the plan is accepted."""
        from kymatui.ui.flows.campaign import edit_runtimes

        self.fleet_app.desk.flow(edit_runtimes(self.fleet_app, self.targets))

    # display

    def show_catalog(self) -> None:
        if not self.query(ViewTabs):  # not composed yet
            return
        seen = self.fleet_app.fleet
        if seen is not None:
            self._show_rows(seen)
        self._show_around()

    def _show_rows(self, seen: FleetReading) -> None:
        """Draw the rows only if a row or the filter changed; sorting thousands of rows is slow."""
        turned, feeds = self._set_columns(), self.fleet_app.runtimes.feeds()
        wanted = (seen.rows, self._group, self._narrow, self._only_problems, feeds)
        before, self._shown = self._shown, wanted
        if before is not None and before[0] is wanted[0] and before[1:] == wanted[1:]:
            return
        self.main_widget().show(self._rows(seen))
        if turned:
            self.main_widget().action_edge(-1)

    def _set_columns(self) -> bool:
        """Set the columns; return whether the kind of lines changed."""
        from kymatui.ui.presenters.fleet.runtime_rows import COLUMNS, GROUP_COLUMNS

        wanted = GROUP_COLUMNS if self._group else COLUMNS
        if wanted is not self._shown_columns:
            self._shown_columns = wanted
            table = self.main_widget()
            table.set_columns(wanted)
            table.set_order(SortOrder("count", descending=True) if self._group else BY_STATE)
            return True
        return False

    def _rows(self, seen: FleetReading) -> list[Row]:
        from kymatui.ui.presenters.fleet.runtime_rows import group_rows, key_text, with_runtime

        if self._group:
            return group_rows(self._chosen(seen), self._group, seen.picture.unknown_drift)
        feeds = {key_text(key): feed for key, feed in self.fleet_app.runtimes.feeds().items()}
        if self._narrow or self._only_problems:
            rows = [seen.rows[one.ref.namespace, one.name] for one in self._chosen(seen)]
        else:
            rows = list(seen.rows.values())
        return [with_runtime(row, feeds[row.key]) if row.key in feeds else row for row in rows] if feeds else rows

    def _chosen(self, seen: FleetReading) -> list[Runtime]:
        return [
            runtime
            for runtime in seen.picture.runtimes.values()
            if all(narrow.accepts(runtime) for narrow in self._narrow)
            and (not self._only_problems or runtime.has_problem)
        ]

    @on(LiveTable.Arranged)
    def _show_around(self) -> None:
        table, seen = self.main_widget(), self.fleet_app.fleet
        tabs = [Tab(str(n), name or "runtimes") for n, name in enumerate(GROUPS)]
        self.query_one(ViewTabs).show(tabs, self._group or "runtimes", self._note(table))
        found = fleet_notice(
            seen.picture if seen is not None else None, self.fleet_app.fleet_view.failure, len(table.rows)
        )
        show_notice(self.query_one("#catalog-body"), found)
        self._show_reason()
        self.refresh_bindings()

    def _note(self, table: LiveTable) -> str:
        parts = [f"/{table.filter_text}"] if table.filter_text else []
        parts += [str(narrow) for narrow in self._narrow]
        parts += ["only runtimes with problems"] if self._only_problems else []
        if table.marked:
            parts.append(f"{len(table.marked)} marked")
        if table.filter_text or self._narrow or self._only_problems:
            seen = self.fleet_app.fleet
            parts.append(f"{len(table.rows)} of {len(seen.picture.runtimes) if seen is not None else 0}")
        return "  ".join(parts)

    @on(RowTable.Highlighted)
    def _show_reason(self) -> None:
        self.query_one(StatusLine).say(self._reason())

    def _reason(self) -> Content:
        from kymatui.ui.presenters.fleet.runtime_rows import explain_runtime, key_of

        seen, key = self.fleet_app.fleet, self.main_widget().cursor_key
        if seen is None or key is None or self._group:
            return Content("enter shows the runtimes of the group" if self._group else "")
        runtime = seen.picture.runtimes.get(key_of(key))
        if runtime is None:
            return Content("")
        text, actor, tone = explain_runtime(runtime, seen.picture)
        parts = [Content.styled(f"{sanitize(runtime.name)}  ", "bold"), with_tone(text, tone)]
        if actor:
            parts.append(Content.styled(f"   {actor}", "bold $text-accent"))
        return Content.assemble(*parts)

    # user input

    def action_group(self) -> None:
        self.action_group_by((GROUPS.index(self._group) + 1) % len(GROUPS))

    def action_group_by(self, number: int) -> None:
        self._group = GROUPS[number]
        self.show_catalog()

    @on(ViewTabs.Chosen)
    def _group_chosen(self, event: ViewTabs.Chosen) -> None:
        self.action_group_by(event.number)

    def narrow(self, *found: RuntimeFilter) -> None:
        """Display only the runtimes of these groups."""
        self._narrow, self._group = found, ""
        self.show_catalog()

    def action_problems(self) -> None:
        self._only_problems = not self._only_problems
        self.show_catalog()

    def action_sort(self, column: str) -> None:
        table = self.main_widget()
        table.sort_by(column)

    @on(RowTable.Chosen)
    def _opened(self, event: RowTable.Chosen) -> None:
        from kymatui.ui.presenters.fleet.runtime_rows import filter_title, key_of

        if self._group:
            self.narrow(*self._narrow, filter_title(event.key))
        else:
            self.fleet_app.look_at(key_of(event.key))

    @on(RowTable.Marked)
    def _marks_changed(self) -> None:
        self._show_around()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give the group key priority over the table's keys, except in a text input."""
        if action == "group" and self.command_line.is_typing:
            return False
        return super().check_action(action, parameters)

    def why_off(self, action: str) -> str:
        if action == "back" and not self._narrowed:
            return "this is the first screen"
        if action == "edit_runtimes":
            if self._group or not self.frame.is_whole or not self.main_widget().marked:
                return "mark runtimes first (space)"
            return "" if self.fleet_app.read_only else self.fleet_app.why_no_fleet_writes
        if action == "compare" and (self._group or not self.frame.is_whole or self.main_widget().cursor_key is None):
            return "no runtime selected"
        return super().why_off(action)

    @property
    def _narrowed(self) -> bool:
        return self.is_mounted and bool(self.filter_line.text or self._narrow or self._group or self._only_problems)

    def action_back(self) -> None:
        """Clear what hides runtimes: the filter, then the groups from the last."""
        if self.filter_line.text:
            self.filter_line.set("")
        elif self._only_problems:
            self._only_problems = False
        elif self._group:
            self._group = ""
        else:
            self._narrow = self._narrow[:-1]
        self.show_catalog()

    def commands(self) -> Sequence[ScreenCommand]:
        return (
            ScreenCommand(
                "group",
                "group the runtimes and count them, or list them",
                self._command_group,
                usage="group WHAT",
                arguments=lambda: [name or "none" for name in GROUPS],
            ),
            ScreenCommand("bad", "show only runtimes with problems, or all", lambda _: self.action_problems()),
        )

    def _command_group(self, words: Sequence[str]) -> None:
        names = {name or "none": number for number, name in enumerate(GROUPS)}
        if words and words[0] in names:
            self.action_group_by(names[words[0]])
        else:
            self.kymatui.problem(unknown_name("group", words[0] if words else "", names, "group WHAT"))
