"""Macros of CEL: has, all, exists, exists_one, map, filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kymatui.schemas.cel.cel_costs import CostError, counted
from kymatui.schemas.cel.cel_optionals import NOTHING, Optional, select_optional, some
from kymatui.schemas.cel.cel_values import CelError, truth

Environment = dict[str, Any]
Evaluate = Callable[[Environment], Any]
Build = Callable[[Evaluate, str, list[Evaluate]], Evaluate]


def has(target: Evaluate, field: str) -> Evaluate:
    """Return an evaluator of whether a field is present."""

    def evaluate(env: Environment) -> bool:
        value = target(env)
        if isinstance(value, Optional):
            return select_optional(value, field).filled
        if not isinstance(value, dict):
            raise CelError("no such overload")
        return field in value

    return evaluate


def _items(value: Any) -> Iterable[Any]:
    """Yield the items of a list or the keys of a map, and count them."""
    if isinstance(value, (list, dict)):
        return counted(value)
    raise CelError("no such overload")


def _quantifier(stops_at: bool) -> Build:
    """Build all (stops at the first false) or exists (at the first true).

    An error counts only if no item decides the result.
    """

    def build(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
        body = bodies[0]

        def evaluate(env: Environment) -> bool:
            failure: CelError | None = None
            for item in _items(target(env)):
                try:
                    if truth(body({**env, name: item})) is stops_at:
                        return stops_at
                except CostError:
                    raise
                except CelError as error:
                    failure = error
            if failure is not None:
                raise failure
            return not stops_at

        return evaluate

    return build


def _exists_one(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]
    return lambda env: sum(1 for item in _items(target(env)) if truth(body({**env, name: item}))) == 1


def _filter(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]
    return lambda env: [item for item in _items(target(env)) if truth(body({**env, name: item}))]


def _map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[-1]
    if len(bodies) == 1:
        return lambda env: [body({**env, name: item}) for item in _items(target(env))]
    test = bodies[0]
    return lambda env: [body({**env, name: item}) for item in _items(target(env)) if truth(test({**env, name: item}))]


def _optional_map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]

    def evaluate(env: Environment) -> Any:
        optional = target(env)
        return some(body({**env, name: optional.value})) if optional.filled else NOTHING

    return evaluate


def _optional_flat_map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]

    def evaluate(env: Environment) -> Any:
        optional = target(env)
        return body({**env, name: optional.value}) if optional.filled else NOTHING

    return evaluate


MACROS: dict[str, tuple[int, int, Build]] = {
    "all": (1, 1, _quantifier(stops_at=False)),
    "exists": (1, 1, _quantifier(stops_at=True)),
    "exists_one": (1, 1, _exists_one),
    "existsOne": (1, 1, _exists_one),
    "filter": (1, 1, _filter),
    "map": (1, 2, _map),
    "optMap": (1, 1, _optional_map),
    "optFlatMap": (1, 1, _optional_flat_map),
}
"""Name to the least and the most bodies, and what builds it."""
