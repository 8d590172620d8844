"""The columns of a control plane's fleet: runtimes, groups of them, and the versions that they report.

What the modules of a fleet wait for: the columns of the list, for the screen and for `kymatui waits`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.catalog.catalog_json import MODULE_FIELDS, actor_json, advice_fields, unknown_json
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.fleet.clusters import ClusterStatus, FleetCluster, InstalledVersions
from kymatui.domain.fleet.pending_actions import PendingAction, RuntimeReason, runtime_reason
from kymatui.domain.fleet.runtimes import Runtime, RuntimeModule, VersionCounts, drift_count, reported_actor
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Actor, Advice
from kymatui.domain.kyma.states import State, StateSource, state_rank
from kymatui.domain.kyma.versions import version_order
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource
from kymatui.domain.versions.messages import drift_words
from kymatui.lists.catalog_cells import GAP_TONES, TONES
from kymatui.lists.columns import ABSENT, SIGNS, Cell, ListColumn, natural_key


class WaitEntry(Struct, frozen=True):
    """A pending action; `short` is the name of its runtime where there is little room."""

    wait: PendingAction
    short: str = ""


def _state(entry: WaitEntry) -> Cell:
    state = entry.wait.state
    tone = TONES[state]
    return Cell(f"{SIGNS.get(tone, '')} {state}", tone, order=state_rank(state), full=state.value)


def _since(entry: WaitEntry) -> Cell:
    return Cell("", "muted", -(entry.wait.since or 0.0), since=entry.wait.since)


def _advice(entry: WaitEntry) -> Advice | None:
    return entry.wait.advice


WAIT_COLUMNS: Final = (
    ListColumn[WaitEntry](
        "on",
        "WHO ACTS",
        18,
        flex=1,
        cell=lambda entry: Cell(entry.wait.actor.value, "accent" if entry.wait.actor is Actor.YOU else ""),
        json={"actor": lambda entry: actor_json(entry.wait.actor)},
    ),
    ListColumn[WaitEntry]("state", "STATE", 12, cell=_state, json={"state": lambda entry: entry.wait.state.value}),
    ListColumn[WaitEntry](
        "module",
        "MODULE",
        16,
        flex=1,
        cell=lambda entry: Cell(sanitize(entry.wait.module) or "(the runtime)", "strong"),
        json={"module": lambda entry: entry.wait.module or None},
    ),
    ListColumn[WaitEntry](
        "runtime",
        "RUNTIME",
        12,
        flex=2,
        cell=lambda entry: Cell(sanitize(entry.wait.runtime[1]), short=sanitize(entry.short)),
        json={"runtime": lambda entry: entry.wait.runtime[1], "namespace": lambda entry: entry.wait.runtime[0]},
    ),
    ListColumn[WaitEntry](
        "since",
        "SINCE",
        6,
        priority=2,
        right=True,
        falls=True,
        cell=_since,
        json={"since": lambda entry: None if entry.wait.since is None else format_time(entry.wait.since)},
    ),
    ListColumn[WaitEntry](
        "reason",
        "WHY",
        24,
        flex=4,
        priority=1,
        wraps=True,
        cell=lambda entry: Cell(sanitize(entry.wait.reason)),
        json={
            "reason": lambda entry: entry.wait.reason,
            **{name: field.read for name, field in advice_fields(_advice).items()},
        },
    ),
)


REPORTED: Final = VersionSource.REPORTED.value
_NOT_READ: Final = UnknownFact(ListGap.UNKNOWN, (), "the runtime was not read; `kymatui module` reads it")

# runtimes


class RuntimeEntry(Struct, frozen=True, dict=True):
    """A runtime; `unknown_drift` says why the channels' versions are unknown, `short` is its name in narrow columns."""

    runtime: Runtime
    unknown_drift: UnknownFact | None = None
    short: str = ""

    @cached_property
    def why(self) -> RuntimeReason:
        """Return what is wrong, as far as its Kyma tells."""
        return runtime_reason(self.runtime, unknown_drift=self.unknown_drift)


