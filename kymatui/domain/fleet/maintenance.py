"""Upgrades that need downtime, and the next maintenance window of a runtime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, ModuleReport
from kymatui.domain.kyma.maintenance_windows import (
    ControllerSettings,
    MaintenanceWindow,
    next_window,
    runtime_properties,
)
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.refusals import WaitsForWindow, WindowsUnreadable
from kymatui.domain.versions.resolution import resolve, upcoming_window


class UpgradeStatus(StrEnum):
    """The status of an upgrade that needs downtime."""

    WAITS = "awaiting maintenance window"
    GOES = "rolling out: the window is open"
    SKIPS = "rolling out: the Kyma skips maintenance windows"
    STUCK = "blocked: no maintenance window for this runtime"
    REPORTED = "awaiting maintenance window (reported)"


class DowntimeUpgrade(Struct, frozen=True):
    """One upgrade of a module with downtime; `offered` is "" if unknown."""

    module: str
    installed: str
    offered: str
    waiting: UpgradeStatus


class Maintenance(Struct, frozen=True):
    """The maintenance of one runtime.

    `window` is None if the policy is unknown or has no window for the runtime; `open` means that the window is
    active.
    """

    ref: ObjectRef
    window: MaintenanceWindow | None
    open: bool
    skips: bool
    upgrades: tuple[DowntimeUpgrade, ...]
    unknown: UnknownFact | None = None
    """Why upgrades may be missing: the control plane's catalog is not listed."""


def pending_first(maintenances: Iterable[Maintenance]) -> list[Maintenance]:
    """Return runtimes with blocked upgrades first, then with pending and unknown ones, each by next window."""
    return sorted(maintenances, key=_urgency)


def _urgency(maintenance: Maintenance) -> tuple[int, float, ObjectRef]:
    is_blocked = any(upgrade.waiting is UpgradeStatus.STUCK for upgrade in maintenance.upgrades)
    ranks = (is_blocked, bool(maintenance.upgrades), maintenance.unknown is not None, True)
    begin = maintenance.window.begin if maintenance.window is not None else float("inf")
    return ranks.index(True), begin, maintenance.ref


def pending_count(maintenances: Sequence[Maintenance]) -> str:
    """Return how many runtimes have upgrades that need downtime; with a plus where more may have them."""
    more = "+" if any(maintenance.unknown is not None for maintenance in maintenances) else ""
    return f"{sum(bool(maintenance.upgrades) for maintenance in maintenances)}{more}"


def runtime_maintenance(
    kyma: Kyma, templates: TemplateIndex, rules: ControllerSettings, now: float, unknown: UnknownFact | None = None
) -> Maintenance:
    """Return the maintenance of one Kyma in the control plane.

    `now` is in seconds of the Unix clock; `unknown` says why `templates` may be empty.
    """
    window = upcoming_window(kyma, rules, now)
    is_open = window is not None and window.is_active(now)
    upgrades = (_upgrade(kyma, report, templates, rules, now) for report in kyma.reports)
    return Maintenance(kyma.ref, window, is_open, kyma.skip_maintenance_windows, tuple(filter(None, upgrades)), unknown)


def fleet_maintenance(runtime: Runtime, rules: ControllerSettings, now: float) -> Maintenance:
    """Return the maintenance of a fleet's runtime from lifecycle-manager's reports, without templates."""
    window = (
        next_window(rules.windows, runtime_properties(runtime.labels), now, least=rules.least)
        if rules.windows
        else None
    )
    upgrades = tuple(
        DowntimeUpgrade(
            module.name,
            module.version,
            module.desired if module.drift.kind is DriftKind.AWAITING_WINDOW else "",
            UpgradeStatus.REPORTED,
        )
        for module in runtime.modules
        if module.maintenance
    )
    return Maintenance(runtime.ref, window, window is not None and window.is_active(now), False, upgrades)


def _upgrade(
    kyma: Kyma, report: ModuleReport, templates: TemplateIndex, rules: ControllerSettings, now: float
) -> DowntimeUpgrade | None:
    request = kyma.request(report.name)
    if kyma.meta.deleting or (request is not None and not request.managed):
        return None
    resolution = resolve(report.name, kyma, templates, now=now, rules=rules)
    waiting = next(_standings(kyma, report, resolution.refusal), None)
    if waiting is None and resolution.refusal is None and resolution.template is not None:
        needed = resolution.template.requires_downtime and report.version != resolution.version
        if needed:
            waiting = UpgradeStatus.SKIPS if kyma.skip_maintenance_windows else UpgradeStatus.GOES
    return DowntimeUpgrade(report.name, report.version, resolution.version, waiting) if waiting is not None else None


def _standings(kyma: Kyma, report: ModuleReport, refusal: object) -> Iterator[UpgradeStatus]:
    if isinstance(refusal, WaitsForWindow):
        yield UpgradeStatus.WAITS
    if isinstance(refusal, WindowsUnreadable):
        yield UpgradeStatus.STUCK
    if report.maintenance and not kyma.skip_maintenance_windows:
        yield UpgradeStatus.REPORTED
