"""Who manages a cluster's modules, and which way of enabling them follows from that.

A lifecycle-manager is known by what it writes: the status of its Kyma, and Manifests, under its own field managers.
kymatui's own operator works on Manifests under a field manager of its own. A cluster without either trace is not
managed; that no trace exists is known only when Kymas and Manifests are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, MANIFEST_FEED
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.messages import format_duration

OWN_OPERATOR: Final = "kymatui-operator"
_LIFECYCLE_MANAGERS = ("lifecycle-manager", "module-manager")
_CLOCKS_DIFFER: Final = 60.0
_LIFECYCLE_PREFIX = "declarative.kyma-project.io/"


class ClusterManager(StrEnum):
    """Who keeps the modules as they should be."""

    LIFECYCLE_MANAGER = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    NOBODY = "none"
    UNKNOWN = "unknown"  # Kymas or Manifests are not listed; `ClusterManagement.unknown` says why


@dataclass(frozen=True, slots=True)
class Operator:
    """kymatui's operator, by its Lease.

    holder  who has it, "" for nobody
    age     how long ago it was renewed, in seconds; None where it does not say
    works   whether somebody is at work
    """

    holder: str
    age: float | None = None
    works: bool = False

    @property
    def words(self) -> str:
        """In a sentence without an end."""
        if not self.holder:
            return "nobody holds its Lease: it does not run"
        since = f"renewed {format_duration(self.age)} ago" if self.age is not None else "never renewed"
        return f"{self.holder} holds its Lease, {since}" + ("" if self.works else ": it does not run any more")


def read_operator(lease: Mapping[str, Any] | None, now: float, is_dead: Callable[[str], bool]) -> Operator:
    """The operator of a Lease as it is now; `now` in seconds of the Unix clock, `is_dead` knows holders that are gone.

    Clocks of machines differ: a Lease is only old when it was not renewed for much longer than it lasts.
    """
    spec = JsonReader(lease or {}).child("spec")
    holder, renewed = spec.text("holderIdentity"), parse_time(spec.text("renewTime"))
    if not holder:
        return Operator("")
    age = max(0.0, now - renewed) if renewed is not None else None
    patience = spec.integer("leaseDurationSeconds") + _CLOCKS_DIFFER
    return Operator(holder, age, age is not None and age <= patience and not is_dead(holder))


@dataclass(frozen=True, slots=True)
class ClusterManagement:
    """`why` is what it was known by; `way` says how modules come into the cluster, in a sentence.

    `operator` is kymatui's, where that is the manager and its Lease could be read; `unknown` says which list is missing
    where the manager is not known.
    """

    keeper: ClusterManager
    why: str
    operator: Operator | None = None
    unknown: UnknownFact | None = None

    @property
    def way(self) -> str:
        if self.operator is not None and not self.operator.works:
            return "Manifests have no effect until `kymatui operator` runs again; all other modules are direct"
        return {
            ClusterManager.LIFECYCLE_MANAGER: "enable modules in the Kyma resource",
            ClusterManager.OPERATOR: "the operator installs modules that have a Manifest, kymatui all others directly",
            ClusterManager.NOBODY: "kymatui installs modules directly, and upgrades them on request",
            ClusterManager.UNKNOWN: "kymatui installs nothing before it knows the manager",
        }[self.keeper]

    @property
    def word(self) -> str:
        """The manager in two to four words, as the top line shows it."""
        if self.unknown is not None:
            return f"manager {self.unknown.gap}"
        return "not managed" if self.keeper is ClusterManager.NOBODY else f"managed by {self.keeper.value}"

    @property
    def short(self) -> str:
        """The manager in one word, for where there is no room."""
        if self.unknown is not None:
            return f"manager {self.unknown.gap}"
        return {ClusterManager.LIFECYCLE_MANAGER: "klm", ClusterManager.OPERATOR: "operator"}.get(
            self.keeper, "not managed"
        )

    def __str__(self) -> str:
        return f"{self.word[:1].upper()}{self.word[1:]} ({self.why}); {self.way}"


def detect_management(snapshot: Snapshot, operator: Callable[[], Operator | None] = lambda: None) -> ClusterManagement:
    """Return who manages the modules in the cluster of a snapshot. `operator` is asked where kymatui's own has left its
    traces: a trace does not say that it still runs."""
    kymas = {manager: "the Kyma" for raw in snapshot.kymas for manager in _managers(raw)}
    manifests = {manager: "Manifests" for raw in snapshot.manifests for manager in _managers(raw)}
    written = {**kymas, **manifests}
    for manager, what in written.items():
        if manager in _LIFECYCLE_MANAGERS or manager.startswith(_LIFECYCLE_PREFIX):
            return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, f"{manager} writes {what}")
    unknown = explain_missing(snapshot.feeds, (KYMA_FEED,) if OWN_OPERATOR in written else (KYMA_FEED, MANIFEST_FEED))
    if unknown is not None:
        return ClusterManagement(ClusterManager.UNKNOWN, str(unknown), None, unknown)
    if OWN_OPERATOR in written:
        why, found = f"{OWN_OPERATOR} writes {written[OWN_OPERATOR]}", operator()
        return ClusterManagement(ClusterManager.OPERATOR, f"{why}; {found.words}" if found is not None else why, found)
    if _has_status(snapshot.kymas):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "the Kyma has a status")
    if _has_status(snapshot.manifests):
        return ClusterManagement(ClusterManager.LIFECYCLE_MANAGER, "Manifests have a status")
    why = "the Kyma has no status" if snapshot.kymas else "there is no Kyma"
    return ClusterManagement(ClusterManager.NOBODY, why)


def _managers(raw: Mapping[str, Any]) -> Iterator[str]:
    for entry in JsonReader(raw).child("metadata").children("managedFields"):
        yield entry.text("manager")


def _has_status(objects: Iterable[Mapping[str, Any]]) -> bool:
    return any(JsonReader(raw).child("status").text("state") for raw in objects)
