"""Definitions as far as names and readiness go: their metadata is watched, the rest is known from discovery.

Whole definitions are megabytes. What discovery serves is established.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kymatui.domain.snapshot.snapshots import Object

if TYPE_CHECKING:
    from kymatui.adapters.kube.objects.api_resource import ApiResource


class CrdMetadata:
    """Makes each definition once: who compares by identity sees only those that changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._from: tuple[Sequence[Object], Mapping[str, ApiResource]] = ((), {})
        self._made: dict[int, tuple[Object, ApiResource | None, Object]] = {}
        self._all: tuple[Object, ...] = ()

    def of(self, items: Sequence[Object], served: Mapping[str, ApiResource]) -> tuple[Object, ...]:
        """Return the CRDs of these objects with their `served` resources; the same tuple until a change."""
        with self._lock:
            if self._from[0] is not items or self._from[1] is not served:
                self._made = {id(item): self._one(item, served) for item in items}
                self._all = tuple(made for _, _, made in self._made.values())
                self._from = items, served
            return self._all

    def _one(self, item: Object, served: Mapping[str, ApiResource]) -> tuple[Object, ApiResource | None, Object]:
        resource = served.get(crd_name(item))
        known = self._made.get(id(item))
        if known is not None and known[0] is item and known[1] == resource:
            return known
        return item, resource, _definition(item, resource)


def _definition(item: Object, resource: ApiResource | None) -> Object:
    plural, _, group = crd_name(item).partition(".")
    names = {"plural": plural, "kind": resource.kind if resource is not None else ""}
    scope = "Namespaced" if resource is None or resource.namespaced else "Cluster"
    made: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": item.get("metadata") or {},
        "spec": {"group": group, "names": names, "scope": scope},
    }
    if resource is not None:
        conditions = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
        made["status"] = {"conditions": conditions}
    return made


def crd_name(item: Object) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, Mapping) else ""
