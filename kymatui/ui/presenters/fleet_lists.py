"""Three more sights of a fleet: versions of modules counted, who waits for whom, and what changed of late."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kymatui.domain.fleet_pictures import MANIFEST, FleetChange
from kymatui.domain.fleets import Runtime, VersionCounts, version_matrix
from kymatui.domain.states import severity, state_of
from kymatui.domain.waiting import Wait
from kymatui.domain.wording import span
from kymatui.ui.glyphs import SIGNS
from kymatui.ui.presenters.catalog import ABSENT, TONES
from kymatui.ui.presenters.fleet import Narrow, key_text, who
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.row_list import Cell, Row

_SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class Counts:
    """The matrix, and what each of its cells narrows the fleet to: by module, from left to right."""

    rows: tuple[Row, ...]
    cells: dict[str, tuple[Narrow, ...]]


def matrix_columns(counts: Counts, first: int = 0) -> tuple[Column, ...]:
    """A column a place, from the one numbered `first` on: the newest version of each module is place 0."""
    most = max((len(found) for found in counts.cells.values()), default=1)
    titles = ("NEWEST REPORTED", *(f"{number} OLDER" for number in range(1, most)))
    places = (
        Column(f"place:{n}", titles[n], 18, flex=1, priority=n - first, falls=True) for n in range(first, len(titles))
    )
    return (Column("name", "MODULE", 18, flex=1), Column("total", "RUNTIMES", 10, right=True, falls=True), *places)


def matrix(runtimes: Sequence[Runtime]) -> Counts:
    """Module by version with counts, over some runtimes."""
    found = version_matrix(runtimes)
    cells = {one.module: tuple(Narrow("module", one.module, version) for version, _ in one.counts) for one in found}
    return Counts(tuple(map(_matrix_row, found)), cells)


def _matrix_row(one: VersionCounts) -> Row:
    cells = {
        "name": Cell(plain(one.module), "strong", order=one.module),
        "total": Cell(str(one.total), order=one.total),
    }
    most = max((count for _, count in one.counts), default=0)
    for place, (version, count) in enumerate(one.counts):
        tone = "ready" if count == most else ""
        cells[f"place:{place}"] = Cell(f"{plain(version) or 'unknown'}: {count}", tone, order=count)
    return Row(one.module, cells)


def with_cell(row: Row, place: int) -> Row:
    """The line with one of its cells chosen, so that it is seen without colour, too."""
    name = f"place:{place}"
    cell = row.cells.get(name)
    if cell is None:
        return row
    return replace(row, cells={**row.cells, name: Cell(f"[{cell.text}]", "accent", cell.order)})


WAIT_COLUMNS = (
    Column("on", "WAITS FOR", 18, flex=1),
    Column("state", "STATE", 12),
    Column("module", "MODULE", 16, flex=1),
    Column("runtime", "RUNTIME", 12, flex=2),
    Column("since", "SINCE", 6, priority=2, right=True, falls=True),
    Column("reason", "WHY", 24, flex=4, priority=1),
)


def wait_rows(waits: Iterable[Wait], now: float) -> list[Row]:
    """The worst first."""
    return [_wait_row(wait, now) for wait in waits]


def _wait_row(wait: Wait, now: float) -> Row:
    tone = TONES[wait.state]
    cells = {
        "on": Cell(who(wait.on), "accent" if wait.on == "you" else ""),
        "state": Cell(f"{SIGNS.get(tone, '')} {wait.state}", tone, order=severity(wait.state)),
        "module": Cell(plain(wait.module) or "(the runtime)", "strong"),
        "runtime": Cell(plain(wait.runtime[1])),
        "since": Cell(
            "" if wait.since is None else span(now - wait.since), "muted", -(wait.since or 0.0), since=wait.since
        ),
        "reason": Cell(plain(wait.reason)),
    }
    return Row(_SEPARATOR.join((key_text(wait.runtime), wait.module, wait.reason)), cells)


CHANGE_COLUMNS = (
    Column("time", "UTC", 8, falls=True),
    Column("runtime", "RUNTIME", 12, flex=2),
    Column("module", "MODULE", 16, flex=1),
    Column("what", "WHAT", 10, priority=1),
    Column("before", "BEFORE", 12, flex=1, priority=2),
    Column("after", "AFTER", 14, flex=1),
)


def change_rows(changes: Iterable[FleetChange]) -> list[Row]:
    """One line a change."""
    return [_change_row(change) for change in changes]


def _change_row(change: FleetChange) -> Row:
    cells = {
        "time": Cell(time.strftime("%H:%M:%S", time.gmtime(change.at)), "muted", order=change.at),
        "runtime": Cell(plain(change.runtime[1]), "strong"),
        "module": Cell(plain(change.module) or "(the runtime)"),
        "what": Cell(plain(change.what)),
        "before": Cell(plain(change.before) or ABSENT, "muted"),
        "after": _value(change.after),
    }
    return Row(_SEPARATOR.join((key_text(change.runtime), change.module, change.what, str(change.at))), cells)


def _value(text: str) -> Cell:
    state = state_of(text)
    if state is None:
        return Cell(plain(text) or ABSENT, "" if text else "muted")
    return Cell(f"{SIGNS.get(TONES[state], '')} {text}", TONES[state])


def wait_words(row: Row) -> str:
    """One line of what waits, in a sentence."""
    said = {name: cell.text for name, cell in row.cells.items()}
    since = f", for {said['since']}" if said["since"] else ""
    return f"{said['module']} on {said['runtime']}: {said['reason']}   waiting for {said['on']}{since}"


def change_words(row: Row) -> str:
    """One line of what changed, in a sentence."""
    said = {name: cell.text for name, cell in row.cells.items()}
    what = f"{said['module']} on {said['runtime']}"
    if said["what"] == MANIFEST:
        return f"{what}: its Manifest says that it became {said['after']} at {said['time']} UTC"
    return f"{what}: {said['what']} {said['before']} → {said['after']} at {said['time']} UTC"


def runtime_of(row_key: str) -> str:
    """The runtime that a line is about."""
    return row_key.partition(_SEPARATOR)[0]


def module_of(row_key: str) -> str:
    """Return the module that a line is about, "" where it is about the whole runtime."""
    return row_key.split(_SEPARATOR)[1]
