"""The events of a module: those of its resources, its manager and its Manifest, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Snapshot
from kymatui.ui.presenters.connection import span
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
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
    wanted = {(ref.kind.kind, ref.namespace, ref.name) for ref in objects_of(module)}
    found = [event for event in snapshot.events if _subject(event) in wanted]
    found.sort(key=_when, reverse=True)
    return [_line(event, now) for event in found]


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
    texts: Iterable[object] = (event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    for text in texts:
        if isinstance(text, str) and text:
            try:
                return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
            except ValueError:
                continue
    return 0.0


def _line(event: Mapping[str, Any], now: float) -> Line:
    kind, _, name = _subject(event)
    metadata = event.get("metadata")
    uid = str(metadata.get("uid", "")) if isinstance(metadata, Mapping) else ""
    warning = event.get("type") == "Warning"
    cells = {
        "age": Cell(span(now - _when(event)) if _when(event) else "", "muted"),
        "type": Cell(plain(str(event.get("type", ""))), "warning" if warning else "muted"),
        "reason": Cell(plain(str(event.get("reason", ""))), "strong"),
        "object": Cell(plain(f"{kind}/{name}")),
        "count": Cell(str(event.get("count") or ""), "muted"),
        "message": Cell(plain(str(event.get("message", "")))),
    }
    return Line(uid or f"{kind}/{name}/{event.get('reason')}/{_when(event)}", cells)
