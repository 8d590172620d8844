"""The manager of a cluster's modules, and how to enable modules there.

`snapshot_keeper` decides between lifecycle-manager and kymatui's operator. A cluster without either is not managed, but
only if Kymas and Manifests are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kyma.kyma_keeper import OWN_OPERATOR, is_lifecycle_manager
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.snapshot.cluster_index import (
    KYMA_FEED,
    MANIFEST_FEED,
    choose_kyma,
    snapshot_keeper,
    why_keeper_stopped,
)
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Snapshot


class ClusterManager(StrEnum):
    """The possible managers of a cluster's modules."""

    LIFECYCLE_MANAGER = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    NOBODY = "none"
    UNKNOWN = "unknown"  # Kymas or Manifests are not listed; `ClusterManagement.unknown` says why


class ClusterManagement(Struct, frozen=True):
    """The manager of a cluster; `why` is the evidence, `way` tells how to enable modules.

    `stopped` says why it does not run, "" where it runs or nothing shows it; `unknown` names the missing list if the
    manager is unknown. `kymas` is whether the manager works on Kymas, as the whole operator does, and not on Manifests
    alone.
    """

    keeper: ClusterManager
    why: str
    stopped: str = ""
    unknown: UnknownFact | None = None
    kymas: bool = False

    @property
    def works_on_kymas(self) -> bool:
        """Return whether an edit of the Kyma has an effect while the manager runs."""
        return self.keeper is ClusterManager.LIFECYCLE_MANAGER or self.kymas

    @property
    def way(self) -> str:
        if self.stopped:
            if self.works_on_kymas:
                return f"edits of the Kyma have no effect until {_STARTED[self.keeper]} runs again"
            return "Manifests have no effect until `kymatui operator` runs again; all other modules are direct"
        if self.kymas:
            return "enable modules in the Kyma resource"
        return {
            ClusterManager.LIFECYCLE_MANAGER: "enable modules in the Kyma resource",
            ClusterManager.OPERATOR: "the operator installs modules that have a Manifest, kymatui all others directly",
            ClusterManager.NOBODY: "kymatui installs modules directly, and upgrades them on request",
            ClusterManager.UNKNOWN: "kymatui installs nothing before it knows the manager",
        }[self.keeper]

    @property
    def word(self) -> str:
        """Return the manager in two to four words, for the header."""
        if self.unknown is not None:
            return f"manager {self.unknown.gap}"
        if self.stopped:
            return f"{self.keeper} not running"
        return "not managed" if self.keeper is ClusterManager.NOBODY else f"managed by {self.keeper.value}"

    @property
    def short(self) -> str:
        """Return the manager in one word, for narrow screens."""
        if self.unknown is not None:
            return f"manager {self.unknown.gap}"
        name = {ClusterManager.LIFECYCLE_MANAGER: "klm", ClusterManager.OPERATOR: "operator"}.get(self.keeper)
        return f"{name} not running" if self.stopped else name or "not managed"

    def __str__(self) -> str:
        if self.keeper is ClusterManager.LIFECYCLE_MANAGER and not self.stopped:
            return "lifecycle-manager installs modules here; change them in the Kyma"
        return f"{self.word[:1].upper()}{self.word[1:]} ({self.why}); {self.way}"


_STARTED = {ClusterManager.LIFECYCLE_MANAGER: Actor.KLM.value, ClusterManager.OPERATOR: "`kymatui operator`"}


def detect_management(snapshot: Snapshot) -> ClusterManagement:
    """Return the manager of a snapshot's cluster."""
    keeper, why = _keeper(snapshot)
    lease = snapshot.keeper_lease
    stopped = why_keeper_stopped(snapshot, choose_kyma(snapshot.kymas), keeper) if keeper is not None else ""
    why = f"{why}; {lease.message}" if lease is not None and lease.keeper is keeper else why
    if keeper is Actor.KLM:
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, why, stopped)
    is_own = keeper is Actor.OPERATOR
    unknown = explain_missing(snapshot.feeds, (KYMA_FEED,) if is_own else (KYMA_FEED, MANIFEST_FEED))
    if unknown is not None:
        return ClusterManagement(ClusterManager.UNKNOWN, unknown.reason, unknown=unknown)
    if is_own:
        works_on_kymas = any(OWN_OPERATOR in field_managers(raw) for raw in snapshot.kymas)
        return ClusterManagement(ClusterManager.OPERATOR, why, stopped, kymas=works_on_kymas)
    if _has_status(snapshot.kymas):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "the Kyma has a status")
    if _has_status(snapshot.manifests):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "Manifests have a status")
    why = "the Kyma has no status" if snapshot.kymas else "no Kyma found"
    return ClusterManagement(ClusterManager.NOBODY, why)


def _keeper(snapshot: Snapshot) -> tuple[Actor | None, str]:
    """Return which of the two works on the cluster, and the evidence."""
    kyma = choose_kyma(snapshot.kymas)
    if (keeper := snapshot_keeper(snapshot, kyma)) is None:
        return None, ""
    kymas = (kyma,) if isinstance(kyma, Mapping) else ()
    for objects, what in ((kymas, "the Kyma"), (snapshot.manifests, "Manifests")):
        for manager in dict.fromkeys(manager for raw in objects for manager in field_managers(raw)):
            if (manager == OWN_OPERATOR) if keeper is Actor.OPERATOR else is_lifecycle_manager(manager):
                return keeper, f"{manager} writes {what}"
    return keeper, "it runs in the cluster"


def _has_status(objects: Iterable[Mapping[str, Any]]) -> bool:
    return any(JsonReader(raw).child("status").text("state") for raw in objects)
