"""A forecast as a matrix: how many runtimes have each version of a module today, and how many then."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

from kymatui.domain.kyma.versions import version_order
from kymatui.domain.whatif.forecast import BY_RISK, Forecast, ModuleForecast
from kymatui.domain.whatif.module_results import ModuleResult, ResultKind

_STAYS = (ResultKind.HELD_BACK, ResultKind.WAIT, ResultKind.ERROR)
_ABSENT = (ResultKind.UNINSTALL, ResultKind.NOT_INSTALLED)


class CellKind(StrEnum):
    """The numbers of a line."""

    TODAY = "today"
    THEN = "then"
    MOVES = "moves"


class VersionLine(Struct):
    """One version of a module; `version` is "" for runtimes without it.

    today  the runtimes that have it if nothing is changed, also those that lifecycle-manager is upgrading to it
    then   the runtimes that have it after the change
    moves  the runtimes of either in which the change does something
    """

    module: str
    version: str
    today: list[ModuleForecast] = field(default_factory=list)
    then: list[ModuleForecast] = field(default_factory=list)
    moves: list[ModuleForecast] = field(default_factory=list)

    @property
    def arrivals(self) -> int:
        return sum(_version(forecast, forecast.today) != self.version for forecast in self.then)

    @property
    def departures(self) -> int:
        return sum(_version(forecast, forecast.then) != self.version for forecast in self.today)

    @property
    def worst(self) -> int:
        """Return the rank of the worst outcome on this line."""
        return min((BY_RISK.index(forecast.kind) for forecast in self.moves), default=len(BY_RISK))

    def entries(self, kind: CellKind) -> tuple[ModuleForecast, ...]:
        """Return the forecasts behind a number, the worst outcome first."""
        forecasts = {CellKind.TODAY: self.today, CellKind.THEN: self.then, CellKind.MOVES: self.moves}[kind]
        return tuple(sorted(forecasts, key=lambda forecast: (BY_RISK.index(forecast.kind), forecast.runtime)))


def version_lines(forecast: Forecast) -> tuple[VersionLine, ...]:
    """Return the lines: the modules with the worst outcome first, of each module the newest version first."""
    lines: dict[tuple[str, str], VersionLine] = {}
    for entry in forecast.entries:
        today, then = (_line(lines, entry, result) for result in (entry.today, entry.then))
        today.today.append(entry)
        then.then.append(entry)
        if entry.changes:
            today.moves.append(entry)
            if then is not today:
                then.moves.append(entry)
    worst = _worst(lines.values())
    by_version = sorted(lines.values(), key=lambda line: version_order(line.version), reverse=True)
    return tuple(sorted(by_version, key=lambda line: (worst[line.module], line.module, not line.version)))


def _worst(lines: Iterable[VersionLine]) -> dict[str, int]:
    worst_index: dict[str, int] = {}
    for line in lines:
        worst_index[line.module] = min(line.worst, worst_index.get(line.module, len(BY_RISK)))
    return worst_index


def _line(lines: dict[tuple[str, str], VersionLine], entry: ModuleForecast, result: ModuleResult) -> VersionLine:
    key = entry.module, _version(entry, result)
    if key not in lines:
        lines[key] = VersionLine(*key)
    return lines[key]


def _version(entry: ModuleForecast, result: ModuleResult) -> str:
    """Return the version that a runtime has with a result: what is refused, waits or fails leaves the installed one."""
    if result.kind in _ABSENT:
        return ""
    return entry.installed if result.kind in _STAYS else result.version
