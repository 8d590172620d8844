"""Schemas of built-in kinds: fields and descriptions from the official client, the rest from tables.

The client's models are imported on first use of a kind, which takes a second, and cached.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import replace

from kymatui.schemas.types import empty_fields, field_types
from kymatui.schemas.types.schema_node import ANY, GVK, Schema

_PREFIX = re.compile(r"^(?:[A-Z][a-z]+)*?V\d+(?:(?:alpha|beta)\d+)?")
_VERSION = re.compile(r"V(\d+(?:(?:alpha|beta)\d+)?)")
_MODEL_NAMES: dict[GVK, str] = {
    ("", "v1", "Event"): "CoreV1Event",
    ("events.k8s.io", "v1", "Event"): "EventsV1Event",
    ("authentication.k8s.io", "v1", "TokenRequest"): "AuthenticationV1TokenRequest",
}
_RECURSIVE = frozenset(
    ("JSONSchemaProps.items", "JSONSchemaProps.additionalProperties", "JSONSchemaProps.additionalItems")
)
_KEY_DEFAULTS = {"ContainerPort.protocol": "TCP", "ServicePort.protocol": "TCP"}
_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "boolean": False}
_PARAGRAPH = ("  Populated by", "\n\nPopulated by")
"""The models hold their descriptions on one line; this paragraph is on every object."""
_WITHOUT_PROPERTIES = frozenset(("JSONSchemaProps.default", "JSONSchemaProps.example", "JSONSchemaProps.enum"))


class UnknownKindError(LookupError):
    """No built-in kind has that name."""


@functools.cache
def builtin_schema(gvk: GVK) -> Schema:
    """Return the schema of a built-in kind. Raise `UnknownKindError`."""
    group, version, kind = gvk
    name = _MODEL_NAMES.get(gvk) or f"V{version[1:]}{kind}"
    model = _model(name)
    if model is None or (group and not _PREFIX.match(name)):
        raise UnknownKindError(f"{group}/{version} {kind} is no built-in kind")
    return replace(_struct(model), zero="show", compiled={})


def _model(name: str) -> Any:
    models = importlib.import_module("kubernetes.client.models")
    with _without_validators():
        return getattr(models, name, None)


@contextlib.contextmanager
def _without_validators() -> Iterator[None]:
    """Defer the validators of models imported in the block: they take half of the import time."""
    config = importlib.import_module("pydantic").BaseModel.model_config
    before = dict(config)
    config["defer_build"] = True
    try:
        yield
    finally:
        config.clear()
        config.update(before)


_structs: dict[str, Schema] = {}


def type_name(model_name: str) -> str:
    """Return "Container" for "V1Container"."""
    return _PREFIX.sub("", model_name)


def _struct(model: Any) -> Schema:
    """Return the schema of a model; its fields are added afterwards, so that types may be recursive."""
    known = _structs.get(model.__name__)
    if known is not None:
        return known
    name = type_name(model.__name__)
    version = _VERSION.search(model.__name__)
    fields = {_json_name(attribute, info): info for attribute, info in model.model_fields.items()}
    doc = (model.__doc__ or "").split("Attributes:")[0].strip()
    schema = Schema(
        type="object",
        required=tuple(field for field, info in fields.items() if info.is_required()),
        atomic=name in field_types.ATOMIC_TYPES,
        description=doc,
        go_type=f"v{version[1] if version else '1'}.{name}",
    )
    _structs[model.__name__] = schema
    for field, info in fields.items():
        schema.properties[field] = _field(name, field, info)
    return schema


def _json_name(attribute: str, info: Any) -> str:
    return str(info.serialization_alias or attribute)


def _field(owner: str, name: str, info: Any) -> Schema:
    where = f"{owner}.{name}"
    schema = ANY if where in _WITHOUT_PROPERTIES else _annotated(where, info.annotation)
    if where in _RECURSIVE:
        schema = _struct(_model("V1JSONSchemaProps"))
    keys = field_types.LIST_MAPS.get(where) or field_types.UNPATCHED_LIST_MAPS.get(where) or ""
    list_type: Literal["", "atomic", "set", "map"] = "map" if keys else "set" if where in field_types.SETS else ""
    atomic = (schema.atomic or where in field_types.ATOMIC_FIELDS) and where not in field_types.GRANULAR_FIELDS
    merge_key, strategy = _patching(where)
    return replace(
        schema,
        description=(info.description or schema.description).replace(*_PARAGRAPH),
        list_type=list_type if schema.type == "array" else "",
        map_keys=tuple(keys.split(",")) if keys else (),
        atomic=atomic,
        merge_key=merge_key,
        patch_strategy=strategy,
        zero=_emptiness(where, schema, is_required=info.is_required()),
        has_default=where in _KEY_DEFAULTS or (info.is_required() and schema.type in _ZEROS),
        default=_KEY_DEFAULTS.get(where, _ZEROS.get(schema.type)),
        compiled={},
    )


def _patching(where: str) -> tuple[str, tuple[str, ...]]:
    """Return (merge key, strategies) of strategic merge patches."""
    keys = field_types.LIST_MAPS.get(where) or field_types.MERGED_LISTS.get(where) or ""
    strategy = field_types.PATCH_STRATEGIES.get(where, ("merge",) if keys else ())
    if field_types.SETS.get(where) == "merge":
        strategy = ("merge",)
    return keys.split(",")[0], strategy


def _emptiness(where: str, schema: Schema, *, is_required: bool) -> Literal["drop", "keep", "show", "null"]:
    if (
        where in empty_fields.KEPT_COLLECTIONS
        or where in empty_fields.PLAIN_STRUCTS
        or where in empty_fields.PLAIN_TIMES
    ):
        return "show"
    if where in empty_fields.KEPT_POINTERS:
        return "null"
    if where in empty_fields.SHOWN or is_required:
        return "show"
    if where.endswith(".metadata") and schema.go_type == "v1.ObjectMeta":
        return "show"
    if schema.type == "string" and not schema.format:
        return "keep" if where in empty_fields.POINTER_STRINGS else "drop"
    if schema.type == "integer":
        return "drop" if where in empty_fields.PLAIN_INTEGERS else "keep"
    if schema.type == "boolean":
        return "drop" if where in empty_fields.PLAIN_BOOLEANS else "keep"
    return "drop" if schema.type == "array" or schema.additional is not None else "keep"


# -- types


def _annotated(where: str, annotation: Any) -> Schema:
    annotation = _bare(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(where, [_bare(argument) for argument in arguments if argument is not type(None)])
    if origin is list:
        return _list(_annotated(where, arguments[0]))
    if origin is dict:
        return _map(_annotated(where, arguments[1]))
    return _plain(where, annotation)


def _bare(annotation: Any) -> Any:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def _union(where: str, choices: list[Any]) -> Schema:
    if len(choices) == 1:
        return _annotated(where, choices[0])
    if set(choices) == {int, str}:
        return Schema(int_or_string=True, go_type="int32")
    if bytes in choices:
        return _plain(where, bytes)
    if float in choices:
        return Schema(type="number", go_type="float64")
    return ANY


def _list(items: Schema) -> Schema:
    return Schema(type="array", items=items, go_type=f"[]{items.go_type or 'interface {}'}")


def _map(values: Schema) -> Schema:
    if values is ANY:
        return ANY
    return Schema(type="object", additional=values, go_type=f"map[string]{values.go_type or 'interface {}'}")


def _plain(where: str, annotation: Any) -> Schema:
    if hasattr(annotation, "model_fields"):
        return _struct(annotation)
    if annotation is datetime.datetime:
        micro = where in field_types.MICRO_TIMES
        return Schema(type="string", format="micro-time" if micro else "date-time", go_type="v1.Time")
    if annotation is bytes:
        return Schema(type="string", format="byte", go_type="[]uint8")
    if annotation is bool:
        return Schema(type="boolean", go_type="bool")
    if annotation is int:
        width = "int64" if where in field_types.LONG_INTEGERS else "int32"
        return Schema(type="integer", format=width, go_type=width)
    if annotation is str:
        if where in field_types.QUANTITIES:
            return Schema(type="string", format="quantity", go_type="resource.Quantity")
        return Schema(type="string", go_type=field_types.STRING_TYPES.get(where, "string"))
    return ANY
