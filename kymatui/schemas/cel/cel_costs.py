"""The cost of an evaluation, limited as an API server limits it: a rule is hostile input, and so is the object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kymatui.schemas.cel.cel_values import CelError

LARGEST_EXPRESSION = 100_000
"""Characters of an expression, as in cel-go."""
CALL_COST = 1_000_000
"""Units of one evaluation: an item, a call, or ten characters or values that a call looks at or makes."""
OBJECT_COST = 2_000_000
"""Units of all rules of one object: some 2 seconds. An API server has 10,000,000, which it uses up as fast."""
LARGEST_VALUE = 10_000_000
"""Characters of a text, or items of a list, that a call may make."""
EXCEEDED = "operation cancelled: actual cost limit exceeded"
"""cel-go's message."""
_EACH = 10


class CostError(CelError):
    """An evaluation that costs more than CALL_COST or what is left of OBJECT_COST; no condition outweighs it."""


class _Costs(threading.local):
    call = CALL_COST
    object: int | None = None
    """What is left for the object whose rules are evaluated, if any."""


_COSTS = _Costs()


@contextmanager
def one_object() -> Iterator[None]:
    """Make the evaluations within share OBJECT_COST."""
    _COSTS.object = OBJECT_COST
    try:
        yield
    finally:
        _COSTS.object = None


def evaluated(evaluate: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """Return an evaluator with a limit of costs and of recursion. It raises nothing but `CelError`."""

    def run(env: dict[str, Any]) -> Any:
        before = _COSTS.call = CALL_COST if _COSTS.object is None else min(CALL_COST, _COSTS.object)
        try:
            return evaluate(env)
        except RecursionError:
            raise CelError("evaluation recursion limit exceeded") from None
        finally:
            if _COSTS.object is not None:
                _COSTS.object -= before - max(_COSTS.call, 0)

    return run


def count(cost: int = 1) -> None:
    """Count units. Raise CostError."""
    _COSTS.call -= cost
    if _COSTS.call < 0:
        raise CostError(EXCEEDED)


def counted(items: Iterable[Any]) -> Iterator[Any]:
    """Yield items, each of which costs a unit."""
    for item in items:
        count()
        yield item


def count_arguments(arguments: Iterable[Any]) -> None:
    """Count a call by the size of its arguments; two lists may be compared with each other."""
    cost = lists = 1
    for argument in arguments:
        if argument.__class__ is str:
            cost += len(argument) // _EACH
        elif argument.__class__ in (list, dict):
            cost += len(argument) // _EACH
            lists *= max(len(argument), 1) if argument.__class__ is list else 1
    count(cost + lists // _EACH)


def hold(size: int) -> None:
    """Count what a call is about to make. Raise CostError before it does."""
    if size > LARGEST_VALUE:
        raise CostError(EXCEEDED)
    count(size // _EACH)