def runtime_state_cell(runtime: Runtime) -> Cell:
    """Return the Kyma's state with its sign; commands name a deletion and a skip label behind the reported state."""
    state = runtime.known_state
    word = str(state) if state is not State.UNKNOWN else sanitize(runtime.state) or "Unknown"
    if runtime.skipped:
        word += " skip"
    full = f"{runtime.state} (skipped)" if runtime.skipped else runtime.state
    full = f"{full} (deleting)" if runtime.deleting else full
    text = f"{SIGNS.get(TONES[state], '')} {word}".strip()
    return Cell(text, TONES[state], order=state_rank(state), full=full)


def _drift_cell(drifting: int, unknown: UnknownFact | None, words: str) -> Cell:
    if unknown is not None:
        return Cell(unknown.gap.value, GAP_TONES[unknown.gap])
    return Cell(words or ABSENT, "warning" if drifting else "muted", order=drifting)


def _drift(entry: RuntimeEntry) -> Cell:
    return _drift_cell(len(entry.runtime.drifting), entry.unknown_drift, entry.runtime.drift_words)


def _worst(entry: RuntimeEntry) -> Cell:
    """Return the module that is worst off; commands say what is wrong with it."""
    module = entry.runtime.worst
    if module is None:
        return Cell(ABSENT, "muted")
    drifts = module.drifts and module.state is State.READY
    wrong = drift_words(module.drift) if drifts else module.state.value
    tone = "warning" if drifts else TONES[module.state]
    return Cell(sanitize(module.name), tone, state_rank(module.state), full=f"{module.name} {wrong}")


def _problem(entry: RuntimeEntry) -> bool | None:
    runtime = entry.runtime
    is_known = entry.unknown_drift is None and not runtime.unknown_drift
    return runtime.has_problem or (False if is_known else None)


def _actor_unknown(actor: Actor) -> dict[str, Any]:
    return {"actor": unknown_json(_NOT_READ)} if actor is Actor.UNKNOWN else {}


def _module_json(module: RuntimeModule, entry: RuntimeEntry) -> dict[str, Any]:
    """Return what the Kyma reports of a module: its sources say that the runtime itself was not read."""
    actor, unknown = reported_actor(entry.runtime, module), entry.unknown_drift
    return {
        "name": module.name,
        "channel": module.channel or None,
        "channelSource": REPORTED,
        "installed": module.version or None,
        "installedSource": REPORTED if module.version else None,
        "version": module.version or None,  # deprecated: `installed`
        "versionSource": REPORTED if module.version else None,  # deprecated: `installedSource`
        "desired": module.desired or None,
        "drifts": None if unknown is not None or module.unknown_drift else module.drifts,
        "drift": (DriftKind.UNKNOWN if unknown is not None else module.drift.kind).value,
        "state": module.state.value,
        "stateSource": StateSource.KYMA.value,
        "maintenance": module.maintenance,
        "actor": actor_json(actor),
        "actorSource": REPORTED,
        "unknown": _actor_unknown(actor),
    }


