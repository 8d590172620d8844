"""Each module on both sides: its Manifest in the control plane, and what runs in the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kymatui.domain.conditions import find_condition
from kymatui.domain.drift import DriftKind
from kymatui.domain.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.lists import RowFact
from kymatui.domain.manifests import Manifest, read_manifest
from kymatui.domain.objects import LABEL_SKIP, read_ref
from kymatui.domain.pairs.differences import NOTHING, Area, Line, Verdict
from kymatui.domain.pairs.pair import Pair
from kymatui.domain.presence import Presence
from kymatui.domain.problems import Actor, Severity
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.domain.rows import Catalog, Origin, Row
from kymatui.domain.snapshots import Object
from kymatui.domain.versions import same
from kymatui.domain.wording import drift_words, refusal_words

_ABSENT = "absent"
_MODULE_CR = "ModuleCR"


@dataclass(frozen=True, slots=True)
class _Module:
    """One module: its row of the joined catalog, and its Manifest where there is one."""

    row: Row
    manifest: Manifest | None
    pair: Pair

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def is_requested(self) -> bool:
        kyma = self.pair.runtime_kyma
        return kyma is not None and kyma.request(self.name) is not None


def module_lines(pair: Pair, seen: Catalog) -> Iterator[Line]:
    """Needs a runtime that was looked at; `seen` is the catalog of both sides joined."""
    manifests = _manifests(pair)
    for row in seen.rows:
        module = _Module(row, manifests.get(row.name), pair)
        if module.manifest is None and not module.is_requested:
            yield from _besides(module)
            continue
        yield _manifest_line(module)
        if module.manifest is not None:
            yield from _version_lines(module, module.manifest)
            yield from _resource_lines(module, module.manifest)


def _manifests(pair: Pair) -> dict[str, Manifest]:
    found = (read_manifest(raw) for raw in pair.control.manifests)
    return {one.module: one for one in found if isinstance(one, Manifest) and one.module}


def _besides(module: _Module) -> Iterator[Line]:
    """What runs in the runtime without the control plane."""
    row = module.row
    if row.presence in (Presence.NOT_INSTALLED, Presence.UNKNOWN) or RowFact.MANIFEST in row.unknown:
        return  # what is not known of Manifests stands in a line of its own
    there = f"{row.presence.value} {row.installed}".strip()
    if row.origin is Origin.COMMUNITY:
        why = "a community module: lifecycle-manager has nothing to do with it"
    elif row.presence is Presence.ORPHAN:
        why = "resources without a manager: left over, or configured before the module is enabled"
    else:
        why = "it was installed directly, without lifecycle-manager"
    yield Line(Area.MODULE, module.name, "Manifest", NOTHING, there, Verdict.INTENDED, why)


def _manifest_line(module: _Module) -> Line:
    """Whether a Manifest stands for what the runtime's Kyma asks for."""
    manifest, row = module.manifest, module.row
    asked = "asked for" if module.is_requested else "not asked for"
    if manifest is None:
        verdict, why, actor = _without_manifest(module)
        return Line(Area.MODULE, module.name, "Manifest", NOTHING, asked, verdict, why, actor)
    name = f"{manifest.meta.namespace}/{manifest.meta.name}"
    if manifest.mandatory or row.mandatory:
        why = "a mandatory module: every runtime has it, and no Kyma names it"
        return Line(Area.MODULE, module.name, "Manifest", name, "mandatory", Verdict.INTENDED, why)
    if module.is_requested and manifest.meta.deleting:
        verdict, why, actor = _deleting(module, manifest)
        return Line(Area.MODULE, module.name, "Manifest", f"{name} (being deleted)", asked, verdict, why, actor)
    if module.is_requested:
        return Line(Area.MODULE, module.name, "Manifest", name, asked, Verdict.SAME)
    if manifest.meta.deleting:
        held = ", ".join(manifest.meta.finalizers)
        why = "it is being removed" + (f"; held by {held}" if held else "")
        return Line(Area.MODULE, module.name, "Manifest", f"{name} (being deleted)", asked, Verdict.UNDER_WAY, why)
    verdict, why, actor = _not_asked_for(module)
    return Line(Area.MODULE, module.name, "Manifest", name, asked, verdict, why, actor)


def _without_manifest(module: _Module) -> tuple[Verdict, str, Actor]:
    row, refusal = module.row, module.row.resolution.refusal
    if (why := row.unknown.get(RowFact.MANIFEST)) is not None:
        return Verdict.UNKNOWN, f"its Manifest: {why}", Actor.CLUSTER
    if not row.managed:
        return Verdict.INTENDED, "unmanaged: lifecycle-manager lets go of it", Actor.NOBODY
    if refusal is not None:
        return Verdict.WRONG, f"lifecycle-manager makes none: {refusal_words(refusal)}", row.reason.actor or Actor.YOU
    if _is_skipped(module.pair):
        return Verdict.WRONG, f"the control plane's Kyma is labelled {LABEL_SKIP}", Actor.YOU
    return Verdict.WRONG, "lifecycle-manager has made none yet", Actor.KLM


def _deleting(module: _Module, manifest: Manifest) -> tuple[Verdict, str, Actor]:
    refusal = module.row.resolution.refusal
    if refusal is not None and refusal.uninstalls:
        return Verdict.WRONG, f"it is uninstalled: {refusal_words(refusal)}", Actor.YOU
    held = ", ".join(manifest.meta.finalizers)
    return Verdict.UNDER_WAY, f"it is removed before it comes again; held by {held or 'nothing'}", Actor.KLM


