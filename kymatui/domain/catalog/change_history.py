"""The history of changes between snapshots: state, version, drift and conditions of each module.

What happened before the first snapshot comes from the cluster, as far as objects record it: creation, deletion,
conditions, the last write of each field manager, and Events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from kymatui.domain.catalog.module_events import Event
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import field_writers
from kymatui.domain.kubernetes.object_meta import Condition, read_conditions, read_meta
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.states import State, state_rank
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, FeedState, Object, Snapshot, is_namespaced_feed, same_items
from kymatui.domain.versions.messages import drift_words

MAX_CHANGES = 2000
"""Maximum number of changes in memory; older ones are dropped."""


STATE: Final = "state"
"""What a change of a module's state is about."""


class ModuleChange(Struct, frozen=True):
    """One change of one module.

    `at` is when kymatui saw it, or when the cluster recorded it before that; `since` is when it happened according to
    the cluster (conditions have this), both in seconds of the Unix clock. `what` names the fact, `about` the object, ""
    for the module as a whole. `before` is "" for a new fact, `after` for a removed one.
    """

    at: float
    module: str
    what: str
    before: str
    after: str
    about: str = ""
    since: float | None = None
    ref: ObjectRef | None = None
    """The reference of `about`."""


class _Fact(Struct, frozen=True):
    value: str
    since: float | None = None
    ref: ObjectRef | None = None


_Facts = Mapping[tuple[str, str], _Fact]


class ChangeHistory:
    """The comparison of each snapshot with the one before. One thread calls `see`; any thread may read."""

    def __init__(self, kept: int = MAX_CHANGES) -> None:
        self._kept = kept
        self._seen: dict[str, _Facts] | None = None
        self._kept_facts: dict[str, tuple[ModuleRow, tuple[Object | None, ...], _Facts]] = {}
        self._changes: tuple[ModuleChange, ...] = ()
        self._recorded: tuple[ModuleChange, ...] = ()
        self._began = 0.0

    @property
    def changes(self) -> tuple[ModuleChange, ...]:
        """Return all changes since the first snapshot, the newest first."""
        return self._changes

    @property
    def is_read(self) -> bool:
        """Return whether the lists came from which changes are known."""
        return self._seen is not None

    @property
    def known(self) -> tuple[ModuleChange, ...]:
        """Return all changes and what the cluster recorded before the first snapshot, the newest first."""
        return (*self._changes, *self._recorded)

    def of(self, module: str, events: Iterable[tuple[Event, ObjectRef]] = ()) -> tuple[ModuleChange, ...]:
        """Return the changes of one module, the newest first; `events` are those of its objects."""
        earlier = [change for change in self._recorded if change.module == module]
        earlier += (_event_change(module, event, ref) for event, ref in events if event.last_seen < self._began)
        earlier.sort(key=lambda change: -change.at)
        return (*(change for change in self._changes if change.module == module), *earlier)

    def see(self, catalog: Catalog, snapshot: Snapshot, locations: ObjectIndex, now: float) -> None:
        """Compare a new catalog with the last one; while the first lists load, nothing counts as a change."""
        facts = {row.name: self._facts_of(row, locations) for row in catalog.rows}
        self._kept_facts = {name: kept for name, kept in self._kept_facts.items() if name in facts}
        if self._seen is None and _loading(snapshot):
            return
        if self._seen is not None:
            changes = sorted(
                _changes(self._seen, facts, now), key=lambda change: (change.module, change.about, change.what)
            )
            if changes:
                self._changes = (*changes, *self._changes)[: self._kept]
        else:
            self._began = now
            recorded = (change for row in catalog.rows for change in _recorded_changes(row, locations))
            self._recorded = tuple(sorted(recorded, key=lambda change: -change.at))[: self._kept]
        self._seen = facts

    def _facts_of(self, row: ModuleRow, locations: ObjectIndex) -> _Facts:
        """Return a row's facts; compute them again only if the row or one of its objects changed."""
        objects = tuple(locations.find(ref) for ref in _observed(row))
        kept = self._kept_facts.get(row.name)
        if kept is not None and kept[0] is row and same_items(kept[1], objects):
            return kept[2]
        facts = dict(_facts(row, objects))
        self._kept_facts[row.name] = row, objects, facts
        return facts


