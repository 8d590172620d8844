"""Content of registries by digest, each fetched once: a digest never names other content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from kymatui.actions.components.stored_components import require_component
from kymatui.engine.sources.artifact_store import ArtifactStore, ContentStore
from kymatui.errors import ConfigurationError
from kymatui.ocm import ComponentDescriptor
from kymatui.ocm.component_location import ComponentLocation

LARGEST_CACHE: Final = 32 * 1024 * 1024
"""Bytes that stay in memory."""


class ContentCache:
    """Implements `ContentStore`; tags are asked for each time, content by digest once. Thread-safe."""

    def __init__(self, store: ContentStore, largest: int = LARGEST_CACHE) -> None:
        self._store = store
        self._largest = largest
        self._lock = threading.Lock()
        self._size = 0
        self._known: OrderedDict[tuple[str, str], tuple[bytes, str]] = OrderedDict()

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        if ":" not in pointer:
            return self._store.manifest(repository, pointer)
        known = self._recall(repository, pointer)
        if known is not None:
            return known
        manifest = self._store.manifest(repository, pointer)
        if manifest is not None:
            self._keep(repository, pointer, manifest)
        return manifest

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        known = self._recall(repository, digest)
        if known is not None and len(known[0]) <= largest:
            return known[0]
        blob = self._store.blob(repository, digest, largest)
        self._keep(repository, digest, (blob, ""))
        return blob

    def _recall(self, repository: str, digest: str) -> tuple[bytes, str] | None:
        with self._lock:
            known = self._known.get((repository, digest))
            if known is not None:
                self._known.move_to_end((repository, digest))
            return known

    def _keep(self, repository: str, digest: str, content: tuple[bytes, str]) -> None:
        with self._lock:
            former = self._known.pop((repository, digest), None)
            self._known[repository, digest] = content
            self._size += len(content[0]) - (len(former[0]) if former is not None else 0)
            while self._size > self._largest:
                self._size -= len(self._known.popitem(last=False)[1][0])


_MOST: Final = 512  # descriptors that stay in memory; the least recently used is dropped


class ComponentCache:
    """Implements `Components` of the Kyma controller; thread-safe."""

    def __init__(self, store: ArtifactStore, base: str) -> None:
        """Read from the registry `base` ("host[:port][/prefix]"), "" if none is configured."""
        self._store = store
        self._base = base
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], ComponentDescriptor] = OrderedDict()

    def component(self, name: str, version: str) -> ComponentDescriptor:
        """Return the descriptor of a version. Raise RegistryError, DescriptorError, SourceError, ConfigurationError."""
        if not self._base:
            raise ConfigurationError(
                f"component {name}:{version} not found in any known registry",
                hint="start the operator with --registry URL",
            )
        key = (name, version)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        descriptor = require_component(self._store, ComponentLocation(self._base, name, version)).descriptor
        with self._lock:
            self._known[key] = descriptor
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return descriptor
