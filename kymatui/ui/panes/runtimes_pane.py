"""Runtimes of a control plane, or groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace as replace_fields
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.fleet.clusters import ClusterStatus
from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import KymatuiError
from kymatui.ui.flows.flow_app import FleetPart, fleet_catalogs
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.panes.table_pane import TablePane, sort_keys, view_keys
from kymatui.ui.presenters.catalog.table_notices import TableNotice, failed_notice, failure_notice
from kymatui.ui.terminal.plain_widgets import with_tone
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.view_tabs import Tab

if TYPE_CHECKING:
    from kymatui.domain.fleet.fleet_tracker import FleetSnapshot
    from kymatui.ui.connection.fleet_view import FleetReading
    from kymatui.ui.presenters.fleet.runtime_rows import RuntimeFilter


GROUPS = ("", "plan", "region", "platform-region", "channel", "state", "account")
_GROUP_WORDS = tuple(name or "none" for name in GROUPS)
BY_STATE = SortOrder("state")


class RuntimeTable(LiveTable, inherit_bindings=False):
    """Table where `g` groups, and only Home goes to the first row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        replace(binding, key="home") if isinstance(binding, Binding) and binding.id == "table.first" else binding
        for binding in (*RowTable.BINDINGS, *LiveTable.BINDINGS)
    ]


