"""Event lines for the events tab, and the newest for the overview."""

from __future__ import annotations

from typing import Final

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
from kymatui.lists.columns import cells_of
from kymatui.lists.module import EVENT_COLUMNS
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.viewmodels.row_list import Row as Line

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
