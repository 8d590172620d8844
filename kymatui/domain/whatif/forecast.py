"""The forecast of a change: for each module of each runtime, today's result and the one after the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.runtimes import Runtime, read_runtime
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.whatif.catalog_change import CatalogChange, apply_change
from kymatui.domain.whatif.fleet_objects import FleetObjects
from kymatui.domain.whatif.module_results import (
    ABSENT,
    ModuleResult,
    NamespaceCatalog,
    ResultKind,
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


@dataclass(frozen=True, slots=True)
class ModuleForecast:
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


@dataclass(frozen=True, slots=True)
class Forecast:
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


def foresee(fleet: FleetObjects, change: CatalogChange, now: float) -> Forecast:
    """Return the forecast of a change; `now` is in seconds of the Unix clock.

    Versions that Kymas report count as installed. Mandatory modules are in no report: their version of today counts.
    """
    after = apply_change(fleet, change)
    namespaces = {key[0] for key in (*fleet.kymas, *after.kymas)}
    old, new = namespace_catalogs(fleet, namespaces), namespace_catalogs(after, namespaces)
    entries: list[ModuleForecast] = []
    runtimes: dict[RuntimeKey, Runtime] = {}
    malformed = list(fleet.malformed)
    for key in sorted(after.kymas):
        raw = fleet.kymas.get(key)
        changed = read_kyma(after.kymas[key])
        if not isinstance(changed, Kyma):
            malformed.append(changed)
            continue
        read = changed if after.kymas[key] is raw else read_kyma(raw)
        before = read if isinstance(read, Kyma) and raw is not None else None
        runtimes[key] = read_runtime(before or changed, {})
        entries += _of_runtime(key, before, changed, old[key[0]], new[key[0]], now)
    added = tuple(key for key in after.kymas if key not in fleet.kymas)
    return Forecast(fleet.cluster, tuple(entries), runtimes, added, tuple(malformed), fleet.taken_at)


def _of_runtime(
    key: RuntimeKey,
    before: Kyma | None,
    after: Kyma,
    old: NamespaceCatalog,
    new: NamespaceCatalog,
    now: float,
) -> list[ModuleForecast]:
    today = module_results(before, old, now) if before is not None else {}
    then = module_results(after, new, now, old if before is not None else _without_mandatory(old))
    return [
        ModuleForecast(key, name, _installed(before, name, old), today.get(name, ABSENT), then.get(name, ABSENT))
        for name in sorted({*today, *then})
    ]


def _without_mandatory(catalog: NamespaceCatalog) -> NamespaceCatalog:
    """Return the catalog as a runtime has it that does not exist yet: nothing is installed."""
    return NamespaceCatalog(catalog.index, catalog.settings, {}, frozenset(), catalog.metas)


def _installed(before: Kyma | None, module: str, catalog: NamespaceCatalog) -> str:
    if before is None:
        return ""
    if module in catalog.mandatory and not catalog.missing:
        return catalog.mandatory[module]
    report = before.report(module)
    return report.version if report is not None else ""
