"""The comparison of the catalog: each template and release meta of the control plane with its copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.kubernetes.conditions import find_condition
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC, created_by
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, LAST_APPLIED, field_managers, read_ref
from kymatui.domain.kyma.field_defaults import FieldSchema
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.modules.risks import taken_over_words
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan, SyncStatus
from kymatui.domain.remote.differences import NOTHING, ComparisonLine, LineArea, LineVerdict, format_json
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, spec_changes

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
            yield from _copy_lines(area, entry, schema)
        case SyncStatus.MISSING:
            ended = control.meta.deleting
            verdict, actor = (LineVerdict.INTENDED, Actor.NOBODY) if ended else (LineVerdict.WRONG, Actor.KLM)
            yield ComparisonLine(area, name, "presence", ours, theirs, verdict, _missing(entry, control), actor)
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
    if control.meta.deleting:
        return "not in the runtime; the Kyma is being deleted, so it is not created"
    detail = (
        f"; condition ModuleCatalog is {condition.status}: {condition.message}"
        if condition and condition.status != "True"
        else ""
    )
    return f"expected in the runtime ({entry.why}); the next reconciliation creates it{detail}"


def _copy_lines(area: LineArea, entry: SyncEntry, schema: FieldSchema | None) -> Iterator[ComparisonLine]:
    assert entry.original is not None
    assert entry.copy is not None
    name = entry.ref.name
    lines = [*_taken_over(area, entry, entry.copy), *_differences(area, entry, entry.original, entry.copy, schema)]
    if not any(line.field != "channels" for line in lines):
        yield ComparisonLine(area, name, "presence", _THERE, _THERE, LineVerdict.SAME)
    yield from lines


def _taken_over(area: LineArea, entry: SyncEntry, copy: Object) -> Iterator[ComparisonLine]:
    """Yield a line if a user created the copy's object: the sync overwrites it."""
    creator = created_by(copy)
    if creator not in ("", CATALOG_SYNC):
        why = taken_over_words(str(read_ref(copy)), creator)
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
