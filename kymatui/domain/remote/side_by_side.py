"""The comparison of a control plane and a runtime: every difference, and whether it is intended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC, created_by
from kymatui.domain.kubernetes.object_meta import (
    LABEL_MANAGED_BY,
    LAST_APPLIED,
    field_managers,
    find_condition,
    read_ref,
)
from kymatui.domain.kyma.field_defaults import FieldSchema
from kymatui.domain.kyma.kyma_keeper import actor_with_keeper, why_stopped, with_keeper
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.problems import Actor, advice_for_runtime, with_advice
from kymatui.domain.modules.risks import taken_over_advice, taken_over_words
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan, SyncStatus, plan_pair_sync
from kymatui.domain.remote.differences import NOTHING, ComparisonLine, LineArea, LineVerdict, format_json, sort_key
from kymatui.domain.remote.kyma_sync import KymaPair, kyma_lines
from kymatui.domain.remote.module_sync import module_lines
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, snapshot_keeper
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_missing
from kymatui.domain.snapshot.snapshots import Object, Snapshot
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, spec_changes

_TEMPLATES, _METAS, _MANIFESTS = (
    f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas", "manifests")
)


class SideBySide(Struct, frozen=True):
    """All lines of a comparison, differences first."""

    name: str
    lines: tuple[ComparisonLine, ...]

    def count(self, verdict: LineVerdict) -> int:
        return sum(line.verdict is verdict for line in self.lines)

    @property
    def differing(self) -> tuple[ComparisonLine, ...]:
        return tuple(line for line in self.lines if line.differs)

    @property
    def is_as_intended(self) -> bool:
        """Return whether everything is readable and nothing differs unintentionally."""
        return not self.count(LineVerdict.WRONG) and not self.count(LineVerdict.UNKNOWN)


def compare_sides(pair: RuntimePair, now: float) -> SideBySide:
    """Compare both sides; `now` is in seconds of the Unix clock."""
    kyma = pair.control_kyma.raw if pair.control_kyma is not None else None
    keeper = snapshot_keeper(pair.control, kyma) or Actor.KLM
    stopped = why_stopped(keeper, pair.control.workloads, pair.control.keeper_lease)
    lines = (
        replace(line, why=with_keeper(line.why, keeper), actor=actor_with_keeper(line.actor, keeper, stopped=stopped))
        for line in _lines(pair, now)
    )
    return SideBySide(pair.name, tuple(sorted(lines, key=sort_key)))


def _lines(pair: RuntimePair, now: float) -> Iterator[ComparisonLine]:
    control, runtime = pair.control_kyma, pair.runtime_kyma
    if control is None:
        unknown = explain_missing(pair.control.feeds, [KYMA_FEED])
        if unknown is not None:
            why = f"the control plane's Kyma is unknown: {unknown.reason}"
            yield ComparisonLine(
                LineArea.KYMA, pair.name, "presence", "?", "?", LineVerdict.UNKNOWN, why, Actor.CLUSTER
            )
            return
        why = "not found in the control plane"
        yield ComparisonLine(LineArea.KYMA, pair.name, "presence", NOTHING, "?", LineVerdict.WRONG, why, Actor.YOU)
        return
    if pair.runtime is None:
        yield ComparisonLine(
            LineArea.KYMA, pair.name, "runtime", "present", "?", LineVerdict.UNKNOWN, pair.unreachable, Actor.CLUSTER
        )
        return
    yield from _unread(pair.control, "control plane", (_TEMPLATES, _METAS, _MANIFESTS))
    catalog = build_catalog(join_snapshots(pair), now, CatalogOptions(rules=pair.rules))
    if pair.is_one_cluster:
        why = "the control plane is its own runtime: modules run in it"
        yield ComparisonLine(
            LineArea.KYMA, str(control.ref), "runtime", "present", "present", LineVerdict.INTENDED, why
        )
        yield from module_lines(pair, catalog)
        return
    kymas = KymaPair(control, runtime, now) if runtime is not None else None
    yield from kyma_lines(kymas) if kymas is not None else _no_runtime_kyma(pair)
    plan = plan_pair_sync(pair)
    assert plan is not None
    yield from catalog_lines(plan, control, pair.rules.schemas)
    yield from module_lines(pair, catalog)


def _unread(snapshot: Snapshot, side: str, feeds: tuple[str, ...]) -> Iterator[ComparisonLine]:
    for name in feeds:
        missing = explain_missing(snapshot.feeds, [name])
        if missing is not None:
            why = f"{side}: {missing}{f'; {missing.message}' if missing.message not in str(missing) else ''}"
            yield ComparisonLine(LineArea.KYMA, name, "list", "?", NOTHING, LineVerdict.UNKNOWN, why, Actor.CLUSTER)


def _no_runtime_kyma(pair: RuntimePair) -> Iterator[ComparisonLine]:
    assert pair.control_kyma is not None
    name = str(pair.control_kyma.ref)
    if (unknown := pair.runtime_kyma_unknown) is not None:
        why = f"the runtime's Kyma is unknown: {unknown.reason}"
        yield ComparisonLine(LineArea.KYMA, name, "presence", "present", "?", LineVerdict.UNKNOWN, why, Actor.CLUSTER)
    elif pair.control_kyma.meta.deleting:
        why = "deleted in the runtime; the control plane's Kyma is next"
        yield ComparisonLine(LineArea.KYMA, name, "presence", "being deleted", NOTHING, LineVerdict.INTENDED, why)
    else:
        why = (
            "Kyma kyma-system/default not found in the runtime; lifecycle-manager creates it at its next reconciliation"
        )
        yield ComparisonLine(LineArea.KYMA, name, "presence", "present", NOTHING, LineVerdict.WRONG, why, Actor.KLM)


_THERE = "present"


def catalog_lines(
    plan: SyncPlan, control: Kyma, schemas: Mapping[str, FieldSchema] | None = None
) -> Iterator[ComparisonLine]:
    """Yield a line for each object, or for each field in which its copy is wrong; `schemas` are by kind."""
    for area, entries in ((LineArea.RELEASE, plan.metas), (LineArea.TEMPLATE, plan.templates)):
        for entry in entries:
            schema = (schemas or {}).get(entry.ref.kind.kind)
            yield from _entry_lines(area, entry, control, plan.unknown, schema)


def _entry_lines(
    area: LineArea, entry: SyncEntry, control: Kyma, unknown: UnknownFact | None, schema: FieldSchema | None
) -> Iterator[ComparisonLine]:
    name, ours = entry.ref.name, _THERE if entry.original is not None else NOTHING
    theirs = _THERE if entry.copy is not None else NOTHING
    match entry.standing:
        case SyncStatus.SYNCED:
            yield from _copy_lines(area, entry, schema, control.meta.name)
        case SyncStatus.MISSING:
            why = _missing(entry, control)
            yield ComparisonLine(area, name, "presence", ours, theirs, LineVerdict.WRONG, why, Actor.KLM)
        case SyncStatus.LEFT_OVER:
            why = (
                entry.why
                if entry.original is None
                else f"{entry.why}; the catalog sync created the copy and deletes it"
            )
            yield ComparisonLine(area, name, "presence", ours, theirs, LineVerdict.WRONG, why, Actor.KLM)
        case SyncStatus.WITHHELD | SyncStatus.OLD:
            yield ComparisonLine(area, name, "presence", ours, theirs, LineVerdict.INTENDED, entry.why)
        case SyncStatus.OWN:
            why = entry.why if entry.original is None else f"{entry.why}; another client created it in the runtime"
            yield ComparisonLine(area, name, "presence", ours, theirs, LineVerdict.INTENDED, why)
        case SyncStatus.UNKNOWN:
            if unknown is not None:  # the control plane's catalog is missing, not the runtime's
                yield ComparisonLine(area, name, "presence", "?", theirs, LineVerdict.UNKNOWN, entry.why, Actor.CLUSTER)
                return
            why = "the runtime's copy cannot be read"
            yield ComparisonLine(area, name, "presence", ours, "?", LineVerdict.UNKNOWN, why, Actor.CLUSTER)


def _missing(entry: SyncEntry, control: Kyma) -> str:
    """Return why the copy may be missing, by the ModuleCatalog condition of the Kyma."""
    condition = find_condition(control.conditions, "ModuleCatalog")
    detail = (
        f"; condition ModuleCatalog is {condition.status}: {condition.message}"
        if condition and condition.status != "True"
        else ""
    )
    return f"expected in the runtime ({entry.why}); the next reconciliation creates it{detail}"


def _copy_lines(area: LineArea, entry: SyncEntry, schema: FieldSchema | None, runtime: str) -> Iterator[ComparisonLine]:
    assert entry.original is not None
    assert entry.copy is not None
    name = entry.ref.name
    lines = [
        *_taken_over(area, entry, entry.copy, runtime),
        *_differences(area, entry, entry.original, entry.copy, schema),
    ]
    if not any(line.field != "channels" for line in lines):
        yield ComparisonLine(area, name, "presence", _THERE, _THERE, LineVerdict.SAME)
    yield from lines


def _taken_over(area: LineArea, entry: SyncEntry, copy: Object, runtime: str) -> Iterator[ComparisonLine]:
    """Yield a line if a user created the copy's object: the sync overwrites it."""
    creator = created_by(copy)
    if creator not in ("", CATALOG_SYNC):
        ref = read_ref(copy)
        why = with_advice(taken_over_words(str(ref), creator), advice_for_runtime(taken_over_advice(ref), runtime))
        yield ComparisonLine(
            area, entry.ref.name, "created by", CATALOG_SYNC, creator, LineVerdict.WRONG, why, Actor.YOU
        )


