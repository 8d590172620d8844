"""The tabs of a module that draw one row or its objects: overview, YAML, events and history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from kymatui.domain.catalog.module_events import (
    Event,
    EventsAvailability,
    event_objects,
    events_about,
    events_availability,
    module_objects,
)
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.lists.catalog_cells import Explanation, explain_row
from kymatui.lists.columns import cells_of
from kymatui.lists.module import EVENT_COLUMNS
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.panes.object_view import ObjectView
from kymatui.ui.panes.pane import ObjectListPane, Pane
from kymatui.ui.presenters.catalog.change_rows import (
    MODULE_COLUMNS,
    change_rows,
    change_subjects,
    format_change,
    why_no_changes,
)
from kymatui.ui.presenters.module import module_facts
from kymatui.ui.terminal.plain_widgets import Horizontal, Static, with_tone
from kymatui.ui.viewmodels.display_text import Fact, as_screen_commands
from kymatui.ui.viewmodels.row_list import Row as Line
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.document import Document, TextScroll
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable

SIDE_BY_SIDE = {"declared": "declared", "observed": "observed", "reported": "reported by"}
CONDITIONS = {"manifest-says": "conditions of the Manifest", "resource-says": "conditions of the module CR"}
BELOW = {"tail": "newest events", "resources": "resources, worst first", "evidence": "evidence for the version"}


class OverviewPane(Pane):
    """Tab that leaves out empty sections."""

    TITLE: ClassVar[str] = "overview"

    _said: tuple[Explanation, bool] | None = None

    def compose(self) -> ComposeResult:
        with TextScroll(id="overview-scroll"):
            yield Static(id="why")
            with Horizontal(id="panels"):
                for name, title in SIDE_BY_SIDE.items():
                    yield Facts(id=name, classes="panel", title=title)
            yield Facts(id="findings", classes="panel", title="findings")
            with Horizontal(id="conditions"):
                for name, title in CONDITIONS.items():
                    yield Facts(id=name, classes="panel", title=title)
            for name, title in BELOW.items():
                yield Facts(id=name, classes="panel", title=title)

    def target(self) -> Widget:
        return self.query_one("#overview-scroll")

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        now, catalog = app.clock(), app.catalog
        assert catalog is not None
        links = module_facts.links_of(row)
        facts: dict[str, Callable[[float], Iterable[Fact]]] = {
            "declared": lambda _: [*module_facts.declared(row, catalog), *module_facts.link_facts(links)],
            "observed": lambda at: module_facts.observed(row, at),
            "reported": lambda _: module_facts.reported(row),
            "manifest-says": lambda at: module_facts.manifest_conditions(row, snapshot, at),
            "resource-says": lambda at: module_facts.resource_conditions(row, snapshot, at),
            "findings": lambda _: module_facts.findings(row),
            "tail": lambda at: newest_events(row, snapshot, at),
            "resources": lambda _: module_facts.resources(row),
            "evidence": lambda _: module_facts.evidence(row),
        }
        for name, facts_of in facts.items():
            panel = self.query_one(f"#{name}", Facts)
            panel.show_at(now, facts_of)
            panel.display = bool(panel.facts) or name in SIDE_BY_SIDE
        self._draw_why(row, gone=catalog.row(row.name) is None)

    def _draw_why(self, row: ModuleRow, *, gone: bool) -> None:
        reason = explain_row(row)
        if (reason, gone) == self._said:
            return
        self._said = reason, gone
        parts = [with_tone(as_screen_commands(reason.text), reason.tone, bold=True)]
        if reason.actor:
            parts.append(Content.styled(f"   {reason.actor}", "bold $text-accent"))
        if gone:
            parts.insert(0, with_tone("no longer in the catalog: ", "warning", bold=True))
        self.query_one("#why", Static).update(Content.assemble(*parts))


# Objects of the module as YAML, with a search that marks and never hides lines.


class DocumentsPane(Pane):
    """Tab with one object at a time: module CRs, template, Manifest, manager."""

    TITLE: ClassVar[str] = "yaml"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("full_stop", "other(1)", "Next object", id="module.other"),
        Binding("comma", "other(-1)", "Previous object", show=False, id="module.other-before"),
        Binding("c", "copy", "Copy YAML", show=False, id="module.copy-yaml"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: tuple[ObjectRef, ...] = ()
        self._chosen: ObjectRef | None = None

    def compose(self) -> ComposeResult:
        yield ObjectView(id="yaml-view")
        yield Static("No objects of this module found.", id="no-yaml", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(Document)

    @property
    def note(self) -> str:
        if self._chosen is None or len(self._refs) < 2:
            return ""
        return f"{self._refs.index(self._chosen) + 1} of {len(self._refs)}"

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        del snapshot
        resources = (checked.resource for checked in row.checked)
        refs = [ref for ref in (*resources, row.template, row.manifest, row.manager) if ref is not None]
        if self._chosen is not None and self._chosen not in refs:
            refs.insert(0, self._chosen)  # a deleted object is not replaced by another
        self._refs = tuple(dict.fromkeys(refs))
        self._show(self._chosen or (refs[0] if refs else None))

    def _show(self, ref: ObjectRef | None) -> None:
        self._chosen = ref
        self.set_class(ref is None, "-empty")
        if ref is not None:
            self.query_one(ObjectView).show(ref)
        self.post_message(self.Noted())

    def ask_again(self) -> None:
        self.query_one(ObjectView).ask_again()

    def action_other(self, by: int) -> None:
        if self._chosen is not None:
            self._show(self._refs[(self._refs.index(self._chosen) + by) % len(self._refs)])

    def action_copy(self) -> None:
        self.query_one(ObjectView).document.copy()

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"yaml": lambda: self.query_one(ObjectView).document.text}


# Changes of the module: since kymatui started, and what the cluster recorded before.


class HistoryPane(ObjectListPane):
    """Tab with the changes, newest first."""

    TITLE: ClassVar[str] = "history"

    def compose(self) -> ComposeResult:
        yield LiveTable(MODULE_COLUMNS, id="history", sort=SortOrder("time", descending=True))
        yield Static("", id="no-history", classes="nothing")
        yield Static("", id="history-words")

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        events = events_about(snapshot, module_objects(row))
        changes = app.view.history.of(row.name, events) if app.view.history is not None else ()
        self._refs = change_subjects(changes)
        self.target().show(change_rows(changes, app.clock()))
        self.query_one("#no-history", Static).update(why_no_changes(app.view.history))
        self.set_class(not changes, "-empty")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self.query_one("#history-words", Static).update(Content(format_change(self.target().current)))


class EventsPane(ObjectListPane):
    """Tab whose events are followed while the module screen is open."""

    TITLE: ClassVar[str] = "events"

    def compose(self) -> ComposeResult:
        yield LiveTable(EVENT_COLUMNS, id="events", sort=SortOrder("age"))
        yield Static("", id="no-events", classes="nothing")

    def followed_objects(self, row: ModuleRow) -> FollowedObjects:
        """Return the module's objects in both groups, since their Pods and ReplicaSets have events too."""
        about = module_objects(row)
        return FollowedObjects(about, about)

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        self._refs = event_subjects(row, snapshot, app.view.locations)
        self.target().show(event_lines(row, snapshot, app.clock(), app.view.locations, app.only_namespace))
        self.set_class(not self.target().everything, "-empty")
        self.query_one("#no-events", Static).update(why_no_events(row, snapshot, app.only_namespace))


