"""The forecast of a change: for each module of each runtime, today's result and the one after the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.fleet.runtimes import Runtime, read_runtime
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.whatif.fleet_objects import CatalogChange, FleetObjects, apply_change
from kymatui.domain.whatif.module_results import (
    ABSENT,
    Manifests,
    ModuleResult,
    NamespaceCatalog,
    ResultKind,
    installed_version,
    module_results,
    namespace_catalogs,
)

BY_RISK: Final = (
    ResultKind.UNINSTALL,
    ResultKind.ERROR,
    ResultKind.NOT_INSTALLED,
    ResultKind.HELD_BACK,
    ResultKind.DOWNGRADE,
    ResultKind.WAIT,
    ResultKind.UPGRADE,
    ResultKind.INSTALL,
    ResultKind.RECOVER,
    ResultKind.KEEP,
)
"""The results in the order in which a person wants to read them."""
_ENDED: Final = (ResultKind.ERROR, ResultKind.HELD_BACK)


class ModuleForecast(Struct, frozen=True):
    """The forecast of one module in one runtime; `installed` is "" if it is not installed or not reported."""

    runtime: RuntimeKey
    module: str
    installed: str
    today: ModuleResult
    then: ModuleResult

    @property
    def kind(self) -> ResultKind:
        """Return what the change does; KEEP where the result is today's."""
        if self.today == self.then:
            return ResultKind.KEEP
        if self.then.kind is ResultKind.KEEP and self.today.kind in _ENDED:
            return ResultKind.RECOVER
        return self.then.kind

    @property
    def changes(self) -> bool:
        return self.kind is not ResultKind.KEEP


class Forecast(Struct, frozen=True):
    """The forecast of a fleet; `added` are runtimes that only the change has, `malformed` Kymas that have none."""

    cluster: str
    entries: tuple[ModuleForecast, ...]
    runtimes: Mapping[RuntimeKey, Runtime] = field(default_factory=dict)
    added: tuple[RuntimeKey, ...] = ()
    malformed: tuple[MalformedObject, ...] = ()
    taken_at: float = 0.0

    @property
    def changed(self) -> tuple[ModuleForecast, ...]:
        return tuple(entry for entry in self.entries if entry.changes)


class _Known(Struct):
    """The forecast of one runtime, and the objects that it was computed from."""

    before: Object | None
    after: Object
    manifests: tuple[ManifestSummary, ...]
    runtime: Runtime
    entries: tuple[ModuleForecast, ...]

    @property
    def lasts(self) -> bool:
        """Return whether the time changes nothing: an upgrade with downtime depends on windows."""
        return not any(result.downtime for entry in self.entries for result in (entry.today, entry.then))


class ForecastMemory:
    """Forecasts of runtimes from the last call of `foresee`; use it from one thread.

    A runtime is computed again if its Kyma is another object, or if the catalog, the settings or the change are.
    """

    def __init__(self) -> None:
        self.runtimes: dict[RuntimeKey, _Known] = {}
        self._of: tuple[object, ...] = ()
        self._catalogs: tuple[Mapping[str, NamespaceCatalog], Mapping[str, NamespaceCatalog]] = ({}, {})

    def catalogs(
        self, fleet: FleetObjects, after: FleetObjects, change: CatalogChange
    ) -> tuple[Mapping[str, NamespaceCatalog], Mapping[str, NamespaceCatalog]]:
        """Return the catalogs of before and after; forget all runtimes if these are not those of the last call."""
        namespaces = sorted({key[0] for key in (*fleet.kymas, *after.kymas)})
        last = self._of
        same = last and last[0] is fleet.catalog and last[1] is change and last[2:] == (fleet.settings, namespaces)
        if not same:
            self.runtimes.clear()
            self._of = (fleet.catalog, change, fleet.settings, namespaces)
            self._catalogs = namespace_catalogs(fleet, namespaces), namespace_catalogs(after, namespaces)
        return self._catalogs


def foresee(fleet: FleetObjects, change: CatalogChange, now: float, cache: ForecastMemory | None = None) -> Forecast:
    """Return the forecast of a change; `now` is in seconds of the Unix clock.

    Versions that Kymas report count as installed. Mandatory modules are in no report: their version of today counts.
    Where neither tells it, the version of the Manifest does.
    With a `cache`, only what differs from its last call is computed.
    """
    cache = cache or ForecastMemory()
    after = apply_change(fleet, change)
    old, new = cache.catalogs(fleet, after, change)
    entries: list[ModuleForecast] = []
    runtimes: dict[RuntimeKey, Runtime] = {}
    malformed = list(fleet.malformed)
    by_runtime: dict[RuntimeKey, _Known] = {}
    for key in sorted(after.kymas):
        raw = fleet.kymas.get(key)
        known = cache.runtimes.get(key)
        manifests = fleet.manifests.get(key, ())
        is_same = known is not None and known.before is raw and known.after is after.kymas[key]
        if known is None or not is_same or known.manifests is not manifests or not known.lasts:
            changed = read_kyma(after.kymas[key])
            if not isinstance(changed, Kyma):
                malformed.append(changed)
                continue
            read = changed if after.kymas[key] is raw else read_kyma(raw)
            before = read if isinstance(read, Kyma) and raw is not None else None
            by_module = {manifest.module: manifest for manifest in manifests}
            results = _of_runtime(key, before, changed, (old[key[0]], new[key[0]]), by_module, now)
            known = _Known(raw, after.kymas[key], manifests, read_runtime(before or changed, {}), tuple(results))
        by_runtime[key] = known
        runtimes[key] = known.runtime
        entries += known.entries
    cache.runtimes = by_runtime
    added = tuple(key for key in after.kymas if key not in fleet.kymas)
    return Forecast(fleet.cluster, tuple(entries), runtimes, added, tuple(malformed), fleet.taken_at)


def _of_runtime(
    key: RuntimeKey,
    before: Kyma | None,
    after: Kyma,
    catalogs: tuple[NamespaceCatalog, NamespaceCatalog],
    manifests: Manifests,
    now: float,
) -> list[ModuleForecast]:
    old, new = catalogs
    today = module_results(before, old, now, manifests=manifests) if before is not None else {}
    then = module_results(after, new, now, old if before is not None else _without_mandatory(old), manifests)
    return [
        ModuleForecast(
            key,
            name,
            installed_version(before, name, old, manifests) if before is not None else "",
            today.get(name, ABSENT),
            then.get(name, ABSENT),
        )
        for name in sorted({*today, *then})
    ]


def _without_mandatory(catalog: NamespaceCatalog) -> NamespaceCatalog:
    """Return the catalog as a runtime has it that does not exist yet: nothing is installed."""
    return NamespaceCatalog(catalog.index, catalog.settings, {}, frozenset(), catalog.metas)
