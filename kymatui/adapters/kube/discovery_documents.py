"""The documents of discovery, read: aggregated (one answer for everything) and plain (one a group version)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kymatui.adapters.kube.resources import Resource

AGGREGATED = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


@dataclass(slots=True)
class Served:
    """What is known of a server: versions by group, preferred first; resources by group and version.

    A version that is listed and has no entry in `resources` has not been asked for yet; one in `stale` could not be
    read because the server behind it is down.
    """

    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resources: dict[tuple[str, str], tuple[Resource, ...]] = field(default_factory=dict)
    stale: set[tuple[str, str]] = field(default_factory=set)


def is_aggregated(document: Mapping[str, Any]) -> bool:
    return document.get("kind") == "APIGroupDiscoveryList"


def read_aggregated(document: Mapping[str, Any], into: Served) -> None:
    """Reads an APIGroupDiscoveryList; entries that make no sense are passed over."""
    for item in _objects(document.get("items")):
        group = str((item.get("metadata") or {}).get("name") or "")
        versions = list(_objects(item.get("versions")))
        into.versions[group] = tuple(str(version.get("version")) for version in versions)
        for version in versions:
            name = str(version.get("version"))
            if version.get("freshness") == "Stale":
                into.stale.add((group, name))
            into.resources[group, name] = tuple(_aggregated(group, name, version))


def _aggregated(group: str, version: str, document: Mapping[str, Any]) -> Iterator[Resource]:
    for item in _objects(document.get("resources")):
        kind = (item.get("responseKind") or {}).get("kind")
        plural = item.get("resource")
        if isinstance(kind, str) and kind and isinstance(plural, str) and plural:
            yield Resource(
                group=group,
                version=version,
                kind=kind,
                plural=plural,
                namespaced=item.get("scope") == "Namespaced",
                verbs=_texts(item.get("verbs")),
                singular=str(item.get("singularResource") or ""),
                short_names=_texts(item.get("shortNames")),
                subresources=tuple(str(sub.get("subresource")) for sub in _objects(item.get("subresources"))),
            )


def read_groups(document: Mapping[str, Any], into: Served) -> None:
    """Reads a plain APIGroupList: names and versions, without resources."""
    for item in _objects(document.get("groups")):
        preferred = str((item.get("preferredVersion") or {}).get("version") or "")
        names = [str(version.get("version")) for version in _objects(item.get("versions"))]
        into.versions[str(item.get("name"))] = tuple(sorted(names, key=lambda name: name != preferred))


def read_resources(group: str, version: str, document: Mapping[str, Any]) -> tuple[Resource, ...]:
    """Reads a plain APIResourceList."""
    items = [item for item in _objects(document.get("resources")) if item.get("name") and item.get("kind")]
    parts: dict[str, list[str]] = {}
    for item in items:
        plural, _, part = str(item["name"]).partition("/")
        if part:
            parts.setdefault(plural, []).append(part)
    return tuple(
        Resource(
            group=group,
            version=version,
            kind=str(item["kind"]),
            plural=str(item["name"]),
            namespaced=item.get("namespaced") is True,
            verbs=_texts(item.get("verbs")),
            singular=str(item.get("singularName") or ""),
            short_names=_texts(item.get("shortNames")),
            subresources=tuple(parts.get(str(item["name"]), ())),
        )
        for item in items
        if "/" not in str(item["name"])
    )


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