_EMPTY: Final = {
    EventsAvailability.NO_OBJECTS: "The module has no objects that could have events.",
    EventsAvailability.FORBIDDEN: "You may not list events or the module's objects.",
    EventsAvailability.LOADING: "Loading …",
    EventsAvailability.FAILED: "Events or the module's objects could not be listed.",
    EventsAvailability.LISTED: "No events of this module; the cluster keeps events for an hour.",
}


def event_lines(
    module: ModuleRow, snapshot: Snapshot, now: float, locations: ObjectIndex, namespace: str = ""
) -> list[Line]:
    """Return a line for each event of the module and of its owned objects, newest first; with a namespace its own."""
    events = events_about(snapshot, event_objects(module, locations))
    return [_line(event, now) for event, ref in events if not namespace or ref.namespace in ("", namespace)]


def event_subjects(module: ModuleRow, snapshot: Snapshot, locations: ObjectIndex) -> dict[str, ObjectRef]:
    """Return the object of each event by row key."""
    return {_key(event): ref for event, ref in events_about(snapshot, event_objects(module, locations))}


def newest_events(module: ModuleRow, snapshot: Snapshot, now: float) -> list[Fact]:
    """Return the five newest events of the module's own objects, one line each."""
    facts = []
    for event, _ in events_about(snapshot, module_objects(module))[:5]:
        line = _line(event, now)
        cells = {name: cell.text for name, cell in line.cells.items()}
        many = f"  (×{cells['count']})" if cells["count"] not in ("", "1") else ""
        text = f"{cells['type']} {cells['reason']}  {cells['object']}: {cells['message']}{many}"
        facts.append(Fact(cells["age"], text, line.cells["type"].tone))
    return facts


def why_no_events(module: ModuleRow, snapshot: Snapshot, namespace: str = "") -> str:
    """Return the meaning of an empty event list, which may be narrowed to a namespace."""
    if namespace and events_availability(module, snapshot) is EventsAvailability.LISTED:
        return f"No events of this module in namespace {sanitize(namespace)}; `:ns all` shows all."
    return _EMPTY[events_availability(module, snapshot)]


def _line(event: Event, now: float) -> Line:
    return Line(_key(event), cells_of(EVENT_COLUMNS, event, now))


def _key(event: Event) -> str:
    return event.uid or f"{event.kind}/{event.name}/{event.reason}/{event.last_seen}"
