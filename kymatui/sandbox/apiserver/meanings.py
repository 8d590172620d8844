"""What objects mean in the sandbox: the packages beside this one, put into the server's terms."""

from __future__ import annotations

from kymatui.sandbox.apiserver.assembling import Meaning
from kymatui.sandbox.apiserver.builtins import builtin_resources
from kymatui.sandbox.apiserver.catalog import Catalog
from kymatui.sandbox.apiserver.kinds import BuiltinSemantics, CustomSemantics
from kymatui.sandbox.apiserver.openapi import OpenApi
from kymatui.sandbox.apiserver.resources import Object, Resource, Semantics
from kymatui.sandbox.apiserver.strategies import changed_fields
from kymatui.sandbox.apiserver.tracking import TrackedOwnership
from kymatui.sandbox.apply.fieldsets import FieldSet
from kymatui.sandbox.clock import Clock
from kymatui.sandbox.schemas.builtin import builtin_schema
from kymatui.sandbox.schemas.nodes import Schema
from kymatui.sandbox.schemas.structural import crd_schema


def standard_meaning(clock: Clock) -> Meaning:
    """Kinds as a real API server v1.36 has them."""

    def builtin(group: str, version: str, kind: str, resource: str, *, namespaced: bool) -> tuple[Semantics, Schema]:
        schema = builtin_schema((group, version, kind))
        has_status = "status" in schema.properties
        return BuiltinSemantics(
            (group, version, kind), resource, schema, clock, namespaced=namespaced, has_status=has_status
        ), schema

    resources = list(builtin_resources(builtin))
    catalogs: list[Catalog] = []

    def schema_of(resource: Resource, version: str) -> Schema | None:
        if version == resource.api_version:
            return resource.schema
        group, _, name = version.rpartition("/")
        found = catalogs[0].find(group, name, resource.name)
        return found.schema if found is not None else None

    def documents(catalog: Catalog) -> OpenApi:
        catalogs.append(catalog)
        return OpenApi(catalog)

    return Meaning(resources, custom_semantics, TrackedOwnership(schema_of, _changed_fields), documents)


def custom_semantics(definition: Object, version: str) -> tuple[Semantics, Schema]:
    """Of one version of a definition."""
    found = next(given for given in definition["spec"]["versions"] if given["name"] == version)
    schema = crd_schema((found.get("schema") or {}).get("openAPIV3Schema"))
    has_status = (found.get("subresources") or {}).get("status") is not None
    namespaced = definition["spec"]["scope"] == "Namespaced"
    columns = found.get("additionalPrinterColumns") or ()
    scale = (found.get("subresources") or {}).get("scale")
    return CustomSemantics(schema, columns, namespaced=namespaced, has_status=has_status, scale=scale), schema


def _changed_fields(resource: Resource, subresource: str) -> tuple[FieldSet, FieldSet | None]:
    has_status = "status" in resource.subresources
    return changed_fields(custom=resource.custom, has_status=has_status, subresource=subresource)
