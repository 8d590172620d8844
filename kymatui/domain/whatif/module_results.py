"""What becomes of each module of a Kyma, as lifecycle-manager decides it: enums and versions, no sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kyma.kymas import Kyma, ModuleReport
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, MaintenanceWindow
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates, mandatory_metas
from kymatui.domain.kyma.versions import parse_version, same_version
from kymatui.domain.modules.module_outcomes import Outcome, WorkItem, outcome_of, work_list
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.refusals import Refusal
from kymatui.domain.versions.resolution import Resolution, resolve, strict_resolution
from kymatui.domain.whatif.fleet_objects import RELEASE_META, TEMPLATE, FleetObjects
from kymatui.structs import compare_by


class ResultKind(StrEnum):
    """What becomes of a module."""

    KEEP = "keep"
    INSTALL = "install"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"  # only of mandatory modules, and of old-format templates within a channel
    UNINSTALL = "uninstall"
    NOT_INSTALLED = "not-installed"
    HELD_BACK = "downgrade-refused"  # lifecycle-manager refuses the downgrade
    WAIT = "await-window"  # for a maintenance window
    ERROR = "error"  # the installed version, if any, stays
    RECOVER = "recover"  # an error or a refused downgrade of today ends, and the version stays


class ResultReason(StrEnum):
    """Why a module gets no other version."""

    NONE = ""
    BETA = "beta"
    INTERNAL = "internal"
    SELECTOR = "selector"
    SELECTOR_INVALID = "selector-invalid"
    SELECTOR_MISSING = "selector-missing"
    NOT_RESTRICTED = "not-restricted"
    MANDATORY = "mandatory"
    MANDATORY_BLOCKED = "mandatory-blocked"  # the template of another mandatory module is missing
    MANDATORY_DELETED = "mandatory-deleted"
    NOT_REQUESTED = "not-requested"
    NOT_UNINSTALLED = "not-uninstalled"  # no longer requested, but without a version that can be resolved
    UNMANAGED = "unmanaged"
    SKIPPED = "skipped"
    MANIFEST_SKIPPED = "manifest-skipped"  # the Manifest changes, and nothing of the module
    KYMA_DELETING = "kyma-deleting"
    DOWNGRADE = "downgrade"
    INVALID_VERSION = "invalid-version"
    WINDOW = "window"
    NO_WINDOW = "no-window"
    CHANNEL_NONE = "channel-none"
    CHANNEL_AND_VERSION = "channel-and-version"
    CHANNEL_MISSING = "channel-missing"
    NO_CHANNELS = "no-channels"
    NO_RELEASE_META = "no-release-meta"
    TEMPLATE_MISSING = "template-missing"
    TEMPLATE_WITHOUT_CHANNEL = "template-without-channel"
    AMBIGUOUS = "ambiguous"
    STATUS_WITHOUT_TEMPLATE = "status-without-template"
    OTHER = "other"


_REASONS: Final[Mapping[type[Refusal], ResultReason]] = {
    r.BetaOnly: ResultReason.BETA,
    r.InternalOnly: ResultReason.INTERNAL,
    r.RestrictedToOthers: ResultReason.SELECTOR,
    r.SelectorInvalid: ResultReason.SELECTOR_INVALID,
    r.RestrictedWithoutSelector: ResultReason.SELECTOR_MISSING,
    r.SelectorWithoutRestriction: ResultReason.NOT_RESTRICTED,
    r.IsMandatory: ResultReason.MANDATORY,
    r.HeldBack: ResultReason.DOWNGRADE,
    r.InvalidVersion: ResultReason.INVALID_VERSION,
    r.WaitsForWindow: ResultReason.WINDOW,
    r.WindowsUnreadable: ResultReason.NO_WINDOW,
    r.ChannelIsNone: ResultReason.CHANNEL_NONE,
    r.ChannelAndVersion: ResultReason.CHANNEL_AND_VERSION,
    r.ChannelMissing: ResultReason.CHANNEL_MISSING,
    r.NoTemplateInChannel: ResultReason.CHANNEL_MISSING,
    r.NoChannels: ResultReason.NO_CHANNELS,
    r.NoReleaseMeta: ResultReason.NO_RELEASE_META,
    r.TemplateMissing: ResultReason.TEMPLATE_MISSING,
    r.TemplateWithoutChannel: ResultReason.TEMPLATE_WITHOUT_CHANNEL,
    r.AmbiguousTemplates: ResultReason.AMBIGUOUS,
    r.StatusWithoutTemplate: ResultReason.STATUS_WITHOUT_TEMPLATE,
}


class ModuleResult(Struct, frozen=True):
    """The result of one module in one runtime.

    version   the version that its channel, or the mandatory module, gives it; "" if none
    window    the maintenance window that it waits for; None if the policy is unknown, too
    downtime  whether the version needs downtime
    refusal   the refusal behind the reason, for messages
    """

    kind: ResultKind
    version: str = ""
    channel: str = ""
    reason: ResultReason = ResultReason.NONE
    window: MaintenanceWindow | None = None
    downtime: bool = False
    refusal: Refusal | None = None

    __eq__, __hash__ = compare_by("kind", "version", "channel", "reason", "window", "downtime")

    @property
    def drops_version(self) -> bool:
        """Return whether the Kyma no longer reports the installed version, so that nothing refuses a downgrade."""
        if self.kind is not ResultKind.ERROR or self.refusal is None:
            return False
        return outcome_of(self.refusal, reported=True) in (Outcome.FAILED, Outcome.WARNED)


ABSENT: Final = ModuleResult(ResultKind.NOT_INSTALLED, reason=ResultReason.NOT_REQUESTED)


class NamespaceCatalog(Struct, frozen=True):
    """The catalog of the Kymas in one namespace, and the mandatory modules in it.

    `mandatory` has the versions of the mandatory modules, `missing` those of them without a template, `metas` the names
    of all release metas.
    """

    index: TemplateIndex
    settings: ControllerSettings
    mandatory: Mapping[str, str]
    missing: frozenset[str]
    metas: frozenset[str]


def namespace_catalogs(fleet: FleetObjects, namespaces: Iterable[str]) -> Mapping[str, NamespaceCatalog]:
    """Return the catalogs that lifecycle-manager resolves with, by namespace."""
    return {name: _namespace_catalog(fleet, name) for name in namespaces}


def _namespace_catalog(fleet: FleetObjects, namespace: str) -> NamespaceCatalog:
    objects = {
        kind: [raw for key, raw in fleet.catalog.items() if key[:2] == (kind, namespace)]
        for kind in (TEMPLATE, RELEASE_META)
    }
    index = index_templates(objects[TEMPLATE], objects[RELEASE_META], namespace)
    mandatory = {meta.meta.name: meta.mandatory_version or "" for meta in mandatory_metas(index)}
    missing = {name for name, version in mandatory.items() if (namespace, f"{name}-{version}") not in index.by_name}
    metas = frozenset(meta.meta.name for meta in index.metas)
    return NamespaceCatalog(index, fleet.settings_of(namespace), mandatory, frozenset(missing), metas)


Manifests = Mapping[str, ManifestSummary]
"""The Manifests of one Kyma by module, as far as they are known."""
NO_MANIFESTS: Final[Manifests] = MappingProxyType({})


def module_results(
    kyma: Kyma,
    catalog: NamespaceCatalog,
    now: float,
    before: NamespaceCatalog | None = None,
    manifests: Manifests = NO_MANIFESTS,
) -> dict[str, ModuleResult]:
    """Return the result of each module that a Kyma requests, reports or must have.

    `before` is the catalog of today, whose mandatory modules are installed; None if `catalog` is that of today.
    """
    before = before or catalog
    stopped = _stopped(kyma)
    if stopped is not None:
        kept = {report.name: report.version for report in kyma.reports} | _installed_mandatory(before)
        return {name: ModuleResult(ResultKind.KEEP, version, reason=stopped) for name, version in kept.items()}
    results = {item.name: _result(kyma, item, catalog, now, manifests) for item in work_list(kyma)}
    results |= _removed_mandatory(catalog, before, results, manifests)
    results |= _mandatory(kyma, catalog, before, manifests)
    return {name: _unless_skipped(result, manifests.get(name), kyma) for name, result in results.items()}


def installed_version(kyma: Kyma, module: str, catalog: NamespaceCatalog, manifests: Manifests = NO_MANIFESTS) -> str:
    """Return the version that a module has today, "" if it is not installed, or not known to be."""
    if module in catalog.mandatory and not catalog.missing:
        return catalog.mandatory[module]
    return _applied_version(kyma, module, manifests)


def _applied_version(kyma: Kyma, module: str, manifests: Manifests) -> str:
    """Return the version that the Kyma reports, else its Manifest's: a module without a template is in no report."""
    report, manifest = kyma.report(module), manifests.get(module)
    return (report.version if report is not None else "") or (manifest.version if manifest is not None else "")


