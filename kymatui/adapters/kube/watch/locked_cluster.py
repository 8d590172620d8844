"""A control plane for one of several replicas: Kymas and Manifests are written in the version that was read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final, Unpack

from msgspec.structs import replace

from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref, resource_version_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object, ObjectListOptions, Write, WriteVerb
from kymatui.engine.cluster.request_scope import current_scope

_LOCKED: Final = frozenset({"Kyma", "Manifest"})


class LockedCluster(RememberingCluster):
    """A cluster in which writes under a term have the resource version that was read under it.

    A write that another replica's has overtaken, however late it arrives, fails with ConflictError.
    """

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        body = super().get(ref, cancel=cancel)
        return _seen(body) if body is not None else None

    def list(self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]) -> list[Object]:
        return [_seen(body) for body in super().list(gvk, namespace, **options)]

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        answer = super().write(_with_lock(write), cancel=cancel)
        return answer if write.verb is WriteVerb.DELETE else _seen(answer)


def _with_lock(write: Write) -> Write:
    """Return the write with the version of its object that was read under the term, where it has none itself."""
    version = current_scope().versions.get(write.ref) if write.ref.kind.group == OPERATOR else None
    if not version:
        return write
    if write.verb is WriteVerb.DELETE:
        return write if write.resource_version else replace(write, resource_version=version)
    if write.verb in (WriteVerb.APPLY, WriteVerb.PATCH) and isinstance(write.body, Mapping):
        metadata = {"resourceVersion": version, **(write.body.get("metadata") or {})}
        return replace(write, body={**write.body, "metadata": metadata})
    return write


def _seen(body: Object) -> Object:
    """Remember the version of a locked object that was read or written under a term."""
    scope = current_scope()
    if scope.term is not None and body.get("kind") in _LOCKED:
        scope.versions[read_ref(body)] = resource_version_of(body)
    return body
