"""A control plane and a runtime side by side, as table rows."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.remote.differences import ComparisonLine, LineVerdict
from kymatui.domain.remote.side_by_side import SideBySide
from kymatui.lists.columns import cells_of, on_screen
from kymatui.lists.control_plane import COMPARISON_COLUMNS
from kymatui.ui.viewmodels.row_list import Row

COLUMNS: Final = on_screen(COMPARISON_COLUMNS)


def comparison_rows(comparison: SideBySide, *, with_equal: bool) -> list[Row]:
    """Return the differences first; equal lines only with `with_equal`."""
    lines = comparison.lines if with_equal else comparison.differing
    return [_row(line) for line in lines]


def _row(line: ComparisonLine) -> Row:
    key = "\0".join((line.area.value, line.subject, line.field, line.control))
    return Row(key, cells_of(COLUMNS, line))


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
