"""The events of a module's objects and of the ReplicaSets, Pods and Jobs that they own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.json_reader import mapping_at, text_at
from kymatui.domain.kubernetes.object_meta import parse_time, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact, explain_gaps
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import EVENTS, FeedState, Snapshot, followed_kind

_DEEPEST = 5  # CronJob, Job, Pod need 3 levels; this limit stops a hostile chain of owners


class EventsAvailability(StrEnum):
    """The reasons why a list of events may be empty."""

    LISTED = "listed"
    LOADING = "loading"
    FORBIDDEN = "forbidden"
    FAILED = "failed"
    NO_OBJECTS = "no objects"


_NAMING = (RowFact.CHECKS, RowFact.STATE, RowFact.MANIFEST)
"""The facts that identify a module's objects."""
_HIDDEN = {
    ListGap.LOADING: EventsAvailability.LOADING,
    ListGap.FORBIDDEN: EventsAvailability.FORBIDDEN,
    ListGap.UNKNOWN: EventsAvailability.FAILED,
}


class Event(Struct, frozen=True):
    """One event of core/v1 as it was last seen.

    kind, namespace, name  the object it is about
    count                  how often it came, 0 where the server does not say
    last_seen                   when it came last, in seconds of the Unix clock; 0 where the server does not say
    """

    uid: str
    kind: str
    namespace: str
    name: str
    type: str
    reason: str
    message: str
    count: int
    last_seen: float

    @property
    def is_warning(self) -> bool:
        return self.type == "Warning"


def module_objects(row: ModuleRow) -> tuple[ObjectRef, ...]:
    """Return the module CRs, the manager, the Manifest, and the workloads of a recorded installation."""
    resources = (checked.resource for checked in row.checked)
    known = (*resources, *(ref for ref in (row.manager, row.manifest) if ref is not None), *row.workloads)
    return tuple(dict.fromkeys(known))


def event_objects(row: ModuleRow, locations: ObjectIndex) -> tuple[ObjectRef, ...]:
    """Return a module's objects and the ReplicaSets, Pods and Jobs that they own, down to a fixed depth."""
    return tuple(dict.fromkeys(_with_owned(module_objects(row), locations, 0)))


def _with_owned(refs: Iterable[ObjectRef], locations: ObjectIndex, depth: int) -> Iterator[ObjectRef]:
    for ref in refs:
        yield ref
        raw = locations.find(ref) if depth < _DEEPEST else None
        if raw is not None:
            yield from _with_owned(map(read_ref, locations.owned_by(raw)), locations, depth + 1)


def events_about(snapshot: Snapshot, refs: Iterable[ObjectRef]) -> list[tuple[Event, ObjectRef]]:
    """Return the events of objects, each with its object, the newest first."""
    subjects = {(ref.kind.kind, ref.namespace, ref.name): ref for ref in refs}
    events = []
    for event in map(read_event, snapshot.events):
        ref = subjects.get((event.kind, event.namespace, event.name))
        if ref is not None:
            events.append((event, ref))
    return sorted(events, key=lambda pair: pair[0].last_seen, reverse=True)


def events_availability(row: ModuleRow, snapshot: Snapshot) -> EventsAvailability:
    """Return whether all of a module's events are listed, or why not."""
    if not module_objects(row):
        why = next((row.unknown[fact] for fact in _NAMING if fact in row.unknown), None)
        return EventsAvailability.NO_OBJECTS if why is None else _HIDDEN[why.gap]
    states = {feed.state for name, feed in snapshot.feeds.items() if followed_kind(name) == EVENTS}
    if FeedState.FORBIDDEN in states:
        return EventsAvailability.FORBIDDEN
    if not states or FeedState.SYNCING in states:
        return EventsAvailability.LOADING
    if states & {FeedState.FAILED, FeedState.ABSENT}:
        return EventsAvailability.FAILED
    return EventsAvailability.LISTED


def unlisted_events(row: ModuleRow, snapshot: Snapshot) -> UnknownFact | None:
    """Return why more objects of the module may have events; None if all its objects are listed."""
    named = [why for fact in _NAMING if (why := row.unknown.get(fact)) is not None]
    owned = (name for name in snapshot.feeds if followed_kind(name) not in ("", EVENTS))
    return next(iter((*explain_gaps(snapshot.feeds, owned), *named)), None)


def read_event(raw: Mapping[str, Any]) -> Event:
    """Read an event; a field that is missing or has the wrong type is empty."""
    about, metadata, series = (mapping_at(raw, name) for name in ("involvedObject", "metadata", "series"))
    count = series.get("count") or raw.get("count")
    return Event(
        uid=text_at(metadata, "uid"),
        kind=text_at(about, "kind"),
        namespace=text_at(about, "namespace"),
        name=text_at(about, "name"),
        type=text_at(raw, "type"),
        reason=text_at(raw, "reason"),
        message=text_at(raw, "message"),
        count=count if isinstance(count, int) else 0,
        last_seen=_seen(raw, series),
    )


def _seen(raw: Mapping[str, Any], series: Mapping[str, Any]) -> float:
    """Return the newest time: newer clients count repetitions in `series`, older ones in `lastTimestamp`."""
    texts = (
        series.get("lastObservedTime"),
        *(raw.get(name) for name in ("lastTimestamp", "eventTime", "firstTimestamp")),
    )
    for text in texts:
        if isinstance(text, str) and text:
            moment = parse_time(text)
            if moment is not None:
                return moment
    return 0.0
