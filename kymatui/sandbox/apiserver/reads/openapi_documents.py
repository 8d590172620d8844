"""OpenAPI documents, as far as kubectl needs them: kinds and fields, paths and options.

Version 3 has one document per group version; version 2 is one document. Types of built-in kinds have names and are
referenced; types of custom resources are inlined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from kymatui.sandbox.apiserver.reads.non_resource_paths import VERSION
from kymatui.sandbox.apiserver.resources.resource import ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.schemas.types.schema_node import Schema

Json = dict[str, Any]

_OPTIONS: dict[str, tuple[str, ...]] = {
    "list": ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"),
    "get": (),
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy", "orphanDependents"),
}
_BODY_TYPES = {
    "post": ("application/json",),
    "put": ("application/json",),
    "patch": (
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ),
}


class OpenApi:
    """Makes documents on request and caches them until the served resources change."""

    def __init__(self, catalog: ResourceCatalog) -> None:
        self._catalog = catalog
        self._known: dict[str, tuple[int, bytes]] = {}

    def v2(self) -> bytes:
        return self._kept("v2", self._make_v2)

    def v3_index(self) -> bytes:
        return self._kept("v3", self._make_index)

    def v3(self, group_version: str) -> bytes | None:
        """Return the document of "api/v1" or "apis/apps/v1"; None if it is not served."""
        resources = self._resources(group_version)
        if not resources:
            return None
        return self._kept(group_version, lambda: _document(resources, "#/components/schemas/"))

    def _kept(self, key: str, make: Any) -> bytes:
        known = self._known.get(key)
        if known is None or known[0] != self._catalog.changes:
            known = self._known[key] = (self._catalog.changes, msgspec.json.encode(make()))
        return known[1]

    def _resources(self, group_version: str) -> list[ServedResource]:
        kind, _, rest = group_version.partition("/")
        group, _, version = rest.rpartition("/")
        if kind not in ("api", "apis") or (kind == "api") != (group == ""):
            return []
        return self._catalog.of(group, version)

    def _make_index(self) -> Json:
        paths: Json = {}
        for resource in self._catalog.all():
            name = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
            if name not in paths:
                tag = hashlib.sha256(f"{name} {self._catalog.changes}".encode()).hexdigest()[:32].upper()
                paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={tag}"}
        return {"paths": paths}

    def _make_v2(self) -> Json:
        document = _document(self._catalog.all(), "#/definitions/")
        return {
            "swagger": "2.0",
            "info": document["info"],
            "paths": document["paths"],
            "definitions": document["components"]["schemas"],
        }


def _document(resources: Iterable[ServedResource], prefix: str) -> Json:
    writer = _Writer(prefix)
    paths: Json = {}
    for resource in resources:
        writer.add_kind(resource)
        paths.update(_paths(resource, prefix + component_name(resource)))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": writer.components},
    }


def component_name(resource: ServedResource) -> str:
    """Return "io.k8s.api.apps.v1.Deployment", "io.kyma-project.operator.v1beta2.Kyma"."""
    if resource.custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    group = resource.group.split(".")[0] or "core"
    return f"io.k8s.api.{group}.{resource.version}.{resource.kind}"


class _Writer:
    """Converts schemas to OpenAPI and collects the referenced types."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.components: Json = {}

    def add_kind(self, resource: ServedResource) -> None:
        gvk = [{"group": resource.group, "version": resource.version, "kind": resource.kind}]
        body = self._body(resource.schema)
        self.components[component_name(resource)] = {**body, "x-kubernetes-group-version-kind": gvk}

    def _refer(self, schema: Schema) -> Json:
        """Return a reference to a named type, or the schema itself."""
        if not schema.properties or not schema.go_type:
            return self._body(schema)
        name = f"io.k8s.api.{schema.go_type}"
        if name not in self.components:
            self.components[name] = {}  # types may be recursive
            self.components[name] = self._body(schema)
        return {"allOf": [{"$ref": self._prefix + name}], "description": schema.description}

    def _body(self, schema: Schema) -> Json:
        out: Json = {}
        if schema.int_or_string:
            out["x-kubernetes-int-or-string"] = True
        elif schema.type:
            out["type"] = schema.type
        for name, value in (("description", schema.description), ("format", schema.format)):
            if value:
                out[name] = value
        if schema.properties:
            out["properties"] = {name: self._refer(below) for name, below in schema.properties.items()}
        if schema.additional is not None:
            out["additionalProperties"] = self._refer(schema.additional)
        if schema.items is not None:
            out["items"] = self._refer(schema.items)
        if schema.required:
            out["required"] = list(schema.required)
        if schema.has_default:
            out["default"] = schema.default
        return {**out, **_extensions(schema), **_limits(schema)}


def _limits(schema: Schema) -> Json:
    plain = (str, int, float, bool, list)
    limits = {name: value for name, value in schema.constraints.items() if isinstance(value, plain)}
    return {name: value for name, value in limits.items() if not name.endswith("Of") or name == "multipleOf"}


def _extensions(schema: Schema) -> Json:
    out: Json = {}
    if schema.list_type:
        out["x-kubernetes-list-type"] = schema.list_type
    if schema.map_keys:
        out["x-kubernetes-list-map-keys"] = list(schema.map_keys)
    if schema.atomic:
        out["x-kubernetes-map-type"] = "atomic"
    if schema.preserve:
        out["x-kubernetes-preserve-unknown-fields"] = True
    if schema.merge_key:
        out["x-kubernetes-patch-merge-key"] = schema.merge_key
    if schema.patch_strategy:
        out["x-kubernetes-patch-strategy"] = ",".join(schema.patch_strategy)
    if schema.nullable:
        out["nullable"] = True
    return out


def _paths(resource: ServedResource, reference: str) -> Json:
    prefix = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    prefix_path = f"{prefix}/namespaces/{{namespace}}" if resource.namespaced else prefix
    collection, single = f"{prefix_path}/{resource.name}", f"{prefix_path}/{resource.name}/{{name}}"
    verbs = set(resource.verbs)
    paths: Json = {}
    methods = (
        (collection, "get", "list", "list"),
        (collection, "post", "post", "create"),
        (single, "get", "get", "get"),
        (single, "put", "put", "update"),
        (single, "patch", "patch", "patch"),
        (single, "delete", "delete", "delete"),
    )
    for path, method, action, verb in methods:
        if verb in verbs:
            paths.setdefault(path, {})[method] = _operation(resource, action, reference)
    return paths


def _operation(resource: ServedResource, action: str, reference: str) -> Json:
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    answer = {"description": "OK", "content": {"application/json": {"schema": {"$ref": reference}}}}
    operation: Json = {
        "operationId": f"{action}{resource.group.title().replace('.', '')}{resource.version.title()}{resource.kind}",
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _OPTIONS[action]],
        "responses": {"200": answer},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk,
    }
    if action in _BODY_TYPES:
        content = {media: {"schema": {"$ref": reference}} for media in _BODY_TYPES[action]}
        operation["requestBody"] = {"content": content}
    return operation
