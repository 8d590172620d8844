"""The incremental model of a fleet: only changed rows are computed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_

from msgspec import Struct, field

from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog
from kymatui.domain.fleet.clusters import FleetCluster
from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.fleet.runtimes import Metas, Runtime, RuntimeModule, with_deletions, with_lease, with_release_metas
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kyma.kyma_keeper import KeeperLease
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Feed

RuntimeKey = tuple[str, str]
"""Namespace and name of a runtime."""
_ID = "kyma-project.io/runtime-id"
MANIFEST = "manifest"
"""The `what` of a change that kymatui did not observe but read from a Manifest's status."""
MAX_CHANGES = 2000
"""Maximum number of changes in memory; older ones are dropped."""


class FleetChange(Struct, frozen=True):
    """One change of one runtime; `module` is "" for the runtime itself.

    `at` is in seconds of the Unix clock. `before` is "" for a new fact, `after` for a removed one.
    """

    at: float
    runtime: RuntimeKey
    module: str
    what: str
    before: str
    after: str


class FleetSnapshot(Struct, frozen=True):
    """A snapshot of the fleet; `manifests` are by Kyma, `changes` newest first.

    `mandatory` are the Kymas with a mandatory module that is not ready, which their status does not report. `clusters`
    are those of contexts, in a fleet without a control plane.
    A mapping stays the same object from snapshot to snapshot until something in it changes.
    """

    cluster: str = ""
    runtimes: Mapping[RuntimeKey, Runtime] = field(default_factory=dict)
    manifests: Mapping[RuntimeKey, tuple[ManifestSummary, ...]] = field(default_factory=dict)
    changes: tuple[FleetChange, ...] = ()
    malformed: tuple[MalformedObject, ...] = ()
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    taken_at: float = 0.0
    metas: Metas = field(default_factory=dict)
    mandatory: frozenset[RuntimeKey] = frozenset()
    clusters: Mapping[RuntimeKey, FleetCluster] = field(default_factory=dict)

    @property
    def catalogs(self) -> Mapping[RuntimeKey, Catalog]:
        """Return the catalogs that were read of contexts."""
        return {key: cluster.catalog for key, cluster in self.clusters.items() if cluster.catalog is not None}

    @property
    def unknown_runtimes(self) -> UnknownFact | None:
        """Return why runtimes may be missing, None if all Kymas are listed."""
        return explain_missing(self.feeds, NAMING_LISTS[:1])

    @property
    def unknown_drift(self) -> UnknownFact | None:
        """Return why module drift is unknown, None if the release metas are listed."""
        return explain_missing(self.feeds, NAMING_LISTS[2:3])

    @property
    def unknown_manifests(self) -> UnknownFact | None:
        """Return why reports of Manifests are unknown, None if the Manifests are listed."""
        return explain_missing(self.feeds, NAMING_LISTS[3:])

    def manifests_of(self, key: RuntimeKey) -> Sequence[ManifestSummary] | None:
        """Return the Manifests of a runtime, None if Manifests are not listed."""
        return self.manifests.get(key, () if self.unknown_manifests is None else None)

    @property
    def problem_count(self) -> int:
        """Return the number of runtimes with a problem, as the header and the problems filter count it."""
        unwell = sum(runtime.has_problem for runtime in self.runtimes.values())
        others = (key for key in self.mandatory if key in self.runtimes and not self.runtimes[key].has_problem)
        return unwell + sum(map(self.has_problem, others))

    def has_problem(self, key: RuntimeKey) -> bool:
        """Return whether the header, the list of problems and the problems filter count this runtime."""
        if self.runtimes[key].has_problem:
            return True
        return key in self.mandatory and any(
            summary.mandatory and summary.is_failing for summary in self.manifests.get(key, ())
        )

    @property
    def offered(self) -> frozenset[str]:
        """Return the names of all modules in any channel, without mandatory ones."""
        own = {module for (_, module), meta in self.metas.items() if not meta.mandatory_version}
        return frozenset(own.union(*(cluster.offered for cluster in self.clusters.values())))

    @property
    def channels(self) -> frozenset[str]:
        """Return the channels that the catalog offers, and those of Kymas and their modules."""
        known = {channel for meta in self.metas.values() for channel in meta.channels}
        known |= {channel for own in self.catalogs.values() for row in own.rows for channel in row.channels}
        for runtime in self.runtimes.values():
            known |= {runtime.channel, *(module.channel for module in runtime.modules)}
        return frozenset(known - {""})

    def named(self, name: str) -> Runtime | None:
        """Return the runtime by name, `namespace/name`, shoot or runtime id; None unless exactly one matches."""
        namespace, _, last = name.rpartition("/")
        if namespace:
            return self.runtimes.get((namespace, last))
        every = self.runtimes.values()
        called = [runtime for runtime in every if runtime.name == name]
        called = called or [runtime for runtime in every if name and name in (runtime.shoot, runtime.labels.get(_ID))]
        return called[0] if len(called) == 1 else None


