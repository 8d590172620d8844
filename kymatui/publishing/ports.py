"""What the actions on bundles need of the sources of modules and of registries; adapters implement it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from kymatui.actions.components.content_changes import layer_objects
from kymatui.ocm import check_content
from kymatui.ocm.module_layers import local_digest

if TYPE_CHECKING:
    from kymatui.actions.components.stored_components import StoredComponent
    from kymatui.engine.cluster.ports import Object
    from kymatui.engine.sources.artifact_store import ContentStore
    from kymatui.publishing.module_component import GitCommit


class ModuleSources(Protocol):
    """Files, addresses and the git repository of a module."""

    def read(self, path: str, what: str, largest: int) -> bytes:
        """Return a file; `what` names it in errors."""

    def chunks(self, path: str, what: str, largest: int) -> Iterator[bytes]:
        """Yield a file in pieces of 1 MiB; `what` names it in errors."""

    def fetch(self, address: str) -> bytes:
        """Return the content of an https address, limited in size."""

    def write(self, path: str, text: str) -> None:
        """Replace a file; the old one stays until the new one is complete."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what a save changes (inode, size, time in nanoseconds), None for a file that is missing."""

    def commit(self, folder: str) -> GitCommit:
        """Return the current commit of a git repository."""


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
