"""The catalog on both sides: every template and release meta of the control plane, and its copy in the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.comparing import Change, ChangeKind, spec_changes
from kymatui.domain.conditions import find_condition
from kymatui.domain.foreseen import taken_over_words
from kymatui.domain.kymas import Kyma
from kymatui.domain.lists import Unknown
from kymatui.domain.objects import LABEL_MANAGED_BY, read_meta
from kymatui.domain.ownership import CATALOG_SYNC, created_by
from kymatui.domain.pairs.differences import NOTHING, Area, Line, Verdict, text_of
from kymatui.domain.pairs.offering import Entry, Standing, SyncPlan
from kymatui.domain.problems import Actor
from kymatui.domain.reading import Reader
from kymatui.domain.snapshots import Object

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_THERE = "there"


def catalog_lines(plan: SyncPlan, control: Kyma) -> Iterator[Line]:
    """A line for each object, and one for each field in which a copy differs from what it should be."""
    for area, entries in ((Area.RELEASE, plan.metas), (Area.TEMPLATE, plan.templates)):
        for entry in entries:
            yield from _entry_lines(area, entry, control, plan.unknown)


def _entry_lines(area: Area, entry: Entry, control: Kyma, unknown: Unknown | None) -> Iterator[Line]:
    name, ours = entry.ref.name, _THERE if entry.original is not None else NOTHING
    theirs = _THERE if entry.copy is not None else NOTHING
    match entry.standing:
        case Standing.SYNCED:
            yield from _copy_lines(area, entry)
        case Standing.MISSING:
            yield Line(area, name, "presence", ours, theirs, Verdict.WRONG, _missing(entry, control), Actor.KLM)
        case Standing.LEFT_OVER:
            why = entry.why if entry.original is None else f"{entry.why}; the sync wrote the copy, and deletes it"
            yield Line(area, name, "presence", ours, theirs, Verdict.WRONG, why, Actor.KLM)
        case Standing.WITHHELD | Standing.OLD:
            yield Line(area, name, "presence", ours, theirs, Verdict.INTENDED, entry.why)
        case Standing.OWN:
            why = entry.why if entry.original is None else f"{entry.why}; somebody applied it in the runtime"
            yield Line(area, name, "presence", ours, theirs, Verdict.INTENDED, why)
        case Standing.UNKNOWN:
            if unknown is not None:  # of the control plane's catalog
                yield Line(area, name, "presence", "?", theirs, Verdict.UNKNOWN, entry.why, Actor.CLUSTER)
                return
            why = "the runtime's cannot be read"
            yield Line(area, name, "presence", ours, "?", Verdict.UNKNOWN, why, Actor.CLUSTER)


def _missing(entry: Entry, control: Kyma) -> str:
    """Why the copy may be missing: what the control plane's Kyma says of the sync."""
    said = find_condition(control.conditions, "ModuleCatalog")
    told = f"; its condition ModuleCatalog is {said.status}: {said.message}" if said and said.status != "True" else ""
    return f"it should be in the runtime ({entry.why}), and the next reconciliation brings it{told}"


def _copy_lines(area: Area, entry: Entry) -> Iterator[Line]:
    assert entry.original is not None
    assert entry.copy is not None
    name = entry.ref.name
    found = [*_taken_over(area, entry, entry.copy), *_differences(area, entry, entry.original, entry.copy)]
    if not any(line.field != "channels" for line in found):
        yield Line(area, name, "presence", _THERE, _THERE, Verdict.SAME)
    yield from found


def _taken_over(area: Area, entry: Entry, copy: Object) -> Iterator[Line]:
    """A user's object that has the name of a synced one, before the sync writes it and after."""
    creator = created_by(copy)
    if creator not in ("", CATALOG_SYNC):
        why = taken_over_words(str(entry.ref), creator)
        yield Line(area, entry.ref.name, "created by", CATALOG_SYNC, creator, Verdict.WRONG, why, Actor.YOU)


def _differences(area: Area, entry: Entry, original: Object, copy: Object) -> Iterator[Line]:
    wanted = _spec(original)
    if entry.channels:
        kept = [one.channel for one in entry.channels if one.is_wanted]
        wanted = {**wanted, "channels": [c for c in wanted.get("channels") or [] if c.get("channel") in kept]}
        yield from _left_out(area, entry)
    for change in spec_changes(wanted, _spec(copy)):
        yield _changed(area, entry, change, copy)
    yield from _marks(area, entry, original, copy)


def _spec(raw: Object) -> Mapping[str, Any]:
    return Reader(raw).child("spec").raw


def _left_out(area: Area, entry: Entry) -> Iterator[Line]:
    for channel in entry.channels:
        if not channel.is_wanted:
            what = f"{channel.channel}={channel.version}"
            yield Line(area, entry.ref.name, "channels", what, NOTHING, Verdict.INTENDED, channel.why)


def _changed(area: Area, entry: Entry, change: Change, copy: Object) -> Line:
    """A field of the copy that is not as in the original. Whoever else wrote to the copy is named."""
    others = [name for name in dict.fromkeys(read_meta(Reader(copy)).field_managers) if name != CATALOG_SYNC]
    who = f"; {', '.join(others)} wrote to the copy" if others else ""
    ours, theirs = text_of(change.before), text_of(change.after)
    if change.kind is ChangeKind.ADDED:
        why, actor = f"the sync did not write this, and leaves it there{who}", Actor.YOU
    else:
        why, actor = f"the copy is not what the control plane has; the next sync writes it again{who}", Actor.KLM
    return Line(area, entry.ref.name, change.path, _short(ours), _short(theirs), Verdict.WRONG, why, actor)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _marks(area: Area, entry: Entry, original: Object, copy: Object) -> Iterator[Line]:
    for field in ("labels", "annotations"):
        ours, theirs = (dict(Reader(raw).child("metadata").labels(field)) for raw in (original, copy))
        if field == "labels":
            ours[LABEL_MANAGED_BY] = "kyma"
        ours.pop(_LAST_APPLIED, None)
        theirs.pop(_LAST_APPLIED, None)
        for key in sorted(ours.keys() | theirs.keys()):
            if ours.get(key) == theirs.get(key):
                continue
            path, before, after = f"metadata.{field}[{key}]", ours.get(key, NOTHING), theirs.get(key, NOTHING)
            if key in ours:
                why = "the copy is not what the control plane has; the next sync writes it again"
                yield Line(area, entry.ref.name, path, _short(before), _short(after), Verdict.WRONG, why, Actor.KLM)
            else:
                why = "it was set in the runtime; the sync leaves it alone"
                yield Line(area, entry.ref.name, path, NOTHING, _short(after), Verdict.INTENDED, why)
