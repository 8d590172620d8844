"""Module states, worst first, and the aggregated state of a Kyma."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class State(StrEnum):
    """The states of a module: six of lifecycle-manager, and the last two of kymatui."""

    READY = "Ready"
    PROCESSING = "Processing"
    WARNING = "Warning"
    ERROR = "Error"
    DELETING = "Deleting"
    UNMANAGED = "Unmanaged"
    NOT_INSTALLED = "NotInstalled"
    UNKNOWN = "Unknown"


class StateSource(StrEnum):
    """The sources that can decide a state."""

    RULES = "customStateCheck"
    STATUS = "status.state"
    MANAGER = "manager"
    KYMA = "kyma"
    MANIFEST = "manifest"
    PRESENCE = "presence"
    NONE = ""


_WORST_FIRST = (
    State.ERROR,
    State.WARNING,
    State.DELETING,
    State.PROCESSING,
    State.UNKNOWN,
    State.UNMANAGED,
    State.READY,
    State.NOT_INSTALLED,
)
_SEVERITY = {state: index for index, state in enumerate(_WORST_FIRST)}


def state_rank(state: State) -> int:
    """Return the sort key of a state; 0 is the worst."""
    return _SEVERITY[state]


def worst_state(states: Iterable[State]) -> State | None:
    """Return the worst state, None of none."""
    return min(states, key=state_rank, default=None)


def parse_state(text: str) -> State | None:
    """Return the state in lifecycle-manager's exact spelling, None for any other text."""
    try:
        state = State(text)
    except ValueError:
        return None
    return None if state in (State.NOT_INSTALLED, State.UNKNOWN) else state


def kyma_state(modules: Iterable[str], conditions: Iterable[str]) -> State:
    """Return the state that lifecycle-manager computes for a Kyma.

    `modules` are the modules' states, `conditions` the statuses of the Kyma's conditions. A Deleting or Unmanaged
    module does not count by itself. But the `Modules` condition is True only if every module is Ready or Unmanaged,
    so a Deleting one keeps the Kyma in Processing (`modules_condition`).
    """
    reported = set(modules)
    for state in (State.ERROR, State.WARNING, State.PROCESSING):
        if state in reported:
            return state
    return State.READY if all(status == "True" for status in conditions) else State.PROCESSING


def modules_condition(modules: Iterable[str]) -> bool:
    """Return whether lifecycle-manager sets the Kyma's `Modules` condition to True."""
    return all(state in (State.READY, State.UNMANAGED) for state in modules)


# The states that rules can map to, in order of precedence; other states have no effect.
PRECEDENCE = (State.ERROR, State.READY, State.WARNING, State.DELETING)
PRECEDENCE_WORDS = frozenset(state.value for state in PRECEDENCE)
