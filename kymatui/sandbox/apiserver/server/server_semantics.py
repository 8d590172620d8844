"""The standard behaviour of kinds in the sandbox: connects the sibling packages to the server."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apiserver.reads.builtin_resources import builtin_resources
from kymatui.sandbox.apiserver.reads.openapi_documents import OpenApi
from kymatui.sandbox.apiserver.resources.kind_semantics import BuiltinSemantics, CustomSemantics
from kymatui.sandbox.apiserver.resources.kind_strategies import changed_fields
from kymatui.sandbox.apiserver.resources.ownership_tracking import TrackedOwnership
from kymatui.sandbox.apiserver.resources.resource import KindSemantics, Object, ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.server.api_server import ServerSemantics
from kymatui.schemas.objects.structural_schemas import crd_schema
from kymatui.schemas.types.builtin_schemas import builtin_schema
from kymatui.schemas.types.schema_node import Schema
from kymatui.schemas.values.field_sets import FieldSet


def standard_semantics(clock: SandboxClock) -> ServerSemantics:
    """Return the kinds of API server v1.36."""

    def builtin(
        group: str, version: str, kind: str, resource: str, *, namespaced: bool
    ) -> tuple[KindSemantics, Schema]:
        schema = builtin_schema((group, version, kind))
        has_status = "status" in schema.properties
        return BuiltinSemantics(
            (group, version, kind), resource, schema, clock, namespaced=namespaced, has_status=has_status
        ), schema

    resources = list(builtin_resources(builtin))
    catalogs: list[ResourceCatalog] = []

    def schema_of(resource: ServedResource, version: str) -> Schema | None:
        if version == resource.api_version:
            return resource.schema
        group, _, name = version.rpartition("/")
        owner_resource = catalogs[0].find(group, name, resource.name)
        return owner_resource.schema if owner_resource is not None else None

    def documents(catalog: ResourceCatalog) -> OpenApi:
        catalogs.append(catalog)
        return OpenApi(catalog)

    return ServerSemantics(resources, custom_semantics, TrackedOwnership(schema_of, _changed_fields), documents)


def custom_semantics(definition: Object, version: str) -> tuple[KindSemantics, Schema]:
    """Return semantics and schema of one version of a CRD."""
    served_version = next(entry for entry in definition["spec"]["versions"] if entry["name"] == version)
    schema = crd_schema((served_version.get("schema") or {}).get("openAPIV3Schema"))
    has_status = (served_version.get("subresources") or {}).get("status") is not None
    namespaced = definition["spec"]["scope"] == "Namespaced"
    columns = served_version.get("additionalPrinterColumns") or ()
    scale = (served_version.get("subresources") or {}).get("scale")
    return CustomSemantics(schema, columns, namespaced=namespaced, has_status=has_status, scale=scale), schema


def _changed_fields(resource: ServedResource, subresource: str) -> tuple[FieldSet, FieldSet | None]:
    has_status = "status" in resource.subresources
    return changed_fields(custom=resource.custom, has_status=has_status, subresource=subresource)