def _differences(
    area: LineArea, entry: SyncEntry, original: Object, copy: Object, schema: FieldSchema | None
) -> Iterator[ComparisonLine]:
    spec = _spec(original)
    if entry.channels:
        kept = [channel.channel for channel in entry.channels if channel.is_wanted]
        spec = {**spec, "channels": [c for c in spec.get("channels") or [] if c.get("channel") in kept]}
        yield from _left_out(area, entry)
    for change in spec_changes(spec, _spec(copy), schema):
        yield _changed(area, entry, change, copy)
    yield from _marks(area, entry, original, copy)


def _spec(raw: Object) -> Mapping[str, Any]:
    return JsonReader(raw).child("spec").raw


def _left_out(area: LineArea, entry: SyncEntry) -> Iterator[ComparisonLine]:
    for channel in entry.channels:
        if not channel.is_wanted:
            what = f"{channel.channel}={channel.version}"
            yield ComparisonLine(area, entry.ref.name, "channels", what, NOTHING, LineVerdict.INTENDED, channel.why)


def _changed(area: LineArea, entry: SyncEntry, change: ValueChange, copy: Object) -> ComparisonLine:
    """Return the line for a changed field, naming other writers of the copy."""
    others = [name for name in field_managers(copy) if name != CATALOG_SYNC]
    who = f"; {', '.join(others)} changed the copy" if others else ""
    ours, theirs = format_json(change.before), format_json(change.after)
    if change.kind is ChangeKind.ADDED:
        why, actor = f"not set by the catalog sync, which keeps it{who}", Actor.YOU
    else:
        why, actor = f"the copy differs from the control plane; the next sync restores it{who}", Actor.KLM
    return ComparisonLine(
        area, entry.ref.name, change.path, _short(ours), _short(theirs), LineVerdict.WRONG, why, actor
    )


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _marks(area: LineArea, entry: SyncEntry, original: Object, copy: Object) -> Iterator[ComparisonLine]:
    for field in ("labels", "annotations"):
        ours, theirs = (dict(JsonReader(raw).child("metadata").labels(field)) for raw in (original, copy))
        if field == "labels":
            ours[LABEL_MANAGED_BY] = "kyma"
        ours.pop(LAST_APPLIED, None)
        theirs.pop(LAST_APPLIED, None)
        for key in sorted(ours.keys() | theirs.keys()):
            if ours.get(key) == theirs.get(key):
                continue
            path, before, after = f"metadata.{field}[{key}]", ours.get(key, NOTHING), theirs.get(key, NOTHING)
            if key in ours:
                why = "the copy differs from the control plane; the next sync restores it"
                yield ComparisonLine(
                    area, entry.ref.name, path, _short(before), _short(after), LineVerdict.WRONG, why, Actor.KLM
                )
            else:
                why = "set in the runtime; the catalog sync keeps it"
                yield ComparisonLine(area, entry.ref.name, path, NOTHING, _short(after), LineVerdict.INTENDED, why)