_Runtime = ListColumn[RuntimeEntry]
RUNTIME_COLUMNS: Final = (
    _Runtime(
        "name",
        "RUNTIME",
        13,
        flex=3,
        cell=lambda entry: Cell(sanitize(entry.runtime.name), "strong", short=sanitize(entry.short)),
        json={"name": lambda entry: entry.runtime.name, "namespace": lambda entry: entry.runtime.ref.namespace},
    ),
    _Runtime.of_text("shoot", "SHOOT", 10, lambda entry: entry.runtime.shoot, priority=8),
    _Runtime.of_text("region", "REGION", 14, lambda entry: entry.runtime.region, priority=5).with_json(
        platformRegion=lambda entry: entry.runtime.platform_region or None
    ),
    _Runtime.of_text("plan", "PLAN", 6, lambda entry: entry.runtime.plan, priority=6).with_json(
        globalAccount=lambda entry: entry.runtime.account or None
    ),
    _Runtime.of_text("channel", "CHANNEL", 8, lambda entry: entry.runtime.channel, priority=4),
    _Runtime(
        "state",
        "STATE",
        17,
        cell=lambda entry: runtime_state_cell(entry.runtime),
        json={
            "state": lambda entry: entry.runtime.state or None,
            "deleting": lambda entry: entry.runtime.deleting,
            "skipped": lambda entry: entry.runtime.skipped,
        },
    ),
    _Runtime(
        "modules",
        "MODULES",
        7,
        priority=7,
        right=True,
        falls=True,
        cell=lambda entry: Cell(str(len(entry.runtime.modules)), order=len(entry.runtime.modules)),
        json={"modules": lambda entry: [_module_json(module, entry) for module in entry.runtime.modules]},
    ),
    _Runtime("drift", "DRIFT", 5, priority=1, right=True, falls=True, cell=_drift, json={"problem": _problem}),
    _Runtime("worst", "WORST MODULE", 14, flex=2, priority=1, cell=_worst),
    _Runtime(
        "age",
        "AGE",
        4,
        priority=2,
        right=True,
        cell=lambda entry: Cell("", "muted", -(entry.runtime.created or 0), since=entry.runtime.created),
    ),
    _Runtime(
        "reason",
        "REASON",
        cell=lambda entry: Cell(sanitize(entry.why.text)),
        json={
            "reason": lambda entry: entry.why.text if entry.why.state is not None else None,
            "advice": lambda entry: entry.why.advice.text if entry.why.advice is not None else None,
            "command": lambda entry: (entry.why.advice.command or None) if entry.why.advice is not None else None,
        },
        wide=True,
    ),
    _Runtime.of_text("actor", "WHO ACTS", 0, lambda entry: entry.why.actor.value, wide=True).with_json(
        unknown=lambda entry: _actor_unknown(entry.why.actor)
    ),
)

# contexts

_STATUS_TONES: Final = {
    ClusterStatus.CONNECTING: "processing",
    ClusterStatus.CONTROL_PLANE: "accent",
    ClusterStatus.STALE: "warning",
    ClusterStatus.LOGIN: "warning",
    ClusterStatus.UNREACHABLE: "error",
    ClusterStatus.FORBIDDEN: "warning",
    ClusterStatus.NO_KYMA: "muted",
    ClusterStatus.UNUSABLE: "error",
}


def cluster_state_cell(cluster: FleetCluster) -> Cell:
    """Return the worst state of a context's modules, or what keeps them from being read."""
    status = cluster.status
    tone = TONES[cluster.state] if status is ClusterStatus.LISTED else _STATUS_TONES[status]
    word = cluster.state.value if status is ClusterStatus.LISTED else status.value
    return Cell(f"{SIGNS.get(tone, '')} {word}".strip(), tone, order=_worst_first(cluster), full=word)


def _worst_first(cluster: FleetCluster) -> tuple[object, ...]:
    return (*cluster.rank, natural_key(cluster.context))


def clusters_worst_first(clusters: Iterable[FleetCluster]) -> list[FleetCluster]:
    return sorted(clusters, key=_worst_first)


def _cluster_count(
    name: str, width: int, count: Callable[[FleetCluster], int | None], tone: str = "", **layout: Any
) -> ListColumn[FleetCluster]:
    def cell(cluster: FleetCluster) -> Cell:
        number = count(cluster)
        if number is None or cluster.catalog is None:
            return Cell(ABSENT, "muted")
        return Cell(str(number), tone if number else "muted", order=number)

    return ListColumn(name, name.upper(), width, right=True, falls=True, cell=cell, **layout)


def _behind(cluster: FleetCluster) -> Cell:
    """Return how far the module with the oldest version is behind."""
    module = cluster.furthest
    if module is None or module.drift.distance is None:
        return Cell(ABSENT, "muted")
    distance = str(module.drift.distance)
    return Cell(distance, "warning", cluster.distance, full=f"{module.name} {distance}")


