"""Contexts of the kubeconfig as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.columns import ABSENT, SIGNS, Cell, Column
from kymatui.moments import format_duration
from kymatui.ui.viewmodels.row_list import Row

if TYPE_CHECKING:
    from kymatui.sessions.contexts import ContextEntry

COLUMNS = (
    Column("name", "CONTEXT", 20, flex=3),
    Column("status", "STATUS", 10),
    Column("mode", "MODE", 9),
    Column("cluster", "CLUSTER", 14, flex=2, priority=1),
    Column("user", "USER", 14, flex=2, priority=2),
    Column("namespace", "NAMESPACE", 12, flex=1, priority=4),
    Column("accent", "ACCENT", 7, priority=5),
    Column("used", "USED", 5, priority=3, right=True),
)


def context_rows(entries: Iterable[ContextEntry], here: str, now: float) -> list[Row]:
    """Return one row per context in the given order; `here` is the open one."""
    return [_row(entry, here, now) for entry in entries]


def _row(entry: ContextEntry, here: str, now: float) -> Row:
    cells = {
        "name": Cell(sanitize(entry.name), "strong"),
        "status": _status(entry, here),
        "mode": Cell("read-only", "ready") if entry.read_only else Cell("RW", "warning"),
        "cluster": Cell(sanitize(entry.cluster)),
        "user": Cell(sanitize(entry.user) or ABSENT, "" if entry.user else "muted"),
        "namespace": Cell(sanitize(entry.namespace) or ABSENT, "" if entry.namespace else "muted"),
        "accent": Cell(entry.accent or ABSENT, "" if entry.accent else "muted"),
        "used": Cell(format_duration(now - entry.used), "muted", -entry.used, entry.used) if entry.used else Cell(""),
    }
    return Row(entry.name, cells, labels={"server": entry.server})


def _status(entry: ContextEntry, here: str) -> Cell:
    if entry.name == here:
        return Cell(f"{SIGNS['ready']} open", "ready")
    if entry.problem:
        return Cell(f"{SIGNS['error']} unusable", "error")
    return Cell("default" if entry.is_current else "", "muted")


def explain_context(entry: ContextEntry | None) -> str:
    """Return the line under the table: the server of a context, or why it cannot be used."""
    if entry is None:
        return ""
    return sanitize(entry.problem or f"server {entry.server}")
