"""Component descriptors of one registry, each fetched once: a version of a component never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from kymatui.adapters.oci.docker_credentials import DockerCredentials
from kymatui.adapters.oci.component_versions import fetch_component
from kymatui.adapters.oci.registry import Registry
from kymatui.errors import ConfigurationError
from kymatui.ocm import ComponentDescriptor

_MOST: Final = 512


class RegistryComponents:
    """Implements `Components` of the Kyma controller; thread-safe."""

    def __init__(self, address: str, *, ca: str | None = None) -> None:
        self._address = address
        self._registry = Registry(
            credentials=DockerCredentials().find, insecure=address.startswith("http://"), ca=ca
        )
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], ComponentDescriptor] = OrderedDict()

    def component(self, name: str, version: str) -> ComponentDescriptor:
        """Return the descriptor of a version. Raise RegistryError, DescriptorError, ConfigurationError."""
        if not self._address:
            raise ConfigurationError(
                f"component {name}:{version} is in no known registry", hint="start the operator with --registry URL"
            )
        key = (name, version)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        found = fetch_component(self._registry, self._address, name, version).descriptor
        with self._lock:
            self._known[key] = found
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return found