class FleetTracker:
    """The builder of fleet snapshots from changes; use it from one thread."""

    def __init__(self, kept: int = MAX_CHANGES) -> None:
        self._kept = kept
        self._metas: Metas = {}
        self._lease: KeeperLease | None = None
        self._runtimes: dict[RuntimeKey, Runtime] = {}
        self._malformed: dict[RuntimeKey, MalformedObject] = {}
        self._sights: dict[RuntimeKey, ManifestSummary] = {}
        self._manifests: dict[RuntimeKey, tuple[ManifestSummary, ...]] = {}
        self._mandatory: frozenset[RuntimeKey] = frozenset()
        self._changes: tuple[FleetChange, ...] = ()

    def metas(self, metas: Metas) -> None:
        """Replace the release metas and recompute each runtime's expected versions."""
        self._metas = metas
        self._runtimes = {key: with_release_metas(runtime, metas) for key, runtime in self._runtimes.items()}

    def lease(self, lease: KeeperLease | None) -> None:
        """Note of each runtime whether what works on its Kyma runs; None where that is not known."""
        if lease is not self._lease:
            self._lease = lease
            noted = {key: with_lease(runtime, lease) for key, runtime in self._runtimes.items()}
            self._runtimes = self._runtimes if all(map(is_, noted.values(), self._runtimes.values())) else noted

    def kymas(
        self, changed: Mapping[RuntimeKey, Runtime | MalformedObject | None], now: float, *, notice: bool
    ) -> None:
        """Apply changed Kymas (None: deleted); with `notice`, record what differs as changes."""
        if not changed:
            return
        changes: list[FleetChange] = []
        runtimes = dict(self._runtimes)  # earlier snapshots hold the old mapping
        for key, item in changed.items():
            before = runtimes.pop(key, None) if not isinstance(item, Runtime) else runtimes.get(key)
            self._malformed.pop(key, None)
            if isinstance(item, MalformedObject):
                self._malformed[key] = item
            after = with_release_metas(item, self._metas) if isinstance(item, Runtime) else None
            if after is not None:
                after = after if self._lease is None else with_lease(after, self._lease)
                runtimes[key] = after = with_deletions(after, _deleted(self._manifests.get(key, ())))
            changes += runtime_changes(key, before, after, now) if notice else ()
        self._runtimes = runtimes
        self._changes = (*reversed(changes), *self._changes)[: self._kept]

    def manifests(self, changed: Mapping[RuntimeKey, ManifestSummary | None]) -> None:
        """Apply changed Manifests (None: deleted)."""
        if not changed:
            return
        owners: dict[RuntimeKey, dict[RuntimeKey, ManifestSummary]] = {}
        for key, summary in changed.items():
            before = self._sights.pop(key, None)
            if summary is not None:
                self._sights[key] = summary
            for side in (before, summary):
                if side is not None:
                    self._owned(owners, (side.namespace, side.kyma))
            if before is not None:
                owners[before.namespace, before.kyma].pop(key, None)
            if summary is not None:
                owners[summary.namespace, summary.kyma][key] = summary
        changed_owners = {owner: tuple(by_name.values()) for owner, by_name in owners.items()}
        self._manifests = {**self._manifests, **changed_owners}
        own = {key: self._runtimes[key] for key in changed_owners if key in self._runtimes}
        own = {key: with_deletions(runtime, _deleted(changed_owners[key])) for key, runtime in own.items()}
        if any(self._runtimes[key] is not runtime for key, runtime in own.items()):
            self._runtimes = {**self._runtimes, **own}
        waiting = {
            key
            for key, summaries in changed_owners.items()
            if any(entry.mandatory and entry.is_waiting for entry in summaries)
        }
        self._mandatory = self._mandatory - changed_owners.keys() | waiting

    def _owned(self, owners: dict[RuntimeKey, dict[RuntimeKey, ManifestSummary]], owner: RuntimeKey) -> None:
        if owner not in owners:
            owners[owner] = {(summary.namespace, summary.name): summary for summary in self._manifests.get(owner, ())}

    def picture(self, cluster: str, feeds: Mapping[str, Feed], now: float) -> FleetSnapshot:
        malformed = tuple(self._malformed.values())
        return FleetSnapshot(
            cluster, self._runtimes, self._manifests, self._changes, malformed, feeds, now, self._metas, self._mandatory
        )


