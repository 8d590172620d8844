"""The contents of a namespace that its deletion would destroy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Cluster, Object, ServedKind
from kymatui.errors import ForbiddenError

_TRANSIENT: Final = frozenset(
    {
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("", "Endpoints"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("coordination.k8s.io", "Lease"),
        ("metrics.k8s.io", "PodMetrics"),
    }
)
_NOTHING_TO_LOSE: Final = frozenset({"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"})
"""Groups without stored objects; their API servers are often down."""
_GIVEN: Final = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})


class NamespaceContent(Struct, frozen=True):
    """One content of a namespace; without a reference for a kind that cannot be listed."""

    message: str
    uid: str = ""
    ref: ObjectRef | None = None


def list_foreign_contents(
    cluster: Cluster,
    namespace: str,
    is_ours: Callable[[ObjectRef, Object], bool],
    cancel: threading.Event,
    width: int,
) -> tuple[NamespaceContent, ...]:
    """Return the contents that are not ours; a kind that cannot be listed counts as content."""
    kinds = [kind for kind in cluster.all_kinds() if _matters(kind)]
    found = run_for_each(kinds, lambda kind: _others(cluster, kind, namespace, is_ours), cancel, width)
    unread = [NamespaceContent(f"the kinds of {'/'.join(name)}, which cannot be read") for name in _unread(cluster)]
    return (*(other for some in found for other in some), *unread)


def _unread(cluster: Cluster) -> list[tuple[str, str]]:
    return [name for name in cluster.unread_groups() if name[0] not in _NOTHING_TO_LOSE]


def _matters(kind: ServedKind) -> bool:
    listed = {"list", "delete"} <= set(kind.verbs)
    return kind.namespaced and listed and (kind.gvk.group, kind.gvk.kind) not in _TRANSIENT


def _others(
    cluster: Cluster, kind: ServedKind, namespace: str, is_ours: Callable[[ObjectRef, Object], bool]
) -> list[NamespaceContent]:
    try:
        bodies = cluster.list(kind.gvk, namespace)
    except ForbiddenError:
        return [NamespaceContent(f"{kind.resource}, which may not be listed")]
    refs = [(ObjectRef(kind.gvk, namespace, body["metadata"]["name"]), body) for body in bodies]
    return [
        NamespaceContent(str(ref), str(body["metadata"].get("uid") or ""), ref)
        for ref, body in refs
        if not (_comes_and_goes(ref, body["metadata"]) or is_ours(ref, body))
    ]


def _comes_and_goes(ref: ObjectRef, metadata: Mapping[str, Any]) -> bool:
    """Return whether an object is in every namespace, has an owner, or is already being deleted."""
    return bool(
        (ref.kind.kind, ref.name) in _GIVEN or metadata.get("ownerReferences") or metadata.get("deletionTimestamp")
    )
