"""A control plane's runtimes: one row for each Kyma, and the number of runtimes by module version.

All data comes from the Kymas, whose status has version and state of each module: a fleet of thousands costs one
list. Expected versions come from the release metas, if these are readable.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import is_
from sys import intern

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import KeeperLease, actor_with_keeper, find_keeper, why_stopped
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma, ModuleReport, as_requested, read_kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, parse_state, state_rank
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.kyma.versions import version_order
from kymatui.domain.modules.presence import Presence, PresenceEvidence, actor_on_report, determine_presence
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions.drift import Drift, DriftKind, compute_drift
from kymatui.domain.versions.resolution import desired_channel, guard, offered_version

_LABELS = "kyma-project.io"
UNKNOWN = "unknown"
_NOT_COMPARED = Drift(DriftKind.UNKNOWN)


class RuntimeModule(Struct, frozen=True):
    """A module of one runtime as its Kyma reports it; the Kyma does not know what is running.

    `desired` is "" if the release metas do not tell; the drift is then unknown and `drifts` False. `guarded` means
    that lifecycle-manager's downgrade guard applies, because the status names a template, and `repeats_kyma` that
    lifecycle-manager reports the Kyma's own message for the module, too.
    """

    name: str
    channel: str
    version: str
    desired: str
    state: State
    maintenance: bool
    message: str
    presence: Presence = Presence.ENABLED
    mandatory: bool = False
    guarded: bool = False
    repeats_kyma: bool = False
    drift: Drift = _NOT_COMPARED

    def __post_init__(self) -> None:
        """Compute the drift as the catalog does, unless it is a catalog's."""
        if self.drift is _NOT_COMPARED:
            force_setattr(self, "drift", _drift(self))

    @property
    def drifts(self) -> bool:
        """Return whether the version is known to differ from the channel's version."""
        return self.drift.is_drift

    @property
    def unknown_drift(self) -> bool:
        """Return whether the version may differ from the channel's version."""
        return bool(self.version) and self.drift.kind is DriftKind.UNKNOWN

    @property
    def actor(self) -> Actor:
        """Return who acts next, as far as the Kyma tells."""
        return actor_on_report(self.state, self.drift.kind, maintenance=self.maintenance, mandatory=self.mandatory)


class Runtime(Struct, frozen=True):
    """One runtime, of which `keeper` works on the Kyma; `is_stopped` if that is known not to run.

    `created` is in seconds of the Unix clock, None if unknown; `message` is of the Kyma itself. `problems` is how many
    a catalog counts, None where only the Kyma is read. `has_problem` says whether the header and the problems filter
    count it: a fleet counts its problems for every frame.
    """

    ref: ObjectRef
    shoot: str
    plan: str
    region: str
    platform_region: str
    account: str
    channel: str
    state: str
    modules: tuple[RuntimeModule, ...]
    created: float | None
    deleting: bool
    skipped: bool
    labels: Mapping[str, str]
    message: str = ""
    keeper: Actor = Actor.KLM
    is_stopped: bool = False
    problems: int | None = None
    has_problem: bool = False

    def __post_init__(self) -> None:
        is_well = self.state == State.READY and not (self.drifting or self.deleting or self.skipped)
        force_setattr(self, "has_problem", bool(self.problems) if self.problems is not None else not is_well)

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def runtime_id(self) -> str:
        """Return the id that the broker gave the runtime, "" if unknown."""
        return self.labels.get(f"{_LABELS}/runtime-id", "")

    @property
    def drifting(self) -> tuple[RuntimeModule, ...]:
        """Return the modules that do not have their channel's version."""
        return tuple(module for module in self.modules if module.drifts)

    @property
    def unknown_drift(self) -> bool:
        """Return whether more modules may drift than `drifting` lists."""
        return any(module.unknown_drift for module in self.modules)

    @property
    def drift_words(self) -> str:
        """Return the number of drifting modules: `2+` if more may drift, "" for none."""
        return drift_count(len(self.drifting), undecided=self.unknown_drift)

    @property
    def known_state(self) -> State:
        """Return the Kyma's state, Deleting for one that is being deleted, Unknown for a state that is no state."""
        return State.DELETING if self.deleting else parse_state(self.state) or State.UNKNOWN

    @property
    def worst(self) -> RuntimeModule | None:
        """Return the module in the worst state, else one that drifts, None if all are well."""
        bad = [module for module in self.modules if module.state not in (State.READY, State.UNMANAGED)]
        return min(bad or self.drifting, key=lambda module: (state_rank(module.state), module.name), default=None)

    def module(self, name: str) -> RuntimeModule | None:
        return next((module for module in self.modules if module.name == name), None)


