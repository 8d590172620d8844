"""The inputs of a what-if: a fleet from a cluster or a file, and a change from files and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.adapters.content.change_files import read_change_files
from kymatui.adapters.content.fleet_files import read_fleet_file, write_fleet_file
from kymatui.adapters.sessions.cluster.configured_rules import read_configured_rules
from kymatui.composition.reports.fleet_objects import read_fleet_objects
from kymatui.domain.whatif.catalog_change import CatalogChange
from kymatui.domain.whatif.fleet_objects import CATALOG_KINDS, CatalogKey, FleetObjects
from kymatui.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.session_options import SessionOptions


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change as a command line has it: files and folders, `KIND/NAME`, labels, a policy file, restricted modules."""

    files: Sequence[str] = ()
    deleted: Sequence[str] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    policy: str = ""
    restricted: Sequence[str] | None = None

    @property
    def empty(self) -> bool:
        return not (self.files or self.deleted or self.labels or self.policy) and self.restricted is None


def read_fleet_of(
    source: str, options: SessionOptions, labels: str, now: float
) -> tuple[FleetObjects, tuple[str, ...]]:
    """Return the fleet of an exported file, or of the cluster if `source` is ""; and messages about its settings."""
    return (read_fleet_file(Path(source)), ()) if source else read_fleet_objects(options, labels, now)


def export_fleet(path: str, options: SessionOptions, labels: str, now: float, key: bytes) -> FleetObjects:
    """Write the fleet of a cluster to a file, and return it; with a `key`, ids are hashed."""
    fleet, _ = read_fleet_objects(options, labels, now)
    write_fleet_file(Path(path), fleet, key)
    return fleet


def read_change(request: ChangeRequest, fleet: FleetObjects) -> CatalogChange:
    """Return the change of a fleet. Raises ConfigurationError for a file, UsageError for a name."""
    policy = read_configured_rules(request.policy, ())
    objects = read_change_files(request.files, _only_namespace(fleet)) if request.files else ()
    return CatalogChange(
        objects,
        frozenset(_deleted(word, fleet) for word in request.deleted),
        request.labels,
        policy.windows if policy is not None else None,
        None if request.restricted is None else frozenset(filter(None, request.restricted)),
    )


def _only_namespace(fleet: FleetObjects) -> str:
    """Return the namespace of documents without one: that of the Kymas, "" if they are in several."""
    return fleet.namespaces[0] if len(fleet.namespaces) == 1 else ""


def _deleted(word: str, fleet: FleetObjects) -> CatalogKey:
    kind, _, path = word.partition("/")
    kinds = {name.lower(): name for name in CATALOG_KINDS}
    if kind.lower() not in kinds or not path:
        raise UsageError(f"invalid --delete {word!r}", hint=f"use {CATALOG_KINDS[0]}/NAME or {CATALOG_KINDS[1]}/NAME")
    kind = kinds[kind.lower()]
    of_kind = [key for key in fleet.catalog if key[0] == kind]
    found = [key for key in of_kind if path in (key[2], f"{key[1]}/{key[2]}")]
    if not found:
        raise UnknownNameError.near(kind, path, (key[2] for key in of_kind))
    if len(found) > 1:
        raise UsageError(f"{kind} {path} is in more than one namespace", hint=f"use {kind}/NAMESPACE/NAME")
    return found[0]
