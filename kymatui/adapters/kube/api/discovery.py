"""Discovery of the resources that a cluster serves, read once and cached on disk.

Aggregated discovery takes one request for all groups. A server without it is asked only for the group versions that
are needed. An unknown kind is looked up again, at most once per `_PATIENT_FOR`.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Struct, field

from kymatui.adapters.http.response_body import MOST_RESOURCES
from kymatui.adapters.kube.objects.api_resource import ApiResource, group_path
from kymatui.adapters.kube.objects.decoder import read_typed
from kymatui.adapters.kube.transport.transport import Answer, Request, Transport
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.errors import ForbiddenError, NotFoundError, OversizedAnswerError, ServerError
from kymatui.own_files import read_own, write_own
from kymatui.structs import resolved_type

T = TypeVar("T")

_PATIENT_FOR = 10.0  # seconds between two lookups of a kind that is not served


class Discovery:
    """Looks up resources by kind. Threads may share it: one sends the request, the others wait."""

    def __init__(
        self, transport: Transport, cache: DiscoveryCache | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._transport = transport
        self._cache = cache
        self._clock = clock
        self._lock = threading.RLock()
        self._served: dict[bool, ServedResources] = {}  # by whether it is the core group
        self._asked_at = float("-inf")
        self._asked: dict[bool, float] = {}

    def find(self, gvk: GroupVersionKind) -> ApiResource | None:
        """Return the resource of a kind in exactly this version, None if it is not served."""
        return self._rediscovered(gvk.group, lambda: self._in_version(gvk))

    def find_kind(self, group: str, kind: str, preferred: Iterable[str] = ()) -> ApiResource | None:
        """Return the resource in the first of the `preferred` versions that is served, else in the preferred one."""
        order = tuple(preferred)

        def find() -> ApiResource | None:
            versions = self._core_or_others(group).versions.get(group, ())
            ordered = [version for version in order if version in versions] + list(versions)
            resources = (self._in_version(GroupVersionKind(group, version, kind)) for version in ordered)
            return next((resource for resource in resources if resource is not None), None)

        return self._rediscovered(group, find)

    def find_versions(self, group: str, kind: str) -> tuple[ApiResource, ...]:
        """Return the resources of a kind in all served versions, preferred first; () if it is not served."""

        def find() -> tuple[ApiResource, ...]:
            versions = self._core_or_others(group).versions.get(group, ())
            resources = (self._in_version(GroupVersionKind(group, version, kind)) for version in versions)
            return tuple(resource for resource in resources if resource is not None)

        return self._rediscovered(group, find) or ()

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the served versions of a group, preferred first; () if the group is not served."""
        return self._core_or_others(group).versions.get(group, ())

    def resources(self, *, within: float = float("inf")) -> tuple[ApiResource, ...]:
        """Return all served resources in all versions; asks for every group if discovery is not aggregated.

        `within` is the maximum age of the answer in seconds. A cached answer misses kinds that were added since.
        """
        self._renew(within)
        entries = [*self._all(self._core_or_others("")), *self._all(self._core_or_others("-"))]
        return tuple(resource for _, resources in entries for resource in resources)

    def unread(self) -> tuple[tuple[str, str], ...]:
        """Return (group, version) pairs that could not be read: API server down or answer malformed."""
        with self._lock:
            return tuple(sorted(version for served in self._served.values() for version in served.stale))

    def known(self) -> tuple[ApiResource, ...]:
        """Return the resources read so far; sends no request."""
        with self._lock:
            parts = [tuple(served.resources.values()) for served in self._served.values()]
        return tuple(resource for part in parts for resources in part for resource in resources)

    def invalidate(self) -> None:
        """Drop memory and disk cache, because CRDs or API services changed."""
        with self._lock:
            self._served, self._asked = {}, {}
            self._asked_at = float("-inf")
            if self._cache is not None:
                self._cache.drop()

    # requests

    def _rediscovered(self, group: str, find: Callable[[], T]) -> T:
        result = find()
        if result:
            return result
        with self._lock:
            fresh = self._clock() - self._asked_at < _PATIENT_FOR
            if fresh:
                return result
            self._served.pop(not group, None)
            if self._cache is not None:
                self._cache.drop()
        return find()

    def _renew(self, within: float) -> None:
        """Read again what is older than `within` seconds or came from the disk cache."""
        with self._lock:
            for core in (True, False):
                if self._clock() - self._asked.get(core, float("-inf")) > within:
                    self._served[core] = self._ask(core)

    def _in_version(self, gvk: GroupVersionKind) -> ApiResource | None:
        served = self._core_or_others(gvk.group)
        if gvk.version not in served.versions.get(gvk.group, ()):
            return None
        resources = self._of_version(served, gvk.group, gvk.version)
        return next((resource for resource in resources if resource.kind == gvk.kind), None)

    def _core_or_others(self, group: str) -> ServedResources:
        core = not group
        with self._lock:
            if core not in self._served:
                cached = self._cache.load(core) if self._cache is not None else None
                self._served[core] = cached or self._ask(core)
            return self._served[core]

    def _ask(self, core: bool) -> ServedResources:
        self._asked_at = self._asked[core] = self._clock()
        served = ServedResources()
        request = Request("GET", "/api" if core else "/apis", accept=AGGREGATED)
        self._transport.read(request, lambda answer: read_versions(answer, core, served))
        self._store(core, served)
        return served

    def _of_version(self, served: ServedResources, group: str, version: str) -> tuple[ApiResource, ...]:
        with self._lock:
            known = served.resources.get((group, version))
            if known is not None:
                return known
            try:
                listed = self._transport.read(
                    Request("GET", group_path(group, version)), lambda answer: read_resources(group, version, answer)
                )
            except (NotFoundError, ForbiddenError, ServerError):  # a broken aggregated API must not hide other groups
                served.stale.add((group, version))
                return ()
            served.resources[group, version] = listed
            self._store(not group, served)
            return listed

    def _all(self, served: ServedResources) -> Iterable[tuple[tuple[str, str], tuple[ApiResource, ...]]]:
        for group, versions in served.versions.items():
            for version in versions:
                yield (group, version), self._of_version(served, group, version)

    def _store(self, core: bool, served: ServedResources) -> None:
        if self._cache is not None and not served.stale:
            self._cache.store(core, served)


