"""Differences of two versions as commands print them: a mark for people, an object for scripts."""

from __future__ import annotations

from typing import Any, Final

from kymatui.domain.versions.version_diff import ChangeKind, ValueChange

MARKS: Final = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}


def change_json(change: ValueChange) -> dict[str, Any]:
    return {"change": str(change.kind), "path": change.path, "before": change.before, "after": change.after}
