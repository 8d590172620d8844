"""The objects in the layers of stored components, compared with the digests that the descriptor has."""

from __future__ import annotations

from typing import Final

from kymatui.actions.components.content_changes import layer_objects
from kymatui.actions.components.stored_components import StoredComponent
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.ocm import check_content
from kymatui.ocm.module_layers import local_digest

LARGEST_LAYER: Final = 32 * 1024 * 1024  # bytes of a layer that is parsed for its objects


def stored_objects(store: ContentStore, component: StoredComponent, name: str) -> dict[str, Object]:
    """Return the objects of a layer by kind, namespace and name, none if the component has no such layer.

    Raise RegistryError, SourceError, and SignatureError for a layer with another digest.
    """
    resource = component.descriptor.resource(name)
    digest = local_digest(resource) if resource is not None else ""
    if resource is None or not digest:
        return {}
    content = store.blob(component.location.repository, digest, LARGEST_LAYER)
    if resource.digest is not None and not resource.digest.is_excluded:
        check_content(resource, content)
    return layer_objects(content, f"{component.location} {name}")
