"""A control plane and a runtime side by side, as table rows."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.remote.differences import ComparisonLine, LineArea, LineVerdict
from kymatui.domain.remote.side_by_side import SideBySide
from kymatui.ui.presenters.catalog.catalog_rows import ABSENT
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.row_list import Cell, Row

_LOOKS: Final = {
    LineVerdict.WRONG: ("✗", "error"),
    LineVerdict.UNKNOWN: ("?", "warning"),
    LineVerdict.UNDER_WAY: ("◐", "processing"),
    LineVerdict.INTENDED: ("·", "muted"),
    LineVerdict.SAME: ("=", "ready"),
}
COLUMNS: Final = (
    Column("verdict", "VERDICT", 14),
    Column("about", "ABOUT", 12, priority=2),
    Column("subject", "SUBJECT", 12, flex=3),
    Column("field", "FIELD", 10, flex=1),
    Column("control", "KCP", 10, flex=3),
    Column("runtime", "SKR", 10, flex=3),
)


def comparison_rows(comparison: SideBySide, *, with_equal: bool) -> list[Row]:
    """Return the differences first; equal lines only with `with_equal`."""
    lines = comparison.lines if with_equal else comparison.differing
    return [_row(index, line) for index, line in enumerate(lines)]


def _row(index: int, line: ComparisonLine) -> Row:
    sign, tone = _LOOKS[line.verdict]
    cells = {
        "verdict": Cell(f"{sign} {line.verdict.value}", tone, order=index),
        "about": Cell(line.area.value, "muted"),
        "subject": Cell(sanitize(_short(line)), "strong"),
        "field": Cell(sanitize(line.field)),
        "control": Cell(sanitize(line.control) or ABSENT, "" if line.control else "muted"),
        "runtime": Cell(sanitize(line.runtime) or ABSENT, "" if line.runtime else "muted"),
    }
    return Row("\0".join((line.area.value, line.subject, line.field, line.control)), cells)


def _short(line: ComparisonLine) -> str:
    """Return the distinctive part of a label; the sentence below the table has the whole name."""
    prefix, _, name = line.subject.rpartition("/")
    return f"…/{name}" if line.area is LineArea.LABEL and prefix else line.subject


def compared_object(row_key: str) -> str:
    """Return the subject of a line, often a module."""
    return row_key.split("\0")[1]


def explain_difference(line: ComparisonLine) -> str:
    """Return the sentence for one line: both sides in full, the reason, and who must act."""
    sides = f"{line.subject} {line.field}: KCP {line.control or 'none'}, SKR {line.runtime or 'none'}"
    act = f"   who acts: {line.actor}" if line.actor.value else ""
    return sanitize(f"{sides}. {line.why}{act}" if line.why else sides)


def count_differences(comparison: SideBySide) -> str:
    """Return the number of lines per verdict."""
    return "   ".join(f"{comparison.count(verdict)} {verdict.value}" for verdict in LineVerdict)
