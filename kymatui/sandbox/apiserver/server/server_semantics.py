"""The standard behaviour of kinds in the sandbox: connects the sibling packages to the server."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apiserver.reads.builtin_resources import builtin_resources
from kymatui.sandbox.apiserver.reads.openapi_documents import OpenApi
from kymatui.sandbox.apiserver.resources.kind_strategies import (
    DAEMON_SETS,
    TEMPLATE_GENERATION,
    changed_fields,
    prepare_create,
    prepare_custom_update,
    prepare_update,
)
from kymatui.sandbox.apiserver.resources.ownership_tracking import TrackedOwnership
from kymatui.sandbox.apiserver.resources.resource import Cause, DecodingError, KindSemantics, Object, ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.server.api_server import ServerSemantics
from kymatui.sandbox.schemas.kinds.builtin_defaults import default_builtin
from kymatui.sandbox.schemas.kinds.builtin_validation import validate_create, validate_custom_metadata, validate_update
from kymatui.sandbox.tables.builtin_cells import builtin_cells
from kymatui.sandbox.tables.builtin_columns import builtin_columns, custom_cells, custom_columns
from kymatui.schemas.customresources.custom_resource_rules import custom_errors
from kymatui.schemas.objects.object_meta_rules import validate_metadata_update, validate_shared
from kymatui.schemas.objects.pruning import read_custom
from kymatui.schemas.objects.structural_schemas import crd_schema
from kymatui.schemas.objects.typed_decoding import DecodeError, decode, empty
from kymatui.schemas.types.builtin_schemas import builtin_schema
from kymatui.schemas.types.schema_node import GVK, Schema
from kymatui.schemas.values.field_errors import causes
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


# Semantics of built-in kinds and custom resources, made of `schemas` and the strategies.


_LOOKS_AT_METADATA = {
    **dict.fromkeys(("events", "poddisruptionbudgets.policy"), 2),
    **dict.fromkeys(
        (
            "configmaps",
            "secrets",
            "serviceaccounts",
            "pods",
            "endpoints",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "replicationcontrollers",
            "jobs.batch",
            "ingresses.networking.k8s.io",
            "storageclasses.storage.k8s.io",
            "roles.rbac.authorization.k8s.io",
            "rolebindings.rbac.authorization.k8s.io",
            "clusterroles.rbac.authorization.k8s.io",
            "clusterrolebindings.rbac.authorization.k8s.io",
        ),
        4,
    ),
}
"""How often an update of a kind looks at its metadata: that many causes an error there has. Others do three times."""


class BuiltinSemantics:
    """One built-in kind."""

    def __init__(
        self, gvk: GVK, resource: str, schema: Schema, clock: SandboxClock, *, namespaced: bool, has_status: bool
    ) -> None:
        self._namespaced = namespaced
        self._gvk = gvk
        self._resource = resource
        self._schema = schema
        self._clock = clock
        self._has_status = has_status

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        try:
            decoded, problems = decode(self._schema, obj)
        except DecodeError as error:
            raise DecodingError(str(error)) from None
        default_builtin(self._gvk, decoded)
        if self._resource == "namespaces":
            _name_label(decoded)
        elif self._resource == "secrets":
            _take_texts(decoded)
        elif self._resource == "pods":
            _list_addresses(decoded)
        elif self._resource == DAEMON_SETS:
            decoded["metadata"].setdefault("annotations", {}).setdefault(TEMPLATE_GENERATION, "0")
        return decoded, problems

    def prepare_create(self, obj: Object) -> None:
        status = self._schema.properties.get("status")
        blank = empty(status) if status is not None else None
        prepare_create(self._resource, obj, has_status=self._has_status, empty_status=blank, now=self._clock.now())

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        prepare_update(self._resource, new, old, subresource, has_status=self._has_status)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        group, _, kind = self._gvk
        return causes(validate_create(group, kind, obj, namespaced=self._namespaced))

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        group, _, kind = self._gvk
        # The generic step and the kind's strategy both validate metadata, and many kinds do so once or twice more.
        errors = [*validate_metadata_update(new, old), *validate_update(group, kind, new, old, subresource)]
        if not subresource:
            errors += validate_shared(new["metadata"], custom=False) * (_LOOKS_AT_METADATA.get(self._resource, 3) - 2)
        return causes(errors)

    def columns(self) -> list[Object]:
        return builtin_columns(self._gvk)

    def cells(self, obj: Object, now: float) -> list[Any]:
        return builtin_cells(self._gvk, obj, now)


def _name_label(namespace: Object) -> None:
    """Set the label that selects a namespace by its name."""
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]


def _list_addresses(pod: Object) -> None:
    """Copy a pod's single address into its list of addresses."""
    status = pod.get("status")
    if isinstance(status, dict):
        address = status.get("podIP")
        if address and not status.get("podIPs"):
            status["podIPs"] = [{"ip": address}]


def _take_texts(secret: Object) -> None:
    """Move stringData, which is write-only, into data."""
    texts: dict[str, str] = secret.pop("stringData", None) or {}
    if texts:
        data = secret.setdefault("data", {})
        data.update({name: base64.b64encode(text.encode()).decode() for name, text in texts.items()})


class CustomSemantics:
    """One version of a CRD."""

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[Object],
        *,
        namespaced: bool,
        has_status: bool,
        scale: Mapping[str, str] | None = None,
    ) -> None:
        self._namespaced = namespaced
        self._scale = scale
        self._schema = schema
        self._columns = columns
        self._has_status = has_status

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        try:
            read, unknown = read_custom(self._schema, obj)
        except DecodeError as error:
            raise DecodingError(str(error)) from None
        return read, [f'unknown field "{path}"' for path in unknown]

    def prepare_create(self, obj: Object) -> None:
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        prepare_custom_update(new, old, subresource, has_status=self._has_status)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        errors = validate_custom_metadata(obj, None, namespaced=self._namespaced)
        return causes([*errors, *custom_errors(self._schema, obj, None, scale=self._scale)])

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        errors = validate_custom_metadata(new, old, namespaced=self._namespaced)
        again = validate_custom_metadata(new, None, namespaced=self._namespaced)
        rest = custom_errors(self._schema, new, old, scale=self._scale, subresource=subresource)
        return causes([*errors, *errors, *again, *rest])

    def columns(self) -> list[Object]:
        return custom_columns(self._columns)

    def cells(self, obj: Object, now: float) -> list[Any]:
        return custom_cells(self._columns, obj, now)
