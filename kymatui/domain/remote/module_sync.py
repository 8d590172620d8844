"""The comparison of each module: its Manifest in the control plane, and the module in the runtime."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP, find_condition, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource, read_manifest
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import Presence
from kymatui.domain.remote.differences import NOTHING, ComparisonLine, LineArea, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.cluster_index import WORKLOAD_FEEDS
from kymatui.domain.snapshot.missing_lists import RowFact, explain_missing
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource
from kymatui.domain.versions.messages import drift_words, refusal_words

_ABSENT = "absent"
_WORKLOADS = [feed for kind, feed in WORKLOAD_FEEDS.items() if kind != "CustomResourceDefinition"]
_MODULE_CR = "ModuleCR"


class _Module(Struct, frozen=True):
    """One module: its row of the joined catalog, and its Manifest, if any."""

    row: ModuleRow
    manifest: Manifest | None
    pair: RuntimePair

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def unfinished(self) -> LineVerdict:
        """Return the verdict of what is not finished: wrong, if it does not finish by itself."""
        return LineVerdict.UNDER_WAY if self.row.reason.severity is Severity.INFO else LineVerdict.WRONG

    def line(
        self,
        field: str,
        control: str,
        runtime: str,
        verdict: LineVerdict,
        why: str = "",
        area: LineArea = LineArea.MODULE,
    ) -> ComparisonLine:
        """Return a line of this module: where the sides should agree and do not, the row says who acts."""
        reason, is_open = self.row.reason, verdict in (LineVerdict.WRONG, LineVerdict.UNDER_WAY)
        if is_open and reason.actor is not Actor.NOBODY and reason.text not in why:
            why = f"{why.removesuffix('.')}. {reason.text}" if why else reason.text
        if is_open or (reason.text and reason.text in why):
            actor = reason.actor
        else:
            actor = Actor.CLUSTER if verdict is LineVerdict.UNKNOWN else Actor.NOBODY
        return ComparisonLine(area, self.name, field, control, runtime, verdict, why, actor)

    @property
    def is_requested(self) -> bool:
        kyma = self.pair.runtime_kyma
        return kyma is not None and kyma.request(self.name) is not None


def module_lines(pair: RuntimePair, catalog: Catalog) -> Iterator[ComparisonLine]:
    """Yield the lines of all modules of a readable runtime; `catalog` is the joined catalog."""
    manifests = _manifests(pair)
    for row in catalog.rows:
        module = _Module(row, manifests.get(row.name), pair)
        if module.manifest is None and not module.is_requested:
            yield from _besides(module)
            continue
        yield _manifest_line(module)
        if module.manifest is not None:
            yield from _version_lines(module, module.manifest)
            yield from _resource_lines(module, module.manifest)


def _manifests(pair: RuntimePair) -> dict[str, Manifest]:
    manifests = (read_manifest(raw) for raw in pair.control.manifests)
    return {manifest.module: manifest for manifest in manifests if isinstance(manifest, Manifest) and manifest.module}


def _besides(module: _Module) -> Iterator[ComparisonLine]:
    """Yield the line of a module that is in the runtime without the control plane."""
    row = module.row
    if row.presence in (Presence.NOT_INSTALLED, Presence.UNKNOWN) or RowFact.MANIFEST in row.unknown:
        return  # the missing list of Manifests has its own line
    description = f"{row.presence.value} {row.installed}".strip()
    if row.origin is CatalogOrigin.KYMA and (unknown := module.pair.runtime_kyma_unknown) is not None:
        why = f"the runtime's Kyma: {unknown}"
        yield module.line("Manifest", NOTHING, description, LineVerdict.UNKNOWN, why)
        return
    if row.origin is CatalogOrigin.COMMUNITY:
        why = "community module: not managed by lifecycle-manager"
    elif row.presence is Presence.ORPHAN:
        why = "module CRs without the module's manager: left over, or created before the module was enabled"
    else:
        why = "installed directly, without lifecycle-manager"
    yield module.line("Manifest", NOTHING, description, LineVerdict.INTENDED, why)


def _manifest_line(module: _Module) -> ComparisonLine:
    """Return the line of the Manifest against the request in the runtime's Kyma."""
    manifest, row = module.manifest, module.row
    asked = "requested" if module.is_requested else "not requested"
    if manifest is None:
        return module.line("Manifest", NOTHING, asked, *_without_manifest(module))
    name = f"{manifest.meta.namespace}/{manifest.meta.name}"
    if manifest.mandatory or row.mandatory:
        why = "mandatory module: every runtime has it without a request"
        return module.line("Manifest", name, "mandatory", LineVerdict.INTENDED, why)
    if module.is_requested and manifest.meta.deleting:
        return module.line("Manifest", f"{name} (being deleted)", asked, *_deleting(module))
    if module.is_requested:
        return module.line("Manifest", name, asked, LineVerdict.SAME)
    if manifest.meta.deleting:
        return module.line("Manifest", f"{name} (being deleted)", asked, module.unfinished, "being deleted")
    return module.line("Manifest", name, asked, *_not_asked_for(module))


