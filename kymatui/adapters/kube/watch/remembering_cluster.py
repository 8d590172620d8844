"""A cluster whose Kymas, Manifests and release metas are read again only after a watch has reported a change."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.object_changes import WatchedChanges
from kymatui.domain.kubernetes.object_meta import OPERATOR, resource_version_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object, Write, WriteVerb

_REMEMBERED: Final = frozenset({"Kyma", "Manifest", "ModuleReleaseMeta"})
RUNTIME_KINDS: Final = frozenset({"Kyma"})
"""What controllers watch on a runtime and read more than once."""
Answered = TypeVar("Answered", Object, Object | None)
_MOST: Final = 2048
"""Answers that are kept, of some kilobytes each; the oldest go first."""


class _Answer(Struct, frozen=True):
    """The last answer about an object, as JSON; `older` are versions that it is known to have replaced."""

    body: bytes
    version: str
    older: frozenset[str]


class AnswerMemory:
    """The last answers about objects; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[ObjectRef, _Answer] = OrderedDict()

    def find(self, ref: ObjectRef) -> _Answer | None:
        with self._lock:
            return self._answers.get(ref)

    def put(self, ref: ObjectRef, answer: _Answer, before: _Answer | None) -> None:
        """Keep an answer, unless another thread has got one since `before` was found: which is newer is unknown."""
        with self._lock:
            if self._answers.pop(ref, None) is before:
                self._answers[ref] = answer
            while len(self._answers) > _MOST:
                self._answers.popitem(last=False)

    def forget(self, ref: ObjectRef) -> None:
        with self._lock:
            self._answers.pop(ref, None)


class RememberingCluster(KubeCluster):
    """A cluster that answers `get` from memory while all watches of the kind are live and know no newer version.

    What it wrote itself counts as read. An answer is as old as a watch at most, which is as much as a watch that has
    died silently can be behind (see `UNATTENDED`): writes that must not undo another client's carry a resourceVersion.
    `kinds` are those of the operator's group that are kept.
    """

    def __init__(self, *args: Any, kinds: frozenset[str] = _REMEMBERED, **more: Any) -> None:
        super().__init__(*args, **more)
        self._kinds = kinds
        self._memory = AnswerMemory()
        self._streams: weakref.WeakSet[WatchedChanges] = weakref.WeakSet()
        self._opening = threading.Lock()  # controllers read while others still open their watches

    def follow(
        self, kinds: Iterable[tuple[GroupVersionKind, str]], label: str = "", *, edits: bool = False
    ) -> WatchedChanges:
        changes = super().follow(kinds, label, edits=edits)
        with self._opening:
            self._streams.add(changes)
        return changes

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:

        if not self._is_remembered(ref):
            return super().get(ref, cancel=cancel)
        known, watched = self._memory.find(ref), self._watched(ref)
        if known is not None and watched and watched <= {known.version, *known.older}:
            body: Object = msgspec.json.decode(known.body)
            return body
        return self._remember(ref, partial(super().get, ref, cancel=cancel))

    def is_unseen(self, ref: ObjectRef) -> bool:
        """Return whether a watch would have reported the object, and neither that nor an answer has."""
        if self._memory.find(ref) is not None:
            return False
        streams = self._followed()
        return any(stream.misses(ref) for stream in streams) and not any(
            any(stream.versions_of(ref)) for stream in streams
        )

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        send = partial(super().write, write, cancel=cancel)
        if write.verb is WriteVerb.DELETE:
            self._memory.forget(write.ref)
            return send()
        return send() if write.dry_run or not self._is_remembered(write.ref) else self._remember(write.ref, send)

    def _followed(self) -> list[WatchedChanges]:
        with self._opening:
            return list(self._streams)

    def _watched(self, ref: ObjectRef) -> frozenset[str]:
        """Return the versions that the watches know, empty if one of them does not see the object."""
        versions = [version for changes in self._followed() for version in changes.versions_of(ref)]
        return frozenset(filter(None, versions)) if all(versions) else frozenset()

    def _remember(self, ref: ObjectRef, send: Callable[[], Answered]) -> Answered:
        """Ask the server and keep its answer; after an error, nothing is known any more."""

        before, watched = self._memory.find(ref), self._watched(ref)
        answer = None
        try:
            answer = send()
        finally:
            if answer is None:
                self._memory.forget(ref)
        if answer is not None:
            version = resource_version_of(answer)
            older = watched
            if before is not None and watched != {before.version}:  # else no watch reports an older one any more
                older |= before.older | {before.version}
            self._memory.put(ref, _Answer(msgspec.json.encode(answer), version, older - {version}), before)
        return answer

    def _is_remembered(self, ref: ObjectRef) -> bool:
        return ref.kind.group == OPERATOR and ref.kind.kind in self._kinds
