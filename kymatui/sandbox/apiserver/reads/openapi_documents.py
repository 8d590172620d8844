"""OpenAPI documents, as far as kubectl needs them: kinds and fields, paths and options.

Version 3 has one document per group version; version 2 is one document. Types of built-in kinds have names and are
referenced; types of custom resources are inlined.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kymatui.sandbox.apiserver.encoding.openapi_protobuf import encode_document
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
_JSON = "application/json"
_STRATEGIC = "application/strategic-merge-patch+json"
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", _STRATEGIC, "application/apply-patch+yaml")


class OpenApi:
    """Makes documents on request and caches them until the served resources change."""

    def __init__(self, catalog: ResourceCatalog) -> None:
        self._catalog = catalog
        self._known: dict[str, tuple[int, bytes]] = {}

    def v2(self) -> bytes:
        return self._kept("v2", lambda: msgspec.json.encode(self._make_v2()))

    def v2_protobuf(self) -> bytes:
        return self._kept("v2 protobuf", lambda: encode_document(self._make_v2()))

    def v3_index(self) -> bytes:
        return self._kept("v3", lambda: msgspec.json.encode(self._make_index()))

    def v3(self, group_version: str) -> bytes | None:
        """Return the document of "api/v1" or "apis/apps/v1"; None if it is not served."""
        resources = self._resources(group_version)
        if not resources:
            return None
        return self._kept(group_version, lambda: msgspec.json.encode(_Document(resources, _Form.V3).content()))

    def _kept(self, key: str, make: Callable[[], bytes]) -> bytes:
        known = self._known.get(key)
        if known is None or known[0] != self._catalog.changes:
            known = self._known[key] = (self._catalog.changes, make())
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
        return _Document(self._catalog.all(), _Form.V2).content()


class _Form(enum.Enum):
    """The versions of OpenAPI, with the place of types in a document."""

    V2 = "#/definitions/"
    V3 = "#/components/schemas/"


class _Document:
    """One document: the types and paths of resources."""

    def __init__(self, resources: Iterable[ServedResource], form: _Form) -> None:
        self._resources, self._form = resources, form

    def content(self) -> Json:
        types = _Types(self._form)
        paths: Json = {}
        for resource in self._resources:
            types.add_kind(resource)
            paths.update(self._paths(resource))
        info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
        if self._form is _Form.V2:
            return {"swagger": "2.0", "info": info, "paths": paths, "definitions": types.components}
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": types.components}}

    def _paths(self, resource: ServedResource) -> Json:
        prefix = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        base = f"{prefix}/namespaces/{{namespace}}" if resource.namespaced else prefix
        collection, single = f"{base}/{resource.name}", f"{base}/{resource.name}/{{name}}"
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
                paths.setdefault(path, {})[method] = self._operation(resource, action)
        return paths

    def _operation(self, resource: ServedResource, action: str) -> Json:
        schema = {"$ref": self._form.value + component_name(resource)}
        group = resource.group.title().replace(".", "")
        operation: Json = {
            "operationId": f"{action}{group}{resource.version.title()}{resource.kind}",
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": resource.group,
                "version": resource.version,
                "kind": resource.kind,
            },
        }
        bodies = _body_types(resource, action)
        if self._form is _Form.V2:
            query = [{"name": name, "in": "query", "type": "string"} for name in _OPTIONS[action]]
            body = [{"name": "body", "in": "body", "required": True, "schema": schema}] if bodies else []
            answers = {"200": {"description": "OK", "schema": schema}}
            consumed = {"consumes": list(bodies)} if bodies else {}
            return {**operation, **consumed, "produces": [_JSON], "parameters": [*body, *query], "responses": answers}
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string"}} for name in _OPTIONS[action]
        ]
        operation["responses"] = {"200": {"description": "OK", "content": {_JSON: {"schema": schema}}}}
        if bodies:
            operation["requestBody"] = {"content": {media: {"schema": schema} for media in bodies}}
        return operation


def _body_types(resource: ServedResource, action: str) -> tuple[str, ...]:
    """Return the types of a request's body; custom resources have no strategic merge, which kubectl looks up here."""
    if action == "patch":
        return tuple(media for media in _PATCHES if media != _STRATEGIC or not resource.custom)
    return (_JSON,) if action in ("post", "put") else ()


def component_name(resource: ServedResource) -> str:
    """Return "io.k8s.api.apps.v1.Deployment", "io.kyma-project.operator.v1beta2.Kyma"."""
    if resource.custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    group = resource.group.split(".")[0] or "core"
    return f"io.k8s.api.{group}.{resource.version}.{resource.kind}"


class _Types:
    """Converts schemas to OpenAPI and collects the referenced types."""

    def __init__(self, form: _Form) -> None:
        self._form = form
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
        reference = {"$ref": self._form.value + name}
        if self._form is _Form.V2:
            return {**reference, "description": schema.description}
        return {"allOf": [reference], "description": schema.description}

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
