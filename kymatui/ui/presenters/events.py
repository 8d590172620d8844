"""The events of a module: those of its resources, its manager and its Manifest, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Row
from kymatui.domain.snapshots import FeedState, Snapshot, is_place_feed
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
    Column("count", "×", 4, right=True, priority=2),
    Column("message", "MESSAGE", 20, flex=4),
)


def event_lines(module: Row, snapshot: Snapshot, now: float) -> list[Line]:
    return [_line(event, now) for event, _ in _events(module, snapshot)]


def subjects(module: Row, snapshot: Snapshot) -> dict[str, ObjectRef]:
    """Return by the key of its line the object that an event is about."""
    return {_key(event): ref for event, ref in _events(module, snapshot)}


def _events(module: Row, snapshot: Snapshot) -> list[tuple[Mapping[str, Any], ObjectRef]]:
    """Return the events of the module's objects with these objects, the newest first."""
    wanted = {(ref.kind.kind, ref.namespace, ref.name): ref for ref in objects_of(module)}
    found = [(event, wanted[_subject(event)]) for event in snapshot.events if _subject(event) in wanted]
    return sorted(found, key=lambda pair: _when(pair[0]), reverse=True)


def tail(module: Row, snapshot: Snapshot, now: float, count: int = 5) -> list[Fact]:
    """The newest events in a line each."""
    facts = []
    for line in event_lines(module, snapshot, now)[:count]:
        cells = {name: cell.text for name, cell in line.cells.items()}
        many = f"  (×{cells['count']})" if cells["count"] not in ("", "1") else ""
        text = f"{cells['type']} {cells['reason']}  {cells['object']}: {cells['message']}{many}"
        facts.append(Fact(cells["age"], text, line.cells["type"].tone))
    return facts


def why_none(module: Row, snapshot: Snapshot) -> str:
    """What stands where there are no events: none were told, or nobody may look."""
    feeds = {name: feed for name, feed in snapshot.feeds.items() if name.startswith("events ") and is_place_feed(name)}
    if not objects_of(module):
        return "The module has no objects here that could have events."
    if any(feed.state is FeedState.FORBIDDEN for feed in feeds.values()):
        return "This user may not list events."
    if any(feed.state is FeedState.SYNCING for feed in feeds.values()):
        return "Loading …"
    return "The cluster tells of no events of this module; it forgets them after an hour."


def objects_of(module: Row) -> tuple[ObjectRef, ...]:
    """What a module's events are about: its resources, its manager and its Manifest."""
    resources = (checked.resource for checked in module.checked)
    return (*resources, *(ref for ref in (module.manager, module.manifest) if ref is not None))


def _subject(event: Mapping[str, Any]) -> tuple[str, str, str]:
    about = event.get("involvedObject")
    if not isinstance(about, Mapping):
        return ("", "", "")
    return str(about.get("kind", "")), str(about.get("namespace", "")), str(about.get("name", ""))


def _when(event: Mapping[str, Any]) -> float:
    newest = _series(event).get("lastObservedTime")
    texts: Iterable[object] = (newest, event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    for text in texts:
        if isinstance(text, str) and text:
            try:
                return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
            except ValueError:
                continue
    return 0.0


def _series(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What newer clients tell of an event that came again."""
    series = event.get("series")
    return series if isinstance(series, Mapping) else {}


def _count(event: Mapping[str, Any]) -> int:
    count = _series(event).get("count") or event.get("count")
    return count if isinstance(count, int) else 0


def _line(event: Mapping[str, Any], now: float) -> Line:
    kind, _, name = _subject(event)
    warning = event.get("type") == "Warning"
    cells = {
        "age": Cell(span(now - _when(event)) if _when(event) else "", "muted", order=-_when(event)),
        "type": Cell(plain(str(event.get("type", ""))), "warning" if warning else "muted"),
        "reason": Cell(plain(str(event.get("reason", ""))), "strong"),
        "object": Cell(plain(f"{kind}/{name}")),
        "count": Cell(str(_count(event) or ""), "muted", order=_count(event)),
        "message": Cell(plain(str(event.get("message", "")))),
    }
    return Line(_key(event), cells)


def _key(event: Mapping[str, Any]) -> str:
    metadata = event.get("metadata")
    uid = str(metadata.get("uid", "")) if isinstance(metadata, Mapping) else ""
    kind, _, name = _subject(event)
    return uid or f"{kind}/{name}/{event.get('reason')}/{_when(event)}"
