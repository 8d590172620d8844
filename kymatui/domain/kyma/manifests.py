"""The Manifest resource, in v1beta2 (one install) and v1alpha1 (several)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader, mapping_at
from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_UNMANAGED,
    LABEL_CHANNEL,
    LABEL_KYMA_NAME,
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    LABEL_SKIP,
    OPERATOR,
    Condition,
    MalformedObject,
    ObjectMeta,
    WithRaw,
    read_conditions,
    read_meta,
    read_ref,
    unusable,
)
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma

_FNV_OFFSET, _FNV_PRIME, _FNV_MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
FINALIZER: Final = "declarative.kyma-project.io/finalizer"
OLD_FINALIZER: Final = f"{OPERATOR}/manifest"
LABEL_FINALIZER: Final = "label-removal-finalizer"
FINALIZER_MODULE_CR: Final = "resource.kyma-project.io/finalizer"
ORPHAN_SECONDS = 300.0
"""Seconds until a Manifest that its Kyma does not report counts as orphaned, as in lifecycle-manager."""
_NAME_LIMIT = 63  # as in lifecycle-manager, which cuts longer names to 62 characters


class ImageSpec(Struct, frozen=True):
    """A layer in a registry; `secret_selector` selects the pull secret (v1alpha1)."""

    repo: str
    name: str
    ref: str
    type: str
    secret_selector: Mapping[str, Any] | None


class HelmSource(Struct, frozen=True):
    """A chart in a Helm repository."""

    url: str
    chart: str


class KustomizeSource(Struct, frozen=True):
    """A kustomization at a URL or a path; the URL wins."""

    url: str
    path: str


class UnknownSource(Struct, frozen=True):
    """A source of a type that no version of lifecycle-manager supports."""

    type: str


InstallSource = ImageSpec | HelmSource | KustomizeSource | UnknownSource


class ManifestInstall(Struct, frozen=True):
    """One install with its own name and source."""

    name: str
    source: InstallSource


class Manifest(WithRaw, Struct, frozen=True):
    """A Manifest of either version; `raw` is the whole object, including fields that are not read here."""

    meta: ObjectMeta
    version: str
    policy: str
    remote: bool
    installs: tuple[ManifestInstall, ...]
    config: ImageSpec | None
    crds: ImageSpec | None
    resource: Mapping[str, Any] | None
    state: str
    operation: str
    conditions: tuple[Condition, ...]
    synced: tuple[ObjectRef, ...]
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]

    @property
    def module(self) -> str:
        """Return the module's name, "" if the label is missing (as in older versions)."""
        return self.meta.labels.get(LABEL_MODULE_NAME, "")

    @property
    def kyma(self) -> str:
        """Return the Kyma's name, "" if the label is missing."""
        return self.meta.labels.get(LABEL_KYMA_NAME, "")

    @property
    def channel(self) -> str:
        """Return the module's channel; mandatory modules have none."""
        return self.meta.labels.get(LABEL_CHANNEL, "")

    @property
    def mandatory(self) -> bool:
        """Return whether the module is mandatory."""
        return self.meta.labels.get(LABEL_MANDATORY, "") == "true"

    @property
    def skipped(self) -> bool:
        """Return whether lifecycle-manager skips it: only for exactly "true", and even during deletion."""
        return self.meta.labels.get(LABEL_SKIP) == "true"

    @property
    def unmanaged(self) -> bool:
        """Return whether lifecycle-manager was asked to release it."""
        return self.meta.annotations.get(ANNOTATION_UNMANAGED, "") == "true"


