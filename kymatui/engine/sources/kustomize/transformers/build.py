"""The build of a kustomization: resources, generators and components, then all transformers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.addresses import digest_of_files, redact_address
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.tar_archives import read_tar, without_root
from kymatui.engine.bundles.yaml_objects import DEEPEST, each_object
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.engine.sources.kustomize.model.field_specs import TransformerConfig, default_config, read_config
from kymatui.engine.sources.kustomize.model.file_tree import NAMES, ArchiveTree, FolderTree, KustomizationFolder
from kymatui.engine.sources.kustomize.model.kustomization import Kustomization, read_kustomization
from kymatui.engine.sources.kustomize.model.resmap import KustomizeResource, ResMap
from kymatui.engine.sources.kustomize.model.strict_fields import StrictFields
from kymatui.engine.sources.kustomize.transformers import generators, metadata_transformers, patches
from kymatui.engine.sources.kustomize.transformers.builtin_transformers import apply_transformers
from kymatui.engine.sources.kustomize.transformers.name_references import fix_references
from kymatui.engine.sources.kustomize.transformers.replacements import apply_replacements
from kymatui.errors import SourceError
from kymatui.helm.yaml.errors import YamlLimitError
from kymatui.json_input import levels_of

ARCHIVES: Final = (".tar", ".tar.gz", ".tgz")
LOCAL: Final = "config.kubernetes.io/local-config"


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
    objects = build(KustomizationFolder(tree, root))
    seen = ((os.path.relpath(one, root), data) for one, data in tree.seen.items())
    return Bundle(name, namespace, Origin("kustomize", str(path), digest=digest_of_files(seen)), objects=tuple(objects))


def from_address(address: str, blobs: Blobs, *, name: str, namespace: str = "default") -> Bundle:
    """Build a kustomization in an archive at a URL, with its folder after `//`.

    Raises SourceError, and the port's errors.
    """
    scheme, _, rest = address.partition("://")
    place, _, folder = rest.partition("//")
    if not place.partition("?")[0].endswith(ARCHIVES):
        raise SourceError(
            f"{redact_address(address)} is not an archive with a kustomization",
            hint=f"kymatui clones no repositories; use a file that ends with {', '.join(ARCHIVES)}",
        )
    url = f"{scheme}://{place}"
    return from_archive(blobs.url(url), redact_address(url), name=name, namespace=namespace, folder=folder)


def from_archive(data: bytes, where: str, *, name: str, namespace: str = "default", folder: str = "") -> Bundle:
    """Build a kustomization in an archive; `folder` is its path there. Raises SourceError."""
    return from_files(read_tar(data, where), where, name=name, namespace=namespace, folder=folder)


def from_files(
    files: dict[str, bytes], where: str, *, name: str, namespace: str = "default", folder: str = ""
) -> Bundle:
    """Build a kustomization from files by path; a common root folder may be omitted."""
    found = files if folder else without_root(files, NAMES, where)
    objects = build(KustomizationFolder(ArchiveTree(found, where), f"/{folder.strip('/')}"))
    origin = Origin("kustomize", where, digest=digest_of_files(files.items()))
    return Bundle(name, namespace, origin, objects=tuple(objects))


def build(place: KustomizationFolder) -> list[Object]:
    """Return the objects that `kustomize build` prints. Raises SourceError."""
    target = _Target(place)
    try:
        target.accumulate()
    except YamlLimitError as error:
        raise SourceError(f"{place}: {error.summary}") from None
    except RecursionError:
        raise SourceError(f"{place}: it is nested too deeply") from None
    resources, config = target.resources, target.config
    if deep := next((one for one in resources if levels_of(one.body) > DEEPEST), None):
        raise SourceError(f"{place}: {deep.current} is nested in more than {DEEPEST} levels")
    generators.add_hashes(resources)
    fix_references(resources, config)
    ordered = target.kustomization.order.sorted(resources)
    return [_printed(one) for one in ordered if not _is_local(one)]


_OWN_ANNOTATIONS: Final = ("config.kubernetes.io/index", "config.kubernetes.io/path", "config.k8s.io/id")
"""What kustomize's tools remember of an object's place."""


def _printed(one: KustomizeResource) -> Object:
    """Return the object without kustomize's own and without empty annotations; empty labels stay, as in kustomize."""
    annotations = one.metadata.get("annotations")
    for name in [*annotations] if isinstance(annotations, dict) else ():
        if name in _OWN_ANNOTATIONS or name.startswith("internal.config.kubernetes.io/"):
            del one.metadata["annotations"][name]
    if not one.metadata.get("annotations", True):
        del one.metadata["annotations"]
    return one.body


