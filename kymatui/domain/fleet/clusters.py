"""The clusters of many contexts: each with the catalog that was read of it, or with what keeps it from being read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.fleet.runtimes import Runtime, RuntimeModule
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, state_rank, worst_state
from kymatui.domain.modules.presence import Presence
from kymatui.domain.versions.drift import DriftKind

_CONTEXT: Final = GroupVersionKind("", "", "Context")
_LABELS: Final = "kyma-project.io"
_PARTS: Final = ("patch", "minor", "major")


class ClusterStatus(StrEnum):
    """Whether a context's cluster is read; the value is for people and JSON."""

    CONNECTING = "connecting"
    LISTED = "listed"
    CONTROL_PLANE = "control plane"
    STALE = "stale"  # read once, and not reachable since
    LOGIN = "login needed"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "no rights"
    NO_KYMA = "no Kyma"
    UNUSABLE = "unusable"  # its entry in the kubeconfig


_READ: Final = (ClusterStatus.LISTED, ClusterStatus.CONTROL_PLANE, ClusterStatus.NO_KYMA)
_ORDER: Final = (
    ClusterStatus.UNREACHABLE,
    ClusterStatus.LOGIN,
    ClusterStatus.UNUSABLE,
    ClusterStatus.FORBIDDEN,
    ClusterStatus.STALE,
    ClusterStatus.LISTED,
    ClusterStatus.CONTROL_PLANE,
    ClusterStatus.CONNECTING,
    ClusterStatus.NO_KYMA,
)


