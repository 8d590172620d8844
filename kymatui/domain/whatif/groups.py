"""A forecast in numbers: runtimes by module, outcome, versions and reason, and by plan, region, channel or account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.runtimes import Runtime, group_name
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.whatif.forecast import BY_RISK, Forecast, ModuleForecast
from kymatui.domain.whatif.messages import reason_words
from kymatui.domain.whatif.module_results import ResultKind, ResultReason

GROUPS: Final = ("plan", "region", "platform-region", "channel", "account")
_GroupKey = tuple[str, str, ResultKind, ResultReason, str, str]


class ForecastGroup(Struct, frozen=True):
    """Runtimes in which a change does the same to one module.

    `group` is the plan, region, … or "" for the whole fleet; `installed` and `version` are those before and after;
    `window` is the first maintenance window of these runtimes, None if none waits or the policy is unknown.
    """

    group: str
    module: str
    kind: ResultKind
    reason: ResultReason
    installed: str
    version: str
    entries: tuple[ModuleForecast, ...]
    window: MaintenanceWindow | None

    @property
    def runtimes(self) -> tuple[RuntimeKey, ...]:
        return tuple(entry.runtime for entry in self.entries)

    @property
    def example(self) -> ModuleForecast:
        """Return one of the equal entries, for messages."""
        return self.entries[0]


def group_forecast(forecast: Forecast, by: str = "") -> tuple[ForecastGroup, ...]:
    """Return the groups of what changes, by group, risk and module."""
    found: dict[tuple[_GroupKey, str], list[ModuleForecast]] = {}
    for entry in forecast.changed:
        group = _group_of(forecast.runtimes, entry, by)
        key = group, entry.module, entry.kind, entry.then.reason, entry.installed, entry.then.version
        # some reasons name a channel: rows that read alike are one, others are not
        message = "" if entry.then.window is not None else reason_words(entry)
        found.setdefault((key, message), []).append(entry)
    groups = [ForecastGroup(*key, tuple(entries), _first_window(entries)) for (key, _), entries in found.items()]
    return tuple(sorted(groups, key=lambda one: (one.group, BY_RISK.index(one.kind), one.module, -len(one.entries))))


def _group_of(runtimes: Mapping[RuntimeKey, Runtime], entry: ModuleForecast, by: str) -> str:
    return group_name(runtimes[entry.runtime], by) if by else ""


def _first_window(entries: Iterable[ModuleForecast]) -> MaintenanceWindow | None:
    windows = [entry.then.window for entry in entries if entry.then.window is not None]
    return min(windows, key=lambda window: window.begin, default=None)


def count_kinds(entries: Iterable[ModuleForecast]) -> Mapping[ResultKind, int]:
    """Return the number of runtimes by what becomes of any of their modules, in the order of risk, without zeros."""
    found: dict[ResultKind, set[RuntimeKey]] = {kind: set() for kind in BY_RISK}
    for entry in entries:
        found[entry.kind].add(entry.runtime)
    return {kind: len(keys) for kind, keys in found.items() if keys}
