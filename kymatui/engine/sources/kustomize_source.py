"""Kustomizations in folders, archives and at addresses, built into a bundle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.addresses import digest_of_files, redact_address
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.tar_archives import read_tar, without_root
from kymatui.engine.cluster.ports import Blobs
from kymatui.errors import SourceError
from kymatui.kustomize.model.file_tree import NAMES, ArchiveTree, FolderTree, KustomizationFolder
from kymatui.kustomize.transformers.build import build

ARCHIVES: Final = (".tar", ".tar.gz", ".tgz")


def from_path(
    path: str | Path, *, name: str, namespace: str = "default", folder: str = "", boundary: Path | None = None
) -> Bundle:
    """Build a kustomization on this machine: a folder, or an archive (.tar, .tar.gz, .tgz).

    `folder` is its path in the archive; nothing outside `boundary` is read. Raises SourceError.
    """
    tree = FolderTree(boundary)
    root = tree.resolve(str(Path(path).absolute()))
    if (data := tree.read(root)) is not None:
        return from_archive(data, str(path), name=name, namespace=namespace, folder=folder)
    built = build(KustomizationFolder(tree, root))
    files = ((os.path.relpath(file, root), data) for file, data in tree.seen.items())
    origin = Origin("kustomize", str(path), digest=digest_of_files(files))
    return Bundle(name, namespace, origin, objects=built.objects, notes=built.notes)


def from_address(address: str, blobs: Blobs, *, name: str, namespace: str = "default") -> Bundle:
    """Build a kustomization in an archive at a URL, with its folder after `//`.

    Raises SourceError, and the port's errors.
    """
    scheme, _, rest = address.partition("://")
    repository, _, folder = rest.partition("//")
    if not repository.partition("?")[0].endswith(ARCHIVES):
        raise SourceError(
            f"{redact_address(address)} is not an archive with a kustomization",
            hint=f"kymatui clones no repositories; use a file that ends with {', '.join(ARCHIVES)}",
        )
    url = f"{scheme}://{repository}"
    return from_archive(blobs.url(url), redact_address(url), name=name, namespace=namespace, folder=folder)


def from_archive(data: bytes, where: str, *, name: str, namespace: str = "default", folder: str = "") -> Bundle:
    """Build a kustomization in an archive; `folder` is its path there. Raises SourceError."""
    return from_files(read_tar(data, where), where, name=name, namespace=namespace, folder=folder)


def from_files(
    files: dict[str, bytes], where: str, *, name: str, namespace: str = "default", folder: str = ""
) -> Bundle:
    """Build a kustomization from files by path; a common root folder may be omitted."""
    unpacked = files if folder else without_root(files, NAMES, where)
    built = build(KustomizationFolder(ArchiveTree(unpacked, where), f"/{folder.strip('/')}"))
    origin = Origin("kustomize", where, digest=digest_of_files(files.items()))
    return Bundle(name, namespace, origin, objects=built.objects, notes=built.notes)
