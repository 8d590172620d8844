"""The versions between which a change moves modules, with both templates."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.versions.resolution import find_version
from kymatui.domain.whatif.catalog_change import CatalogChange, apply_change
from kymatui.domain.whatif.fleet_objects import FleetObjects
from kymatui.domain.whatif.forecast import Forecast
from kymatui.domain.whatif.module_results import ResultKind, namespace_catalogs

_MOVES: Final = (ResultKind.UPGRADE, ResultKind.DOWNGRADE, ResultKind.WAIT)


class VersionMove(Struct, frozen=True):
    """A module that moves from one version to another in some runtimes; a template is None if no catalog has it."""

    module: str
    installed: str
    version: str
    runtimes: int
    before: ModuleTemplate | None
    after: ModuleTemplate | None


def version_moves(fleet: FleetObjects, change: CatalogChange, forecast: Forecast) -> tuple[VersionMove, ...]:
    """Return the moves, by module and versions; those that await a maintenance window count.

    The installed version's template is today's, because the change may replace or delete it.
    """
    counts: dict[tuple[str, str, str, str], int] = {}
    for entry in forecast.changed:
        if entry.kind in _MOVES and entry.installed:
            key = entry.module, entry.installed, entry.then.version, entry.runtime[0]
            counts[key] = counts.get(key, 0) + 1
    namespaces = {key[3] for key in counts}
    today, then = (namespace_catalogs(one, namespaces) for one in (fleet, apply_change(fleet, change)))
    return tuple(
        VersionMove(
            module,
            installed,
            version,
            count,
            find_version(today[namespace].index, module, installed, namespace),
            find_version(then[namespace].index, module, version, namespace),
        )
        for (module, installed, version, namespace), count in sorted(counts.items())
    )
