"""Status conditions as the controllers keep them: a change of `status` moves lastTransitionTime, nothing else does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Condition = dict[str, Any]


def find_condition(conditions: Iterable[Condition] | None, kind: str) -> Condition | None:
    return next((c for c in conditions or () if c.get("type") == kind), None)


def with_condition(conditions: Sequence[Condition] | None, new: Condition, now: str) -> list[Condition]:
    """The list with `new` in place of the one of its type (at the end where there is none).

    `now` becomes lastTransitionTime where the status changes; an unchanged condition keeps its time.
    """
    found: list[Condition] = []
    replaced = False
    for condition in conditions or ():
        if condition.get("type") != new["type"]:
            found.append(condition)
            continue
        same = condition.get("status") == new["status"]
        kept = condition.get("lastTransitionTime", now) if same else now
        found.append({**new, "lastTransitionTime": kept})
        replaced = True
    return found if replaced else [*found, {**new, "lastTransitionTime": now}]


def pod_condition(kind: str, status: bool, reason: str = "", message: str = "") -> Condition:
    """A condition of a pod, which has a time of its last probe (nobody ever sets it)."""
    return {"lastProbeTime": None, **condition(kind, status, reason, message)}


def condition(kind: str, status: bool | str, reason: str = "", message: str = "") -> Condition:
    """A condition without times; `status` True and False become the words."""
    word = ("True" if status else "False") if isinstance(status, bool) else status
    made = {"type": kind, "status": word}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made
