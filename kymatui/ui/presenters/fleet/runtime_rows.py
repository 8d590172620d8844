"""Fleet as rows: runtimes, groups, and the explanation line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.fleet.clusters import ClusterStatus, FleetCluster
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.fleet.pending_actions import runtime_reason
from kymatui.domain.fleet.runtimes import Runtime, group_name, worst_first
from kymatui.domain.fleet.short_names import short_names
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import ABSENT, Cell, Column, cells_of, on_screen
from kymatui.lists.fleet import CLUSTER_COLUMNS, GROUP_COLUMNS, RUNTIME_COLUMNS, GroupEntry, RuntimeEntry
from kymatui.ui.viewmodels.row_list import Row

_SHARED = on_screen(RUNTIME_COLUMNS)
COLUMNS = (*_SHARED, Column("skr", "SKR", 11, priority=3))
CONTEXT_TABLE = on_screen(CLUSTER_COLUMNS)
_SEPARATOR = "\0"
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


class RuntimeFilter(Struct, frozen=True):
    """Fleet filter: a group's member, or a module in a version ("" for a version not reported)."""

    what: str
    value: str
    version: str | None = None

    def __str__(self) -> str:
        version = f" {self.version or 'version unknown'}" if self.version is not None else ""
        return f"{self.what} {sanitize(self.value)}{version}"

    def accepts(self, runtime: Runtime) -> bool:
        if self.what != "module":
            return group_name(runtime, self.what) == self.value
        module = runtime.module(self.value)
        return module is not None and (self.version is None or same_version(module.version, self.version))


def key_text(key: RuntimeKey) -> str:
    """Return a runtime's key as row key and as subject of a step."""
    return "/".join(key)


class FleetRows:
    """Cache of rows, for one thread; a row is made again only on a change of its runtime or age text."""

    def __init__(self) -> None:
        self._made: dict[RuntimeKey, tuple[Runtime, float, str, Row]] = {}
        self._rows: Mapping[RuntimeKey, Row] = {}
        self._of: object = None
        self._gap: UnknownFact | None = None
        self._until = 0.0
        self._contexts: dict[RuntimeKey, tuple[FleetCluster, Row]] = {}

    def of(self, picture: FleetSnapshot, now: float) -> Mapping[RuntimeKey, Row]:
        """Return all rows by runtime, the worst first; the same mapping while nothing changed."""
        if picture.clusters:
            self._rows = self._of_contexts(picture.clusters, now)
            return self._rows
        gap = picture.unknown_drift
        if picture.runtimes is self._of and now < self._until and gap == self._gap:
            return self._rows
        known = self._made if gap == self._gap else {}
        self._made, self._of, self._gap = {}, picture.runtimes, gap
        short = short_names(name for _, name in picture.runtimes)
        for key, runtime in picture.runtimes.items():
            entry, name = known.get(key), short.get(key[1], "")
            if entry is None or entry[0] is not runtime or now >= entry[1] or entry[2] != name:
                entry = (runtime, _until(runtime, now), name, runtime_row(key, runtime, now, gap, name))
            self._made[key] = entry
        self._until = min((until for _, until, _, _ in self._made.values()), default=float("inf"))
        ordered = worst_first(picture.runtimes.values())
        self._rows = {key: self._made[key][3] for key in ((runtime.ref.namespace, runtime.name) for runtime in ordered)}
        return self._rows

    def _of_contexts(self, clusters: Mapping[RuntimeKey, FleetCluster], now: float) -> Mapping[RuntimeKey, Row]:
        known, self._contexts = self._contexts, {}
        for key, cluster in clusters.items():
            before = known.get(key)
            is_same = before is not None and before[0] == cluster and cluster.is_read
            row = before[1] if before is not None and is_same else _context_row(key, cluster, now)
            self._contexts[key] = cluster, row
        if len(known) == len(self._contexts) and all(self._contexts[key][1] is row for key, (_, row) in known.items()):
            return self._rows
        return {key: row for key, (_, row) in self._contexts.items()}


def _context_row(key: RuntimeKey, cluster: FleetCluster, now: float) -> Row:
    labels = {**_labels(cluster.labels), "server": cluster.server, "status": cluster.status.value}
    return Row(key_text(key), cells_of(CONTEXT_TABLE, cluster, now), labels=labels)


def _until(runtime: Runtime, now: float) -> float:
    """Return until when the age of a row stays accurate enough, in seconds of the Unix clock."""
    if runtime.created is None:
        return float("inf")
    age = now - runtime.created
    return now + (_MINUTE if age < _HOUR else _HOUR if age < 2 * _DAY else _DAY / 2)


def count_runtimes(picture: FleetSnapshot, connected: Iterable[Feed]) -> str:
    """Return the known numbers of runtimes, of those with problems, and of connected runtimes."""
    runtimes = _counted(len(picture.runtimes), picture.unknown_runtimes)
    problems = _counted(picture.problem_count, picture.unknown_runtimes or picture.unknown_drift)
    states = [feed.state for feed in connected]
    malformed = f"  malformed {len(picture.malformed)}" if picture.malformed else ""
    summary = f"runtimes {runtimes}  with problems {problems}{malformed}  SKR {states.count(FeedState.LIVE)} connected"
    failed = states.count(FeedState.FAILED)
    return summary + (f", {failed} unreachable" if failed else "")


