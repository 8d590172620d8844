"""The build of a kustomization: resources, generators and components, then all transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from msgspec import Struct

from kymatui.engine.bundles.yaml_objects import DEEPEST, each_object
from kymatui.engine.cluster.ports import Object
from kymatui.errors import SourceError
from kymatui.helm.yaml.errors import YamlLimitError
from kymatui.helm.yaml.node_reader import MissingValues
from kymatui.json_input import levels_of
from kymatui.kustomize.model.field_specs import FieldSpecs, TransformerConfig, default_config, read_config, read_spec
from kymatui.kustomize.model.file_tree import KustomizationFolder
from kymatui.kustomize.model.kustomization import Kustomization, read_kustomization
from kymatui.kustomize.model.resmap import KustomizeResource, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields
from kymatui.kustomize.transformers import generators, metadata_transformers, patches, variables
from kymatui.kustomize.transformers.name_references import fix_references
from kymatui.kustomize.transformers.replacements import apply_replacements

LOCAL: Final = "config.kubernetes.io/local-config"
T = TypeVar("T")


class Build(Struct, frozen=True):
    """The objects that `kustomize build` prints, and what it warns about."""

    objects: tuple[Object, ...]
    notes: tuple[str, ...] = ()


def build(folder: KustomizationFolder) -> Build:
    """Build a kustomization. Raises SourceError."""
    target = _Target(folder)
    try:
        target.accumulate()
    except YamlLimitError as error:
        raise SourceError(f"{folder}: {error.summary}") from None
    except RecursionError:
        raise SourceError(f"{folder}: it is nested too deeply") from None
    resources, config = target.resources, target.config
    if deep := next((resource for resource in resources if levels_of(resource.body) > DEEPEST), None):
        raise SourceError(f"{folder}: {deep.current} is nested in more than {DEEPEST} levels")
    target.notes += generators.add_hashes(resources)
    fix_references(resources, config)
    unused = variables.resolve_variables(resources, target.variables.values(), config.variables)
    if unused:
        target.notes.append(f"Variables without a use: {', '.join(unused)}.")
    ordered = target.kustomization.order.sorted(resources)
    printed = (_printed(resource, folder.limits.missing) for resource in ordered if not _is_local(resource))
    return Build(tuple(printed), tuple(target.notes))


_OWN_ANNOTATIONS: Final = ("config.kubernetes.io/index", "config.kubernetes.io/path", "config.k8s.io/id")
"""What kustomize's tools remember of an object's place."""


def _printed(resource: KustomizeResource, missing: MissingValues) -> Object:
    """Return the object without kustomize's own and without empty annotations; empty labels stay, as in kustomize.

    Annotations that are null become text as they are spelled, as in kustomize: "" for those without a value.
    """
    annotations = resource.texts("annotations")
    for name in [*annotations]:
        if name in _OWN_ANNOTATIONS or name.startswith("internal.config.kubernetes.io/"):
            del annotations[name]
        elif annotations[name] is None:
            spelling = missing.spelling(annotations, name)
            annotations[name] = "null" if spelling is None else spelling
    if not resource.metadata.get("annotations", True):
        del resource.metadata["annotations"]
    return resource.body


def _is_local(resource: KustomizeResource) -> bool:
    """Return whether an object is used for the build only."""
    return resource.texts("annotations").get(LOCAL, "false") != "false"


class _Target:
    """One kustomization and its accumulated resources; a component changes those of its parent."""

    def __init__(self, folder: KustomizationFolder, parent: _Target | None = None) -> None:
        name, data = folder.kustomization()
        self._place = folder
        self._where = folder.shown(name)
        self.kustomization: Kustomization = read_kustomization(data, self._where, folder.limits.budget)
        self.resources: ResMap = parent.resources if parent is not None else ResMap(folder.limits)
        self.config: TransformerConfig = (
            parent.config if parent is not None else TransformerConfig(name_prefix=(), name_suffix=())
        )

        self.variables: dict[str, variables.KustomizeVariable] = parent.variables if parent is not None else {}
        self.notes: list[str] = parent.notes if parent is not None else []

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
        self._add_variables()

    def _add_variables(self) -> None:
        declared = [variables.read_variable(fields) for fields in self.kustomization.variables]
        if declared:
            self.notes.append(f"{self._where} uses vars, which kustomize deprecates; use replacements.")
        variables.add_variables(self.variables, declared, self.resources)

    def _add_resource(self, path: str) -> None:
        data = self._place.find(path)
        if data is not None:
            limits = self._place.limits
            where = self._place.shown(path)
            objects = each_object(data, where, old_words=False, budget=limits.budget, missing=limits.missing)
            self.resources.extend(map(KustomizeResource, objects))
            return
        child = _Target(self._place.enter(path))
        if child.kustomization.is_component:
            raise SourceError(f"{self._where}: {path} is a Component", hint="list it under components")
        child.accumulate()
        self.resources.extend(child.resources)
        self.config.merge(child.config)
        variables.merge_variables(self.variables, child.variables.values())
        self.notes += child.notes

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
        asked, resources, config = self.kustomization, self.resources, self.config
        patches.apply_merge_patches(resources, asked.merge_patches, self._place)
        patches.apply_patches(resources, asked.patches, self._place)
        if asked.namespace:
            metadata_transformers.set_namespace(resources, asked.namespace, config.namespace)
        if asked.name_prefix:
            metadata_transformers.add_prefix(resources, asked.name_prefix, config.name_prefix)
        if asked.name_suffix:
            metadata_transformers.add_suffix(resources, asked.name_suffix, config.name_suffix)
        metadata_transformers.add_labels(resources, asked.labels, asked.common_labels, config)
        metadata_transformers.set_texts(resources, asked.common_annotations, config.common_annotations)
        patches.apply_json_patches(resources, asked.json_patches, self._place)
        metadata_transformers.set_replicas(resources, asked.replicas, config.replicas)
        metadata_transformers.set_images(resources, asked.images, config.images)
        apply_replacements(resources, asked.replacements, self._place)
        apply_transformers(resources, asked.transformers, self._place, self._where)


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


def _affixes(*names: str) -> Transformer:
    """Return the transformer that adds prefix, suffix, or both, to the names that it is given the fields of."""

    def run(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
        specs = _named_specs(fields)
        affixes = {name: fields.text(name) for name in names}
        _settings(fields)
        if affixes.get("prefix"):
            metadata_transformers.add_prefix(resources, affixes["prefix"], specs)
        if affixes.get("suffix"):
            metadata_transformers.add_suffix(resources, affixes["suffix"], specs)

    return run


def _named_specs(fields: StrictFields) -> FieldSpecs:
    if not fields.has("fieldSpecs"):
        raise fields.error("fieldSpecs", "are missing")
    return _specs(fields)


def _setting(read: Callable[[StrictFields], T], set_values: Callable[[ResMap, T, FieldSpecs], None]) -> Transformer:
    """Return the transformer that reads its own fields, and sets what they say in those of its field specs."""

    def run(resources: ResMap, fields: StrictFields, _: KustomizationFolder) -> None:
        values, specs = read(fields), _specs(fields)
        _settings(fields)
        set_values(resources, values, specs)

    return run


def _patch(resources: ResMap, fields: StrictFields, folder: KustomizationFolder) -> None:
    rest = {name: value for name, value in fields.raw.items() if name not in ("apiVersion", "kind", "metadata")}
    patches.apply_patches(resources, [StrictFields(rest, fields.where)], folder)


def _replacements(resources: ResMap, fields: StrictFields, folder: KustomizationFolder) -> None:
    replacements = fields.children("replacements")
    _settings(fields)
    apply_replacements(resources, replacements, folder)


_TRANSFORMERS: Final[dict[str, Transformer]] = {
    "AnnotationsTransformer": _setting(lambda fields: fields.texts("annotations"), metadata_transformers.set_texts),
    "ImageTagTransformer": _setting(lambda fields: [fields.child("imageTag")], metadata_transformers.set_images),
    "LabelTransformer": _setting(lambda fields: fields.texts("labels"), metadata_transformers.set_texts),
    "NamespaceTransformer": _namespace,
    "PatchTransformer": _patch,
    "PrefixSuffixTransformer": _affixes("prefix", "suffix"),
    "PrefixTransformer": _affixes("prefix"),
    "ReplacementTransformer": _replacements,
    "ReplicaCountTransformer": _setting(lambda fields: [fields.child("replica")], metadata_transformers.set_replicas),
    "SuffixTransformer": _affixes("suffix"),
}
