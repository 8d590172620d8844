"""Lint a module: every problem of its sources with file and line, or of its component in a registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_template import read_default_cr
from kymatui.actions.components.stored_components import component_versions, require_component
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.versions.version_risks import VersionRiskKind, manifest_risks
from kymatui.engine.bundles.yaml_objects import document_key
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import ConfigurationError, KymatuiError, RegistryNotFoundError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_as_json
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.module_layers import RAW_MANIFEST
from kymatui.publishing import lint_rules
from kymatui.publishing.config_reader import SourceProblem
from kymatui.publishing.disk_sources import DiskSources, stored_objects
from kymatui.publishing.lint_rules import Problems, ServerRules
from kymatui.publishing.manifest_images import ManifestImage
from kymatui.publishing.module_build import (
    LARGEST_CONFIG,
    LARGEST_CR,
    LARGEST_MANIFEST,
    BuildRequest,
    read_source,
    security_path,
)
from kymatui.publishing.module_component import SourceFile
from kymatui.publishing.module_config import ModuleConfig, read_config
from kymatui.publishing.module_template import read_manifest
from kymatui.publishing.scaffold import read_module_config

_TOGETHER: Final = 8  # images that are looked up in parallel


class RegistryChecks(Struct, frozen=True):
    """What to look up.

    images  whether the registries have the images of the manifest
    before  a version to compare with; one without a version stands for the newest that is older than the module's
    """

    store: ArtifactStore
    images: bool = False
    before: ComponentLocation | None = None


def lint_stored_images(images: Sequence[ManifestImage], store: ArtifactStore, problems: Problems) -> None:
    """Report images that their registries do not have; those that cannot be looked up are warnings."""
    answers = run_for_each(images, lambda stored_image: _is_there(stored_image, store), None, _TOGETHER)
    for image, answer in zip(images, answers, strict=True):
        if isinstance(answer, KymatuiError):
            message = f"{image.where}: image {image.text!r} cannot be looked up: {answer}"
            problems.warning("image.unknown", message, text=image.text)
        elif not answer:
            problems.error("image.missing", f"{image.where}: image {image.text!r} does not exist", text=image.text)


def lint_against(
    name: str, version: str, objects: Iterable[Object], checks: RegistryChecks, problems: Problems, own: Problems
) -> None:
    """Report what the manifest grants beyond another version, and what it removes that clusters may still hold.

    `own` are the problems of the config. Raise RegistryError if the version cannot be read.
    """
    before = checks.before
    if before is None:
        return
    if not before.version:
        before = replace(before, name=name)
        before = replace(before, version=_last_version(checks.store, before, version))
    if not before.version:
        own.warning("version.first", f"{before.base} has no version of {name} before {version}", at="version")
        return
    stored = stored_objects(checks.store, require_component(checks.store, before), RAW_MANIFEST)
    for risk in manifest_risks(stored, {_key(body): body for body in objects}):
        rule = "rbac.grown" if risk.kind is VersionRiskKind.RIGHT_GAINED else f"version.{risk.kind}"
        location = f"name: {risk.object.rpartition(' ')[2].rpartition('/')[2]}"
        what = f": {risk.what}" if risk.what else ""
        message = f"{risk.object}: not as in {before.version}: {risk.label}{what}"
        if risk.kind is VersionRiskKind.RIGHT_GAINED:
            message = f"{risk.object} {risk.label} than in {before.version}{what}"
        problems.warning(rule, message, text=location)


def _last_version(store: ArtifactStore, location: ComponentLocation, version: str) -> str:
    """Return the newest version of a component that is older than this one, "" without one."""
    own = parse_version(version)
    try:
        known = [(text, parse_version(text)) for text in component_versions(store, location)]
    except RegistryNotFoundError:  # no version was ever pushed
        return ""
    older = [(parsed, text) for text, parsed in known if parsed is not None and (own is None or parsed < own)]
    return max(older)[1] if older else ""


def _is_there(image: ManifestImage, store: ArtifactStore) -> bool | KymatuiError:
    parsed = image.image
    try:
        repository, pointer = f"{parsed.registry}/{parsed.repository}", parsed.digest or parsed.tag or "latest"
        return store.manifest(repository, pointer) is not None
    except KymatuiError as error:
        return error


def _key(body: Object) -> str:
    namespace, name, _, _, kind = document_key(body)
    return "/".join(part for part in (kind, namespace, name) if part)


_LINE: Final = re.compile(r"line (\d+)")
T = TypeVar("T")


def lint_module(
    config_file: str, sources: DiskSources, check: ServerRules, registries: RegistryChecks | None = None
) -> list[SourceProblem]:
    """Return every problem, by file and line.

    Raise ConfigurationError only if the config or the version to compare with cannot be read.
    """
    config, problems = read_config(read_module_config(sources, config_file), config_file)
    return _Linter(config, config_file, sources, check, problems, registries).run()


class _Linter:
    """Reads the files of a config as far as they can be read, and applies the rules to them."""

    def __init__(
        self,
        config: ModuleConfig,
        file: str,
        sources: DiskSources,
        check: ServerRules,
        problems: list[SourceProblem],
        registries: RegistryChecks | None = None,
    ) -> None:
        self._registries = registries
        self._config = config
        self._request = BuildRequest(file)
        self._sources = sources
        self._check = check
        self._problems = problems
        self._own = Problems(file, lines=config.lines)

    def run(self) -> list[SourceProblem]:
        config = self._config
        lint_rules.lint_config(config, self._own)
        manifest = self._read(config.manifest, "manifest", "manifest", LARGEST_MANIFEST)
        objects = (
            self._parse(lambda: read_manifest(manifest.content, manifest.path), manifest.path) if manifest else None
        )
        images: list[ManifestImage] = []
        if manifest is not None and objects is not None:
            images = self._lint_manifest(manifest, objects)
        self._lint_default_cr(objects)
        self._lint_security(images)
        order = {file: at for at, file in enumerate(dict.fromkeys(problem.file for problem in self._all()))}
        return sorted(self._all(), key=lambda problem: (order[problem.file], problem.line))

    def _all(self) -> list[SourceProblem]:
        return [*self._problems, *self._own.found]

    def _lint_manifest(self, manifest: SourceFile, objects: list[Object]) -> list[ManifestImage]:
        problems = Problems(manifest.path, manifest.content)
        if not objects:
            problems.warning("manifest", "the manifest has no objects")
        images = lint_rules.lint_images(objects, problems)
        lint_rules.lint_duplicates(objects, problems)
        lint_rules.lint_crds(objects, problems, self._check)
        lint_rules.lint_manager(self._config, objects, self._own)
        if self._registries is not None:
            if self._registries.images:
                named = {image.text: image for image in [*lint_rules.unscanned_images(objects), *images]}
                lint_stored_images(list(named.values()), self._registries.store, problems)
            lint_against(self._config.name, self._config.version, objects, self._registries, problems, self._own)
        self._problems += problems.found
        return images

    def _lint_default_cr(self, objects: list[Object] | None) -> None:
        file = self._read(self._config.default_cr, "defaultCR", "default CR", LARGEST_CR)
        if file is None:
            return
        custom_resource = self._parse(lambda: read_default_cr(file.content, file.path), file.path)
        if custom_resource is not None and objects is not None:
            problems = Problems(file.path, file.content)
            lint_rules.lint_default_cr(custom_resource, objects, problems, self._check)
            self._problems += problems.found

    def _lint_security(self, images: list[ManifestImage]) -> None:
        named = self._config.security
        path = security_path(self._own.file, named, self._sources) if named else ""
        file = self._read(path, "security", "security config", LARGEST_CONFIG, beside_config=False)
        if file is None:
            return
        problems = Problems(file.path, file.content)
        try:
            lint_rules.lint_security(load_as_json(file.content), self._config, images, problems)
        except YamlError as error:
            self._problems.append(SourceProblem(file.path, error.line, error.problem, "yaml"))
        self._problems += problems.found

    def _read(self, text: str, field: str, what: str, largest: int, *, beside_config: bool = True) -> SourceFile | None:
        """Return a file of the config, None if it is not named or cannot be read; only the latter is reported."""
        if not text or any(problem.field == field for problem in self._problems):
            return None
        try:
            if not beside_config:
                return SourceFile(text, self._sources.read(text, what, largest), text)
            return read_source(self._request, self._sources, text, what, largest)
        except KymatuiError as error:
            self._own.error("file", str(error), at=field)
            return None

    def _parse(self, parse: Callable[[], T], file: str) -> T | None:
        try:
            return parse()
        except ConfigurationError as error:
            self._broken(file, str(error))
            return None

    def _broken(self, file: str, message: str) -> None:
        match = _LINE.search(message)
        self._problems.append(SourceProblem(file, int(match[1]) if match else 0, message, "yaml"))
