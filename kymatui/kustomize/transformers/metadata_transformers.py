"""Transformers of all objects: namespace, names, labels, annotations, images, replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.errors import SourceError
from kymatui.helm.functions.text.regexes import compiled
from kymatui.helm.govalues.types import FunctionError
from kymatui.kustomize.model.field_specs import (
    Change,
    FieldSpec,
    FieldSpecs,
    TransformerConfig,
    change,
    merged,
    read_spec,
)
from kymatui.kustomize.model.resmap import Gvk, KustomizeResource, ResId, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields

_UNTOUCHED_NAMES: Final = (
    Gvk(kind="CustomResourceDefinition"),
    Gvk("apiregistration.k8s.io", "", "APIService"),
    Gvk(kind="Namespace"),
)
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
DEFAULT_SUBJECTS: Final = "defaultOnly"
SUBJECTS: Final = {
    DEFAULT_SUBJECTS: ("name", "default"),
    "allServiceAccounts": ("kind", "ServiceAccount"),
    "none": ("", ""),
}
_REST_OF_IMAGE: Final = "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$"


def set_namespace(
    resources: ResMap, namespace: str, specs: FieldSpecs, *, unset_only: bool = False, subjects: str = DEFAULT_SUBJECTS
) -> None:
    """Set the namespace of all objects that may have one. Raises SourceError for a name collision.

    unset_only  keep existing namespaces
    subjects    the subjects of bindings to change: a key of SUBJECTS
    """

    def put(value: Any) -> Any:
        return value if unset_only and value not in (None, "") else namespace

    for resource in resources:
        resource.remember()
        kind = resource.kind
        if not kind.is_cluster_scoped:
            resource.metadata["namespace"] = put(resource.metadata.get("namespace"))
        if kind.kind in _BINDINGS:
            _set_subjects(resource.body, SUBJECTS[subjects], put)
        for spec in specs:
            if _is_hard_wired(spec, resource, kind):
                continue
            _apply(resource, spec, str, put)
    try:
        resources.check_names()
    except SourceError as error:
        raise SourceError(f"after setting namespace {namespace}: {error}") from error


def _is_hard_wired(spec: FieldSpec, resource: KustomizeResource, kind: Gvk) -> bool:
    """Return whether special rules set the field."""
    if spec.path == "metadata/namespace" or (kind.kind in _BINDINGS and spec.path == "subjects/namespace"):
        return True
    return spec.path == "metadata/name" and resource.body.get("apiVersion") != "v1"


def _set_subjects(body: dict[str, Any], meant: tuple[str, str], put: Change) -> None:
    name, value = meant
    for subject in body.get("subjects") or []:
        if name and isinstance(subject, dict) and subject.get(name) == value:
            subject["namespace"] = put(subject.get("namespace"))


def _apply(resource: KustomizeResource, spec: FieldSpec, make: Any, set_value: Change) -> None:
    if spec.kind.selects(resource.kind):
        try:
            change(resource.body, spec, make, set_value)
        except SourceError as error:
            raise SourceError(f"{resource.current}: {spec.path}: {error}") from error


def add_prefix(resources: ResMap, prefix: str, specs: FieldSpecs) -> None:
    for resource, spec in _named(resources, specs):
        if spec.path == "metadata/name":
            resource.prefixes.append(prefix)
            resource.remember()
        _apply(resource, FieldSpec(spec.path), None, lambda name: f"{prefix}{name}")


def add_suffix(resources: ResMap, suffix: str, specs: FieldSpecs) -> None:
    for resource, spec in _named(resources, specs):
        if spec.path == "metadata/name":
            resource.suffixes.append(suffix)
            resource.remember()
        _apply(resource, FieldSpec(spec.path), None, lambda name: f"{name}{suffix}")


def _named(resources: ResMap, specs: FieldSpecs) -> Iterable[tuple[KustomizeResource, FieldSpec]]:
    for resource in resources:
        before = resource.original.kind
        if not any(kind.selects(before) for kind in _UNTOUCHED_NAMES):
            yield from ((resource, spec) for spec in specs if spec.kind.selects(before))


def add_labels(
    resources: ResMap, entries: Iterable[StrictFields], common: Mapping[str, str], config: TransformerConfig
) -> None:
    for fields in entries:
        pairs = fields.texts("pairs")
        specs = merged(tuple(map(read_spec, fields.children("fields"))), config.labels)
        if fields.flag("includeSelectors"):
            specs = merged(specs, config.common_labels)
        else:
            if fields.flag("includeTemplates"):
                specs = merged(specs, config.template_labels)
            if fields.flag("includeVolumeClaimTemplates"):
                specs = merged(specs, config.volume_claim_labels)
            specs = merged(specs, [FieldSpec("metadata/labels", create=True)])
        for name in ("includeTemplates", "includeVolumeClaimTemplates"):
            fields.ignore(name)
        fields.finish()
        set_texts(resources, pairs, specs)
    set_texts(resources, common, config.common_labels)


def set_texts(resources: ResMap, texts: Mapping[str, str], specs: FieldSpecs) -> None:
    """Set labels or annotations at all matching fields."""
    if not texts:
        return

    def add(value: Any) -> Any:
        if not isinstance(value, dict):
            raise SourceError("the field is not a map of labels or annotations")
        return {**value, **texts}

    for resource in resources:
        for spec in specs:
            _apply(resource, spec, dict, add)


class NewImage(Struct, frozen=True):
    """One entry of `images`."""

    name: str
    new_name: str
    new_tag: str
    digest: str
    tag_suffix: str

    @classmethod
    def read(cls, fields: StrictFields) -> NewImage:
        names = ("name", "newName", "newTag", "digest", "tagSuffix")
        image = cls(*(fields.text(name) for name in names))
        fields.finish()
        return image

    def matches(self, image: str) -> bool:
        """Return whether the image matches the name, a pattern as in kustomize; an invalid one never matches."""
        try:
            return compiled(f"^{self.name}{_REST_OF_IMAGE}").search(image.encode()) is not None
        except FunctionError:
            return False

    def changed(self, image: Any) -> Any:
        if not isinstance(image, str) or not self.matches(image):
            return image
        name, tag, digest = _split_image(image)
        if self.new_tag or self.digest:
            tag, digest = self.new_tag, self.digest
        elif self.tag_suffix:
            tag, digest = tag + self.tag_suffix, ""
        return (self.new_name or name) + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _split_image(image: str) -> tuple[str, str, str]:
    """Return name, tag and digest; the colon of a port belongs to the name."""
    rest, _, digest = image.partition("@")
    slash = max(rest.find("/"), 0)
    colon = rest.find(":", slash)
    return (rest, "", digest) if colon < 0 else (rest[:colon], rest[colon + 1 :], digest)


def set_images(resources: ResMap, entries: Iterable[StrictFields], specs: FieldSpecs) -> None:
    """Replace images in all container lists at any depth, and in the listed fields."""
    for image in map(NewImage.read, entries):
        for resource in resources:
            if resource.kind.kind == "CustomResourceDefinition":
                continue
            _set_in_containers(resource.body, image)
            for spec in specs:
                _apply(resource, spec, None, image.changed)


def _set_in_containers(node: Any, image: NewImage) -> None:
    if isinstance(node, list):
        for item in node:
            _set_in_containers(item, image)
    elif isinstance(node, dict):
        for key, value in node.items():
            _set_in_containers(value, image)
            if key in ("containers", "initContainers") and isinstance(value, list):
                for item in value:
                    if isinstance(item, dict) and "image" in item:
                        item["image"] = image.changed(item["image"])


def set_replicas(resources: ResMap, entries: Iterable[StrictFields], specs: FieldSpecs) -> None:
    """Set the replicas. Raises SourceError if no object has the name."""
    for fields in entries:
        name, count = fields.text("name"), fields.whole("count")
        fields.finish()
        replaced = False
        for spec in specs:

            def is_meant(res_id: ResId, spec: FieldSpec = spec, name: str = name) -> bool:
                return res_id.name == name and spec.kind.selects(res_id.kind)

            for resource in resources.by_any_id(is_meant):
                replaced = True
                _apply(resource, spec, int, lambda _, count=count: count)  # type: ignore[misc]
        if not replaced:
            raise SourceError(f"{fields.where}: workload not found: {name!r}")