def _unless_skipped(result: ModuleResult, manifest: ManifestSummary | None, kyma: Kyma) -> ModuleResult:
    if manifest is None or not manifest.skipped or result.kind not in _ACTS:
        return result
    report = kyma.report(manifest.module)
    version = (report.version if report is not None else "") or manifest.version
    return ModuleResult(ResultKind.KEEP, version, result.channel, ResultReason.MANIFEST_SKIPPED)


_ACTS: Final = (ResultKind.INSTALL, ResultKind.UPGRADE, ResultKind.DOWNGRADE, ResultKind.UNINSTALL)


def _stopped(kyma: Kyma) -> ResultReason | None:
    if kyma.meta.deleting:
        return ResultReason.KYMA_DELETING
    return ResultReason.SKIPPED if kyma.meta.label_is_true(LABEL_SKIP) else None


# mandatory modules


def _installed_mandatory(catalog: NamespaceCatalog) -> dict[str, str]:
    """Return the mandatory modules that are taken for installed: a missing template blocks all, so they are unknown."""
    return {} if catalog.missing else dict(catalog.mandatory)


def _mandatory(
    kyma: Kyma, catalog: NamespaceCatalog, before: NamespaceCatalog, manifests: Manifests
) -> dict[str, ModuleResult]:
    installed = _installed_mandatory(before)
    results = {}
    for name, version in catalog.mandatory.items():
        here = installed.get(name) or _applied_version(kyma, name, manifests)
        if name in catalog.missing:
            results[name] = ModuleResult(ResultKind.ERROR, version, reason=ResultReason.TEMPLATE_MISSING)
        elif catalog.missing and not same_version(here, version):
            results[name] = ModuleResult(ResultKind.ERROR, version, reason=ResultReason.MANDATORY_BLOCKED)
        else:
            results[name] = ModuleResult(_moved(here, version), version)
    return results