def _cluster_worst(cluster: FleetCluster) -> Cell:
    row = cluster.worst
    if row is None:
        return Cell(ABSENT, "muted")
    return Cell(sanitize(row.name), TONES[row.state], state_rank(row.state), full=f"{row.name} {row.state_words}")


def _seen(cluster: FleetCluster) -> Cell:
    if not cluster.seen:
        return Cell(ABSENT, "muted")
    return Cell("now", "muted", 0.0) if cluster.is_read else Cell("", "warning", -cluster.seen, since=cluster.seen)


def _cluster_module(row: ModuleRow) -> dict[str, Any]:
    fields = ("name", "channel", "installed", "installedSource", "desired", "drift", "state", "actor", "unknown")
    return {key: MODULE_FIELDS[key].read(row) for key in fields}


_Cluster = ListColumn[FleetCluster]
CLUSTER_COLUMNS: Final = (
    _Cluster(
        "name",
        "CONTEXT",
        16,
        flex=3,
        cell=lambda cluster: Cell(sanitize(cluster.context), "strong", order=natural_key(cluster.context)),
        json={"context": lambda cluster: cluster.context},
        help="the context of the kubeconfig",
    ),
    _Cluster.of_text(
        "cluster",
        "CLUSTER",
        12,
        lambda cluster: cluster.cluster,
        flex=2,
        priority=8,
        help="its cluster in the kubeconfig",
    ).with_json(server=lambda cluster: cluster.server or None, readOnly=lambda cluster: cluster.read_only),
    _Cluster(
        "state",
        "STATE",
        15,
        cell=cluster_state_cell,
        json={
            "status": lambda cluster: cluster.status.value,
            "state": lambda cluster: cluster.state.value if cluster.modules else None,
        },
        help="the worst state of its modules, or why it is not read",
    ),
    _cluster_count(
        "modules", 7, lambda cluster: len(cluster.modules), priority=5, help="modules that are installed or requested"
    ).with_json(modules=lambda cluster: list(map(_cluster_module, cluster.modules))),
    _cluster_count(
        "problems",
        8,
        lambda cluster: cluster.problems,
        "warning",
        priority=1,
        help="problems as its catalog counts them",
    ).with_json(problems=lambda cluster: cluster.problems),
    _cluster_count(
        "updates", 7, lambda cluster: len(cluster.updates), "warning", priority=2, help="modules that you can upgrade"
    ).with_json(updates=lambda cluster: [row.name for row in cluster.updates]),
    _Cluster(
        "worst",
        "WORST MODULE",
        14,
        flex=2,
        priority=3,
        cell=_cluster_worst,
        json={"worst": lambda cluster: cluster.worst.name if cluster.worst is not None else None},
        help="the module that is worst off",
    ),
    _Cluster(
        "actor",
        "WHO ACTS",
        14,
        flex=2,
        priority=4,
        cell=lambda cluster: Cell(cluster.actor.value, "accent" if cluster.actor is Actor.YOU else ""),
        json={"actor": lambda cluster: actor_json(cluster.actor)},
        help="who acts next on it",
    ),
    _Cluster(
        "behind",
        "BEHIND",
        9,
        priority=6,
        falls=True,
        cell=_behind,
        json={
            "behind": lambda cluster: (
                cluster.furthest.drift.distance.key
                if cluster.furthest is not None and cluster.furthest.drift.distance is not None
                else None
            )
        },
        help="how far a module is behind its expected version at the most",
    ),
    _Cluster(
        "seen",
        "SEEN",
        5,
        priority=7,
        right=True,
        cell=_seen,
        json={"seen": lambda cluster: cluster.seen or None},
        help="when the cluster answered last",
    ),
    _Cluster.of_text("reason", "REASON", 0, lambda cluster: cluster.why, wide=True).with_json(
        hint=lambda cluster: cluster.hint or None, loginNeeded=lambda cluster: cluster.status is ClusterStatus.LOGIN
    ),
)

# groups


