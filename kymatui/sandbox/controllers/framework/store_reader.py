"""Reads of the store without requests: always current, and the caller owns the copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, ObjectStore
from kymatui.schemas.objects.object_meta_rules import selects

Obj = dict[str, Any]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class StoreReader:
    """Objects by resource and key, without `kind` and `apiVersion`."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self._types: dict[str, dict[str, str]] = {}

    def get(self, resource: str, key: Key) -> Obj | None:
        stored = self.store.get(resource, *key)
        return stored.body() if stored else None

    def type_of(self, resource: str) -> dict[str, str]:
        """Return `apiVersion` and `kind` of a CRD's objects; {} for built-in resources, which need none."""
        if resource not in self._types:
            stored = self.store.get(DEFINITIONS, "", resource)
            if stored is None:
                return {}
            spec = stored.body()["spec"]
            version = next(v["name"] for v in spec["versions"] if v["storage"])
            self._types[resource] = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
        return self._types[resource]

    def all(self, resource: str, namespace: str | None = None) -> Iterator[Obj]:
        for stored in list(self.store.walk(resource, namespace)):
            yield stored.body()

    def selected(self, resource: str, namespace: str, selector: Mapping[str, Any] | None) -> list[Obj]:
        """Return the objects that a LabelSelector matches; None selects nothing, {} everything."""
        if selector is None:
            return []
        stored = [s for s in self.store.walk(resource, namespace) if selects(selector, s.labels)]
        return [stored.body() for stored in stored]

    def keys(self, resource: str, namespace: str | None = None) -> list[Key]:
        return [stored.key for stored in self.store.walk(resource, namespace)]


def key_of(obj: Mapping[str, Any]) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def controller_of(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the owner reference with `controller: true`."""
    for reference in obj["metadata"].get("ownerReferences") or []:
        if reference.get("controller"):
            controller: Mapping[str, Any] = reference
            return controller
    return None


def is_controlled_by(obj: Mapping[str, Any], uid: str) -> bool:
    reference = controller_of(obj)
    return reference is not None and reference.get("uid") == uid


def is_terminating(obj: Mapping[str, Any]) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def owner_reference(api_version: str, kind: str, obj: Mapping[str, Any]) -> Obj:
    """Return the controller reference for objects that belong to `obj`."""
    metadata = obj["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
