from __future__ import annotations

from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import parse_time

LONGEST_MESSAGE: Final = 32_000
"""Characters of a written message: the API accepts 32,768 in a condition, and refuses the whole status beyond."""


class Condition(Struct, frozen=True):
    """One status condition; `since` is in seconds of the Unix clock, None if absent."""

    type: str
    status: str
    reason: str
    message: str
    since: float | None = None


def read_conditions(status: JsonReader) -> tuple[Condition, ...]:
    """Read `status.conditions`."""
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
    """Return the first condition of a type, None if there is none."""
    return next((condition for condition in conditions if condition.type == kind), None)
