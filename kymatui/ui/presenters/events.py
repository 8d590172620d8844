"""Event lines for the events tab, and the newest ones for the overview."""

from __future__ import annotations

from typing import Final

from kymatui.domain.events import Event, EventsKnown, event_objects, events_about, events_known, module_objects
from kymatui.domain.locating import Locations
from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.wording import span
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.facts import Fact
from kymatui.ui.widgets.row_list import Cell
from kymatui.ui.widgets.row_list import Row as Line

COLUMNS = (
    Column("age", "AGE", 4, right=True),
    Column("type", "TYPE", 8),
    Column("reason", "REASON", 18, flex=1),
    Column("object", "OBJECT", 24, flex=1, priority=1),
    Column("count", "×", 4, right=True, priority=2, falls=True),
    Column("message", "MESSAGE", 20, flex=4),
)

_EMPTY: Final = {
    EventsKnown.NO_OBJECTS: "The module has no objects here that could have events.",
    EventsKnown.FORBIDDEN: "You may not list events, or the objects that they are about.",
    EventsKnown.LOADING: "Loading …",
    EventsKnown.FAILED: "Events, or the objects that they are about, could not be listed.",
    EventsKnown.LISTED: "No events of this module; the cluster keeps events for an hour.",
}


def event_lines(module: Row, snapshot: Snapshot, now: float, locations: Locations) -> list[Line]:
    """Return a line for each event of the module and of what its objects own, the newest first."""
    return [_line(event, now) for event, _ in events_about(snapshot, event_objects(module, locations))]


def subjects(module: Row, snapshot: Snapshot, locations: Locations) -> dict[str, ObjectRef]:
    """Return by the key of its line the object that an event is about."""
    return {_key(event): ref for event, ref in events_about(snapshot, event_objects(module, locations))}


def tail(module: Row, snapshot: Snapshot, now: float, count: int = 5) -> list[Fact]:
    """Return the newest events of the module's own objects, one line each."""
    facts = []
    for event, _ in events_about(snapshot, module_objects(module))[:count]:
        line = _line(event, now)
        cells = {name: cell.text for name, cell in line.cells.items()}
        many = f"  (×{cells['count']})" if cells["count"] not in ("", "1") else ""
        text = f"{cells['type']} {cells['reason']}  {cells['object']}: {cells['message']}{many}"
        facts.append(Fact(cells["age"], text, line.cells["type"].tone))
    return facts


def why_none(module: Row, snapshot: Snapshot) -> str:
    """Return what an empty list of events means."""
    return _EMPTY[events_known(module, snapshot)]


def _line(event: Event, now: float) -> Line:
    cells = {
        "age": Cell(span(now - event.seen) if event.seen else "", "muted", -event.seen, since=event.seen or None),
        "type": Cell(plain(event.type), "warning" if event.is_warning else "muted"),
        "reason": Cell(plain(event.reason), "strong"),
        "object": Cell(plain(f"{event.kind}/{event.name}")),
        "count": Cell(str(event.count or ""), "muted", order=event.count),
        "message": Cell(plain(event.message)),
    }
    return Line(_key(event), cells)


def _key(event: Event) -> str:
    return event.uid or f"{event.kind}/{event.name}/{event.reason}/{event.seen}"
