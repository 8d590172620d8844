"""The list of problems as rows."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.domain.problems import Problem, Severity
from kymatui.domain.rows import Catalog
from kymatui.domain.snapshots import FeedState, Snapshot
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.row_list import Cell, Row

COLUMNS = (
    Column("severity", "SEVERITY", 10),
    Column("module", "MODULE", 18, flex=1),
    Column("object", "OBJECT", 20, flex=1, priority=1),
    Column("message", "PROBLEM", 30, flex=9),
    Column("actor", "WAITING FOR", 17, priority=2),
)

_ORDER = tuple(Severity)
_TONES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "muted"}
_BAD_FEEDS = {
    FeedState.FORBIDDEN: ("this user may not list it", Severity.WARNING),
    FeedState.FAILED: ("cannot be read", Severity.ERROR),
    FeedState.STALE: ("was not heard of since the connection broke", Severity.WARNING),
}


def problem_rows(catalog: Catalog | None, snapshot: Snapshot | None, said: Sequence[str]) -> list[Row]:
    """Every problem once, worst first; those of a module lead to its screen."""
    found = list(catalog.problems) if catalog is not None else []
    for row in catalog.rows if catalog is not None else ():
        found += row.problems
        if row.reason.severity != Severity.INFO:
            found.append(Problem(row.reason.severity, row.reason.text, row.reason.actor, row.name))
    for name, feed in snapshot.feeds.items() if snapshot is not None else ():
        if feed.state in _BAD_FEEDS:
            words, severity = _BAD_FEEDS[feed.state]
            found.append(Problem(severity, f"{words}{f': {feed.message}' if feed.message else ''}", object=name))
    found += [Problem(Severity.INFO, text, object="kymatui") for text in said]
    unique = list(dict.fromkeys(found))
    unique.sort(key=lambda problem: _ORDER.index(problem.severity))
    return [_row(problem) for problem in unique]


def _row(problem: Problem) -> Row:
    cells = {
        "severity": Cell(str(problem.severity), _TONES[problem.severity], order=_ORDER.index(problem.severity)),
        "module": Cell(plain(problem.module), "strong"),
        "object": Cell(plain(problem.object), "muted"),
        "message": Cell(plain(problem.message)),
        "actor": Cell(plain(str(problem.actor)), "accent"),
    }
    return Row(f"{problem.module}\0{problem.object}\0{problem.message}", cells)
