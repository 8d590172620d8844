"""The object store, in place of etcd and the watch cache: objects, one version counter, a change log.

Objects are stored as JSON text without `kind` and `apiVersion`: a list page is then a join of texts, and every reader
gets its own copy. The few fields that lists filter on are stored beside the text. The log holds each change with the
text before and after it, so a watch can resume at an old version and later pages show the state of the first page.
The store knows no HTTP, schemas or controllers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]
"""(namespace, name); the namespace of cluster-scoped objects is ""."""

LOG_LENGTH = 20_000
"""How many changes a resource remembers; what is older is answered with 410 Expired."""

_NO_LABELS: dict[str, str] = {}


class VersionTooOldError(Exception):
    """The log no longer reaches back to the requested version."""

    def __init__(self, version: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {version} ({oldest})")
        self.version = version
        self.oldest = oldest


class Stored:
    """One object at one version; immutable, shared by index, log and watches."""

    __slots__ = ("data", "key", "labels", "uid", "version")

    def __init__(self, key: Key, version: int, uid: str, labels: dict[str, str], data: bytes) -> None:
        self.key = key
        self.version = version
        self.uid = uid
        self.labels = labels
        self.data = data

    @property
    def namespace(self) -> str:
        return self.key[0]

    @property
    def name(self) -> str:
        return self.key[1]

    def body(self) -> dict[str, Any]:
        """Return a copy of the object without `kind` and `apiVersion`; the caller may change it."""
        value: dict[str, Any] = msgspec.json.decode(self.data)
        return value

    def encoded(self, prefix: bytes) -> bytes:
        """Return the object's JSON with `kind` and `apiVersion` in front; see `type_prefix`."""
        return prefix + self.data[1:]


class StoreChange(Struct, frozen=True):
    """One entry of the log. `previous` is None for ADDED; for DELETED, `current` is the last state."""

    kind: ChangeKind
    resource: str
    version: int
    current: Stored
    previous: Stored | None


def type_prefix(api_version: str, kind: str) -> bytes:
    """Return the prefix that `Stored.encoded` puts before the fields of an object."""
    return b'{"kind":' + msgspec.json.encode(kind) + b',"apiVersion":' + msgspec.json.encode(api_version) + b","


class Selection(Struct, frozen=True):
    """Objects in the order of their keys."""

    keys: list[str]
    _objects: dict[str, Stored]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Stored]:
        objects = self._objects
        return (objects[key] for key in self.keys)

    def first(self, count: int) -> list[Stored]:
        """Return at most the first `count` objects."""
        return [self._objects[key] for key in self.keys[:count]]


class _Table(Struct):
    """The objects of one resource by path, their sorted paths, and their log."""

    objects: dict[str, Stored] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    log: deque[StoreChange] = field(default_factory=deque)
    forgotten: int = 0  # the newest version that is no longer in the log