def _deleted(summaries: Iterable[ManifestSummary]) -> frozenset[str]:
    return frozenset(summary.module for summary in summaries if summary.deleting)


def runtime_changes(key: RuntimeKey, before: Runtime | None, after: Runtime | None, at: float) -> Iterator[FleetChange]:
    """Yield the differences between two snapshots of a runtime."""
    if before is None or after is None:
        if before is not after:
            words = ("", "present") if before is None else ("present", "")
            yield FleetChange(at, key, "", "runtime", *words)
        return
    for what, old, new in (("state", before.state, after.state), ("channel", before.channel, after.channel)):
        if old != new:
            yield FleetChange(at, key, "", what, old, new)
    if after.deleting and not before.deleting:
        yield FleetChange(at, key, "", "deletion", "", "requested")
    if before.modules is not after.modules and before.modules != after.modules:
        yield from _of_modules(key, before.modules, after.modules, at)


def _of_modules(
    key: RuntimeKey, before: Iterable[RuntimeModule], after: Iterable[RuntimeModule], at: float
) -> Iterator[FleetChange]:
    old, new = {module.name: module for module in before}, {module.name: module for module in after}
    for name in old | new:
        was, now = old.get(name), new.get(name)
        if was is None or now is None:
            words = ("", (now.version or "present") if now else "") if was is None else (was.version or "present", "")
            yield FleetChange(at, key, name, "module", *words)
            continue
        if was.state is not now.state:
            yield FleetChange(at, key, name, "state", was.state, now.state)
        if was.version != now.version:
            yield FleetChange(at, key, name, "version", was.version, now.version)


def recent_changes(picture: FleetSnapshot, now: float) -> list[FleetChange]:
    """Return the changes of the last hour, newest first.

    Before the first observed change, the Manifests' own timestamps stand in.
    """
    since = now - 3600
    recent = [change for change in picture.changes if change.at >= since]
    begun = min((change.at for change in picture.changes), default=now)
    shown = [
        FleetChange(summary.changed, owner, summary.module or summary.name, MANIFEST, "", summary.state)
        for owner, sights in picture.manifests.items()
        for summary in sights
        if summary.changed is not None and since <= summary.changed < begun
    ]
    return sorted([*recent, *shown], key=lambda change: change.at, reverse=True)
