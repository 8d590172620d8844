"""Who acts next on what a control plane reports of a module: one answer for the fleet and for a runtime's catalog."""

from __future__ import annotations

from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.versions.drift import DriftKind

_CUSTOM_RESOURCES = "module crs"
"""Of the operation that a Manifest tells while module CRs that people created keep its module from going."""


def actor_for_state(state: State, operation: str = "") -> Actor:
    """Return who acts next on a state that the Kyma reports; `operation` is lifecycle-manager's own sentence."""
    if state is State.DELETING:
        return Actor.YOU if _CUSTOM_RESOURCES in operation.lower() else Actor.KLM
    return Actor.YOU if state in (State.WARNING, State.ERROR) else Actor.KLM


def actor_for_manifest_state(state: State) -> Actor:
    """Return who acts next on a state that only a Manifest reports: lifecycle-manager tries an error again."""
    return Actor.YOU if state is State.WARNING else Actor.KLM


def actor_on_drift(kind: DriftKind, *, managed: bool) -> Actor:
    """Return who acts next on a module that is well but for its version."""
    if kind in (DriftKind.AHEAD, DriftKind.CHANNEL_SKEW):
        return Actor.YOU
    if kind is DriftKind.BEHIND:
        return Actor.KLM if managed else Actor.YOU
    return Actor.KLM if kind is DriftKind.PENDING_MAINTENANCE else Actor.NOBODY


def actor_on_report(state: State, kind: DriftKind, *, maintenance: bool) -> Actor:
    """Return who acts next on all that a Kyma reports of a module."""
    if maintenance:
        return Actor.KLM
    if state in (State.READY, State.UNMANAGED):
        return actor_on_drift(kind, managed=True)
    return actor_for_state(state)