class ObjectStore:
    """All resources by name: "pods", "deployments.apps", "kymas.operator.kyma-project.io".

    Writes take a whole object (a dict with `metadata.name`, `metadata.uid`), assign the next resource version, and
    call the listeners. Callers check preconditions: only one thread writes, so what it just read is still current.
    """

    def __init__(self, log_length: int = LOG_LENGTH) -> None:
        self.version = 1
        self.compacted = 0
        self._log_length = log_length
        self._tables: dict[str, _Table] = {}
        self._listeners: dict[str, list[Callable[[StoreChange], None]]] = {}

    # -- reading

    def get(self, resource: str, namespace: str, name: str) -> Stored | None:
        table = self._tables.get(resource)
        return table.objects.get(_path((namespace, name))) if table else None

    def count(self, resource: str, namespace: str | None = None) -> int:
        table = self._tables.get(resource)
        if table is None:
            return 0
        return len(table.keys) if namespace is None else _end(table.keys, namespace) - _start(table.keys, namespace)

    def walk(self, resource: str, namespace: str | None = None, after: Key | None = None) -> Iterator[Stored]:
        """Yield objects in path order, of one namespace or of all, after the key `after`."""
        table = self._tables.get(resource)
        if table is None:
            return
        objects = table.objects
        for key in _between(table.keys, namespace, after):
            yield objects[key]

    def resources(self) -> list[str]:
        """Return the names of the resources with objects or a log."""
        return list(self._tables)

    def select(
        self, resource: str, namespace: str | None = None, after: Key | None = None, version: int | None = None
    ) -> Selection:
        """Return the objects of `walk` as a selection of known length, at `version` if given.

        Raise `VersionTooOldError` if the log does not reach back to it.
        """
        table = self._tables.get(resource)
        if table is None:
            return Selection([], {})
        undone = self._undone(resource, version) if version is not None else {}
        if not undone:
            return Selection(_between(table.keys, namespace, after), table.objects)
        objects, keys = dict(table.objects), list(table.keys)
        for key, then in undone.items():
            if then is not None:
                if key not in objects:
                    insort(keys, key)
                objects[key] = then
            elif key in objects:
                del objects[key]
                del keys[bisect_left(keys, key)]
        return Selection(_between(keys, namespace, after), objects)

    def _undone(self, resource: str, version: int) -> dict[str, Stored | None]:
        """Return the state at `version` of each object that changed since (None: it did not exist)."""
        undone: dict[str, Stored | None] = {}
        table = self._tables.get(resource)
        if table is None or version >= self.version:
            return undone
        oldest = max(table.forgotten, self.compacted)
        if version < oldest:
            raise VersionTooOldError(version, oldest)
        for change in reversed(table.log):
            if change.version <= version:
                break
            undone[_path(change.current.key)] = change.previous
        return undone

    def changes_after(self, resource: str, version: int) -> list[StoreChange]:
        """Return the changes after a version, oldest first. Raise `VersionTooOldError`."""
        table = self._tables.get(resource)
        if table is None:
            return []
        if version < table.forgotten:
            raise VersionTooOldError(version, table.forgotten)
        changes: list[StoreChange] = []
        for change in reversed(table.log):
            if change.version <= version:
                break
            changes.append(change)
        changes.reverse()
        return changes

    # -- writing

    def put(self, resource: str, obj: dict[str, Any]) -> Stored:
        """Create or replace the object; sets `metadata.resourceVersion` in `obj`, drops nothing from it."""
        table = self._tables.setdefault(resource, _Table())
        metadata = obj["metadata"]
        key = (metadata.get("namespace") or "", metadata["name"])
        path = _path(key)
        previous = table.objects.get(path)
        self.version += 1
        stored = self._stored(obj, key)
        table.objects[path] = stored
        if previous is None:
            insort(table.keys, path)
        self._record(table, StoreChange("MODIFIED" if previous else "ADDED", resource, self.version, stored, previous))
        return stored

    def remove(self, resource: str, namespace: str, name: str, last: dict[str, Any] | None = None) -> Stored:
        """Delete the object; its last state (`last`, or the stored one) gets the version of the deletion."""
        table = self._tables[resource]
        path = _path((namespace, name))
        previous = table.objects.pop(path)
        del table.keys[bisect_left(table.keys, path)]
        self.version += 1
        stored = self._stored(previous.body() if last is None else last, previous.key)
        self._record(table, StoreChange("DELETED", resource, self.version, stored, previous))
        return stored

    def _stored(self, obj: dict[str, Any], key: Key) -> Stored:
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self.version)
        fields = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
        labels = metadata.get("labels") or _NO_LABELS
        return Stored(key, self.version, metadata.get("uid", ""), dict(labels), msgspec.json.encode(fields))

    def _record(self, table: _Table, change: StoreChange) -> None:
        table.log.append(change)
        while len(table.log) > self._log_length:
            table.forgotten = table.log.popleft().version
        for listener in tuple(self._listeners.get(change.resource, ())):
            listener(change)
        for listener in tuple(self._listeners.get("*", ())):
            listener(change)

    def compact(self) -> None:
        """Make older states impossible to list; watches can still resume."""
        self.compacted = self.version

    def forget(self, resource: str) -> None:
        """Empty the log of a resource, as etcd's compaction does: every older version is expired."""
        table = self._tables.get(resource)
        if table is not None:
            table.log.clear()
            table.forgotten = self.version

    # -- listening

    def listen(self, resource: str, listener: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Call `listener` within each write of `resource` ("*": any); return a function that ends it.

        A listener must not write. Controllers use `LocalClient.subscribe`, which calls back after the write.
        """
        listeners = self._listeners.setdefault(resource, [])
        listeners.append(listener)

        def stop() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return stop


def _path(key: Key) -> str:
    """Return the path; lists are in the order of etcd's keys, where "a-b/x" precedes "a/x"."""
    return f"{key[0]}/{key[1]}"


def _start(keys: list[str], namespace: str) -> int:
    return bisect_left(keys, namespace + "/")


def _end(keys: list[str], namespace: str) -> int:
    return bisect_left(keys, namespace + "0")  # "0" is the character after "/"


def _between(keys: list[str], namespace: str | None, after: Key | None) -> list[str]:
    start = 0 if namespace is None else _start(keys, namespace)
    end = len(keys) if namespace is None else _end(keys, namespace)
    if after is not None:
        start = max(start, bisect_right(keys, _path(after)))
    return keys[start:end]