def count_contexts(clusters: Iterable[FleetCluster]) -> str:
    """Return the numbers of contexts, of those with problems or updates, and of those that are not read."""
    listed = list(clusters)
    unread = sum(not cluster.is_read and cluster.status is not ClusterStatus.CONNECTING for cluster in listed)
    connecting = sum(cluster.status is ClusterStatus.CONNECTING for cluster in listed)
    parts = [f"contexts {len(listed)}", f"with problems {sum(cluster.has_problem for cluster in listed)}"]
    parts += [f"with updates {updates}"] if (updates := sum(bool(cluster.updates) for cluster in listed)) else []
    parts += [f"not read {unread}"] if unread else []
    parts += [f"connecting {connecting}"] if connecting else []
    return "  ".join(parts)


def _counted(number: int, why: UnknownFact | None) -> str:
    """Return a number, its lower bound, or why it is unknown."""
    if why is None:
        return str(number)
    return f"{number}+" if number and why.gap is not ListGap.LOADING else why.gap.value


def runtime_row(
    key: RuntimeKey, runtime: Runtime, now: float, unknown_drift: UnknownFact | None = None, short: str = ""
) -> Row:
    """Return the row of one runtime; `unknown_drift` says why the channels' versions are unknown.

    `short` is its name for narrow columns.
    """
    cells = cells_of(_SHARED, RuntimeEntry(runtime, unknown_drift, short), now)
    return Row(key_text(key), {**cells, "skr": Cell(ABSENT, "muted", 9)}, labels=_labels(runtime.labels))


def _labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels by full name and by the part after the slash."""
    return {**{name.rpartition("/")[2]: value for name, value in labels.items()}, **labels}


SKR = {
    FeedState.SYNCING: ("connecting", "processing", 1),
    FeedState.LIVE: ("connected", "ready", 2),
    FeedState.STALE: ("stale", "warning", 0),
    FeedState.FAILED: ("unreachable", "error", 0),
    FeedState.ABSENT: ("closed", "muted", 3),
}


def with_runtime(row: Row, feed: Feed | None) -> Row:
    """Return the row with the status of its runtime's own connection, if one was opened."""
    word, tone, order = SKR.get(feed.state if feed is not None else FeedState.SYNCING, SKR[FeedState.SYNCING])
    return replace(row, cells={**row.cells, "skr": Cell(word, tone, order)})


def explain_runtime(runtime: Runtime, picture: FleetSnapshot, catalog: Catalog | None = None) -> tuple[str, str, str]:
    """Return what is wrong with a runtime, who must act, and the tone; `catalog` is that of a connected one."""
    key = (runtime.ref.namespace, runtime.name)
    cluster = picture.clusters.get(key)
    if cluster is not None:
        if cluster.status is ClusterStatus.CONTROL_PLANE:
            kymas = format_count(cluster.kymas, "Kyma")
            return f"A control plane with {kymas}; `:fleet runtimes` lists its runtimes", "", "muted"
        hint = f". {cluster.hint[:1].upper()}{cluster.hint[1:]}" if cluster.hint else ""
        tone = "warning" if cluster.has_problem else "muted"
        return sanitize(f"{cluster.why}{hint}"), actor_words(cluster.actor.value), tone
    reason = runtime_reason(runtime, picture.manifests_of(key), picture.unknown_drift, catalog)
    who = actor_words(reason.actor.value)
    return sanitize(reason.text), who, TONES[reason.state] if reason.state is not None else "muted"


def actor_words(actor: str) -> str:
    """Return who acts, "" for nobody; where only the runtime tells, how to read it."""
    if actor == Actor.UNKNOWN:
        return "who acts: unknown until the runtime is read (enter)"
    return f"who acts: {actor}" if actor else ""


# groups

GROUP_TABLE = on_screen(GROUP_COLUMNS)


def group_rows(runtimes: Iterable[Runtime], what: str, unknown_drift: UnknownFact | None = None) -> list[Row]:
    """Return one row per plan, region, channel or other group, with counts."""
    members: dict[str, list[Runtime]] = {}
    for runtime in runtimes:
        members.setdefault(group_name(runtime, what), []).append(runtime)
    entries = [
        GroupEntry(name, tuple(runtimes_of_group), unknown_drift) for name, runtimes_of_group in sorted(members.items())
    ]
    return [Row(f"{what}{_SEPARATOR}{entry.name}", cells_of(GROUP_COLUMNS, entry)) for entry in entries]


def filter_title(row_key: str) -> RuntimeFilter:
    """Return the fleet filter of a group's row."""
    what, _, value = row_key.partition(_SEPARATOR)
    return RuntimeFilter(what, value)
