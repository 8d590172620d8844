"""Differences of two versions as commands print them: a mark for people, an object for scripts."""

from __future__ import annotations

from typing import Any, Final

from kymatui.actions.modules.version_impact import Affected
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange

MARKS: Final = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}


def change_json(change: ValueChange) -> dict[str, Any]:
    return {"change": str(change.kind), "path": change.path, "before": change.before, "after": change.after}


def affected_json(affected: Affected) -> dict[str, Any]:
    return {
        "section": "affected",
        "effect": affected.effect.value,
        "crd": affected.crd,
        "what": affected.what or None,
        "count": len(affected.objects),
        "objects": [{"namespace": ref.namespace or None, "name": ref.name} for ref in affected.objects],
        "fieldManagers": list(affected.managers),
    }
