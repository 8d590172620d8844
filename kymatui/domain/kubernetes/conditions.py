"""Conditions of any object."""

from __future__ import annotations

from dataclasses import dataclass

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import parse_time


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of any object; `since` in seconds of the Unix clock, None where it does not say."""

    type: str
    status: str
    reason: str
    message: str
    since: float | None = None


def read_conditions(status: JsonReader) -> tuple[Condition, ...]:
    """`status.conditions` of any object."""
    return tuple(
        Condition(
            entry.text("type"),
            entry.text("status"),
            entry.text("reason"),
            entry.text("message"),
            parse_time(entry.text("lastTransitionTime")),
        )
        for entry in status.children("conditions")
    )


def find_condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The first condition of a type."""
    return next((condition for condition in conditions if condition.type == kind), None)