def _not_asked_for(module: _Module) -> tuple[Verdict, str, Actor]:
    kyma = module.pair.runtime_kyma
    if kyma is None:
        return Verdict.UNKNOWN, "the runtime's Kyma cannot be read", Actor.CLUSTER
    if _is_skipped(module.pair):
        why = f"it should be deleted; the control plane's Kyma is labelled {LABEL_SKIP}"
        return Verdict.WRONG, why, Actor.YOU
    return Verdict.WRONG, "nobody asks for it any more, and lifecycle-manager has not deleted it yet", Actor.KLM


def _is_skipped(pair: Pair) -> bool:
    return pair.control_kyma is not None and pair.control_kyma.meta.label_is_true(LABEL_SKIP)


# versions and states


def _version_lines(module: _Module, manifest: Manifest) -> Iterator[Line]:
    row = module.row
    if not row.installed:
        if row.presence in (Presence.ENABLED, Presence.NOT_CONFIGURED) and manifest.version:
            why = "nothing in the runtime says which version runs"
            line = (Area.MODULE, module.name, "version", manifest.version, NOTHING)
            yield Line(*line, Verdict.UNKNOWN, why, Actor.NOBODY)
    elif not manifest.version or same(manifest.version, row.installed):
        yield Line(Area.MODULE, module.name, "version", manifest.version, row.installed, Verdict.SAME)
    else:
        yield _other_version(module, manifest)
    yield _state_line(module, manifest)


def _other_version(module: _Module, manifest: Manifest) -> Line:
    row = module.row
    line = (Area.MODULE, module.name, "version", manifest.version, row.installed)
    if row.drift.kind is DriftKind.ROLLING_OUT:
        return Line(*line, Verdict.UNDER_WAY, "the new version rolls out", Actor.MANAGER)
    why = f"{drift_words(row.drift)}: {row.reason.text}"
    return Line(*line, Verdict.WRONG, why, row.reason.actor or Actor.KLM)


def _state_line(module: _Module, manifest: Manifest) -> Line:
    """The Manifest's word against what is found in the runtime."""
    row = module.row
    line = (Area.MODULE, module.name, "state", manifest.state, row.state.value)
    if manifest.state == row.state.value:
        return Line(*line, Verdict.SAME)
    if row.reports.resource and row.reports.resource != manifest.state and row.reports.manager in ("", manifest.state):
        why = (
            f"the Manifest tells of the manager's workload only; the module's resource says {row.reports.resource}: "
            f"{row.reason.text}"
        )
        return Line(*line, Verdict.INTENDED, why, row.reason.actor)
    if row.reason.severity is Severity.INFO:
        return Line(*line, Verdict.UNDER_WAY, row.reason.text, row.reason.actor)
    return Line(*line, Verdict.WRONG, row.reason.text, row.reason.actor or Actor.KLM)


# the default resource


def _resource_lines(module: _Module, manifest: Manifest) -> Iterator[Line]:
    wanted = _wanted(manifest)
    if wanted is None or manifest.meta.deleting:
        return
    name = str(wanted)
    found = _found(module.pair, wanted)
    if found is _Unread:
        why = f"{wanted.kind.kind} may not be read in the runtime, or is not served there"
        yield Line(Area.RESOURCE, module.name, name, "wanted", "?", Verdict.UNKNOWN, why, Actor.CLUSTER)
        return
    ignored = manifest.policy == Policy.IGNORE
    ours = "left to its owner" if ignored else "created once"
    if found is not None:
        yield Line(Area.RESOURCE, module.name, name, ours, "there", Verdict.SAME)
        return
    verdict, why, actor = _why_absent(manifest, ignored)
    yield Line(Area.RESOURCE, module.name, name, ours, _ABSENT, verdict, why, actor)


def _why_absent(manifest: Manifest, ignored: bool) -> tuple[Verdict, str, Actor]:
    if ignored:
        return Verdict.INTENDED, f"the policy is {Policy.IGNORE}: lifecycle-manager makes none", Actor.NOBODY
    made = find_condition(manifest.conditions, _MODULE_CR)
    if made is not None and made.status == "True":
        why = "it was created, and somebody deleted it; lifecycle-manager does not create it again"
        return Verdict.WRONG, why, Actor.YOU
    return Verdict.UNDER_WAY, "lifecycle-manager has not created it yet", Actor.KLM


def _wanted(manifest: Manifest) -> ObjectRef | None:
    """The default resource as lifecycle-manager names it where the template does not."""
    raw = manifest.resource
    if not raw:
        return None
    ref = read_ref(raw)
    return ObjectRef(ref.kind, ref.namespace or KYMA_NAMESPACE, ref.name or manifest.meta.name)


class _Unread:
    """The kind could not be listed."""


def _found(pair: Pair, wanted: ObjectRef) -> Object | type[_Unread] | None:
    assert pair.runtime is not None
    lists = {
        kind: objects for kind, objects in pair.runtime.module_resources.items() if _is_same_kind(kind, wanted.kind)
    }
    if not lists:
        return _Unread
    for objects in lists.values():
        for raw in objects:
            ref = read_ref(raw)
            if ref.name == wanted.name and ref.namespace in ("", wanted.namespace):
                return raw
    return None


def _is_same_kind(left: GroupVersionKind, right: GroupVersionKind) -> bool:
    return (left.group, left.kind) == (right.group, right.kind)