def drift_count(drifting: int, *, undecided: bool) -> str:
    """Return the count of drifting modules as text; `undecided` means that more may drift."""
    if undecided:
        return f"{drifting}+" if drifting else UNKNOWN
    return str(drifting) if drifting else ""


def reported_actor(runtime: Runtime, module: RuntimeModule) -> Actor:
    """Return who acts on a module as far as its Kyma tells; lifecycle-manager leaves a Kyma with the skip label."""
    if runtime.skipped and not runtime.deleting and module.actor is Actor.KLM:
        return Actor.YOU
    return actor_with_keeper(module.actor, runtime.keeper, stopped=runtime.is_stopped)


class Fleet(Struct, frozen=True):
    """All runtimes by name, and the malformed Kymas; `unknown_drift` says why drift is unknown."""

    runtimes: tuple[Runtime, ...]
    malformed: tuple[MalformedObject, ...]
    unknown_drift: UnknownFact | None = None

    def count(self, what: str) -> Mapping[str, int]:
        """Return the number of runtimes by plan, region, channel or state, the largest group first."""
        return dict(Counter(group_name(runtime, what) for runtime in self.runtimes).most_common())


def worst_first(runtimes: Iterable[Runtime]) -> list[Runtime]:
    """Return the runtimes by state, those with drift or other problems first in each; equal ones by name."""
    return sorted(
        runtimes, key=lambda runtime: (state_rank(runtime.known_state), not runtime.has_problem, runtime.name)
    )


GROUPS = ("plan", "region", "platform-region", "channel", "state", "account")


def group_name(runtime: Runtime, what: str) -> str:
    """Return the name of a runtime's group, "unknown" if its label is missing."""
    names = {
        "plan": runtime.plan,
        "region": runtime.region,
        "platform-region": runtime.platform_region,
        "channel": runtime.channel,
        "state": runtime.state,
        "account": runtime.account,
    }[what]
    return names or UNKNOWN


def build_fleet(
    kymas: Iterable[Object], release_metas: Iterable[Object] = (), unknown_drift: UnknownFact | None = None
) -> Fleet:
    """Return the fleet of a list of Kymas."""
    read = [read_kyma(raw) for raw in kymas]
    metas = metas_by_module(release_metas)
    runtimes = [read_runtime(kyma, metas) for kyma in read if isinstance(kyma, Kyma)]
    malformed = tuple(item for item in read if isinstance(item, MalformedObject))
    return Fleet(tuple(sorted(runtimes, key=lambda runtime: runtime.ref)), malformed, unknown_drift)


def with_lease(runtime: Runtime, lease: KeeperLease | None) -> Runtime:
    """Return the runtime with whether what works on its Kyma runs; the same object if nothing changes."""
    is_stopped = bool(why_stopped(runtime.keeper, (), lease))
    return runtime if is_stopped == runtime.is_stopped else replace(runtime, is_stopped=is_stopped)


def with_deletions(runtime: Runtime, deleted: Container[str]) -> Runtime:
    """Return the runtime with the modules in deletion whose Manifests are; the same object if nothing changes.

    A deletion that has failed is in state Error or Warning, and the Kyma reports no more of it.
    """
    if runtime.ref.namespace == KYMA_NAMESPACE:  # its spec says what is requested
        return runtime
    known = {True: Presence.DELETING, False: Presence.ENABLED}
    modules = tuple(
        replace(module, presence=presence, drift=_NOT_COMPARED)
        if module.presence in known.values()
        and module.state is not State.DELETING
        and module.presence is not (presence := known[module.name in deleted])
        else module
        for module in runtime.modules
    )
    return runtime if all(map(is_, modules, runtime.modules)) else replace(runtime, modules=modules)


Metas = Mapping[tuple[str, str], ReleaseMeta]


