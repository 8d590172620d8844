"""Shorthands for structural schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer", "format": "int64"}
ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TIME: Schema = {"type": "string", "format": "date-time"}


def text(description: str = "", **more: Any) -> Schema:
    schema: Schema = {"type": "string", **more}
    return {**schema, "description": description} if description else schema


def choice(values: Sequence[str], **more: Any) -> Schema:
    return {"type": "string", "enum": list(values), **more}


def record(properties: dict[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, **more}
    if required:
        schema["required"] = list(required)
    return schema


def items(schema: Schema, key: str = "", **more: Any) -> Schema:
    """Return a list schema; with `key`, a list map."""
    array: Schema = {"type": "array", "items": schema, **more}
    if key:
        array.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})
    return array


def conditions() -> Schema:
    """Return the schema of a list of metav1.Condition by type."""
    condition = record(
        {
            "type": text(
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                maxLength=316,
            ),
            "status": choice(["True", "False", "Unknown"]),
            "reason": text(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", minLength=1, maxLength=1024),
            "message": text(maxLength=32768),
            "observedGeneration": {**INTEGER, "minimum": 0},
            "lastTransitionTime": TIME,
        },
        ["type", "status", "reason", "message", "lastTransitionTime"],
    )
    return items(condition, "type")


AGE_COLUMN: Schema = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
STATE_COLUMN: Schema = {"name": "State", "type": "string", "jsonPath": ".status.state"}


def version_of(
    name: str,
    spec: Schema | None,
    status: Schema | None,
    *,
    columns: Sequence[Schema] = (AGE_COLUMN,),
    required: Sequence[str] = (),
) -> Schema:
    """Return one version of a CRD; a status enables the status subresource."""
    properties: dict[str, Schema] = {"apiVersion": STRING, "kind": STRING, "metadata": {"type": "object"}}
    if spec is not None:
        properties["spec"] = spec
    if status is not None:
        properties["status"] = status
    version_entry: Schema = {
        "name": name,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": list(columns),
        "schema": {"openAPIV3Schema": record(properties, required)},
    }
    return {**version_entry, "subresources": {"status": {}}} if status is not None else version_entry


def definition(
    group: str,
    kind: str,
    plural: str,
    versions: Sequence[Schema],
    *,
    namespaced: bool = True,
    categories: Sequence[str] = (),
) -> Schema:
    """Return a CustomResourceDefinition."""
    names: Schema = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    if categories:
        names["categories"] = list(categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": list(versions),
        },
    }
