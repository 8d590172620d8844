"""Status conditions: only a change of `status` moves lastTransitionTime."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Condition = dict[str, Any]


def find_condition(conditions: Iterable[Condition] | None, kind: str) -> Condition | None:
    return next((c for c in conditions or () if c.get("type") == kind), None)


def with_condition(conditions: Sequence[Condition] | None, new: Condition, now: str) -> list[Condition]:
    """Return the list with `new` in place of the condition of its type, or appended.

    `now` becomes lastTransitionTime if the status changes; else the old time stays.
    """
    merged: list[Condition] = []
    replaced = False
    for condition in conditions or ():
        if condition.get("type") != new["type"]:
            merged.append(condition)
            continue
        same = condition.get("status") == new["status"]
        kept = condition.get("lastTransitionTime", now) if same else now
        merged.append({**new, "lastTransitionTime": kept})
        replaced = True
    return merged if replaced else [*merged, {**new, "lastTransitionTime": now}]


def pod_condition(kind: str, status: bool, reason: str = "", message: str = "") -> Condition:
    """Return a pod condition; it has a lastProbeTime, which is always null."""
    return {"lastProbeTime": None, **condition(kind, status, reason, message)}


def condition(kind: str, status: bool | str, reason: str = "", message: str = "") -> Condition:
    """Return a condition without times; a bool `status` becomes "True" or "False"."""
    word = ("True" if status else "False") if isinstance(status, bool) else status
    new_condition = {"type": kind, "status": word}
    if reason:
        new_condition["reason"] = reason
    if message:
        new_condition["message"] = message
    return new_condition
