"""Who acts next on what a control plane reports of a module: one answer for the fleet and for a runtime's catalog."""

from __future__ import annotations

from kymatui.domain.problems import Actor
from kymatui.domain.states import State

_CUSTOM_RESOURCES = "module crs"
"""Of the operation that a Manifest tells while module CRs that people created keep its module from going."""


def actor_on(state: State, operation: str = "") -> Actor:
    """Return who acts next on a state that the Kyma reports; `operation` is lifecycle-manager's own sentence."""
    if state is State.DELETING:
        return Actor.YOU if _CUSTOM_RESOURCES in operation.lower() else Actor.KLM
    return Actor.YOU if state in (State.WARNING, State.ERROR) else Actor.KLM


def actor_on_manifest(state: State) -> Actor:
    """Return who acts next on a state that only a Manifest reports: lifecycle-manager tries an error again."""
    return Actor.YOU if state is State.WARNING else Actor.KLM
