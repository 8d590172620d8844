"""A control plane for one of several replicas: Kymas and Manifests are written in the version that was read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object, PatchKind
from kymatui.engine.cluster.request_scope import current_scope

_LOCKED: Final = frozenset({"Kyma", "Manifest"})


class LockedCluster(RememberingCluster):
    """A cluster in which writes under a term have the resource version that was read under it.

    A write that another replica's has overtaken, however late it arrives, fails with ConflictError.
    """

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        body = super().get(ref, cancel=cancel)
        return _seen(body) if body is not None else None

    def list(
        self,
        gvk: GroupVersionKind,
        namespace: str = "",
        *,
        labels: str = "",
        with_managed_fields: bool = False,
        cancel: threading.Event | None = None,
    ) -> list[Object]:
        return [
            _seen(body)
            for body in super().list(
                gvk, namespace, labels=labels, with_managed_fields=with_managed_fields, cancel=cancel
            )
        ]

    def apply(self, body: Mapping[str, Any], **how: Any) -> Object:
        return super().apply({**body, "metadata": _locked(read_ref(body), body["metadata"])}, **how)

    def patch(
        self, ref: ObjectRef, patch: Mapping[str, Any] | Sequence[Mapping[str, Any]], kind: PatchKind, **how: Any
    ) -> Object:
        if isinstance(patch, Mapping):
            metadata = _locked(ref, patch.get("metadata") or {})
            patch = {**patch, "metadata": metadata} if metadata else patch
        return super().patch(ref, patch, kind, **how)

    def delete(self, ref: ObjectRef, *, resource_version: str = "", **how: Any) -> bool:
        version = resource_version or _locked(ref, {}).get("resourceVersion", "")
        return super().delete(ref, resource_version=version, **how)

    def _write(self, ref: ObjectRef, write: Callable[[ApiResource], Object], *, dry_run: bool = False) -> Object:
        return _seen(super()._write(ref, write, dry_run=dry_run))


def _seen(body: Object) -> Object:
    """Remember the version of a locked object that was read or written under a term."""
    scope = current_scope()
    if scope.term is not None and body.get("kind") in _LOCKED:
        scope.versions[read_ref(body)] = str(body["metadata"].get("resourceVersion") or "")
    return body


def _locked(ref: ObjectRef, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the version of an object that was read under the term."""
    version = current_scope().versions.get(ref) if ref.kind.group == OPERATOR else None
    return {"resourceVersion": version, **metadata} if version else dict(metadata)
