"""Parsers of discovery documents: aggregated (one for all groups) and plain (one per group version)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Struct, field

from kymatui.adapters.http.size_limits import MOST_RESOURCES
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.decoder import read_typed
from kymatui.adapters.kube.transport.transport import Answer
from kymatui.errors import OversizedAnswerError

AGGREGATED = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


class ServedResources(Struct):
    """The resources of a server: versions by group, preferred first; resources by group and version.

    A listed version without an entry in `resources` has not been read yet. A version in `stale` could not be read
    because its API server is down.
    """

    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resources: dict[tuple[str, str], tuple[ApiResource, ...]] = field(default_factory=dict)
    stale: set[tuple[str, str]] = field(default_factory=set)


def read_versions(answer: Answer, core: bool, into: ServedResources) -> None:
    """Read the answer of /api or /apis: everything if aggregated, else the groups and their versions.

    Raise ServerError with the path of a malformed field: kymatui would otherwise take kinds that it could not read
    for kinds that are not served.
    """
    document = read_typed(answer, _versions_type)
    if document.kind == "APIGroupDiscoveryList":
        for group in document.items or ():
            _read_group(group, into)
    elif core:
        into.versions[""] = tuple(document.versions or ())
    else:
        for group in document.groups or ():
            preferred = group.preferredVersion.version if group.preferredVersion else ""
            names = [version.version for version in group.versions or ()]
            into.versions[group.name] = tuple(sorted(names, key=lambda name: name != preferred))
    _require_few(answer, len(into.versions) + sum(map(len, into.resources.values())))


def _read_group(group: Any, into: ServedResources) -> None:
    name = group.metadata.name
    into.versions[name] = tuple(version.version for version in group.versions or ())
    for version in group.versions or ():
        if version.freshness == "Stale":
            into.stale.add((name, version.version))
        into.resources[name, version.version] = tuple(_aggregated(name, version))


def _aggregated(group: str, version: Any) -> Iterator[ApiResource]:
    for item in version.resources or ():
        if item.responseKind is None or not item.responseKind.kind:
            continue  # the API serves only its subresources, not the resource itself
        yield ApiResource(
            group=group,
            version=version.version,
            kind=item.responseKind.kind,
            plural=item.resource,
            namespaced=item.scope == "Namespaced",
            verbs=tuple(item.verbs or ()),
            singular=item.singularResource or "",
            short_names=tuple(item.shortNames or ()),
            subresources=tuple(part.subresource for part in item.subresources or ()),
        )


def read_resources(group: str, version: str, answer: Answer) -> tuple[ApiResource, ...]:
    """Return the resources of a plain APIResourceList. Raise ServerError as `read_versions` does."""
    items = read_typed(answer, _resources_type).resources or ()
    _require_few(answer, len(items))
    parts: dict[str, list[str]] = {}
    for item in items:
        plural, _, part = item.name.partition("/")
        if part:
            parts.setdefault(plural, []).append(part)
    return tuple(
        ApiResource(
            group=group,
            version=version,
            kind=item.kind,
            plural=item.name,
            namespaced=item.namespaced,
            verbs=tuple(item.verbs or ()),
            singular=item.singularName or "",
            short_names=tuple(item.shortNames or ()),
            subresources=tuple(parts.get(item.name, ())),
        )
        for item in items
        if "/" not in item.name
    )


@lru_cache(maxsize=1)
def _versions_type() -> Any:
    """Return the msgspec type of /api and /apis, aggregated or not.

    One type fits the three documents because no field of one has another type in the next.
    """

    word: Any = _word()
    texts = list[str] | None
    part: Any = msgspec.defstruct("Part", [("subresource", str)])
    kind: Any = msgspec.defstruct("ResponseKind", [("kind", str, "")])
    resource: Any = msgspec.defstruct(
        "AggregatedResource",
        [
            ("resource", word),
            ("scope", str),
            ("responseKind", kind | None, None),
            ("verbs", texts, None),
            ("singularResource", str | None, None),
            ("shortNames", texts, None),
            ("subresources", list[part] | None, None),
        ],
    )
    version: Any = msgspec.defstruct(
        "Version", [("version", word), ("freshness", str | None, None), ("resources", list[resource] | None, None)]
    )
    named: Any = msgspec.defstruct("Named", [("name", str, "")])
    group: Any = msgspec.defstruct("Group", [("metadata", named), ("versions", list[version] | None, None)])
    plain: Any = msgspec.defstruct("PlainVersion", [("version", word)])
    preferred: Any = msgspec.defstruct("PreferredVersion", [("version", str, "")])
    listed: Any = msgspec.defstruct(
        "PlainGroup",
        [("name", word), ("versions", list[plain] | None, None), ("preferredVersion", preferred | None, None)],
    )
    return msgspec.defstruct(
        "Versions",
        [
            ("kind", str),
            ("items", list[group] | None, None),
            ("groups", list[listed] | None, None),
            ("versions", list[word] | None, None),
        ],
    )


@lru_cache(maxsize=1)
def _resources_type() -> Any:

    texts = list[str] | None
    resource: Any = msgspec.defstruct(
        "PlainResource",
        [
            ("name", _word("/")),
            ("kind", str),
            ("namespaced", bool),
            ("verbs", texts, None),
            ("singularName", str | None, None),
            ("shortNames", texts, None),
        ],
    )
    return msgspec.defstruct("Resources", [("kind", str), ("resources", list[resource] | None, None)])


def _word(more: str = "") -> Any:
    """Return the type of a name that becomes part of a path."""

    return Annotated[str, msgspec.Meta(pattern=rf"^[A-Za-z0-9]([A-Za-z0-9.{more}_-]*[A-Za-z0-9])?$", max_length=253)]


def _require_few(answer: Answer, count: int) -> None:
    if count > MOST_RESOURCES:
        raise OversizedAnswerError(f"{answer.server} serves more than {MOST_RESOURCES:,} resources or groups")
