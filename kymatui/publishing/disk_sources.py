"""What `kymatui bundle` reads: the sources of modules on disk, and objects that a registry stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kymatui.actions.components.content_changes import layer_objects
from kymatui.adapters.files.user_files import write_file
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.ocm import check_content
from kymatui.ocm.module_layers import local_digest
from kymatui.publishing.git_commits import read_commit

if TYPE_CHECKING:
    from kymatui.actions.components.stored_components import StoredComponent
    from kymatui.engine.cluster.ports import Object
    from kymatui.engine.sources.artifact_store import ContentStore
    from kymatui.publishing.module_component import GitCommit


_CHUNK: Final = 1024 * 1024  # bytes in memory while a file is read


class DiskSources:
    """Files, addresses and the git repository of a module; `fetch` returns the content of a URL."""

    def __init__(self, fetch: Callable[[str], bytes]) -> None:
        self._fetch = fetch

    def read(self, path: str, what: str, largest: int) -> bytes:
        """Return a file. Raise ConfigurationError that names what it is."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(largest + 1)
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error
        if len(content) > largest:
            raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
        return content

    def chunks(self, path: str, what: str, largest: int) -> Iterator[bytes]:
        """Yield a file. Raise ConfigurationError that names what it is."""
        size = 0
        try:
            with Path(path).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    if size > largest:
                        raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
                    yield chunk
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error

    def fetch(self, address: str) -> bytes:
        """Return the content of an https address, limited in size."""
        return self._fetch(address)

    def write(self, path: str, text: str) -> None:
        """Replace a file; the old one stays until the new one is complete."""
        write_file(Path(path), text)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what a save changes (inode, size, time in nanoseconds), None for a file that is missing."""
        try:
            stat = Path(path).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def commit(self, folder: str) -> GitCommit:
        """Return the current commit of a git repository."""
        return read_commit(Path(folder))


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
