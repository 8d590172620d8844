"""The next actor for what a control plane reports of a module, shared by fleet and catalog."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.versions.drift import DriftKind

_CUSTOM_RESOURCES: Final = "module crs"
"""Part of the Manifest's operation message while user-created module CRs block the deletion."""


def is_held_by_resources(operation: str) -> bool:
    """Return whether the Manifest's message says that module CRs block the deletion."""
    return _CUSTOM_RESOURCES in operation.lower()


def actor_for_state(state: State, operation: str = "", *, is_read: bool = True) -> Actor:
    """Return who acts next on a state in the Kyma's status; `operation` is the Manifest's message.

    Where the runtime's objects are not read, its bad states do not tell who acts: the runtime's objects do.
    """
    if not is_read and state is not State.PROCESSING:
        return Actor.UNKNOWN
    if state is State.DELETING:
        return Actor.YOU if is_held_by_resources(operation) else Actor.KLM
    return Actor.YOU if state in (State.WARNING, State.ERROR) else Actor.KLM


def actor_for_manifest_state(state: State, *, is_read: bool = True) -> Actor:
    """Return who acts next on a state that only a Manifest reports; lifecycle-manager retries errors."""
    if not is_read and state is not State.PROCESSING:
        return Actor.UNKNOWN
    return Actor.YOU if state is State.WARNING else Actor.KLM


def actor_on_drift(kind: DriftKind, *, managed: bool, mandatory: bool = False) -> Actor:
    """Return who acts next on the drift of a module without other problems.

    lifecycle-manager downgrades mandatory modules, and no others.
    """
    if kind is DriftKind.AHEAD and managed and mandatory:
        return Actor.KLM
    if kind in (DriftKind.AHEAD, DriftKind.CHANNEL_SKEW, DriftKind.INCOMPLETE):
        return Actor.YOU
    if kind is DriftKind.BEHIND:
        return Actor.KLM if managed else Actor.YOU
    return Actor.KLM if kind is DriftKind.PENDING_MAINTENANCE else Actor.NOBODY


def actor_on_report(state: State, kind: DriftKind, *, maintenance: bool, mandatory: bool = False) -> Actor:
    """Return who acts next on everything that a Kyma alone reports of a module."""
    if maintenance:
        return Actor.KLM
    if state in (State.READY, State.UNMANAGED) or kind is DriftKind.CHANNEL_SKEW:
        return actor_on_drift(kind, managed=True, mandatory=mandatory)
    return actor_for_state(state, is_read=False)
