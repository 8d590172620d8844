"""Which events of the operator are written: repeated ones are counted, similar ones combined, floods dropped.

The rules and numbers are those of the recorder in client-go (tools/record), so that the operator's events behave as
those of every other controller.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from typing import Final, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.domain.kyma.states import State

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED: Final = 4096
LONGEST_MESSAGE: Final = 1024
"""Characters of a message, by the API server."""
BURST: Final = 25.0
"""Events of one object that are written at once."""
REFILL_SECONDS: Final = 300.0
"""Seconds until one more event of the object may be written."""
SIMILAR: Final = 10
"""Different messages with the same reason, from which on they are combined."""
SIMILAR_SECONDS: Final = 600.0
COMBINED: Final = "(combined from similar events): "


class EventType(StrEnum):
    """The types of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class ObjectEvent(Struct, frozen=True):
    """What happened to an object; `reason` is a word in CamelCase, `message` is for people, and cut."""

    type: EventType
    reason: str
    message: str

    def __post_init__(self) -> None:
        """Cut the message before anything keeps it."""
        force_setattr(self, "message", cut_text(self.message, LONGEST_MESSAGE))


class EventSubject(Struct, frozen=True):
    """The object that an event is about."""

    ref: ObjectRef
    uid: str


class CountedEvent(Struct, frozen=True):
    """An event to write: a new one with this name, or one more of the event that is `stored` under it."""

    subject: EventSubject
    event: ObjectEvent
    name: str
    first: float
    count: int = 1
    stored: bool = False


class _Recent(Generic[K, V]):
    """The values of the keys that were used last."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > REMEMBERED:
            self._values.popitem(last=False)


class _Bucket(Struct):
    tokens: float
    at: float


class _Similar(Struct):
    at: float
    messages: set[str] = field(default_factory=set)


_Key = tuple[EventSubject, EventType, str, str]


class EventCorrelator:
    """The memory of one recorder; not thread-safe. Times are in Unix seconds."""

    def __init__(self) -> None:
        self._buckets: _Recent[EventSubject, _Bucket] = _Recent()
        self._similar: _Recent[tuple[EventSubject, EventType, str], _Similar] = _Recent()
        self._written: _Recent[_Key, CountedEvent] = _Recent()

    def correlate(self, subject: EventSubject, event: ObjectEvent, now: float) -> CountedEvent | None:
        """Return what to write, None if the object has had too many events."""
        combined = self._is_similar(subject, event, now)
        if combined:
            event = replace(event, message=COMBINED + event.message)
        if not self._may_write(subject, now):
            return None
        known = self._written.get(_key(subject, event))
        if known is None:
            return CountedEvent(subject, event, f"{subject.ref.name}.{int(now * 1e9):x}", now)
        return replace(known, event=event, count=known.count + 1)

    def written(self, counted: CountedEvent) -> None:
        """Remember a written event, which is counted from now on."""
        self._written.put(_key(counted.subject, counted.event), replace(counted, stored=True))

    def _may_write(self, subject: EventSubject, now: float) -> bool:
        bucket = self._buckets.get(subject) or _Bucket(BURST, now)
        bucket.tokens = min(BURST, bucket.tokens + max(0.0, now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        self._buckets.put(subject, bucket)
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True

    def _is_similar(self, subject: EventSubject, event: ObjectEvent, now: float) -> bool:
        key = (subject, event.type, event.reason)
        group = self._similar.get(key)
        if group is None or now - group.at > SIMILAR_SECONDS:
            group = _Similar(now)
        group.at = now
        group.messages.add(event.message)
        self._similar.put(key, group)
        if len(group.messages) < SIMILAR:
            return False
        group.messages.pop()
        return True


def _key(subject: EventSubject, event: ObjectEvent) -> _Key:
    """Return what makes two events one: of combined ones, the messages do not count."""
    message = COMBINED if event.message.startswith(COMBINED) else event.message
    return (subject, event.type, event.reason, message)


def state_event(before: str, after: str, message: str) -> ObjectEvent | None:
    """Return the event of an object's new state; None if it is the same as before, or that a new one is processed."""
    if before == after or (not before and after == State.PROCESSING):
        return None
    kind = EventType.WARNING if after in (State.ERROR, State.WARNING) else EventType.NORMAL
    return ObjectEvent(kind, after, message)