def _recorded_changes(row: ModuleRow, locations: ObjectIndex) -> Iterator[ModuleChange]:
    """Yield what the objects of a module record of earlier changes, each with its time by the cluster's clock.

    Of its fields an object keeps the last write of each manager; status is left out, because conditions tell it.
    """
    for ref in _observed(row):
        raw = locations.find(ref)
        if raw is None:
            continue
        reader = JsonReader(raw)
        meta = read_meta(reader)
        moments = [(meta.created, "object", "created"), (meta.deleted, "deletion", "requested")]
        for condition in read_conditions(reader.child("status")):
            moments.append((condition.since, f"condition {condition.type}", _condition_value(condition)))
        for writer in field_writers(raw):
            parts = sorted({path[0].removeprefix("f:") for path in writer.fields})
            if writer.subresource != "status" and parts != ["status"] and writer.at != meta.created:
                moments.append((writer.at, f"written by {writer.manager or 'an unnamed client'}", ", ".join(parts)))
        for at, what, value in moments:
            if at is not None:
                yield ModuleChange(at, row.name, what, "", value, str(ref), at, ref)


def _event_change(module: str, event: Event, ref: ObjectRef) -> ModuleChange:
    at = event.last_seen
    return ModuleChange(at, module, f"event {event.reason}", "", event.message, str(ref), at, ref)


def _condition_value(condition: Condition) -> str:
    return f"{condition.status} ({condition.reason})" if condition.reason else condition.status


def changes_since(changes: Sequence[ModuleChange], last: ModuleChange | None) -> Sequence[ModuleChange]:
    """Return the changes after `last`, the newest first; all of them if it is None or no longer kept."""
    return tuple(takewhile(lambda change: change is not last, changes))


def worse_states(changes: Iterable[ModuleChange]) -> Iterator[ModuleChange]:
    """Yield the changes of a module's state to a worse one that is a problem: Warning or Error."""
    for change in changes:
        is_problem = change.what == STATE and change.after in (State.WARNING, State.ERROR)
        if is_problem and change.before and state_rank(State(change.after)) < state_rank(State(change.before)):
            yield change


def _observed(row: ModuleRow) -> Iterator[ObjectRef]:
    """Yield the objects whose conditions are compared."""
    yield from (checked.resource for checked in row.checked)
    yield from (ref for ref in (row.manifest, row.manager) if ref is not None)


def _loading(snapshot: Snapshot) -> bool:
    """Return whether a list of the cluster is still loading; event lists do not count."""
    return any(
        feed.state is FeedState.SYNCING
        for name, feed in snapshot.feeds.items()
        if not name.startswith(CATALOG_FEED) and not is_namespaced_feed(name)
    )


def _facts(row: ModuleRow, objects: Sequence[Object | None]) -> Iterator[tuple[tuple[str, str], _Fact]]:
    """Yield the facts to compare; an absent fact is left out."""
    plain = {
        STATE: str(row.state),
        "presence": str(row.presence),
        "installed": row.installed,
        "desired": row.desired,
        "newest": row.newest,
        "channel": row.channel,
        "drift": drift_words(row.drift),
        "managed": "yes" if row.managed else "no",
        "reported by the Kyma": row.reports.kyma,
        "reported by the Manifest": row.reports.manifest,
    }
    for what, value in plain.items():
        if value:
            yield ("", what), _Fact(value)
    for ref, raw in zip(_observed(row), objects, strict=True):
        for condition in read_conditions(JsonReader(raw).child("status")) if raw is not None else ():
            yield (str(ref), f"condition {condition.type}"), _Fact(_condition_value(condition), condition.since, ref)


def _changes(before: Mapping[str, _Facts], after: Mapping[str, _Facts], now: float) -> Iterator[ModuleChange]:
    for name in before.keys() | after.keys():
        if name not in before:
            yield ModuleChange(now, name, "module", "", "in the catalog")
        elif name not in after:
            yield ModuleChange(now, name, "module", "in the catalog", "")
        elif before[name] is not after[name]:
            yield from _module_changes(name, before[name], after[name], now)


def _module_changes(name: str, before: _Facts, after: _Facts, now: float) -> Iterator[ModuleChange]:
    for about, what in before.keys() | after.keys():
        old, new = before.get((about, what)), after.get((about, what))
        if (old.value if old else "") != (new.value if new else ""):
            since, fact = new.since if new is not None else None, new or old
            ref = fact.ref if fact is not None else None
            yield ModuleChange(now, name, what, old.value if old else "", new.value if new else "", about, since, ref)