def _is_local(one: KustomizeResource) -> bool:
    """Return whether an object is used for the build only."""
    return one.texts("annotations").get(LOCAL, "false") != "false"


class _Target:
    """One kustomization and its accumulated resources; a component changes those of its parent."""

    def __init__(self, place: KustomizationFolder, parent: _Target | None = None) -> None:
        name, data = place.kustomization()
        self._place = place
        self._where = place.shown(name)
        self.kustomization: Kustomization = read_kustomization(data, self._where, place.limits.budget)
        self.resources: ResMap = parent.resources if parent is not None else ResMap(place.limits)
        self.config: TransformerConfig = (
            parent.config if parent is not None else TransformerConfig(name_prefix=(), name_suffix=())
        )

    def accumulate(self) -> None:
        for path in self.kustomization.resources:
            self._add_resource(path)
        self.config.merge(default_config())
        for path in self.kustomization.configurations:
            self._add_configuration(path)
        self._generate()
        for path in self.kustomization.components:
            self._add_component(path)
        self._transform()

    def _add_resource(self, path: str) -> None:
        data = self._place.find(path)
        if data is not None:
            found = each_object(data, self._place.shown(path), old_words=False, budget=self._place.limits.budget)
            self.resources.extend(map(KustomizeResource, found))
            return
        child = _Target(self._place.enter(path))
        if child.kustomization.is_component:
            raise SourceError(f"{self._where}: {path} is a Component", hint="list it under components")
        child.accumulate()
        self.resources.extend(child.resources)
        self.config.merge(child.config)

    def _add_component(self, path: str) -> None:
        child = _Target(self._place.enter(path), self)
        if not child.kustomization.is_component:
            raise SourceError(f"{self._where}: {path} is not a Component", hint="list it under resources")
        child.accumulate()

    def _add_configuration(self, path: str) -> None:
        where = self._place.shown(path)
        self.config.merge(read_config(StrictFields(self._place.read_yaml(path), where)))

    def _generate(self) -> None:
        everywhere = generators.GeneratorOptions.read(self.kustomization.generator_options)
        for fields in self.kustomization.config_maps:
            generators.absorb(self.resources, generators.config_map(fields, self._place, everywhere))
        for fields in self.kustomization.secrets:
            generators.absorb(self.resources, generators.secret(fields, self._place, everywhere))

    def _transform(self) -> None:
        asked, found, config = self.kustomization, self.resources, self.config
        patches.apply_merge_patches(found, asked.merge_patches, self._place)
        patches.apply_patches(found, asked.patches, self._place)
        if asked.namespace:
            metadata_transformers.set_namespace(found, asked.namespace, config.namespace)
        if asked.name_prefix:
            metadata_transformers.add_prefix(found, asked.name_prefix, config.name_prefix)
        if asked.name_suffix:
            metadata_transformers.add_suffix(found, asked.name_suffix, config.name_suffix)
        metadata_transformers.add_labels(found, asked.labels, asked.common_labels, config)
        metadata_transformers.set_texts(found, asked.common_annotations, config.common_annotations)
        patches.apply_json_patches(found, asked.json_patches, self._place)
        metadata_transformers.set_replicas(found, asked.replicas, config.replicas)
        metadata_transformers.set_images(found, asked.images, config.images)
        apply_replacements(found, asked.replacements, self._place)
        apply_transformers(found, asked.transformers, self._place, self._where)
