"""A forecast in one line, and what to know about it; messages only.

The runtimes to try a change on first: one of each plan, region and channel that runs each version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.runtimes import Runtime, group_name
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.versions.messages import refusal_words, window_words
from kymatui.domain.versions.resolution import find_version, missing_versions
from kymatui.domain.whatif.fleet_objects import RELEASE_META, CatalogChange, FleetObjects, apply_change
from kymatui.domain.whatif.forecast import BY_RISK, Forecast, ModuleForecast
from kymatui.domain.whatif.module_results import ModuleResult, ResultKind, ResultReason, namespace_catalogs


def forecast_summary(forecast: Forecast) -> str:
    """Return the numbers in one line: `5 runtimes: upgrade in 3, uninstall in 1; 1 unchanged`."""
    counts = count_kinds(forecast.changed)
    total = len(forecast.runtimes)
    same = total - len({entry.runtime for entry in forecast.changed})
    listed = ", ".join(f"{kind_label(kind)} in {number}" for kind, number in counts.items())
    rest = f"; {same} unchanged" if same and counts else ""
    return f"{forecast.cluster}: {format_count(total, 'runtime')}: {listed or 'nothing changes'}{rest}"


def change_notes(change: CatalogChange, fleet: FleetObjects) -> Iterator[str]:
    """Yield which objects of a change have no effect, and which versions have no template after it."""
    for raw in change.objects:
        ref = read_ref(raw)
        if ref.namespace not in fleet.namespaces:
            yield f"{ref} changes nothing: no Kyma is in its namespace"
    missing = list(_missing_templates(apply_change(fleet, change)))
    known = set(_missing_templates(fleet)) if missing else set()  # indexing a catalog again costs a live forecast
    for module, channel, version in missing:
        if (module, channel, version) not in known:
            where = f"channel {channel} of {module}" if channel else f"mandatory module {module}"
            yield (
                f"{where} gets {version}, but there is no ModuleTemplate {module}-{version}: "
                "every Kyma that uses it gets an Error"
            )


def _missing_templates(fleet: FleetObjects) -> Iterator[tuple[str, str, str]]:
    """Yield module, channel and version of each version that no template has."""
    namespaces = sorted({namespace for _, namespace, _ in fleet.catalog})
    for catalog in namespace_catalogs(fleet, namespaces).values():
        for meta in catalog.index.metas:
            for channel, version in missing_versions(catalog.index, meta):
                yield meta.module, channel, version


def forecast_notes(forecast: Forecast) -> Iterator[str]:
    """Yield which Kymas are new or left out."""
    for namespace, name in forecast.added:
        yield f"Kyma {namespace}/{name} is not in the fleet; counted as a new runtime"
    for item in forecast.malformed:
        yield f"{item.ref} is malformed and not in the forecast: {item.reason}"
    skipped = [entry for entry in forecast.entries if entry.then.reason is ResultReason.MANIFEST_SKIPPED]
    for module, runtimes in _by_module(skipped).items():
        yield (
            f"{module} does not change in {runtimes}: its Manifest has the skip label, and lifecycle-manager changes "
            "the module once the label is removed"
        )
    drops = (entry for entry in forecast.changed if entry.installed and not entry.today.drops_version)
    dropped = [entry for entry in drops if entry.then.drops_version]
    for module, runtimes in _by_module(dropped).items():
        yield (
            f"{module} in {runtimes}: the Kyma no longer reports the installed version, so lifecycle-manager installs "
            "the next version without refusing a downgrade"
        )


def _by_module(entries: Iterable[ModuleForecast]) -> dict[str, str]:
    """Return the runtimes by module: their name, or their number."""
    names: dict[str, list[str]] = {}
    for entry in entries:
        names.setdefault(entry.module, []).append(entry.runtime[1])
    return {
        module: runtimes[0] if len(runtimes) == 1 else format_count(len(runtimes), "runtime")
        for module, runtimes in names.items()
    }


# The versions between which a change moves modules, with both templates.


_MOVES: Final = (ResultKind.UPGRADE, ResultKind.DOWNGRADE, ResultKind.WAIT)


class VersionMove(Struct, frozen=True):
    """A module that moves from one version to another in some runtimes; a template is None if no catalog has it."""

    module: str
    installed: str
    version: str
    runtimes: int
    before: ModuleTemplate | None
    after: ModuleTemplate | None


def version_moves(fleet: FleetObjects, change: CatalogChange, forecast: Forecast) -> tuple[VersionMove, ...]:
    """Return the moves, by module and versions; those that await a maintenance window count.

    The installed version's template is today's, because the change may replace or delete it.
    """
    counts: dict[tuple[str, str, str, str], int] = {}
    for entry in forecast.changed:
        if entry.kind in _MOVES and entry.installed:
            key = entry.module, entry.installed, entry.then.version, entry.runtime[0]
            counts[key] = counts.get(key, 0) + 1
    namespaces = {key[3] for key in counts}
    today, then = (namespace_catalogs(objects, namespaces) for objects in (fleet, apply_change(fleet, change)))
    return tuple(
        VersionMove(
            module,
            installed,
            version,
            count,
            find_version(today[namespace].index, module, installed, namespace),
            find_version(then[namespace].index, module, version, namespace),
        )
        for (module, installed, version, namespace), count in sorted(counts.items())
    )


# Messages for forecasts; they decide nothing.


_REASONS: Final[Mapping[ResultReason, str]] = {
    ResultReason.MANDATORY_BLOCKED: "another mandatory module has no ModuleTemplate, which blocks all of them",
    ResultReason.MANDATORY_DELETED: "its ModuleReleaseMeta, which made it mandatory, is deleted",
    ResultReason.NOT_REQUESTED: "the Kyma does not request it",
    ResultReason.NOT_UNINSTALLED: (
        "the Kyma does not request it, but its version cannot be resolved, so its Manifest stays"
    ),
    ResultReason.UNMANAGED: "the module is unmanaged",
    ResultReason.SKIPPED: "the Kyma has the skip label",
    ResultReason.MANIFEST_SKIPPED: "its Manifest has the skip label",
    ResultReason.KYMA_DELETING: "the Kyma is being deleted",
    ResultReason.TEMPLATE_MISSING: "the ModuleTemplate of the mandatory version is missing",
}


def kind_label(kind: ResultKind) -> str:
    """Return an outcome as text: JSON has the same words with hyphens."""
    return kind.value.replace("-", " ")


def result_words(result: ModuleResult) -> str:
    """Return a result with its version: `upgrade 1.2.0`, `keep 1.1.0`."""
    return " ".join(filter(None, (kind_label(result.kind), result.version)))


def reason_words(entry: ModuleForecast, window: MaintenanceWindow | None = None) -> str:
    """Return why a module gets its outcome; `window` is the first of several runtimes that wait."""
    then = entry.then
    if then.kind is ResultKind.WAIT:
        return f"needs downtime; {window_words(window or then.window)}"
    if then.refusal is not None:
        return refusal_words(then.refusal)
    if then.reason is not ResultReason.NONE:
        return _REASONS.get(then.reason, "")
    if entry.kind in (ResultKind.RECOVER, ResultKind.INSTALL) and entry.today.refusal is not None:
        return f"today: {refusal_words(entry.today.refusal)}"
    return _version_words(then)


def _version_words(then: ModuleResult) -> str:
    parts = [f"channel {then.channel}"] if then.channel else []
    return ", ".join([*parts, "needs downtime"] if then.downtime else parts)


# A forecast in numbers: runtimes by module, outcome, versions and reason, and by plan, region, channel or account.


GROUPS: Final = ("plan", "region", "platform-region", "channel", "account")
_GroupKey = tuple[str, str, ResultKind, ResultReason, str, str]


class ForecastGroup(Struct, frozen=True):
    """Runtimes in which a change does the same to one module.

    `group` is the plan, region, … or "" for the whole fleet; `installed` and `version` are those before and after;
    `window` is the first maintenance window of these runtimes, None if none waits or the policy is unknown.
    """

    group: str
    module: str
    kind: ResultKind
    reason: ResultReason
    installed: str
    version: str
    entries: tuple[ModuleForecast, ...]
    window: MaintenanceWindow | None

    @property
    def runtimes(self) -> tuple[RuntimeKey, ...]:
        return tuple(entry.runtime for entry in self.entries)

    @property
    def example(self) -> ModuleForecast:
        """Return one of the equal entries, for messages."""
        return self.entries[0]


def group_forecast(forecast: Forecast, by: str = "") -> tuple[ForecastGroup, ...]:
    """Return the groups of what changes, by group, risk and module."""
    entries: dict[tuple[_GroupKey, str], list[ModuleForecast]] = {}
    for entry in forecast.changed:
        group = group_name(forecast.runtimes[entry.runtime], by) if by else ""
        key = group, entry.module, entry.kind, entry.then.reason, entry.installed, entry.then.version
        # some reasons name a channel: rows that read alike are one, others are not
        message = "" if entry.then.window is not None else reason_words(entry)
        entries.setdefault((key, message), []).append(entry)
    groups = [ForecastGroup(*key, tuple(entries), _first_window(entries)) for (key, _), entries in entries.items()]
    return tuple(
        sorted(groups, key=lambda item: (item.group, BY_RISK.index(item.kind), item.module, -len(item.entries)))
    )


def _first_window(entries: Iterable[ModuleForecast]) -> MaintenanceWindow | None:
    windows = [entry.then.window for entry in entries if entry.then.window is not None]
    return min(windows, key=lambda window: window.begin, default=None)


def count_kinds(entries: Iterable[ModuleForecast]) -> Mapping[ResultKind, int]:
    """Return the number of runtimes by what becomes of any of their modules, in the order of risk, without zeros."""
    runtimes: dict[ResultKind, set[RuntimeKey]] = {kind: set() for kind in BY_RISK}
    for entry in entries:
        runtimes[entry.kind].add(entry.runtime)
    return {kind: len(keys) for kind, keys in runtimes.items() if keys}


class Canary(Struct, frozen=True):
    """A runtime that stands for `alike` runtimes (itself counted), and what the change does in it."""

    runtime: Runtime
    alike: int
    entries: tuple[ModuleForecast, ...]


def propose_canaries(forecast: Forecast) -> tuple[Canary, ...]:
    """Return one runtime of each plan × region × channel × versions that change, the smallest first.

    The smallest runtime has the fewest modules; equal ones come by name.
    """
    changed: dict[tuple[str, str], list[ModuleForecast]] = {}
    for entry in forecast.changed:
        changed.setdefault(entry.runtime, []).append(entry)
    classes: dict[tuple[object, ...], list[Runtime]] = {}
    for key, entries in changed.items():
        runtime = forecast.runtimes[key]
        moves = tuple((move.module, move.kind, move.installed, move.then.version) for move in entries)
        classes.setdefault((runtime.plan, runtime.region, runtime.channel, moves), []).append(runtime)
    smallest = [(min(members, key=_size), len(members)) for members in classes.values()]
    return tuple(
        Canary(runtime, alike, tuple(changed[runtime.ref.namespace, runtime.name]))
        for runtime, alike in sorted(smallest, key=lambda pair: _size(pair[0]))
    )


def _size(runtime: Runtime) -> tuple[int, str, str]:
    return len(runtime.modules), runtime.name, runtime.ref.namespace


# The edits that try a catalog change on canaries: their module follows a channel that has the version already.


_TRIED: Final = (ResultKind.UPGRADE, ResultKind.WAIT, ResultKind.INSTALL)


class CanaryEdit(Struct, frozen=True):
    """One edit: `module` of these runtimes follows `channel`, which gives them the version of the change today."""

    module: str
    version: str
    channel: str
    runtimes: tuple[str, ...]


def canary_edits(fleet: FleetObjects, canaries: Iterable[Canary]) -> tuple[CanaryEdit, ...]:
    """Return the edits by module; a version that no channel has today needs a channel of its own first."""
    runtimes: dict[tuple[str, str, str], list[str]] = {}
    for canary in canaries:
        for entry in canary.entries:
            channel = next(_channels(fleet, entry), "") if entry.kind in _TRIED else ""
            if channel:
                runtimes.setdefault((entry.module, entry.then.version, channel), []).append(canary.runtime.name)
    return tuple(CanaryEdit(*key, tuple(names)) for key, names in sorted(runtimes.items()))


def _channels(fleet: FleetObjects, entry: ModuleForecast) -> Iterator[str]:
    raw = fleet.catalog.get((RELEASE_META, entry.runtime[0], entry.module))
    meta = read_release_meta(raw) if raw is not None else None
    if isinstance(meta, ReleaseMeta):
        yield from (name for name, version in meta.channels.items() if same_version(version, entry.then.version))
