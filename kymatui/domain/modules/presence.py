"""Whether a module is there, and who brought it: the flowchart of the module's status, with its extensions.

In the Kyma's spec: managed. Else a resource of the module decides: there, it is enabled; with a deletion timestamp, it
is being deleted; not there, it is removed. The extensions tell apart what the flowchart leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ManagerVisibility(StrEnum):
    """What is known of a module's manager."""

    FOUND = "found"
    ABSENT = "absent"
    UNREADABLE = "unreadable"  # workloads may not be read, or run in another cluster
    UNIDENTIFIED = "unidentified"  # nothing says which workload it is


class Presence(StrEnum):
    """What there is of a module."""

    NOT_INSTALLED = "not installed"
    ENABLED = "enabled"
    NOT_CONFIGURED = "installed, not configured"  # its manager runs, and there is no resource of it
    DELETING = "deleting"
    UNMANAGED = "unmanaged"  # the Kyma names it with managed: false
    ORPHAN = "orphan configuration"  # resources without their manager
    CONFLICT = "managed and direct"  # lifecycle-manager and somebody else both installed it
    UNKNOWN = "unknown"  # what would tell may not be read

    @property
    def follows_channel(self) -> bool:
        """Whether the version of the channel counts: not for what is unmanaged, or on its way out."""
        return self not in (Presence.UNMANAGED, Presence.DELETING)


@dataclass(frozen=True, slots=True)
class PresenceEvidence:
    """What was seen of a module.

    `resources` counts its custom resources, None where they could not be read; `configurable` says that there is a kind
    of resource at all; `direct` that somebody else than lifecycle-manager installed something of it; `kyma_unreadable`
    that a Kyma may ask for it without being seen; `sources_unreadable` that the list of ModuleTemplates or of Manifests
    is missing, which name the manager of what is installed.
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


def determine_presence(traces: PresenceEvidence) -> Presence:
    """Walks the flowchart."""
    found = _presence(traces)
    unnamed = traces.sources_unreadable and traces.manager is ManagerVisibility.UNIDENTIFIED
    return Presence.UNKNOWN if found is Presence.NOT_INSTALLED and (traces.kyma_unreadable or unnamed) else found


def _presence(traces: PresenceEvidence) -> Presence:
    if traces.requested:
        return _requested(traces)
    if traces.reported not in (None, "Unmanaged"):
        return Presence.DELETING
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
        return Presence.ORPHAN if traces.manager is ManagerVisibility.ABSENT else Presence.ENABLED
    if traces.manager is ManagerVisibility.FOUND:
        known_empty = traces.configurable and traces.resources is not None
        return Presence.NOT_CONFIGURED if known_empty else Presence.ENABLED
    if traces.manager is ManagerVisibility.UNREADABLE or (traces.resources is None and traces.configurable):
        return Presence.UNKNOWN
    return Presence.NOT_INSTALLED
