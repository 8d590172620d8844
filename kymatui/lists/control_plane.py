"""The columns of a control plane's reports: catalog sync, maintenance windows, Watchers, and both sides compared."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.catalog.catalog_json import actor_json
from kymatui.domain.fleet.maintenance import DowntimeUpgrade, Maintenance, UpgradeStatus
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.remote.catalog_sync import ChannelSync, SyncEntry, SyncStatus
from kymatui.domain.remote.differences import ComparisonLine, LineArea, LineVerdict
from kymatui.domain.remote.watcher_chains import ChainLink, LinkHealth, WatcherChain
from kymatui.lists.catalog_cells import version_cell
from kymatui.lists.columns import ABSENT, Cell, ListColumn, text_cell
from kymatui.moments import format_duration

# the catalog sync

SYNC_SIGNS: Final = {
    SyncStatus.MISSING: ("✗", "error"),
    SyncStatus.LEFT_OVER: ("✗", "error"),
    SyncStatus.UNKNOWN: ("?", "warning"),
    SyncStatus.OWN: ("·", "accent"),
    SyncStatus.OLD: ("·", "muted"),
    SyncStatus.WITHHELD: ("–", "muted"),
    SyncStatus.SYNCED: ("●", "ready"),
}
"""Sign and tone of each status, problems first."""
_SYNC_ORDER: Final = {status: number for number, status in enumerate(SYNC_SIGNS)}


def sync_order(entry: SyncEntry) -> int:
    return _SYNC_ORDER[entry.standing]


def _sync_status(entry: SyncEntry) -> Cell:
    sign, tone = SYNC_SIGNS[entry.standing]
    word = entry.standing.value
    return Cell(f"{sign} {word}", tone, order=sync_order(entry), full=word)


def _channel_json(channel: ChannelSync) -> dict[str, Any]:
    return {
        "channel": channel.channel,
        "version": channel.version,
        "wanted": channel.is_wanted,
        "why": channel.why or None,
    }


_Sync = ListColumn[SyncEntry]
SYNC_COLUMNS: Final = (
    _Sync("standing", "STATUS", 19, cell=_sync_status, json={"standing": lambda entry: entry.standing.value}),
    _Sync.of_value("kind", "KIND", 17, lambda entry: entry.ref.kind.kind, "muted", priority=3),
    _Sync.of_value("name", "NAME", 16, lambda entry: entry.ref.name, flex=2, priority=2),
    _Sync.of_text("module", "MODULE", 14, lambda entry: entry.module, tone="strong", flex=1),
    _Sync(
        "version",
        "VERSION",
        8,
        flex=1,
        priority=1,
        cell=lambda entry: version_cell(entry.version),
        json={"version": lambda entry: entry.version or None},
    ),
    _Sync.of_value("why", "WHY", 16, lambda entry: entry.why, flex=5, wraps=True).with_json(
        channels=lambda entry: list(map(_channel_json, entry.channels))
    ),
)

# maintenance windows


class WindowEntry(Struct, frozen=True):
    """A runtime's next window at a time, and an upgrade that waits for it, if there is any."""

    maintenance: Maintenance
    upgrade: DowntimeUpgrade | None
    now: float


_UPGRADE_TONES: Final = {
    UpgradeStatus.WAITS: "processing",
    UpgradeStatus.REPORTED: "processing",
    UpgradeStatus.GOES: "ready",
    UpgradeStatus.SKIPS: "ready",
    UpgradeStatus.STUCK: "error",
}


def format_window(window: MaintenanceWindow | None) -> str:
    """Return the time of a window in UTC."""
    if window is None:
        return "unknown"
    begin, end = time.gmtime(window.begin), time.gmtime(window.end)
    return f"{time.strftime('%a %m-%d %H:%M', begin)} – {time.strftime('%a %H:%M', end)}"


def _begin(entry: WindowEntry) -> float:
    window = entry.maintenance.window
    return window.begin if window is not None else float("inf")


def _window(entry: WindowEntry) -> Cell:
    """Return the next window; commands print the year, and whether it is open."""
    maintenance, full = entry.maintenance, ""
    if maintenance.window is not None:
        begin, end = (datetime.fromtimestamp(edge, UTC) for edge in (maintenance.window.begin, maintenance.window.end))
        full = f"{begin:%a %Y-%m-%d %H:%M} to {end:%a %H:%M} UTC{' (open)' if maintenance.open else ''}"
    tone = "accent" if maintenance.open else ""
    return Cell(format_window(maintenance.window), tone, order=_begin(entry), full=full)


def _until(entry: WindowEntry) -> Cell:
    maintenance = entry.maintenance
    if maintenance.window is None:
        return Cell("", "muted")
    text = "open" if maintenance.open else format_duration(maintenance.window.begin - entry.now)
    return Cell(text, "accent" if maintenance.open else "muted", order=_begin(entry))


def _upgrade_status(entry: WindowEntry) -> Cell:
    """Return whether the upgrade waits, or why upgrades are unknown; commands print the whole reason."""
    upgrade, unknown = entry.upgrade, entry.maintenance.unknown
    if upgrade is not None:
        return Cell(upgrade.waiting.value, _UPGRADE_TONES[upgrade.waiting])
    return Cell("") if unknown is None else Cell(f"upgrades {unknown.gap}", "muted", full=str(unknown))