class GroupEntry(Struct, frozen=True, dict=True):
    """The runtimes of one plan, region, channel or other group."""

    name: str
    runtimes: tuple[Runtime, ...]
    unknown_drift: UnknownFact | None = None

    @cached_property
    def states(self) -> Counter[State]:
        return Counter(runtime.known_state for runtime in self.runtimes)


def count_cell(number: int, tone: str = "") -> Cell:
    return Cell(str(number) if number else ABSENT, tone if number else "muted", order=number)


def _state_column(state: State, width: int, priority: int) -> ListColumn[GroupEntry]:
    return ListColumn(
        state.value.lower(),
        state.value.upper(),
        width,
        right=True,
        falls=True,
        priority=priority,
        cell=lambda entry: count_cell(entry.states[state], TONES[state]),
        wide=True,
    )


def _drifting(entry: GroupEntry) -> Cell:
    drifting = sum(bool(runtime.drifting) for runtime in entry.runtimes)
    undecided = any(runtime.unknown_drift for runtime in entry.runtimes)
    return _drift_cell(drifting, entry.unknown_drift, drift_count(drifting, undecided=undecided))


GROUP_COLUMNS: Final = (
    ListColumn[GroupEntry]("name", "GROUP", 20, flex=2, cell=lambda entry: Cell(sanitize(entry.name), "strong")),
    ListColumn[GroupEntry](
        "count", "RUNTIMES", 10, right=True, falls=True, cell=lambda entry: count_cell(len(entry.runtimes), "strong")
    ),
    _state_column(State.READY, 6, 2),
    _state_column(State.PROCESSING, 10, 4),
    _state_column(State.WARNING, 8, 1),
    _state_column(State.ERROR, 6, 0),
    _state_column(State.DELETING, 8, 3),
    ListColumn[GroupEntry]("drift", "DRIFTING", 8, right=True, falls=True, priority=1, cell=_drifting, wide=True),
)

# versions


def version_counts(row: VersionCounts) -> str:
    """Return how many runtimes report each version, the newest first."""
    return ", ".join(f"{version or 'unknown'}: {count}" for version, count in row.counts)


def contexts_by_version(row: InstalledVersions) -> dict[str, list[str]]:
    """Return the contexts by installed version, the newest version first."""
    versions = sorted(set(row.versions.values()), key=version_order, reverse=True)
    return {version: [name for name, own in row.versions.items() if own == version] for version in versions}


def _contexts_of(row: InstalledVersions, *, named: bool) -> str:
    parts = []
    for version, names in contexts_by_version(row).items():
        parts.append(f"{version or 'unknown'}: {', '.join(names) if named else len(names)}")
    return ("; " if named else ", ").join(parts)


INSTALLED_COLUMNS: Final = (
    ListColumn[InstalledVersions]("name", "MODULE", cell=lambda row: Cell(sanitize(row.module))),
    ListColumn[InstalledVersions](
        "total", "CONTEXTS", falls=True, cell=lambda row: Cell(str(len(row.versions)), order=len(row.versions))
    ),
    ListColumn[InstalledVersions](
        "versions", "INSTALLED VERSIONS", cell=lambda row: Cell(sanitize(_contexts_of(row, named=False)))
    ),
    ListColumn[InstalledVersions](
        "contexts", "BY CONTEXT", cell=lambda row: Cell(sanitize(_contexts_of(row, named=True))), wide=True
    ),
)

VERSION_COLUMNS: Final = (
    ListColumn[VersionCounts](
        "name", "MODULE", 18, flex=1, cell=lambda row: Cell(sanitize(row.module), "strong", order=row.module)
    ),
    ListColumn[VersionCounts](
        "total", "RUNTIMES", 10, right=True, falls=True, cell=lambda row: Cell(str(row.total), order=row.total)
    ),
    ListColumn[VersionCounts]("versions", "REPORTED VERSIONS", cell=lambda row: Cell(sanitize(version_counts(row)))),
)
"""What commands have in one column is one column for each version on the screen."""
