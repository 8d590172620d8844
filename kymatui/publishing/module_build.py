"""The build of a module: config, manifest, default CR and commit become a template, a component and its blobs."""

from __future__ import annotations

import posixpath
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_template import read_default_cr
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.component_source import blob_digest
from kymatui.errors import ConfigurationError, RegistryError
from kymatui.ocm.component_location import ComponentLocation
from kymatui.publishing import module_component
from kymatui.publishing.config_reader import require_no_errors
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.manifest_images import image_resource, manifest_images
from kymatui.publishing.module_component import ModuleComponentParts, SourceFile
from kymatui.publishing.module_config import ModuleConfig, is_address, read_config
from kymatui.publishing.module_template import (
    crd_of,
    is_cluster_scoped,
    manager_images,
    module_template,
    read_manifest,
    runs_version,
    to_yaml,
)
from kymatui.publishing.scaffold import read_module_config
from kymatui.structs import repr_without

LARGEST_CONFIG: Final = 1024 * 1024  # bytes of a module config or security config
LARGEST_MANIFEST: Final = 32 * 1024 * 1024
"""Bytes that installations read of a layer, too."""
LARGEST_CR: Final = 3 * 1024 * 1024
LATEST_TIME: Final = 253_402_300_799
"""The last second of the year 9999."""


class BuildRequest(Struct, frozen=True):
    """What to build.

    config         path of the module config
    git            folder of the git repository with the sources
    template       path of the template, for the constructor
    constructor    path of the constructor, "" for none
    epoch          creation time in seconds (SOURCE_DATE_EPOCH), None for that of the commit
    check_version  compare the module's version with the tag of its manager
    """

    config: str
    git: str = "."
    template: str = "template.yaml"
    constructor: str = ""
    epoch: int | None = None
    check_version: bool = False


class BuiltModule(Struct, frozen=True):
    """A module that is ready to be published; `saved` are downloads that the constructor names, by path."""

    parts: ModuleComponentParts
    template: Object
    saved: dict[str, bytes]

    __repr__ = repr_without("template", "saved")

    @property
    def config(self) -> ModuleConfig:
        return self.parts.config

    @property
    def blobs(self) -> dict[str, bytes]:
        """Return the contents of the local blobs by digest."""
        return {blob_digest(blob.content): blob.content for blob in self.parts.blobs}

    @property
    def layers(self) -> list[dict[str, Any]]:
        return module_component.layers(self.parts.blobs)

    @property
    def constructor(self) -> str:
        return to_yaml([module_component.constructor(self.parts)])

    def document(self, location: ComponentLocation | None, scheme: str = "") -> dict[str, Any]:
        """Return the descriptor's document for a place."""
        return module_component.descriptor(self.parts, location, scheme)


def build_module(request: BuildRequest, sources: DiskSources) -> BuiltModule:
    """Return a module built from its sources. Raise ConfigurationError that names file and problem."""
    config, problems = read_config(read_module_config(sources, request.config), request.config)
    require_no_errors(problems)
    if config.security and not sources.exists(security_path(request.config, config.security, sources)):
        raise ConfigurationError(
            f"the security config {beside(request.config, config.security)} does not exist",
            hint=f"fix security in {request.config}, or remove it",
        )
    manifest = read_source(request, sources, config.manifest, "manifest", LARGEST_MANIFEST)
    objects = read_manifest(manifest.content, manifest.path)
    default_cr = (
        read_source(request, sources, config.default_cr, "default CR", LARGEST_CR) if config.default_cr else None
    )
    custom_resource = read_default_cr(default_cr.content, default_cr.path) if default_cr is not None else None
    commit = sources.commit(request.git)
    images = tuple(image_resource(image) for image in manifest_images(objects))
    module_component.check_identities(images)
    if request.check_version:
        _check_manager_version(config, objects)
    scoped = custom_resource is not None and is_cluster_scoped(crd_of(objects, custom_resource))
    template = module_template(config, custom_resource, cluster_scoped=scoped)
    files = [_for_constructor(request, file) for file in (manifest, default_cr) if file is not None]
    parts = ModuleComponentParts(
        config,
        commit.hash,
        _creation_time(commit.time if request.epoch is None else request.epoch),
        scoped,
        tuple(sorted(images, key=lambda image: image.reference)),
        module_component.local_blobs(
            files[0],
            files[1] if len(files) > 1 else None,
            to_yaml([template]),
            _relative(request.template, request.constructor),
        ),
    )
    downloads = [file for file in (manifest, default_cr) if file is not None and is_address(file.path)]
    return BuiltModule(parts, template, {_saved_path(request, download): download.content for download in downloads})


def beside(config: str, path: str) -> str:
    """Return the path of a file that a config names."""
    return posixpath.join(posixpath.dirname(config), path)


def security_path(config: str, path: str, sources: DiskSources) -> str:
    """Return the path of the security config; older tools read it relative to the current folder."""
    near = beside(config, path)
    return near if sources.exists(near) or not sources.exists(path) else path


def read_source(request: BuildRequest, sources: DiskSources, text: str, what: str, largest: int) -> SourceFile:
    """Return a file that the config names, from disk or from an https address."""
    if is_address(text):
        name = posixpath.basename(urlsplit(text).path) or f"{what.replace(' ', '-').lower()}.yaml"
        try:
            return SourceFile(name, sources.fetch(text), text)
        except RegistryError as error:
            raise RegistryError(f"{what}: {error}", hint=error.hint) from error
    path = beside(request.config, text)
    return SourceFile(posixpath.basename(path), sources.read(path, what, largest), path)


def _check_manager_version(config: ModuleConfig, objects: list[Object]) -> None:
    if config.manager is None:
        return
    images = manager_images(objects, config.manager)
    if images is None:
        raise ConfigurationError(
            f"version {config.version} cannot be compared: the manifest has no {config.manager.type.kind} "
            f"{config.manager.name}",
            hint="fix the manager in the module config",
        )
    if not runs_version(images, config.version):
        raise ConfigurationError(
            f"version {config.version} differs from the manager's images: {', '.join(images) or 'none'}",
            hint="fix the version of the module, or the tag in the manifest",
        )


def _creation_time(seconds: int) -> str:
    if not 0 <= seconds <= LATEST_TIME:
        raise ConfigurationError(f"{seconds} is not a creation time in seconds", hint="check SOURCE_DATE_EPOCH")
    return format_time(seconds)


def _for_constructor(request: BuildRequest, file: SourceFile) -> SourceFile:
    path = _saved_path(request, file) if is_address(file.path) else file.path
    return replace(file, path=_relative(path, request.constructor))


def _saved_path(request: BuildRequest, file: SourceFile) -> str:
    """Return where a download is saved for the constructor, which cannot name an address."""
    return posixpath.join(f"{request.constructor.removesuffix('.yaml')}-downloads", file.name)


def _relative(path: str, constructor: str) -> str:
    """Return a path as the constructor names it: relative to itself, so that it is the same on every machine."""
    return posixpath.relpath(path, posixpath.dirname(constructor) or ".")
