"""The patches of a kustomization: their targets and their application."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.engine.cluster.ports import Object
from kymatui.errors import SourceError
from kymatui.helm.yaml.conversions import count_nodes
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.node_reader import MissingValues
from kymatui.helm.yaml.reading import load_exactly
from kymatui.kustomize.model.file_tree import KustomizationFolder
from kymatui.kustomize.model.resmap import Gvk, KustomizeResource, PatchSelector, ResId, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields
from kymatui.kustomize.transformers import json6902_patch, strategic_merge


def apply_merge_patches(resources: ResMap, patches: Iterable[str], folder: KustomizationFolder) -> None:
    """Apply patchesStrategicMerge, each inline or a file."""
    budget = folder.limits.budget
    for text in patches:
        for patch in _inline(text, budget) or _read(folder.load(text), folder.shown(text), budget):
            _merge(resources, resources.target(_id(patch)), patch)


def _inline(text: str, budget: YamlBudget) -> list[Object]:
    try:
        return _read(text.encode(), "patchesStrategicMerge", budget)
    except SourceError:  # text that is no object is the path of a file
        return []


def _read(data: bytes, where: str, budget: YamlBudget) -> list[Object]:
    objects = list(each_object(data, where, old_words=False, budget=budget, missing=MissingValues()))
    if not objects:
        raise SourceError(f"{where} has no patch")
    return objects


def _id(patch: Object) -> ResId:
    return KustomizeResource(patch).current


def apply_patches(resources: ResMap, patches: Iterable[StrictFields], folder: KustomizationFolder) -> None:
    """Apply patches: strategic merge or JSON patches, for a target or the object that they name."""
    for fields in patches:
        data, where = _text(fields, folder)
        options = fields.child("options")
        allowed = options.flag("allowNameChange"), options.flag("allowKindChange")
        options.finish()
        target = read_selector(fields.child("target")) if fields.has("target") else None
        fields.finish()
        operations = _operations(data, where, folder.limits.budget)
        if operations is not None:
            if target is None:
                raise SourceError(f"{where} is a JSON patch without a target")
            _patch_json(resources, target, operations, where)
        else:
            versioned = target is None
            budget = folder.limits.budget
            read = each_object(
                data, where, old_words=False, versioned=versioned, budget=budget, missing=MissingValues()
            )
            objects = list(read)
            if objects:  # files with comments only are in use, and have no effect
                _patch_merge(resources, target, objects, where, allowed)


def _text(fields: StrictFields, folder: KustomizationFolder) -> tuple[bytes, str]:
    text, path = fields.text("patch").strip(), fields.text("path")
    if bool(text) == bool(path):
        raise SourceError(f"{fields.where} needs exactly one of patch and path")
    return (text.encode(), fields.where) if text else (folder.load(path), folder.shown(path))


def _operations(data: bytes, where: str, budget: YamlBudget) -> list[Any] | None:
    """Return the operations of a JSON patch, None for another patch."""
    try:
        document = load_exactly(data, budget=budget)
    except YamlError as error:
        raise SourceError(f"{where}: {error.summary}") from None
    return document if isinstance(document, list) else None


def apply_json_patches(resources: ResMap, patches: Iterable[StrictFields], folder: KustomizationFolder) -> None:
    """Apply patchesJson6902: JSON patches for objects by name."""
    for fields in patches:
        data, where = _text(fields, folder)
        target = fields.child("target")
        if not target.text("name"):
            raise SourceError(f"{fields.where}: its target has no name")
        selector = read_selector(target)
        fields.ignore("options")
        fields.finish()
        operations = _operations(data, where, folder.limits.budget)
        if not operations:
            raise SourceError(f"{where} has no JSON patch")
        _patch_json(resources, selector, operations, where, remember=False)


def read_selector(fields: StrictFields) -> PatchSelector:
    selector = PatchSelector(
        Gvk(fields.text("group"), fields.text("version"), fields.text("kind")),
        fields.text("name"),
        fields.text("namespace"),
        fields.text("labelSelector"),
        fields.text("annotationSelector"),
    )
    fields.finish()
    return selector


def _patch_json(
    resources: ResMap, target: PatchSelector, operations: list[Any], where: str, *, remember: bool = True
) -> None:
    for resource in resources.select(target):
        if remember:
            resource.remember()
        resources.limits.missing.forget(resource.body)  # the patch is for JSON, in which every key has a value
        resource.body = json6902_patch.apply(
            resource.body, operations, f"{where} for {resource.current}", resources.limits.budget
        )


def _patch_merge(
    resources: ResMap, target: PatchSelector | None, patches: list[Object], where: str, allowed: tuple[bool, bool]
) -> None:
    if target is None:
        for patch in patches:
            _merge(resources, resources.target(_id(patch)), patch, allowed)
        return
    if len(patches) > 1:
        raise SourceError(f"{where} has several patches, which cannot have a target")
    for resource in resources.select(target):
        _merge(resources, resource, {**patches[0], "apiVersion": resource.body.get("apiVersion")}, allowed)


def _merge(
    resources: ResMap, resource: KustomizeResource, patch: Object, allowed: tuple[bool, bool] = (False, False)
) -> None:
    """Apply a strategic merge; name and kind stay unless the patch may change them."""
    name, namespace, kind = resource.name, resource.namespace, resource.kind.kind
    if any(allowed):
        resource.remember()
    resources.limits.budget.charge(count_nodes(patch))
    merged = strategic_merge.merge(resource.body, patch, resources.limits.missing)
    if merged is None:
        resources.remove(resource)
        return
    resource.body = merged
    may_rename, may_be_another_kind = allowed
    if not may_be_another_kind:
        merged["kind"] = kind
    if not may_rename:
        resource.metadata["name"] = name
    resource.metadata.pop("namespace", None)
    if namespace:
        resource.metadata["namespace"] = namespace