def metas_by_module(raws: Iterable[Object]) -> Metas:
    """Return release metas by namespace and module; a Kyma resolves within its own namespace."""
    metas = (read_release_meta(raw) for raw in raws)
    return {(meta.meta.namespace, meta.module): meta for meta in metas if isinstance(meta, ReleaseMeta)}


def read_runtime(kyma: Kyma, metas: Metas) -> Runtime:
    """Return the row of one Kyma."""
    kyma = as_requested(kyma)
    labels = kyma.meta.labels
    names = dict.fromkeys([*(request.name for request in kyma.modules), *(report.name for report in kyma.reports)])
    return Runtime(
        ref=kyma.ref,
        shoot=labels.get(f"{_LABELS}/shoot-name", ""),
        plan=labels.get(f"{_LABELS}/broker-plan-name", ""),
        region=labels.get(f"{_LABELS}/region", ""),
        platform_region=labels.get(f"{_LABELS}/platform-region", ""),
        account=labels.get(f"{_LABELS}/global-account-id", ""),
        channel=kyma.channel,
        state=kyma.state,
        modules=tuple(_module(kyma, name, metas) for name in names),
        created=kyma.meta.created,
        deleting=kyma.meta.deleting,
        skipped=kyma.meta.label_is_true("operator.kyma-project.io/skip-reconciliation"),
        labels=labels,
        message=intern(kyma.operation),
        keeper=find_keeper((kyma.raw,)) or Actor.KLM,
    )


def _module(kyma: Kyma, name: str, metas: Metas) -> RuntimeModule:
    report = kyma.report(name) or ModuleReport(name, "", "", "", "", "", False, None, None, None)
    channel, _ = desired_channel(name, kyma)
    request = kyma.request(name)
    state = (parse_state(report.state) or State.UNKNOWN) if report.state else State.PROCESSING
    managed = request is None or request.managed
    desired, mandatory = _offered(metas, kyma.meta.namespace, name, channel)
    return RuntimeModule(
        name,
        channel,
        report.version,
        desired,
        state,
        report.maintenance,
        report.message,
        determine_presence(PresenceEvidence(request is not None, managed, report.state or None)),
        mandatory,
        guarded=report.template is not None,
        repeats_kyma=bool(report.message) and report.message == kyma.operation,
    )


def _drift(module: RuntimeModule) -> Drift:
    offered = (module.channel, module.desired)
    is_guarded = module.guarded and bool(module.desired) and not module.mandatory
    held = guard(module.name, module.version, offered) if is_guarded else None
    return compute_drift(
        module.version,
        module.desired,
        follows=module.presence.follows_channel,
        refusal=held,
        maintenance=module.maintenance,
        rolling=module.state is State.PROCESSING,
    )


def _offered(metas: Metas, namespace: str, module: str, channel: str) -> tuple[str, bool]:
    """Return the expected version of a module and whether it is mandatory; ("", False) without a meta."""
    meta = metas.get((namespace, module))
    return (offered_version(meta, channel), meta.mandatory_version is not None) if meta is not None else ("", False)


def with_release_metas(runtime: Runtime, metas: Metas) -> Runtime:
    """Return the runtime with new release metas; the same object if nothing changes."""
    offered = [_offered(metas, runtime.ref.namespace, module.name, module.channel) for module in runtime.modules]
    pairs = tuple(zip(runtime.modules, offered, strict=True))
    if all(now == (module.desired, module.mandatory) for module, now in pairs):
        return runtime
    modules = tuple(
        replace(module, desired=version, mandatory=mandatory, drift=_NOT_COMPARED)
        for module, (version, mandatory) in pairs
    )
    return replace(runtime, modules=modules)


class VersionCounts(Struct, frozen=True):
    """The number of runtimes with each version of one module, newest first; "" is an unreported version."""

    module: str
    counts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)


def version_matrix(runtimes: Sequence[Runtime]) -> tuple[VersionCounts, ...]:
    """Return the version counts of every module over some runtimes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for runtime in runtimes:
        for module in runtime.modules:
            counts[module.name][module.version] += 1
    return tuple(
        VersionCounts(name, tuple(sorted(counts.items(), key=lambda item: version_order(item[0]), reverse=True)))
        for name, counts in sorted(counts.items())
    )
