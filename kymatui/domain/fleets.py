"""A control plane's runtimes: one row a Kyma, and how many runtimes have which version of which module.

Everything is read out of the Kymas alone, since their status holds the version and the state of each module: a fleet of
thousands costs one list. Which version a module should have comes from the release metas, where they may be read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kymatui.domain.kymas import Kyma, ModuleReport, read_kyma
from kymatui.domain.lists import Unknown
from kymatui.domain.objects import Malformed
from kymatui.domain.refs import ObjectRef
from kymatui.domain.releases import ReleaseMeta, read_release_meta
from kymatui.domain.resolution import desired_channel, offered_version
from kymatui.domain.snapshots import Object
from kymatui.domain.states import State, severity, state_of
from kymatui.domain.versions import order, same

_LABELS = "kyma-project.io"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ModuleSight:
    """A module of one runtime as its Kyma reports it; `desired` is "" where nobody knows, `drifts` then never.

    `follows` says whether the channel's version counts: not for what is unmanaged, or on its way out.
    """

    name: str
    channel: str
    version: str
    desired: str
    state: State
    maintenance: bool
    message: str
    follows: bool = True

    @property
    def drifts(self) -> bool:
        """Whether it is in another version than its channel has."""
        return self.follows and bool(self.version and self.desired) and not same(self.version, self.desired)


@dataclass(frozen=True, slots=True)
class Runtime:
    """One runtime; `created` in seconds of the Unix clock, None where the Kyma does not say."""

    ref: ObjectRef
    shoot: str
    plan: str
    region: str
    platform_region: str
    account: str
    channel: str
    state: str
    modules: tuple[ModuleSight, ...]
    created: float | None
    deleting: bool
    skipped: bool
    labels: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def drifting(self) -> tuple[ModuleSight, ...]:
        """The modules that are not in their channel's version."""
        return tuple(module for module in self.modules if module.drifts)

    @property
    def has_problem(self) -> bool:
        """Whether it counts as a runtime with a problem, in the header and in the filter for problems."""
        return self.state != State.READY or bool(self.drifting) or self.deleting or self.skipped

    @property
    def worst(self) -> ModuleSight | None:
        """The module in the worst state, None where all are well."""
        bad = [module for module in self.modules if module.state not in (State.READY, State.UNMANAGED)]
        return min(bad, key=lambda module: (severity(module.state), module.name), default=None)

    def module(self, name: str) -> ModuleSight | None:
        return next((module for module in self.modules if module.name == name), None)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All runtimes by name, and the Kymas that cannot be read; `unknown_drift` says why no module's drift is known."""

    runtimes: tuple[Runtime, ...]
    malformed: tuple[Malformed, ...]
    unknown_drift: Unknown | None = None

    def count(self, what: str) -> Mapping[str, int]:
        """How many runtimes there are of each plan, region, channel or state, the most first."""
        return dict(Counter(group_of(runtime, what) for runtime in self.runtimes).most_common())


GROUPS = ("plan", "region", "platform-region", "channel", "state", "account")


def group_of(runtime: Runtime, what: str) -> str:
    """What a runtime is grouped under."""
    found = {
        "plan": runtime.plan,
        "region": runtime.region,
        "platform-region": runtime.platform_region,
        "channel": runtime.channel,
        "state": runtime.state,
        "account": runtime.account,
    }[what]
    return found or UNKNOWN


def fleet(kymas: Iterable[Object], release_metas: Iterable[Object] = (), unknown_drift: Unknown | None = None) -> Fleet:
    """The fleet that a list of Kymas makes up."""
    read = [read_kyma(raw) for raw in kymas]
    metas = metas_by_module(release_metas)
    runtimes = [runtime(kyma, metas) for kyma in read if isinstance(kyma, Kyma)]
    malformed = tuple(item for item in read if isinstance(item, Malformed))
    return Fleet(tuple(sorted(runtimes, key=lambda runtime: runtime.ref)), malformed, unknown_drift)


Metas = Mapping[tuple[str, str], ReleaseMeta]


def metas_by_module(raws: Iterable[Object]) -> Metas:
    """Release metas by namespace and module: a Kyma resolves within its own namespace."""
    found = (read_release_meta(raw) for raw in raws)
    return {(meta.meta.namespace, meta.module): meta for meta in found if isinstance(meta, ReleaseMeta)}


def runtime(kyma: Kyma, metas: Metas) -> Runtime:
    """One Kyma's row."""
    labels = kyma.meta.labels
    names = dict.fromkeys([*(request.name for request in kyma.modules), *(report.name for report in kyma.reports)])
    return Runtime(
        ref=kyma.ref,
        shoot=labels.get(f"{_LABELS}/shoot-name", ""),
        plan=labels.get(f"{_LABELS}/broker-plan-name", ""),
        region=labels.get(f"{_LABELS}/region", ""),
        platform_region=labels.get(f"{_LABELS}/platform-region", ""),
        account=labels.get(f"{_LABELS}/global-account-id", ""),
        # what is stored in a control plane keeps its defaults: the runtime's own wish is only told in the status
        channel=kyma.active_channel or kyma.channel,
        state=kyma.state,
        modules=tuple(_module(kyma, name, metas) for name in names),
        created=kyma.meta.created,
        deleting=kyma.meta.deleting,
        skipped=kyma.meta.label_is_true("operator.kyma-project.io/skip-reconciliation"),
        labels=labels,
    )


def _module(kyma: Kyma, name: str, metas: Metas) -> ModuleSight:
    report = kyma.report(name) or ModuleReport(name, "", "", "", "", "", False, None, None, None)
    channel, _ = desired_channel(name, kyma)
    request = kyma.request(name)
    state = (state_of(report.state) or State.UNKNOWN) if report.state else State.PROCESSING
    # a control plane's Kyma need not name its modules: what the runtime asks for is mirrored in the status alone
    follows = request.managed if request is not None else state not in (State.UNMANAGED, State.DELETING)
    wanted = _wanted(metas, kyma.meta.namespace, name, channel)
    return ModuleSight(name, channel, report.version, wanted, state, report.maintenance, report.message, follows)


def _wanted(metas: Metas, namespace: str, module: str, channel: str) -> str:
    meta = metas.get((namespace, module))
    return offered_version(meta, channel) if meta is not None else ""


def with_metas(runtime: Runtime, metas: Metas) -> Runtime:
    """The same runtime after release metas changed; the same object where that changes nothing."""
    wanted = [_wanted(metas, runtime.ref.namespace, one.name, one.channel) for one in runtime.modules]
    if all(version == one.desired for version, one in zip(wanted, runtime.modules, strict=True)):
        return runtime
    modules = tuple(replace(one, desired=version) for version, one in zip(wanted, runtime.modules, strict=True))
    return replace(runtime, modules=modules)


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """One module: how many runtimes have it in each version, newest first; "" stands for those that do not say."""

    module: str
    counts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)


def version_matrix(runtimes: Sequence[Runtime]) -> tuple[VersionCounts, ...]:
    """Module by version with counts, over some runtimes."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for runtime in runtimes:
        for module in runtime.modules:
            found[module.name][module.version] += 1
    return tuple(
        VersionCounts(name, tuple(sorted(counts.items(), key=lambda item: order(item[0]), reverse=True)))
        for name, counts in sorted(found.items())
    )
