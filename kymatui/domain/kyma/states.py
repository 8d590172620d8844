"""The states of a module, worst first, and the aggregate of a Kyma."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class State(StrEnum):
    """What a module is in. The first six are lifecycle-manager's words; the last two are kymatui's own."""

    READY = "Ready"
    PROCESSING = "Processing"
    WARNING = "Warning"
    ERROR = "Error"
    DELETING = "Deleting"
    UNMANAGED = "Unmanaged"
    NOT_INSTALLED = "NotInstalled"
    UNKNOWN = "Unknown"


class StateSource(StrEnum):
    """Which source decided a state."""

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
_SEVERITY = {state: place for place, state in enumerate(_WORST_FIRST)}


def state_rank(state: State) -> int:
    """0 for the worst; a key that sorts the worst first."""
    return _SEVERITY[state]


def worst_state(states: Iterable[State]) -> State | None:
    """The worst of several states; None of none."""
    return min(states, key=state_rank, default=None)


def parse_state(text: str) -> State | None:
    """The state that an object reports, exactly as lifecycle-manager spells it; None for any other word."""
    try:
        found = State(text)
    except ValueError:
        return None
    return None if found in (State.NOT_INSTALLED, State.UNKNOWN) else found


def kyma_state(modules: Iterable[str], conditions: Iterable[str]) -> State:
    """The state that lifecycle-manager gives a Kyma from its modules' states and its conditions' statuses.

    A Deleting or Unmanaged module does not count by itself, but the `Modules` condition is True only when every module
    is Ready or Unmanaged, so a Deleting one keeps the Kyma in Processing (`modules_condition`).
    """
    reported = set(modules)
    for state in (State.ERROR, State.WARNING, State.PROCESSING):
        if state in reported:
            return state
    return State.READY if all(status == "True" for status in conditions) else State.PROCESSING


def modules_condition(modules: Iterable[str]) -> bool:
    """Whether lifecycle-manager sets the `Modules` condition of a Kyma to True."""
    return all(state in (State.READY, State.UNMANAGED) for state in modules)


# The states that rules can map to with an effect, in the order in which they decide.
PRECEDENCE = (State.ERROR, State.READY, State.WARNING, State.DELETING)
PRECEDENCE_WORDS = frozenset(state.value for state in PRECEDENCE)
