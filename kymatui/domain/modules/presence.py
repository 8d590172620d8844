"""The presence of a module: whether it is installed, by which owner, and who acts next.

This follows the flowchart of the module's status: a module in the Kyma's spec is managed. Otherwise its CR decides:
present means enabled, with a deletion timestamp deleting, absent removed. kymatui adds cases that the flowchart
leaves open.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.domain.installed import InstallationPhase
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.versions.drift import DriftKind


class ManagerVisibility(StrEnum):
    """The visibility of a module's manager."""

    FOUND = "found"
    ABSENT = "absent"
    UNREADABLE = "unreadable"  # workloads are not readable, or run in another cluster
    UNIDENTIFIED = "unidentified"  # no template or label names the workload


class Presence(StrEnum):
    """The presence of a module."""

    NOT_INSTALLED = "not installed"
    ENABLED = "enabled"
    NOT_CONFIGURED = "installed, not configured"  # its manager is running, but there is no module CR
    DELETING = "deleting"
    INSTALLING = "installing"  # a run of kymatui or helm works on it
    PARTIAL = "partially installed"  # its installation or upgrade was interrupted
    DELETION_INTERRUPTED = "deletion interrupted"
    UNMANAGED = "unmanaged"  # the Kyma names it with managed: false
    ORPHAN = "orphan configuration"  # module CRs without their manager
    CONFLICT = "managed and direct"  # installed by lifecycle-manager and by another installer
    UNKNOWN = "unknown"  # the deciding lists are not readable

    @property
    def follows_channel(self) -> bool:
        """Return whether the channel's version applies: not for unmanaged or deleting modules."""
        return self not in (Presence.UNMANAGED, Presence.DELETING, *UNFINISHED)


UNFINISHED = (Presence.INSTALLING, Presence.PARTIAL, Presence.DELETION_INTERRUPTED)
"""The presences of an installation whose last run is not done."""
_DELETED: Final = InstallationPhase.DELETED_ELSEWHERE
_OF_PHASE = {
    InstallationPhase.INSTALLING: Presence.INSTALLING,
    InstallationPhase.PARTIAL: Presence.PARTIAL,
    InstallationPhase.DELETING: Presence.DELETING,
    InstallationPhase.DELETION_INTERRUPTED: Presence.DELETION_INTERRUPTED,
}


class PresenceEvidence(Struct, frozen=True):
    """The observed facts that decide a module's presence.

    `resources` is the number of module CRs, None if unreadable. `configurable` means that the module has a CR kind;
    `direct` that another installer than lifecycle-manager installed part of it; `kyma_unreadable` that an unseen
    Kyma may request it; `sources_unreadable` that the list of ModuleTemplates or Manifests, which name the manager,
    is missing; `phase` is that of its installation by kymatui or helm, None without one.
    """

    requested: bool = False
    managed: bool = True
    reported: str | None = None
    mandatory: bool = False
    manifest: bool = False
    manifest_deleting: bool = False
    manager: ManagerVisibility = ManagerVisibility.ABSENT
    manager_deleting: bool = False
    resources: int | None = 0
    resources_deleting: int = 0
    configurable: bool = True
    direct: bool = False
    kyma_unreadable: bool = False
    sources_unreadable: bool = False
    phase: InstallationPhase | None = None


def determine_presence(traces: PresenceEvidence) -> Presence:
    """Return the presence of a module."""
    presence = _presence(traces)
    unnamed = traces.sources_unreadable and traces.manager is ManagerVisibility.UNIDENTIFIED
    return Presence.UNKNOWN if presence is Presence.NOT_INSTALLED and (traces.kyma_unreadable or unnamed) else presence


def _presence(traces: PresenceEvidence) -> Presence:
    if traces.requested:
        return _requested(traces)
    if traces.reported not in (None, "Unmanaged"):
        return Presence.DELETING
    if traces.phase in _OF_PHASE and not traces.manifest:
        return _OF_PHASE[traces.phase]
    if traces.manifest_deleting or traces.manager_deleting:
        return Presence.DELETING
    if traces.manifest:
        return Presence.ENABLED
    return _direct(traces)


def _requested(traces: PresenceEvidence) -> Presence:
    if not traces.managed:
        return Presence.UNMANAGED
    if traces.direct:
        return Presence.CONFLICT
    if traces.manager is ManagerVisibility.FOUND and traces.configurable and traces.resources == 0:
        return Presence.NOT_CONFIGURED
    return Presence.ENABLED


def _direct(traces: PresenceEvidence) -> Presence:
    if traces.resources:
        if traces.resources_deleting == traces.resources:
            return Presence.DELETING
        is_left = traces.manager is ManagerVisibility.ABSENT and traces.phase in (None, _DELETED)
        return Presence.ORPHAN if is_left else Presence.ENABLED
    if traces.phase is _DELETED:
        return Presence.NOT_INSTALLED
    if traces.manager is ManagerVisibility.FOUND:
        known_empty = traces.configurable and traces.resources is not None
        return Presence.NOT_CONFIGURED if known_empty else Presence.ENABLED
    if traces.phase is InstallationPhase.INSTALLED:
        return Presence.ENABLED
    if traces.manager is ManagerVisibility.UNREADABLE or (traces.resources is None and traces.configurable):
        return Presence.UNKNOWN
    return Presence.NOT_INSTALLED


_CUSTOM_RESOURCES: Final = "module crs"
"""Part of the Manifest's operation message while user-created module CRs block the deletion."""


def is_held_by_resources(operation: str) -> bool:
    """Return whether the Manifest's message says that module CRs block the deletion."""
    return _CUSTOM_RESOURCES in operation.lower()


def actor_for_state(state: State, *, is_read: bool = True) -> Actor:
    """Return who acts next on a state in the Kyma's status.

    Where the runtime's objects are not read, its bad states do not tell who acts: the runtime's objects do.
    """
    if not is_read and state is not State.PROCESSING:
        return Actor.UNKNOWN
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
    if kind in (DriftKind.AHEAD, DriftKind.NEWER_THAN_CHANNEL, DriftKind.INCOMPLETE):
        return Actor.YOU
    if kind is DriftKind.BEHIND:
        return Actor.KLM if managed else Actor.YOU
    return Actor.KLM if kind is DriftKind.AWAITING_WINDOW else Actor.NOBODY


def actor_on_report(state: State, kind: DriftKind, *, maintenance: bool, mandatory: bool = False) -> Actor:
    """Return who acts next on everything that a Kyma alone reports of a module."""
    if maintenance:
        return Actor.KLM
    if state in (State.READY, State.UNMANAGED) or kind is DriftKind.NEWER_THAN_CHANNEL:
        return actor_on_drift(kind, managed=True, mandatory=mandatory)
    return actor_for_state(state, is_read=False)
