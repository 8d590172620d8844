"""Component descriptors from the sandbox's own registry, read without a socket."""

from __future__ import annotations

from typing import Any

from kymatui.engine.bundles.tar_archives import read_tar
from kymatui.errors import RegistryError, SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly
from kymatui.json_input import read_json
from kymatui.ocm import ComponentDescriptor, read_descriptor
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.modules.module_packages import BASE


class RegistryComponents:
    """Implements `Components` of the Kyma controller; each descriptor is read once."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store
        self._known: dict[str, ComponentDescriptor] = {}  # by layer digest

    def component(self, name: str, version: str) -> ComponentDescriptor:
        """Return the descriptor of a version. Raise RegistryError, DescriptorError."""
        repository = f"{BASE}/component-descriptors/{name}"
        try:
            manifest = self._store.manifest(repository, version)
            config = read_json(self._store.blob(repository, manifest.document["config"]["digest"]))
            layer = config["componentDescriptorLayer"]["digest"]
            if layer not in self._known:
                self._known[layer] = read_descriptor(_unpacked(self._store.blob(repository, layer)))
        except RegistryRefusal as refusal:
            raise RegistryError(f"component {name}:{version} cannot be read: {refusal.message}") from refusal
        except (ValueError, KeyError, TypeError, SourceError, YamlError) as error:
            raise RegistryError(f"component {name}:{version} is invalid: {error}") from error
        return self._known[layer]


def _unpacked(content: bytes) -> Any:
    return load_exactly(read_tar(content, "the descriptor's layer")["component-descriptor.yaml"])