_FORMAT = 1  # of the cache's files; files of another format are read again from the server
LIFETIME = 600.0  # seconds until a file is out of date: new CRDs are served meanwhile


class _CacheFile(msgspec.Struct, array_like=True):
    """What a file has; `resources` are (group, version, resources)."""

    format: int
    versions: dict[str, tuple[str, ...]]
    resources: list[tuple[str, str, tuple[ApiResource, ...]]]


class DiscoveryCache:
    """The cached discovery of one server and user. An unreadable or unwritable file counts as missing."""

    def __init__(
        self, server: str, user: str = "", *, folder: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        if folder is None:
            import platformdirs

            folder = platformdirs.user_cache_path("kymatui") / "discovery"
        digest = hashlib.sha256(f"{server}\n{user}".encode()).hexdigest()[:32]
        self._files = {core: folder / f"{digest}-{'core' if core else 'groups'}.json" for core in (True, False)}
        self._clock = clock

    def load(self, core: bool) -> ServedResources | None:
        """Return the cached resources, None if there are none or they are too old."""

        file = self._files[core]
        try:
            if self._clock() - file.stat().st_mtime > LIFETIME:
                return None
            cached = msgspec.json.decode(read_own(file), type=resolved_type(_CacheFile))
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return None
        if cached.format != _FORMAT:
            return None
        resources = {(group, version): resources for group, version, resources in cached.resources}
        return ServedResources(cached.versions, resources, set())

    def store(self, core: bool, served: ServedResources) -> None:
        """Write the resources of one kind of discovery; no reader sees half a file."""

        cached = _CacheFile(_FORMAT, served.versions, [(*key, entry) for key, entry in served.resources.items()])
        file = self._files[core]
        with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
            write_own(file, msgspec.json.encode(cached))

    def drop(self) -> None:
        """Delete the cached files."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


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
        )


def read_resources(group: str, version: str, answer: Answer) -> tuple[ApiResource, ...]:
    """Return the resources of a plain APIResourceList. Raise ServerError as `read_versions` does."""
    items = read_typed(answer, _resources_type).resources or ()
    _require_few(answer, len(items))
    return tuple(
        ApiResource(
            group=group,
            version=version,
            kind=item.kind,
            plural=item.name,
            namespaced=item.namespaced,
            verbs=tuple(item.verbs or ()),
        )
        for item in items
        if "/" not in item.name  # a subresource
    )


@lru_cache(maxsize=1)
def _versions_type() -> Any:
    """Return the msgspec type of /api and /apis, aggregated or not.

    One type fits the three documents because no field of one has another type in the next.
    """
    word: Any = _word()
    kind: Any = msgspec.defstruct("ResponseKind", [("kind", str, "")])
    resource: Any = msgspec.defstruct(
        "AggregatedResource",
        [("resource", word), ("scope", str), ("responseKind", kind | None, None), ("verbs", list[str] | None, None)],
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
    resource: Any = msgspec.defstruct(
        "PlainResource", [("name", _word("/")), ("kind", str), ("namespaced", bool), ("verbs", list[str] | None, None)]
    )
    return msgspec.defstruct("Resources", [("kind", str), ("resources", list[resource] | None, None)])


def _word(more: str = "") -> Any:
    """Return the type of a name that becomes part of a path."""

    return Annotated[str, msgspec.Meta(pattern=rf"^[A-Za-z0-9]([A-Za-z0-9.{more}_-]*[A-Za-z0-9])?$", max_length=253)]


def _require_few(answer: Answer, count: int) -> None:
    if count > MOST_RESOURCES:
        raise OversizedAnswerError(f"{answer.server} serves more than {MOST_RESOURCES:,} resources or groups")
