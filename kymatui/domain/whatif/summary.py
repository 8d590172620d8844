"""A forecast in one line, and what to know about it; messages only."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.versions.resolution import missing_versions
from kymatui.domain.whatif.catalog_change import CatalogChange, apply_change
from kymatui.domain.whatif.fleet_objects import FleetObjects
from kymatui.domain.whatif.forecast import Forecast
from kymatui.domain.whatif.groups import count_kinds
from kymatui.domain.whatif.messages import kind_label
from kymatui.domain.whatif.module_results import namespace_catalogs


def forecast_summary(forecast: Forecast) -> str:
    """Return the numbers in one line: `5 runtimes: upgrade in 3, uninstall in 1; 1 unchanged`."""
    counts = count_kinds(forecast.changed)
    total = len(forecast.runtimes)
    same = total - len({entry.runtime for entry in forecast.changed})
    listed = ", ".join(f"{kind_label(kind)} in {number}" for kind, number in counts.items())
    rest = f"; {same} unchanged" if same and counts else ""
    return f"{forecast.cluster}: {format_count(total, 'runtime')}: {listed or 'nothing changes'}{rest}"


def change_notes(change: CatalogChange, fleet: FleetObjects) -> Iterator[str]:
    """Yield which objects of a change have no effect, and which versions have no template after it."""
    for raw in change.objects:
        ref = read_ref(raw)
        if ref.namespace not in fleet.namespaces:
            yield f"{ref} changes nothing: no Kyma is in its namespace"
    missing = list(_missing_templates(apply_change(fleet, change)))
    known = set(_missing_templates(fleet)) if missing else set()  # indexing a catalog again costs a live forecast
    for module, channel, version in missing:
        if (module, channel, version) not in known:
            where = f"channel {channel} of {module}" if channel else f"mandatory module {module}"
            yield (
                f"{where} gets {version}, but there is no ModuleTemplate {module}-{version}: "
                "lifecycle-manager reports an Error for every Kyma that uses it"
            )


def _missing_templates(fleet: FleetObjects) -> Iterator[tuple[str, str, str]]:
    """Yield module, channel and version of each version that no template has."""
    namespaces = sorted({namespace for _, namespace, _ in fleet.catalog})
    for catalog in namespace_catalogs(fleet, namespaces).values():
        for meta in catalog.index.metas:
            for channel, version in missing_versions(catalog.index, meta):
                yield meta.module, channel, version


def forecast_notes(forecast: Forecast) -> Iterator[str]:
    """Yield which Kymas are new or left out."""
    for namespace, name in forecast.added:
        yield f"Kyma {namespace}/{name} is not in the fleet; counted as a new runtime"
    for item in forecast.malformed:
        yield f"{item.ref} is malformed and not in the forecast: {item.reason}"
