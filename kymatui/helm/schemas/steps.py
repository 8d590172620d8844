"""Steps of one validation: a schema can ask for more work than any machine does.

Definitions that refer to the next one twice, forty times over, are a few kilobytes; every validator that follows each
reference anew works on them for years. A step is one schema held against one value.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from kymatui.helm.govalues.budget import charge, check_budget

MOST_STEPS: Final = 500_000
"""Steps of one chart's schema and values: some 5 seconds. The largest of 16 public schemas takes 12,000."""
MOST_ERRORS: Final = 10_000
"""Errors of one chart's values, of which each takes some kilobytes."""
BATCH: Final = 256
"""Steps between two looks at the clock."""
ERROR: Final = 1_000
"""Bytes that an error takes on each level that it passes."""
_WORDS: Final = 16
"""Names, or values to compare with, that take as long as a step."""


class StepsError(ValueError):
    """The schema asks for more than MOST_STEPS."""


class _Steps(threading.local):
    """The steps that are left of this thread's validation."""

    left = MOST_STEPS


_STEPS: Final = _Steps()


def start_steps() -> None:
    """Begin to count for another schema."""
    _STEPS.left = MOST_STEPS


def count_steps(steps: int) -> None:
    """Count steps. Raise StepsError beyond MOST_STEPS, LimitError at the deadline of the rendering."""
    remaining = _STEPS.left
    _STEPS.left = remaining - steps
    if remaining < steps:
        raise StepsError(f"the validation takes more than {MOST_STEPS} steps")
    if remaining // BATCH != (remaining - steps) // BATCH:
        check_budget()


def count_visit(schema: Any) -> None:
    """Count one schema held against one value, by what the schema lists."""
    if schema.__class__ is dict:
        count_steps(1 + sum([len(part) for part in schema.values() if part.__class__ in (list, dict)]) // _WORDS)


def count_comparisons(value: Any, options: int) -> None:
    """Count a value compared with so many others."""
    count_steps(1 + _nodes(value) * options // _WORDS)


def count_error() -> None:
    charge(ERROR)
    count_steps(1)


def _nodes(value: Any) -> int:
    waiting, nodes = [value], 0
    while waiting:
        part = waiting.pop()
        nodes += 1
        if part.__class__ is dict:
            waiting.extend(part.values())
        elif part.__class__ is list:
            waiting.extend(part)
    return nodes


def first_equal(items: list[Any]) -> tuple[int, int] | None:
    """Return the positions of the first two equal items; true is not 1."""
    known: dict[Any, int] = {}
    for later, item in enumerate(items):
        count_steps(1 + _nodes(item) // _WORDS)
        if (earlier := known.setdefault(_frozen(item), later)) != later:
            return earlier, later
    return None


def _frozen(value: Any) -> Any:
    """Return something that is equal where JSON values are."""
    if isinstance(value, dict):
        return "object", frozenset((name, _frozen(part)) for name, part in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_frozen, value))
    return (bool, value) if isinstance(value, bool) else value