class RuntimesPane(FleetPart, TablePane):
    """One line per runtime or per group; filters stay until they are cleared."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *sort_keys("fleet"),
        *view_keys("fleet.group", len(GROUPS), "List runtimes, or group them by plan, region …"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.group = ""
        self._filters: tuple[RuntimeFilter, ...] = ()
        self._shown_columns: object = None
        self._shown: tuple[object, ...] | None = None
        self._first_key: str | None = None
        self._is_loading = True
        self._is_restored = False

    @property
    def is_narrowed(self) -> bool:
        """Return whether a group or a filter hides runtimes."""
        return bool(self.table.filter_text or self._filters or self.group or self.only_problems)

    def new_table(self) -> LiveTable:
        return RuntimeTable(id="runtimes", sort=BY_STATE, copied="name")

    def narrow(self, *filters: RuntimeFilter) -> None:
        """Display only the runtimes of these groups."""
        self._filters, self.group = filters, ""
        self.draw()

    def open_group(self, key: str) -> None:
        """Display the runtimes of one group."""
        from kymatui.ui.presenters.fleet.runtime_rows import filter_title

        self.narrow(*self._filters, filter_title(key))

    def widen(self) -> None:
        """Clear what hides runtimes: the filter, then the groups from the last."""
        if self.table.filter_text:
            self.table.set_filter("")
        elif self.only_problems:
            self.only_problems = False
        elif self.group:
            self.group = ""
        else:
            self._filters = self._filters[:-1]
        self.draw()

    # display

    def _restore(self) -> None:
        """Take the order, the filter and the group that the list of contexts was left with, once."""
        view = self.fleet_app.left.view if self.fleet_app.left is not None else None
        if self._is_restored or view is None:
            return
        self._is_restored = True
        self.group = view.group if view.group in GROUPS else ""
        self._set_columns()
        if view.sort:
            column, _, direction = view.sort.partition(":")
            self.table.set_order(SortOrder(column, descending=bool(direction)))
        if view.filter:
            self.table.set_filter(view.filter)

    def note_view(self) -> None:
        """Remember the order, the filter and the group of the list of contexts."""
        left = self.fleet_app.left
        if left is None or left.view is None or not self._is_restored:
            return
        order = self.table.order or BY_STATE
        sort = "" if self.group or order == BY_STATE else order.column + ":desc" * order.descending
        left.leave(replace_fields(left.view, sort=sort, filter=self.table.filter_text, group=self.group))

    def draw(self) -> None:
        self._restore()
        reading = self.fleet_app.fleet
        if reading is not None:
            self._show_rows(reading)
        self.show_around()

    def _show_rows(self, reading: FleetReading) -> None:
        """Draw the rows only if a row or the filter changed; sorting thousands of rows is slow."""
        turned, feeds = self._set_columns(), self.fleet_app.runtimes.feeds()
        inputs = (reading.rows, self.group, self._filters, self.only_problems, feeds)
        before, self._shown = self._shown, inputs
        if before is not None and before[0] is inputs[0] and before[1:] == inputs[1:]:
            return
        self.table.show(self._rows(reading))
        if turned or self._stays_on_top(reading):
            self.table.action_edge(-1)
            self._first_key = self.table.cursor_key

    def _stays_on_top(self, reading: FleetReading) -> bool:
        """Return whether the cursor is where it began, while rows still find their places."""
        is_loading = any(cluster.status is ClusterStatus.CONNECTING for cluster in reading.picture.clusters.values())
        was_loading, self._is_loading = self._is_loading, is_loading
        return was_loading and self._first_key in (None, self.table.cursor_key) and bool(reading.picture.clusters)

    def _set_columns(self) -> bool:
        """Set the columns; return whether the kind of lines changed."""
        from kymatui.ui.presenters.fleet.runtime_rows import COLUMNS, CONTEXT_TABLE, GROUP_TABLE

        columns = GROUP_TABLE if self.group else CONTEXT_TABLE if self.fleet_app.has_contexts else COLUMNS
        if columns is not self._shown_columns:
            self._shown_columns = columns
            table = self.table
            table.set_columns(columns)
            table.set_order(SortOrder("count", descending=True) if self.group else BY_STATE)
            return True
        return False

    def _rows(self, reading: FleetReading) -> list[Row]:
        from kymatui.ui.presenters.fleet.runtime_rows import group_rows, key_text, with_runtime

        if self.group:
            return group_rows(self._chosen(reading), self.group, reading.picture.unknown_drift)
        opened = {} if self.fleet_app.has_contexts else self.fleet_app.runtimes.feeds()
        feeds = {key_text(key): feed for key, feed in opened.items()}
        if self._filters or self.only_problems:
            chosen = {(runtime.ref.namespace, runtime.name) for runtime in self._chosen(reading)}
            rows = [row for key, row in reading.rows.items() if key in chosen]
        else:
            rows = list(reading.rows.values())
        return [with_runtime(row, feeds[row.key]) if row.key in feeds else row for row in rows] if feeds else rows

    def _chosen(self, reading: FleetReading) -> list[Runtime]:
        return [
            runtime
            for key, runtime in reading.picture.runtimes.items()
            if all(narrow.accepts(runtime) for narrow in self._filters)
            and (not self.only_problems or reading.picture.has_problem(key))
        ]

    def show_around(self) -> None:
        reading, table = self.fleet_app.fleet, self.table
        every = "contexts" if self.fleet_app.has_contexts else "runtimes"
        tabs = [Tab(str(n), name or every) for n, name in enumerate(GROUPS)]
        hidden_by = [str(entry) for entry in self._filters]
        hidden_by += [f"only {every} with problems"] if self.only_problems else []
        total = len(reading.picture.runtimes) if reading is not None else 0
        self.show_views(tabs, self.group or every, hidden_by, total)
        picture = reading.picture if reading is not None else None
        view = self.fleet_app.fleet_view
        self.show_notice(fleet_notice(picture, view.failure, len(table.rows), view.connection.step))
        self.refresh_bindings()

    def reason(self) -> Content:
        from kymatui.ui.presenters.fleet.runtime_rows import explain_runtime

        reading, key = self.fleet_app.fleet, self.table.cursor_key
        if reading is None or key is None or self.group:
            return Content(f"enter shows the {self.fleet_app.subject}s of the group" if self.group else "")
        runtime = reading.picture.runtimes.get(split_name(key))
        if runtime is None:
            return Content("")
        catalog = fleet_catalogs(self.fleet_app).get(split_name(key))
        text, actor, tone = explain_runtime(runtime, reading.picture, catalog)
        parts = [Content.styled(f"{sanitize(runtime.name)}  ", "bold"), with_tone(text, tone)]
        if actor:
            parts.append(Content.styled(f"   {actor}", "bold $text-accent"))
        return Content.assemble(*parts)

    # user input

    def action_sort(self, column: str) -> None:
        """Sort by the column; contexts have no age, and are behind their versions."""
        named = {"drift": "behind", "age": "seen"} if self.fleet_app.has_contexts and not self.group else {}
        super().action_sort(named.get(column, column))

    def group_next(self) -> None:
        """Group by the next property."""
        self.show_view((GROUPS.index(self.group) + 1) % len(GROUPS))

    def show_view(self, number: int) -> None:
        self.group = GROUPS[number]
        self.draw()
        self.note_view()

    def commands(self) -> Sequence[ScreenCommand]:
        return (
            ScreenCommand(
                "group WHAT",
                "group the runtimes and count them, or list them",
                lambda words: self.choose_view("group", _GROUP_WORDS, words, "group WHAT"),
                arguments=lambda: _GROUP_WORDS,
            ),
            ScreenCommand("bad", "show only runtimes with problems, or all", lambda _: self.toggle_problems()),
        )


def fleet_notice(
    fleet: FleetSnapshot | None, failure: KymatuiError | None, shown: int, step: str = ""
) -> TableNotice | None:
    """Return the notice; None where there are rows. `step` is what is done for the first answer."""
    if failure is not None and fleet is None:
        return failure_notice(failure)
    if shown:
        return None
    if step or fleet is None:
        return TableNotice(sanitize(f"{step or 'Connecting'} …"), tone="processing")
    feed = fleet.feeds.get(KYMA_FEED)
    if fleet.runtimes:
        return TableNotice(
            "Nothing matches", f"{format_count(len(fleet.runtimes), 'runtime')} hidden.", "esc clears the filter"
        )
    if feed is None or feed.state is FeedState.SYNCING:
        return TableNotice("Loading …", "Listing the Kymas of the control plane.", tone="processing")
    words = {
        FeedState.ABSENT: ("No Kyma on this cluster", "choose a control plane with --kcp-context"),
        FeedState.FORBIDDEN: ("Not allowed to list Kymas", "`kymatui rights` prints the Role that allows it"),
    }
    if feed.state is FeedState.FAILED:
        return failed_notice(feed, "The control plane does not answer")
    title, hint = words.get(feed.state, ("No runtimes", "the control plane has no Kyma"))
    return TableNotice(title, sanitize(feed.message), hint, "warning" if feed.state in words else "muted")