_Window = ListColumn[WindowEntry]
WINDOW_COLUMNS: Final = (
    _Window("runtime", "RUNTIME", 12, flex=2, cell=lambda entry: Cell(sanitize(entry.maintenance.ref.name), "strong")),
    _Window("window", "NEXT WINDOW (UTC)", 27, cell=_window, also=("NEXT WINDOW",)),
    _Window("in", "IN", 4, priority=2, right=True, cell=_until, wide=True),
    _Window(
        "module",
        "MODULE",
        14,
        flex=1,
        cell=lambda entry: Cell(sanitize(entry.upgrade.module if entry.upgrade is not None else ""), "strong"),
    ),
    _Window(
        "installed",
        "INSTALLED",
        9,
        priority=4,
        cell=lambda entry: version_cell(entry.upgrade.installed) if entry.upgrade is not None else Cell(""),
    ),
    _Window(
        "offered",
        "OFFERED",
        9,
        priority=3,
        cell=lambda entry: version_cell(entry.upgrade.offered) if entry.upgrade is not None else Cell(""),
    ),
    _Window("how", "STATUS", 18, flex=3, priority=1, cell=_upgrade_status),
)

# Watchers


class LinkEntry(Struct, frozen=True):
    """One link of the chain between a Watcher and the control plane."""

    chain: WatcherChain
    link: ChainLink


_HEALTH: Final = {
    LinkHealth.BROKEN: ("✗", "error"),
    LinkHealth.UNKNOWN: ("?", "warning"),
    LinkHealth.HEALTHY: ("●", "ready"),
}
_WORST_HEALTH: Final = list(_HEALTH)


def health_order(health: LinkHealth) -> int:
    """Return the place of a health, broken first."""
    return _WORST_HEALTH.index(health)


def _health(entry: LinkEntry) -> Cell:
    health = entry.link.health
    sign, tone = _HEALTH[health]
    return Cell(f"{sign} {health.value}", tone, order=health_order(health), full=health.value)


def _watcher(entry: LinkEntry) -> Cell:
    watcher = sanitize(entry.chain.watcher)
    return Cell(watcher.rpartition("/")[2] or ABSENT, "strong", full=watcher)


WATCHER_COLUMNS: Final = (
    ListColumn[LinkEntry]("watcher", "WATCHER", 14, flex=1, cell=_watcher),
    ListColumn[LinkEntry](
        "watches", "WATCHES", 14, flex=1, priority=2, cell=lambda entry: Cell(sanitize(entry.chain.watches), "muted")
    ),
    ListColumn[LinkEntry]("link", "LINK", 14, cell=lambda entry: Cell(sanitize(entry.link.what))),
    ListColumn[LinkEntry]("object", "OBJECT", 14, flex=2, priority=1, cell=lambda entry: text_cell(entry.link.object)),
    ListColumn[LinkEntry]("health", "HEALTH", 10, cell=_health),
    ListColumn[LinkEntry]("why", "WHY", 10, flex=5, priority=1, cell=lambda entry: Cell(sanitize(entry.link.why))),
)

# a control plane and a runtime

_VERDICTS: Final = {
    LineVerdict.WRONG: ("✗", "error"),
    LineVerdict.UNKNOWN: ("?", "warning"),
    LineVerdict.UNDER_WAY: ("◐", "processing"),
    LineVerdict.INTENDED: ("·", "muted"),
    LineVerdict.SAME: ("=", "ready"),
}
_VERDICT_ORDER: Final = list(_VERDICTS)


def _verdict(line: ComparisonLine) -> Cell:
    sign, tone = _VERDICTS[line.verdict]
    word = line.verdict.value
    return Cell(f"{sign} {word}", tone, order=_VERDICT_ORDER.index(line.verdict), full=word)


def _subject(line: ComparisonLine) -> Cell:
    """Return the subject; of a label screens have its distinctive part, and the sentence below them the whole name."""
    prefix, _, name = line.subject.rpartition("/")
    text = f"…/{name}" if line.area is LineArea.LABEL and prefix else line.subject
    return Cell(sanitize(text), "strong", full=sanitize(line.subject))


_Comparison = ListColumn[ComparisonLine]
COMPARISON_COLUMNS: Final = (
    _Comparison("verdict", "VERDICT", 14, cell=_verdict, json={"verdict": lambda line: line.verdict.value}),
    _Comparison.of_value("about", "ABOUT", 12, lambda line: line.area.value, "muted", priority=2),
    _Comparison("subject", "SUBJECT", 12, flex=3, cell=_subject, json={"subject": lambda line: line.subject}),
    _Comparison.of_value("field", "FIELD", 10, lambda line: line.field, flex=1),
    _Comparison.of_text("control", "KCP", 10, lambda line: line.control, key="kcp", flex=3),
    _Comparison.of_text("runtime", "SKR", 10, lambda line: line.runtime, key="skr", flex=3),
    _Comparison.of_text("why", "WHY", 0, lambda line: line.why),
    _Comparison.of_text("actor", "WHO ACTS", 0, lambda line: line.actor.value).with_json(
        whoActs=lambda line: actor_json(line.actor)
    ),  # deprecated: `actor`
)