def _without_manifest(module: _Module) -> tuple[LineVerdict, str]:
    row, refusal = module.row, module.row.resolution.refusal
    if (why := row.unknown.get(RowFact.MANIFEST)) is not None:
        return LineVerdict.UNKNOWN, f"Manifest: {why}"
    if not row.managed:
        return LineVerdict.INTENDED, "unmanaged: lifecycle-manager releases the module"
    if _is_leaving(module.pair):
        return LineVerdict.INTENDED, "deleted with the Kyma"
    if refusal is not None:
        return LineVerdict.WRONG, f"lifecycle-manager creates no Manifest: {refusal_words(refusal)}"
    if _is_skipped(module.pair):
        return LineVerdict.WRONG, f"the control plane's Kyma has label {LABEL_SKIP}; remove it"
    return LineVerdict.WRONG, "lifecycle-manager has not created the Manifest yet"


def _deleting(module: _Module) -> tuple[LineVerdict, str]:
    refusal = module.row.resolution.refusal
    if refusal is not None and refusal.uninstalls:
        return LineVerdict.WRONG, f"being uninstalled: {refusal_words(refusal)}"
    again = "with the Kyma" if _is_leaving(module.pair) else "and created again after that"
    return module.unfinished, f"being deleted, {again}"


def _not_asked_for(module: _Module) -> tuple[LineVerdict, str]:
    if module.pair.runtime_kyma is None:
        return LineVerdict.UNKNOWN, "the runtime's Kyma cannot be read"
    if _is_skipped(module.pair):
        return LineVerdict.WRONG, f"not deleted: the control plane's Kyma has label {LABEL_SKIP}; remove it"
    return LineVerdict.WRONG, "no longer requested, and not yet deleted by lifecycle-manager"


def _is_leaving(pair: RuntimePair) -> bool:
    return pair.control_kyma is not None and pair.control_kyma.meta.deleting


def _is_skipped(pair: RuntimePair) -> bool:
    return pair.control_kyma is not None and pair.control_kyma.meta.label_is_true(LABEL_SKIP)


# versions and states


def _version_lines(module: _Module, manifest: Manifest) -> Iterator[ComparisonLine]:
    row = module.row
    workloads = explain_missing(module.pair.runtime.feeds if module.pair.runtime else {}, _WORKLOADS)
    if workloads is not None and row.version_source is not VersionSource.RUNNING:
        yield module.line("version", manifest.version, "?", LineVerdict.UNKNOWN, f"the module's manager: {workloads}")
    elif not row.installed:
        if row.presence in (Presence.ENABLED, Presence.NOT_CONFIGURED) and manifest.version:
            why = "no object in the runtime has the version"
            yield module.line("version", manifest.version, NOTHING, LineVerdict.UNKNOWN, why)
    elif not manifest.version or same_version(manifest.version, row.installed):
        yield module.line("version", manifest.version, row.installed, LineVerdict.SAME)
    else:
        yield _other_version(module, manifest)
    yield _state_line(module, manifest)


