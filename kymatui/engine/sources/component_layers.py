"""The layers of a component as a Manifest names them."""

from __future__ import annotations

from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.ocm.component_location import COMPONENTS
from kymatui.ocm.descriptors import ComponentDescriptor
from kymatui.ocm.module_layers import ModuleLayer


def manifest_layer(descriptor: ComponentDescriptor, layer: ModuleLayer, registry: str = "") -> ManifestLayer | None:
    """Return a layer with its registry, None if its repository is not where components are.

    `registry` ("http://HOST:PORT" or "https://HOST/PATH") replaces the location in the descriptor.
    """
    repo, separator, component = layer.repository.partition(f"/{COMPONENTS}/")
    if registry:
        return ManifestLayer(registry, component if separator else descriptor.name, layer.digest, layer.is_archive)
    if not separator:
        return None
    plain = any(str(one.get("baseUrl") or "").startswith("http://") for one in descriptor.contexts)
    return ManifestLayer(f"http://{repo}" if plain else repo, component, layer.digest, layer.is_archive)
