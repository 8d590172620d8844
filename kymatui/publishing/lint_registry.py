"""What `lint` learns from registries: images that do not exist, and what the last version of a module granted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.stored_components import component_versions, require_component
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.versions.version_risks import VersionRiskKind, manifest_risks
from kymatui.engine.bundles.yaml_objects import document_key
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import KymatuiError, RegistryNotFoundError
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.module_layers import RAW_MANIFEST
from kymatui.publishing.lint_rules import Problems
from kymatui.publishing.manifest_images import ManifestImage
from kymatui.publishing.stored_objects import stored_objects

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