def _other_version(module: _Module, manifest: Manifest) -> ComparisonLine:
    row = module.row
    is_rolling = row.drift.kind is DriftKind.ROLLING_OUT
    drift, reason = drift_words(row.drift), row.reason.text
    why = reason if drift in reason else f"{drift}. {reason}"
    verdict = LineVerdict.UNDER_WAY if is_rolling else LineVerdict.WRONG
    return module.line("version", manifest.version, row.installed, verdict, "rolling out" if is_rolling else why)


def _state_line(module: _Module, manifest: Manifest) -> ComparisonLine:
    """Return the line of the Manifest's state against the state in the runtime."""
    row = module.row
    unknown = row.unknown.get(RowFact.CHECKS)
    if unknown is not None and row.state is State.READY:  # a module CR that cannot be read may say otherwise
        return module.line("state", manifest.state, "?", LineVerdict.UNKNOWN, f"module CRs: {unknown}")
    line = ("state", manifest.state, row.state.value)
    if manifest.state == row.state.value:
        return module.line(*line, LineVerdict.SAME)
    if row.reports.resource and row.reports.resource != manifest.state and row.reports.manager in ("", manifest.state):
        why = (
            f"the Manifest has only the state of the module's manager, the module CR has {row.reports.resource}. "
            f"{row.reason.text}"
        )
        return module.line(*line, LineVerdict.INTENDED, why)
    return module.line(*line, module.unfinished, row.reason.text)


# the default CR


def _resource_lines(module: _Module, manifest: Manifest) -> Iterator[ComparisonLine]:
    default_cr_ref = default_resource(manifest.resource, manifest.meta.name) if manifest.resource else None
    if default_cr_ref is None or manifest.meta.deleting:
        return
    name = str(default_cr_ref)
    body = _found(module.pair, default_cr_ref)
    if body is None and RowFact.CHECKS in module.row.unknown:
        body = _Unread
    if body is _Unread:
        why = f"{default_cr_ref.kind.kind} is forbidden or not served in the runtime"
        yield module.line(name, "expected", "?", LineVerdict.UNKNOWN, why, LineArea.RESOURCE)
        return
    ignored = manifest.policy == Policy.IGNORE
    ours = "managed by its owner" if ignored else "created once"
    if body is not None:
        yield module.line(name, ours, "present", LineVerdict.SAME, area=LineArea.RESOURCE)
        return
    verdict, why = _why_absent(manifest, ignored)
    yield module.line(name, ours, _ABSENT, verdict, why, LineArea.RESOURCE)


def _why_absent(manifest: Manifest, ignored: bool) -> tuple[LineVerdict, str]:
    if ignored:
        return LineVerdict.INTENDED, f"policy {Policy.IGNORE}: lifecycle-manager creates no default CR"
    condition = find_condition(manifest.conditions, _MODULE_CR)
    if condition is not None and condition.status == "True":
        return LineVerdict.WRONG, "deleted by another client; lifecycle-manager does not create it again"
    return LineVerdict.UNDER_WAY, "lifecycle-manager has not created it yet"


class _Unread:
    """A marker: the kind could not be listed."""


def _found(pair: RuntimePair, target: ObjectRef) -> Object | type[_Unread] | None:
    assert pair.runtime is not None
    of_kind = (target.kind.group, target.kind.kind)
    lists = {kind: raws for kind, raws in pair.runtime.module_resources.items() if (kind.group, kind.kind) == of_kind}
    if not lists:
        return _Unread
    for objects in lists.values():
        for raw in objects:
            ref = read_ref(raw)
            if ref.name == target.name and ref.namespace in ("", target.namespace):
                return raw
    return None
