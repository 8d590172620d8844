"""Report lines on a control plane and its runtimes: catalog sync, maintenance windows, Watchers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from kymatui.domain.fleet.maintenance import DowntimeUpgrade, Maintenance, pending_count, pending_first
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan, SyncStatus
from kymatui.domain.remote.watcher_chains import ChainLink, LinkHealth, WatcherChain
from kymatui.lists.columns import cells_of
from kymatui.lists.control_plane import (
    SYNC_COLUMNS,
    SYNC_SIGNS,
    WATCHER_COLUMNS,
    WINDOW_COLUMNS,
    LinkEntry,
    WindowEntry,
    health_order,
    sync_order,
)
from kymatui.moments import format_duration, next_text
from kymatui.ui.presenters.fleet.runtime_rows import key_text
from kymatui.ui.viewmodels.display_text import clock_time
from kymatui.ui.viewmodels.row_list import Row

_SEPARATOR: Final = "\0"


class ReportTable(Struct, frozen=True):
    """Lines, the counts above them, and the whole text of each line by its key.

    `valid_until`, in seconds of the Unix clock, is when the first text is out of date.
    """

    rows: tuple[Row, ...] = ()
    counts: str = ""
    sentences: Mapping[str, str] = field(default_factory=dict)
    valid_until: float = float("inf")


def report_subject(row_key: str) -> str:
    """Return the module or runtime of a line."""
    return row_key.partition(_SEPARATOR)[0]


# the catalog sync


def sync_report(plan: SyncPlan) -> ReportTable:
    """Return the report of the catalog sync, problems first."""
    rows = [(_sync_row(entry), _sync_sentence(entry)) for entry in sorted(plan.entries, key=sync_order)]
    counts = "   ".join(f"{plan.count(standing)} {standing.value}" for standing in SYNC_SIGNS if plan.count(standing))
    counts = counts if plan.unknown is None else sanitize(f"the control plane's catalog: {plan.unknown}")
    return ReportTable(tuple(row for row, _ in rows), counts, {row.key: words for row, words in rows})


def _sync_row(entry: SyncEntry) -> Row:
    key = _SEPARATOR.join((entry.module, str(entry.ref), entry.standing.value))
    return Row(key, cells_of(SYNC_COLUMNS, entry))


def _sync_sentence(entry: SyncEntry) -> str:
    should = "expected in the runtime" if entry.is_wanted else "not expected in the runtime"
    standing = "found" if entry.copy is not None else "not found"
    if entry.standing is SyncStatus.UNKNOWN and entry.copy is None:
        standing = "unknown"
    excluded = [
        f"channel {channel.channel} excluded: {channel.why}"
        for channel in entry.channels
        if entry.is_wanted and channel.why
    ]
    why = "; ".join([entry.why, *excluded])
    return sanitize(f"{entry.ref}: {should} ({why}), {standing}")


# maintenance windows


def windows_report(maintenances: Sequence[Maintenance], notes: Iterable[str], now: float) -> ReportTable:
    """Return the report of windows, runtimes with pending upgrades first."""
    rows, sentences = list[Row](), dict[str, str]()
    for maintenance in pending_first(maintenances):
        for upgrade in maintenance.upgrades or (None,):
            row = _window_row(maintenance, upgrade, now)
            rows.append(row)
            sentences[row.key] = _window_sentence(maintenance, upgrade, now)
    many = format_count(len(maintenances), "runtime")
    counts = f"{pending_count(maintenances)} of {many} with upgrades that need downtime"
    until = min(
        (_valid_until(entry.window, now) for entry in maintenances if entry.window is not None), default=float("inf")
    )
    return ReportTable(tuple(rows), "   ".join(sanitize(text) for text in (counts, *notes)), sentences, until)


def _valid_until(window: MaintenanceWindow, now: float) -> float:
    """Return when the time to a window reads differently, or when the open window ends."""
    return now + next_text(window.begin - now) if now < window.begin else window.end


def _window_row(maintenance: Maintenance, upgrade: DowntimeUpgrade | None, now: float) -> Row:
    runtime = key_text((maintenance.ref.namespace, maintenance.ref.name))
    cells = cells_of(WINDOW_COLUMNS, WindowEntry(maintenance, upgrade, now))
    return Row(_SEPARATOR.join((runtime, upgrade.module if upgrade is not None else "")), cells)


def _window_sentence(maintenance: Maintenance, upgrade: DowntimeUpgrade | None, now: float) -> str:
    if maintenance.window is None:
        when = "the next window is unknown"
    elif maintenance.open:
        when = f"the window is open until {time.strftime('%Y-%m-%d %H:%M', time.gmtime(maintenance.window.end))} UTC"
    else:
        begin = time.strftime("%Y-%m-%d %H:%M", time.gmtime(maintenance.window.begin))
        when = f"the next window starts {begin} UTC, in {format_duration(maintenance.window.begin - now)}"
    skips = "; the Kyma skips maintenance windows" if maintenance.skips else ""
    if upgrade is None:
        waits = "no upgrade awaits it" if maintenance.unknown is None else f"upgrades: {maintenance.unknown}"
        return sanitize(f"{maintenance.ref.name}: {when}{skips}; {waits}")
    to = f" → {upgrade.offered}" if upgrade.offered else ""
    return sanitize(f"{upgrade.module} {upgrade.installed}{to}: {upgrade.waiting.value}; {when}{skips}")


# Watchers

NO_WATCHERS: Final = (
    "No Watchers in the control plane. Changes in runtimes are noticed only at the next reconciliation."
)


def watchers_report(chains: Sequence[WatcherChain], asked_at: float, *, in_runtime: bool) -> ReportTable:
    """Return the Watchers with broken chains first; each chain is listed against the flow of events."""
    rows, sentences = list[Row](), dict[str, str]()
    for chain in sorted(chains, key=lambda chain: health_order(chain.health)):
        for link in chain.links:
            row = _chain_row(chain, link)
            rows.append(row)
            sentences[row.key] = _chain_sentence(chain, link)
    healthy = sum(chain.health is LinkHealth.HEALTHY for chain in chains)
    end = "" if in_runtime else " in the control plane (open a runtime to check the rest)"
    asked = clock_time(asked_at)
    counts = f"{healthy} of {format_count(len(chains), 'chain')} healthy{end}   read {asked} UTC, ctrl-r refreshes"
    return ReportTable(tuple(rows), counts if chains else "", sentences)


def _chain_row(chain: WatcherChain, link: ChainLink) -> Row:
    key = _SEPARATOR.join((chain.watcher, link.what, link.object))
    return Row(key, cells_of(WATCHER_COLUMNS, LinkEntry(chain, link)))


def _chain_sentence(chain: WatcherChain, link: ChainLink) -> str:
    watcher = f"Watcher {chain.watcher} ({chain.watches})" if chain.watcher else "no Watcher"
    why = f": {link.why}" if link.why else ""
    return sanitize(f"{watcher}: {link.what} {link.object} is {link.health.value}{why}")
