"""kustomize's built-in transformers as named by a kustomization, with custom fields.

Other transformers are programs, which are never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.errors import SourceError
from kymatui.kustomize.model.field_specs import FieldSpecs, read_spec
from kymatui.kustomize.model.file_tree import KustomizationFolder
from kymatui.kustomize.model.resmap import ResMap
from kymatui.kustomize.model.strict_fields import StrictFields
from kymatui.kustomize.transformers import metadata_transformers, patches
from kymatui.kustomize.transformers.replacements import apply_replacements

BUILTIN: Final = "builtin"

Transformer = Callable[[ResMap, StrictFields, KustomizationFolder], None]


def apply_transformers(resources: ResMap, entries: Iterable[str], folder: KustomizationFolder, where: str) -> None:
    """Apply the listed transformers, each inline or a file. Raises SourceError."""
    for fields in _read(entries, folder, f"{where}: transformers"):
        kind = fields.text("kind")
        transformer = _TRANSFORMERS.get(kind)
        if fields.text("apiVersion") != BUILTIN or transformer is None:
            raise SourceError(
                f"{fields.where} is not supported",
                hint=f"kymatui runs no programs; use one of {BUILTIN}: {', '.join(_TRANSFORMERS)}",
            )
        transformer(resources, fields, folder)


def _read(entries: Iterable[str], folder: KustomizationFolder, where: str) -> Iterator[StrictFields]:
    for at, entry in enumerate(entries):
        if "\n" in entry or "{" in entry:
            data, source = entry.encode(), f"{where}[{at}]"
        else:
            content = folder.find(entry)
            if content is None:
                raise SourceError(f"{where}: {entry} is not a file", hint="folders of transformers are not supported")
            data, source = content, folder.shown(entry)
        for body in each_object(data, source, old_words=False, budget=folder.limits.budget):
            yield StrictFields(body, f"{source}: {body['kind']}")


def _settings(fields: StrictFields) -> None:
    """Ignore the common fields, and reject unknown ones."""
    for name in ("apiVersion", "kind", "metadata"):
        fields.ignore(name)
    fields.finish()


def _specs(fields: StrictFields) -> FieldSpecs:
    return tuple(map(read_spec, fields.children("fieldSpecs")))


def _namespace(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    """Set the namespace, which is the transformer's own."""
    namespace = str(fields.child("metadata").raw.get("namespace") or "")
    specs, unset_only = _specs(fields), fields.flag("unsetOnly")
    subjects = fields.text("setRoleBindingSubjects") or metadata_transformers.DEFAULT_SUBJECTS
    if subjects not in metadata_transformers.SUBJECTS:
        known = ", ".join(metadata_transformers.SUBJECTS)
        raise fields.error("setRoleBindingSubjects", f"is {subjects!r}, expected one of {known}")
    _settings(fields)
    if namespace:
        metadata_transformers.set_namespace(resources, namespace, specs, unset_only=unset_only, subjects=subjects)


def _prefix_and_suffix(resources: ResMap, fields: StrictFields, folder: KustomizationFolder) -> None:
    specs = _named_specs(fields)
    prefix, suffix = fields.text("prefix"), fields.text("suffix")
    _settings(fields)
    if prefix:
        metadata_transformers.add_prefix(resources, prefix, specs)
    if suffix:
        metadata_transformers.add_suffix(resources, suffix, specs)


def _prefix(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    specs, prefix = _named_specs(fields), fields.text("prefix")
    _settings(fields)
    if prefix:
        metadata_transformers.add_prefix(resources, prefix, specs)


def _suffix(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    specs, suffix = _named_specs(fields), fields.text("suffix")
    _settings(fields)
    if suffix:
        metadata_transformers.add_suffix(resources, suffix, specs)


def _named_specs(fields: StrictFields) -> FieldSpecs:
    if not fields.has("fieldSpecs"):
        raise fields.error("fieldSpecs", "are missing")
    return _specs(fields)


def _labels(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    labels, specs = fields.texts("labels"), _specs(fields)
    _settings(fields)
    metadata_transformers.set_texts(resources, labels, specs)


def _annotations(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    annotations, specs = fields.texts("annotations"), _specs(fields)
    _settings(fields)
    metadata_transformers.set_texts(resources, annotations, specs)


def _image(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    image, specs = fields.child("imageTag"), _specs(fields)
    _settings(fields)
    metadata_transformers.set_images(resources, [image], specs)


def _replicas(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
    replica, specs = fields.child("replica"), _specs(fields)
    _settings(fields)
    metadata_transformers.set_replicas(resources, [replica], specs)


def _patch(resources: ResMap, fields: StrictFields, folder: KustomizationFolder) -> None:
    rest = {name: value for name, value in fields.raw.items() if name not in ("apiVersion", "kind", "metadata")}
    patches.apply_patches(resources, [StrictFields(rest, fields.where)], folder)


def _replacements(resources: ResMap, fields: StrictFields, folder: KustomizationFolder) -> None:
    replacements = fields.children("replacements")
    _settings(fields)
    apply_replacements(resources, replacements, folder)


_TRANSFORMERS: Final[dict[str, Transformer]] = {
    "AnnotationsTransformer": _annotations,
    "ImageTagTransformer": _image,
    "LabelTransformer": _labels,
    "NamespaceTransformer": _namespace,
    "PatchTransformer": _patch,
    "PrefixSuffixTransformer": _prefix_and_suffix,
    "PrefixTransformer": _prefix,
    "ReplacementTransformer": _replacements,
    "ReplicaCountTransformer": _replicas,
    "SuffixTransformer": _suffix,
}