def fnv1(text: str) -> int:
    """Return the 32-bit FNV-1 hash (not FNV-1a) of the UTF-8 bytes."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value * _FNV_PRIME & _FNV_MASK) ^ byte
    return value


def manifest_name(kyma: str, component: str, module: str) -> str:
    """Return the name that lifecycle-manager gives a module's Manifest.

    `<kyma>-<last part of the component>-<FNV-1 of component and module>`, cut to 62 characters.
    """
    name = f"{kyma}-{component.rpartition('/')[2]}-{fnv1(component + module)}"
    return name[: _NAME_LIMIT - 1].rstrip("-") if len(name) >= _NAME_LIMIT else name


def orphan_reason(manifest: Manifest, kyma: Kyma | None, now: float) -> str:
    """Return why a Manifest is orphaned, "" if it is not: its Kyma is gone, or has not reported it for five minutes.

    Kymas do not report mandatory modules.
    """
    if kyma is None:
        return f"there is no Kyma {manifest.kyma}"
    if manifest.mandatory or now - (manifest.meta.created or 0.0) < ORPHAN_SECONDS:
        return ""
    return "" if is_reported(manifest, manifest.module, kyma) else f"the Kyma {kyma.meta.name} does not report it"


def is_reported(manifest: Manifest, module: str, kyma: Kyma) -> bool:
    """Return whether a Kyma's status has the Manifest; a report that names none is for the module's."""
    report = kyma.report(module)
    if report is not None and report.manifest is None:
        return True
    return any(entry.manifest is not None and entry.manifest.ref.name == manifest.meta.name for entry in kyma.reports)


def default_resource(
    data: Mapping[str, Any], manifest: str, *, cluster_scoped: bool = False, namespace: str = KYMA_NAMESPACE
) -> ObjectRef:
    """Return the reference of a module's default CR; an empty name and namespace get defaults.

    lifecycle-manager ignores the namespace of a cluster-scoped one.
    """
    ref = read_ref(data)
    where = "" if cluster_scoped else ref.namespace or namespace
    return ObjectRef(ref.kind, where, ref.name or manifest)


def default_resource_body(data: Mapping[str, Any], identity: ObjectRef) -> dict[str, Any]:
    """Return the default CR as created: with name and namespace, without status (the server ignores it)."""
    named = {**mapping_at(data, "metadata"), "name": identity.name}
    named.pop("namespace", None)
    if identity.namespace:
        named["namespace"] = identity.namespace
    return {**{key: value for key, value in data.items() if key != "status"}, "metadata": named}


def _image_spec(entry: JsonReader) -> ImageSpec:
    return ImageSpec(
        entry.text("repo"),
        entry.text("name"),
        entry.text("ref"),
        entry.text("type"),
        entry.mapping("credSecretSelector"),
    )


def _source(entry: JsonReader) -> InstallSource:
    kind = entry.text("type")
    if kind == "helm-chart" and entry.has("chartName"):
        return HelmSource(entry.text("url"), entry.text("chartName"))
    if kind == "kustomize" and not entry.has("repo"):
        return KustomizeSource(entry.text("url"), entry.text("path"))
    if kind in ("oci-ref", "oci-dir", "helm-chart", "kustomize"):
        return _image_spec(entry)
    return UnknownSource(kind)


def _install(entry: JsonReader) -> ManifestInstall:
    return ManifestInstall(entry.text("name"), _source(entry.child("source")))


def _synced(entry: JsonReader) -> ObjectRef:
    kind = GroupVersionKind(entry.text("group"), entry.text("version"), entry.text("kind"))
    return ObjectRef(kind, entry.text("namespace"), entry.text("name"))


def read_manifest(raw: object) -> Manifest | MalformedObject:
    """Read a Manifest of v1alpha1 (`installs`, `crds`) or v1beta2 (`install`)."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := unusable(raw, meta.name):
        return MalformedObject(read_ref(raw), reason, raw)
    spec, status = reader.child("spec"), reader.child("status")
    single = (_install(spec.child("install")),) if spec.has("install") else ()
    return Manifest(
        meta=meta,
        version=spec.text("version"),
        policy=spec.text("customResourcePolicy", "CreateAndDelete"),
        # v1alpha1 defaults to the runtime of the Kyma; v1beta2 requires the field and ignores it.
        remote=spec.flag("remote", True),
        installs=single + tuple(map(_install, spec.children("installs"))),
        config=_image_spec(spec.child("config")) if spec.has("config") else None,
        crds=_image_spec(spec.child("crds")) if spec.has("crds") else None,
        resource=spec.mapping("resource"),
        state=status.text("state"),
        operation=status.child("lastOperation").text("operation"),
        conditions=read_conditions(status),
        synced=tuple(map(_synced, status.children("synced"))),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
    )
