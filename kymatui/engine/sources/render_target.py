"""The facts of a target cluster for rendering, and the rendering of kustomizations."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.addresses import ARCHIVES, archive_url, digest_of_files, redact_address
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.tar_archives import read_tar, without_root
from kymatui.engine.cluster.ports import Blobs, Clock, Cluster
from kymatui.engine.inventory.release_store import read_inventory
from kymatui.engine.sources.chart_lookup import Lookup, cluster_lookup, manifest_lookup
from kymatui.errors import SourceError
from kymatui.helm.rendering.capabilities import KUBE_VERSION
from kymatui.kustomize.model.file_tree import NAMES, ArchiveTree, FolderTree, KustomizationFolder
from kymatui.kustomize.transformers.build import build
from kymatui.structs import compare_by

ReleaseTargets = Callable[[str, str], "RenderTarget"]
"""A function that returns the target for a release, by name and namespace."""


class RenderTarget(Struct, frozen=True):
    """A cluster as charts see it.

    kube_version  "v1.34.2"
    served        "apps/v1" and "apps/v1/Deployment" for all served kinds; None: Helm's defaults
    lookup        (apiVersion, kind, namespace, name) → object, list or {}; None: always empty
    installed     the release exists, so charts see an upgrade
    revision      revision of the release, from 1
    all_private   nothing that `lookup` returns may be in errors and plans; else nothing of Secrets
    """

    kube_version: str = KUBE_VERSION
    served: tuple[str, ...] | None = None
    lookup: Lookup | None = None
    installed: bool = False
    revision: int = 1
    all_private: bool = False

    __eq__, __hash__ = compare_by("kube_version", "served", "installed", "revision")


def manifest_targets(clock: Clock, secrets: Collection[str], cluster: Cluster) -> ReleaseTargets:
    """Return the targets for charts of Manifests on a cluster; `secrets` are those that `lookup` may read.

    Charts always see an upgrade, as in the first module-manager, so that every reconciliation renders the same.
    """
    manifest_target = replace(chart_target(cluster, installed=True), all_private=True)

    def target(release: str, namespace: str) -> RenderTarget:
        read = partial(read_inventory, cluster, clock, release, namespace)
        return replace(manifest_target, lookup=manifest_lookup(cluster, secrets, read))

    return target


def chart_target(cluster: Cluster, *, installed: bool = False, revision: int = 1) -> RenderTarget:
    """Return a cluster's version, served kinds and lookup for a chart."""
    lookup = cluster_lookup(cluster)
    target = RenderTarget(served=tuple(_served(cluster)), lookup=lookup, installed=installed, revision=revision)
    version = cluster.version()
    return replace(target, kube_version=version) if version else target


def _served(cluster: Cluster) -> list[str]:
    served: dict[str, None] = {}
    for kind in cluster.all_kinds():
        served[kind.gvk.api_version] = None
        served[f"{kind.gvk.api_version}/{kind.gvk.kind}"] = None
    return list(served)


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
    archive = archive_url(address)
    if archive is None:
        raise SourceError(
            f"{redact_address(address)} is not an archive with a kustomization",
            hint=f"kymatui clones no repositories; use a file that ends with {', '.join(ARCHIVES)}",
        )
    url, folder = archive
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
