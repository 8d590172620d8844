"""Component descriptors of one registry, each fetched once: a version of a component never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from kymatui.actions.components.stored_components import require_component
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import ConfigurationError
from kymatui.ocm import ComponentDescriptor
from kymatui.ocm.component_location import ComponentLocation

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
