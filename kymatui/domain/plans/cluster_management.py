"""The manager of a cluster's modules, and how to enable modules there.

lifecycle-manager is detected by its field managers on Kyma status and Manifests; kymatui's operator has a field
manager of its own. A cluster without either is not managed, but only if Kymas and Manifests are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers, parse_time
from kymatui.domain.kyma.kyma_keeper import OWN_OPERATOR, is_lifecycle_manager
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, MANIFEST_FEED
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.moments import format_duration

_CLOCKS_DIFFER: Final = 60.0  # seconds that the clocks of two machines may differ


class ClusterManager(StrEnum):
    """The possible managers of a cluster's modules."""

    LIFECYCLE_MANAGER = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    NOBODY = "none"
    UNKNOWN = "unknown"  # Kymas or Manifests are not listed; `ClusterManagement.unknown` says why


class Operator(Struct, frozen=True):
    """kymatui's operator as its Lease reports it.

    holder  holder of the Lease, "" for none
    age     seconds since the last renewal, None if unknown
    works   whether the operator is running
    """

    holder: str
    age: float | None = None
    works: bool = False

    @property
    def message(self) -> str:
        """Return the status as a phrase."""
        if not self.holder:
            return "not running: its Lease has no holder"
        since = f"renewed {format_duration(self.age)} ago" if self.age is not None else "never renewed"
        return ("" if self.works else "not running: ") + f"{self.holder} holds its Lease, {since}"


def read_operator(lease: Mapping[str, Any] | None, now: float, is_dead: Callable[[str], bool]) -> Operator:
    """Return the operator of a Lease; `now` is in seconds of the Unix clock.

    `is_dead` knows holders that have ended. Clocks of machines differ, so a Lease is stale only well after its
    duration.
    """
    spec = JsonReader(lease or {}).child("spec")
    holder, renewed = spec.text("holderIdentity"), parse_time(spec.text("renewTime"))
    if not holder:
        return Operator("")
    age = max(0.0, now - renewed) if renewed is not None else None
    lease_seconds = spec.integer("leaseDurationSeconds") + _CLOCKS_DIFFER
    return Operator(holder, age, age is not None and age <= lease_seconds and not is_dead(holder))


class ClusterManagement(Struct, frozen=True):
    """The manager of a cluster; `why` is the evidence, `way` tells how to enable modules.

    `operator` is set if kymatui's operator manages the cluster and its Lease is readable; `unknown` names the
    missing list if the manager is unknown. `kymas` is whether the manager works on Kymas, as the whole operator does,
    and not on Manifests alone.
    """

    keeper: ClusterManager
    why: str
    operator: Operator | None = None
    unknown: UnknownFact | None = None
    kymas: bool = False

    @property
    def works_on_kymas(self) -> bool:
        """Return whether an edit of the Kyma has an effect."""
        if self.keeper is ClusterManager.LIFECYCLE_MANAGER:
            return True
        return self.kymas and (self.operator is None or self.operator.works)

    @property
    def way(self) -> str:
        if self.operator is not None and not self.operator.works:
            if self.kymas:
                return "edits of the Kyma have no effect until `kymatui operator` runs again"
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
        return "not managed" if self.keeper is ClusterManager.NOBODY else f"managed by {self.keeper.value}"

    @property
    def short(self) -> str:
        """Return the manager in one word, for narrow screens."""
        if self.unknown is not None:
            return f"manager {self.unknown.gap}"
        return {ClusterManager.LIFECYCLE_MANAGER: "klm", ClusterManager.OPERATOR: "operator"}.get(
            self.keeper, "not managed"
        )

    def __str__(self) -> str:
        return f"{self.word[:1].upper()}{self.word[1:]} ({self.why}); {self.way}"


def detect_management(snapshot: Snapshot, operator: Callable[[], Operator | None] = lambda: None) -> ClusterManagement:
    """Return the manager of a snapshot's cluster.

    `operator` reads the Lease; it is called only if kymatui's operator has written something, which does not prove
    that it still runs.
    """
    kymas = {manager: "the Kyma" for raw in snapshot.kymas for manager in field_managers(raw)}
    manifests = {manager: "Manifests" for raw in snapshot.manifests for manager in field_managers(raw)}
    written = {**manifests, **kymas}
    for manager, what in written.items():
        if is_lifecycle_manager(manager):
            return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, f"{manager} writes {what}")
    unknown = explain_missing(snapshot.feeds, (KYMA_FEED,) if OWN_OPERATOR in written else (KYMA_FEED, MANIFEST_FEED))
    if unknown is not None:
        return ClusterManagement(ClusterManager.UNKNOWN, unknown.reason, None, unknown)
    if OWN_OPERATOR in written:
        why, detected = f"{OWN_OPERATOR} writes {written[OWN_OPERATOR]}", operator()
        return ClusterManagement(
            ClusterManager.OPERATOR,
            f"{why}; {detected.message}" if detected is not None else why,
            detected,
            kymas=OWN_OPERATOR in kymas,
        )
    if _has_status(snapshot.kymas):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "the Kyma has a status")
    if _has_status(snapshot.manifests):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "Manifests have a status")
    why = "the Kyma has no status" if snapshot.kymas else "no Kyma found"
    return ClusterManagement(ClusterManager.NOBODY, why)


def _has_status(objects: Iterable[Mapping[str, Any]]) -> bool:
    return any(JsonReader(raw).child("status").text("state") for raw in objects)