class FleetCluster(Struct, frozen=True, dict=True):
    """One context with its cluster.

    cluster  its name in the kubeconfig
    reason   what keeps it from being read, and `hint` what to do
    catalog  the last one that was read, None before
    kymas    how many Kymas it has
    labels   of its Kyma
    offered  the modules that may be enabled
    seen     when it answered last, in seconds of the Unix clock, 0 for never
    """

    context: str
    cluster: str = ""
    server: str = ""
    read_only: bool = False
    status: ClusterStatus = ClusterStatus.CONNECTING
    reason: str = ""
    hint: str = ""
    catalog: Catalog | None = None
    kymas: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()
    seen: float = 0.0

    @property
    def is_read(self) -> bool:
        """Return whether what is known of it is known now."""
        return self.status in _READ

    @cached_property
    def modules(self) -> tuple[ModuleRow, ...]:
        """Return what is installed or requested; of a control plane nothing, whose modules run elsewhere."""
        if self.catalog is None or self.status is ClusterStatus.CONTROL_PLANE:
            return ()
        return tuple(row for row in self.catalog.rows if row.presence is not Presence.NOT_INSTALLED)

    @cached_property
    def problems(self) -> int | None:
        """Return the number of problems as the catalog's header counts them; None where it is not known."""
        if self.status is ClusterStatus.CONTROL_PLANE:
            return 0
        is_known = self.catalog is not None and self.catalog.loading is None
        return self.catalog.problem_count if self.catalog is not None and is_known else None

    @cached_property
    def updates(self) -> tuple[ModuleRow, ...]:
        """Return the modules that you can upgrade, as its catalog counts them."""
        return self.catalog.updates if self.catalog is not None and self.modules else ()

    @cached_property
    def furthest(self) -> ModuleRow | None:
        """Return the module that is the most versions behind."""
        return max((row for row in self.modules if row.drift.kind is DriftKind.BEHIND), key=_distance, default=None)

    @property
    def distance(self) -> tuple[int, int]:
        """Return how far `furthest` is behind, as a sort key."""
        return _distance(self.furthest) if self.furthest is not None else (-1, 0)

    @cached_property
    def worst(self) -> ModuleRow | None:
        """Return the module that is worst off, None where all are well."""
        bad = [row for row in self.modules if row.reason.severity is not Severity.INFO or row.state in _UNSETTLED]
        return min(
            bad,
            key=lambda row: (list(Severity).index(row.reason.severity), state_rank(row.state), row.name),
            default=None,
        )

    @cached_property
    def state(self) -> State:
        """Return the worst state of its modules; Unknown where nothing is read."""
        if self.catalog is None or not self.modules:
            return State.UNKNOWN if self.catalog is None else State.READY
        states = [row.state for row in self.modules if row.state not in (State.NOT_INSTALLED, State.UNMANAGED)]
        return worst_state(states) or State.READY

    @property
    def actor(self) -> Actor:
        """Return who acts next on what is worst."""
        if self.status in (ClusterStatus.LOGIN, ClusterStatus.UNUSABLE):
            return Actor.YOU
        if self.status in (ClusterStatus.UNREACHABLE, ClusterStatus.FORBIDDEN, ClusterStatus.STALE):
            return Actor.CLUSTER
        return self.worst.actor if self.worst is not None else Actor.NOBODY

    @property
    def why(self) -> str:
        """Return what is wrong, or that nothing is, in one sentence."""
        if self.reason:
            return self.reason
        if self.status is ClusterStatus.CONTROL_PLANE:
            return f"{format_count(self.kymas, 'Kyma')}; `kymatui fleet --context {self.context}` lists the runtimes"
        if self.worst is not None:
            return f"{self.worst.name}: {self.worst.reason.text}"
        if self.catalog is None:
            return ""
        if self.problems:
            return next((problem.message for problem in self.catalog.problems if problem.counts), "")
        if not self.modules:
            return "No module is installed"
        return "All modules are ready" + ("" if self.updates or self.furthest else " and up to date")

    @property
    def has_problem(self) -> bool:
        """Return whether the header and the problems filter count it."""
        return bool(self.problems) or self.status not in (*_READ, ClusterStatus.CONNECTING)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Return the sort key: clusters that cannot be read first, then by state and number of problems."""
        is_well = self.status is ClusterStatus.LISTED and not self.has_problem
        worst = state_rank(self.state) if not is_well else state_rank(State.NOT_INSTALLED)
        return _ORDER.index(self.status), worst, -(self.problems or 0)

    def as_runtime(self) -> Runtime:
        """Return the cluster as fleets count it: versions and states are those of its catalog."""
        catalog = self.catalog
        return Runtime(
            ref=ObjectRef(_CONTEXT, "", self.context),
            shoot=self.labels.get(f"{_LABELS}/shoot-name", ""),
            plan=self.labels.get(f"{_LABELS}/broker-plan-name", ""),
            region=self.labels.get(f"{_LABELS}/region", ""),
            platform_region=self.labels.get(f"{_LABELS}/platform-region", ""),
            account=self.labels.get(f"{_LABELS}/global-account-id", ""),
            channel=catalog.kyma.channel if catalog is not None and catalog.kyma is not None else "",
            state=self.state.value,
            modules=tuple(map(_as_module, self.modules)),
            created=None,
            deleting=catalog is not None and catalog.kyma is not None and catalog.kyma.deleting,
            skipped=catalog is not None and catalog.kyma is not None and catalog.kyma.skipped,
            labels=self.labels,
            problems=int(self.has_problem),
        )


_UNSETTLED: Final = (State.ERROR, State.WARNING, State.DELETING, State.PROCESSING)


def _distance(row: ModuleRow) -> tuple[int, int]:
    distance = row.drift.distance
    if distance is None:
        return (-1, 0)
    return (_PARTS.index(distance.part) if distance.part in _PARTS else -1, distance.count)


def _as_module(row: ModuleRow) -> RuntimeModule:
    return RuntimeModule(
        name=row.name,
        channel=row.channel,
        version=row.installed,
        desired=row.desired,
        state=row.state,
        maintenance=row.drift.kind is DriftKind.AWAITING_WINDOW,
        message=row.reason.text,
        presence=row.presence,
        mandatory=row.mandatory,
        drift=row.drift,
    )


class InstalledVersions(Struct, frozen=True):
    """The versions of one module by context, without the contexts that do not have it; "" is an unknown version."""

    module: str
    versions: Mapping[str, str]


def installed_versions(clusters: Iterable[FleetCluster]) -> Sequence[InstalledVersions]:
    """Return the matrix of modules by context."""
    matrix: dict[str, dict[str, str]] = {}
    for cluster in clusters:
        for row in cluster.modules:
            matrix.setdefault(row.name, {})[cluster.context] = row.installed
    return [InstalledVersions(name, versions) for name, versions in sorted(matrix.items())]


def compact_catalog(catalog: Catalog) -> Catalog:
    """Return a catalog without what rows and counts of a fleet do not need: templates, offers, evaluated CRs."""
    rows = (row for row in catalog.rows if row.presence is not Presence.NOT_INSTALLED)
    return replace(catalog, rows=tuple(map(_compact_row, rows)), releases=())


def _compact_row(row: ModuleRow) -> ModuleRow:
    resolution = replace(row.resolution, template=None)
    return replace(
        row, resolution=resolution, evaluation=None, checked=(), offers=(), readiness=None, installation=None
    )
