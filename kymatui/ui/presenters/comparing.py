"""A control plane and a runtime side by side, as lines of a table."""

from __future__ import annotations

from typing import Final

from kymatui.domain.pairs.comparing import SideBySide
from kymatui.domain.pairs.differences import Area, Line, Verdict
from kymatui.ui.presenters.catalog import ABSENT
from kymatui.ui.presenters.fleet import who
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.row_list import Cell, Row

_LOOKS: Final = {
    Verdict.WRONG: ("✗", "error"),
    Verdict.UNKNOWN: ("?", "warning"),
    Verdict.UNDER_WAY: ("◐", "processing"),
    Verdict.INTENDED: ("·", "muted"),
    Verdict.SAME: ("=", "ready"),
}
COLUMNS: Final = (
    Column("verdict", "VERDICT", 14),
    Column("about", "ABOUT", 12, priority=2),
    Column("subject", "SUBJECT", 12, flex=3),
    Column("field", "FIELD", 10, flex=1),
    Column("control", "KCP", 10, flex=3),
    Column("runtime", "SKR", 10, flex=3),
)


def comparison_rows(found: SideBySide, *, whole: bool) -> list[Row]:
    """What differs first; what is the same only with `whole`."""
    lines = found.lines if whole else found.differing
    return [_row(index, line) for index, line in enumerate(lines)]


def _row(index: int, line: Line) -> Row:
    sign, tone = _LOOKS[line.verdict]
    cells = {
        "verdict": Cell(f"{sign} {line.verdict.value}", tone, order=index),
        "about": Cell(line.area.value, "muted"),
        "subject": Cell(plain(_short(line)), "strong"),
        "field": Cell(plain(line.field)),
        "control": Cell(plain(line.control) or ABSENT, "" if line.control else "muted"),
        "runtime": Cell(plain(line.runtime) or ABSENT, "" if line.runtime else "muted"),
    }
    return Row("\0".join((line.area.value, line.subject, line.field, line.control)), cells)


def _short(line: Line) -> str:
    """Labels all begin alike: what tells them apart is shown, and the whole name in the sentence below."""
    prefix, _, name = line.subject.rpartition("/")
    return f"…/{name}" if line.area is Area.LABEL and prefix else line.subject


def subject_of(row_key: str) -> str:
    """What a line is about: a module, often."""
    return row_key.split("\0")[1]


def why(line: Line) -> str:
    """The sentence for one line: both sides in full, why, and who has to act."""
    sides = f"{line.subject} {line.field}: KCP {line.control or 'nothing'}, SKR {line.runtime or 'nothing'}"
    act = f"   waiting for {who(line.actor.value)}" if line.actor.value else ""
    return plain(f"{sides}. {line.why}{act}" if line.why else sides)


def counted(found: SideBySide) -> str:
    """How many lines there are of each verdict."""
    return "   ".join(f"{found.count(verdict)} {verdict.value}" for verdict in Verdict)
