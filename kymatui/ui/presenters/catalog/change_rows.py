"""Changes since kymatui started, and recorded ones, as rows."""

from __future__ import annotations

from collections.abc import Iterable

from kymatui.domain.catalog.change_history import ChangeHistory, ModuleChange
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.states import parse_state
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import ABSENT, SIGNS, Cell, Column, with_age
from kymatui.ui.viewmodels.display_text import moment
from kymatui.ui.viewmodels.row_list import Row

_TIME = Column("time", "UTC", 8, falls=True)
_MODULE = Column("module", "MODULE", 18)
_REST = (
    Column("what", "WHAT", 22),
    Column("before", "BEFORE", 14, flex=2, wraps=True),
    Column("after", "AFTER", 18, flex=3, wraps=True),
    Column("since", "SINCE", 6, priority=2, right=True),
    Column("about", "OBJECT", 20, flex=1, priority=1, wraps=True),
)
COLUMNS = (_TIME, _MODULE, *_REST)
MODULE_COLUMNS = (_TIME, *_REST)


def why_no_changes(history: ChangeHistory | None) -> str:
    """Return the line in the place of an empty table."""
    is_read = history is not None and history.is_read
    return "No changes, and none recorded by the cluster." if is_read else "Loading …"


def change_rows(changes: Iterable[ModuleChange], now: float) -> list[Row]:
    """Return one row per change in the given order."""
    return [_row(change, now) for change in changes]


def change_subjects(changes: Iterable[ModuleChange]) -> dict[str, ObjectRef]:
    """Return the changed object by row key, where a change has an object."""
    return {_key(change): change.ref for change in changes if change.ref is not None}


def _key(change: ModuleChange) -> str:
    return f"{change.module}\0{change.at}\0{change.about}\0{change.what}"


def format_change(row: Row | None) -> str:
    """Return the whole text of one row, which the table may clip."""
    if row is None:
        return ""
    cells = {name: cell.text for name, cell in row.cells.items()}
    about = f"  of {cells['about']}" if cells["about"] else ""
    since = f"  {cells['since']} ago by the cluster's clock" if cells["since"] else ""
    return f"{cells['what']}{about}: {cells['before']} → {cells['after']}{since}"


def _row(change: ModuleChange, now: float) -> Row:
    cells = {
        "time": Cell(moment(change.at, now), "muted", order=change.at),
        "module": Cell(sanitize(change.module), "strong"),
        "what": Cell(sanitize(change.what)),
        "before": Cell(sanitize(change.before) or ABSENT, "muted"),
        "after": value_cell(change.after),
        "since": with_age(Cell("", "muted", -(change.since or 0.0), since=change.since), now),
        "about": Cell(sanitize(change.about), "muted"),
    }
    return Row(_key(change), cells)


def value_cell(text: str) -> Cell:
    """Return a value as a cell; a state has its sign."""
    state = parse_state(text)
    if state is None:
        return Cell(sanitize(text) or ABSENT, "" if text else "muted")
    return Cell(f"{SIGNS.get(TONES[state], '')} {text}", TONES[state])
