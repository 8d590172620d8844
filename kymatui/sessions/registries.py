"""Registries, image layouts in folders and in archives, opened as stores of components."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from kymatui.adapters.files.image_layout import ImageLayout, open_archive
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.sessions.fetching import FetchOptions


def open_registries(options: FetchOptions, report: Callable[[str, int, int], None] | None = None) -> ArtifactStore:
    """Return all registries as one store; hosts that the options name may go without TLS.

    `report` gets what is read or sent ("sending sha256:…"), and how many of how many bytes are.
    """
    from kymatui.adapters.oci.registry import RegistryArtifacts

    return RegistryArtifacts(insecure=options.insecure, ca=options.ca, report=report)


def open_layout(folder: str) -> ArtifactStore:
    """Return a folder with an OCI image layout, which is created when something is stored."""
    return ImageLayout(Path(folder))


@contextlib.contextmanager
def open_archive_layout(path: str, *, write: bool) -> Iterator[ArtifactStore]:
    """Yield the layout in a tar, which is created at the end with `write`."""
    with open_archive(Path(path), write=write) as layout:
        yield layout


def open_stored_layout(path: str, stack: contextlib.ExitStack, *, archive: bool) -> tuple[ArtifactStore, list[str]]:
    """Return a folder or archive with an image layout, and the names of its manifests. Raise RegistryError."""
    layout = stack.enter_context(open_archive(Path(path))) if archive else ImageLayout(Path(path))
    return layout, sorted(layout.names())