def _removed_mandatory(
    catalog: NamespaceCatalog, before: NamespaceCatalog, requested: Mapping[str, ModuleResult], manifests: Manifests
) -> dict[str, ModuleResult]:
    """Return the results of modules that are mandatory today or were so when they were installed, and no longer.

    Without its ModuleReleaseMeta a module is uninstalled. One that only stops being mandatory stays, until a Kyma
    requests it. Where a missing template blocks all of them today, it is unknown which are installed.
    """
    results = {}
    installed = _installed_mandatory(before)
    earlier = [name for name, manifest in manifests.items() if manifest.mandatory and name not in before.mandatory]
    for name in (*before.mandatory, *earlier):
        if name in catalog.mandatory:
            continue
        version = installed.get(name) or (manifests[name].version if name in manifests else "")
        if name in before.metas and name not in catalog.metas:
            results[name] = ModuleResult(ResultKind.UNINSTALL, reason=ResultReason.MANDATORY_DELETED)
        elif name not in requested:
            results[name] = ModuleResult(ResultKind.KEEP, version)
    return results


# modules that a Kyma requests or reports


def _result(kyma: Kyma, item: WorkItem, catalog: NamespaceCatalog, now: float, manifests: Manifests) -> ModuleResult:
    report = kyma.report(item.name)
    if not item.enabled:
        return _uninstalled(kyma, item, catalog, now)
    if not item.managed:
        version = report.version if report is not None else ""
        return ModuleResult(ResultKind.KEEP, version, reason=ResultReason.UNMANAGED)
    resolution = strict_resolution(resolve(item.name, kyma, catalog.index, now=now, rules=catalog.settings))
    return _of_resolution(resolution, report, _applied_version(kyma, item.name, manifests))


def _uninstalled(kyma: Kyma, item: WorkItem, catalog: NamespaceCatalog, now: float) -> ModuleResult:
    """Return the result of a module that is only reported.

    lifecycle-manager resolves it once more. Where that fails, the new report names no Manifest, so the Manifest stays.
    """
    refusal = strict_resolution(resolve(item.name, kyma, catalog.index, now=now, rules=catalog.settings)).refusal
    if outcome_of(refusal, reported=True) in (Outcome.FAILED, Outcome.WARNED):
        return ModuleResult(ResultKind.ERROR, reason=ResultReason.NOT_UNINSTALLED)
    return ModuleResult(ResultKind.UNINSTALL, reason=ResultReason.NOT_REQUESTED)


def _of_resolution(resolution: Resolution, report: ModuleReport | None, installed: str) -> ModuleResult:
    refusal = resolution.refusal
    downtime = resolution.template is not None and resolution.template.requires_downtime
    if refusal is None:
        kind = _moved(installed, resolution.version)
        return ModuleResult(kind, resolution.version, resolution.channel, downtime=downtime)
    window = refusal.window if isinstance(refusal, r.WaitsForWindow) else None
    reason = _REASONS.get(type(refusal), ResultReason.OTHER)
    kind = _refused(refusal, report, installed)
    version = "" if kind is ResultKind.UNINSTALL else resolution.version
    return ModuleResult(kind, version, resolution.channel, reason, window, downtime, refusal=refusal)


def _refused(refusal: Refusal, report: ModuleReport | None, installed: str) -> ResultKind:
    if refusal.uninstalls:
        is_there = installed or (report is not None and report.manifest is not None)
        return ResultKind.UNINSTALL if is_there else ResultKind.NOT_INSTALLED
    if isinstance(refusal, r.HeldBack):
        return ResultKind.HELD_BACK
    if isinstance(refusal, r.WaitsForWindow):
        return ResultKind.WAIT
    return ResultKind.ERROR


def _moved(installed: str, version: str) -> ResultKind:
    """Return what a usable version does; versions that cannot be compared count as an upgrade."""
    if not installed:
        return ResultKind.INSTALL
    if same_version(installed, version):
        return ResultKind.KEEP
    here, target_version = parse_version(installed), parse_version(version)
    return (
        ResultKind.DOWNGRADE
        if here is not None and target_version is not None and target_version < here
        else ResultKind.UPGRADE
    )


def state_after(result: ModuleResult) -> State | None:
    """Return the state that lifecycle-manager reports for an error, None for other results."""
    if result.kind is not ResultKind.ERROR:
        return None
    return result.refusal.state if result.refusal is not None else State.ERROR
