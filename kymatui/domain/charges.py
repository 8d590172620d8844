"""Who is in charge of a cluster's modules, and which way of enabling them follows from that.

A lifecycle-manager is known by what it writes: the status of its Kyma, and Manifests, under its own field managers.
kymatui's own operator works on Manifests under a field manager of its own. Where neither has left a trace, nobody is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kymatui.domain.reading import Reader
from kymatui.domain.snapshots import Snapshot

OWN_OPERATOR: Final = "kymatui-operator"
_LIFECYCLE_MANAGERS = ("lifecycle-manager", "module-manager")
_LIFECYCLE_PREFIX = "declarative.kyma-project.io/"


class Keeper(StrEnum):
    """Who keeps the modules as they should be."""

    LIFECYCLE_MANAGER = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    NOBODY = "nobody"

    @property
    def short(self) -> str:
        """For where there is no room."""
        return {Keeper.LIFECYCLE_MANAGER: "klm", Keeper.OPERATOR: "operator", Keeper.NOBODY: "open"}[self]


@dataclass(frozen=True, slots=True)
class Charge:
    """`why` is what it was known by; `way` says how modules come into the cluster, in a sentence."""

    keeper: Keeper
    why: str

    @property
    def edits_kyma(self) -> bool:
        """Whether a module is enabled by an edit of the Kyma resource."""
        return self.keeper is Keeper.LIFECYCLE_MANAGER

    @property
    def way(self) -> str:
        return {
            Keeper.LIFECYCLE_MANAGER: "modules are enabled in the Kyma, and lifecycle-manager installs them",
            Keeper.OPERATOR: "modules with a Manifest are installed by kymatui's operator, all others directly",
            Keeper.NOBODY: "modules are installed directly, and updated when somebody does it",
        }[self.keeper]

    def __str__(self) -> str:
        return f"in charge: {self.keeper.value} ({self.why}); {self.way}"


def charge(snapshot: Snapshot) -> Charge:
    """Who is in charge in the cluster of a snapshot."""
    kymas = {manager: "the Kyma" for raw in snapshot.kymas for manager in _managers(raw)}
    manifests = {manager: "Manifests" for raw in snapshot.manifests for manager in _managers(raw)}
    written = {**kymas, **manifests}
    for manager, what in written.items():
        if manager in _LIFECYCLE_MANAGERS or manager.startswith(_LIFECYCLE_PREFIX):
            return Charge(Keeper.LIFECYCLE_MANAGER, f"{manager} writes {what}")
    if OWN_OPERATOR in written:
        return Charge(Keeper.OPERATOR, f"{OWN_OPERATOR} writes {written[OWN_OPERATOR]}")
    if _has_status(snapshot.kymas):
        return Charge(Keeper.LIFECYCLE_MANAGER, "the Kyma has a status")
    if _has_status(snapshot.manifests):
        return Charge(Keeper.LIFECYCLE_MANAGER, "Manifests have a status")
    why = "nobody has reported on the Kyma" if snapshot.kymas else "there is no Kyma"
    return Charge(Keeper.NOBODY, why)


def _managers(raw: Mapping[str, Any]) -> Iterator[str]:
    for entry in Reader(raw).child("metadata").children("managedFields"):
        yield entry.text("manager")


def _has_status(objects: Iterable[Mapping[str, Any]]) -> bool:
    return any(Reader(raw).child("status").text("state") for raw in objects)
