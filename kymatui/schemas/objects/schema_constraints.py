"""Validation of custom resources against their schema, with kube-openapi's messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kymatui.helm.functions.text.regexes import compiled, occurs
from kymatui.helm.govalues.types import FunctionError
from kymatui.schemas.objects.object_meta_rules import validate_annotations, validate_labels
from kymatui.schemas.objects.structural_schemas import object_meta
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import (
    ApiFieldError,
    duplicate,
    go_float,
    go_value,
    required,
    too_long,
    too_many,
)
from kymatui.schemas.values.field_errors import invalid_value as invalid
from kymatui.schemas.values.field_sets import compact
from kymatui.schemas.values.string_formats import CHECKS

NOWHERE = "<nil>"
"""The field of an error that the server gives none."""
UNCHECKED = ApiFieldError(
    "Invalid",
    NOWHERE,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_BLOCKING = ("Required", "TypeInvalid", "TooLong", "TooMany", "NotSupported")
_INT32 = 1 << 31
_INT64 = 1 << 63
_FLOAT32 = 3.4028234663852886e38

Errors = list[ApiFieldError]


def blocks_rules(errors: Errors) -> bool:
    """Return whether these errors prevent the evaluation of CEL rules."""
    return any(error.kind in _BLOCKING for error in errors)


def validate_schema(schema: Schema, value: Any, at: str = "") -> Errors:
    """Return all errors except those of CEL rules, list keys and metadata.

    `at` is the path of the value in an object: fields are reported from the object's root, messages from the value.
    """
    errors: Errors = []
    _validate(schema, value, "", errors)
    return [error._replace(field=_placed(error.field, at)) for error in errors] if at else errors


def _placed(field: str, at: str) -> str:
    if field in (NOWHERE, ""):
        return at
    return f"{at}{field}" if field.startswith("[") else f"{at}.{field}"


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, int):
        return "integer"
    return "array" if isinstance(value, list) else "object"


def _validate(schema: Schema, value: Any, path: str, errors: Errors) -> None:
    if schema is object_meta():
        return
    if value is None and schema.nullable:
        return
    _check_type(schema, value, path, errors)
    limits = schema.constraints
    if limits:
        _junctors(limits, value, path, errors)
    if isinstance(value, str):
        _check_text(limits, value, path, errors)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, (int, float)):
        _check_number(limits, value, path, errors)
    elif isinstance(value, list):
        _check_list(schema, value, path, errors)
    elif isinstance(value, dict):
        _check_object(schema, value, path, errors)
    if "enum" in limits:
        _check_enum(limits["enum"], value, path, errors)


def _check_type(schema: Schema, value: Any, path: str, errors: Errors) -> None:
    expected = "integer,string" if schema.int_or_string else schema.type
    if not expected:
        if schema.format and isinstance(value, str):
            _check_format(schema, value, path, errors)
        return
    actual = json_type(value)
    fits = actual in expected.split(",") or (expected == "number" and actual == "integer")
    if not fits:
        text = f'Invalid value: "{actual}": {path} in body must be of type {expected}: "{actual}"'
        errors.append(ApiFieldError("TypeInvalid", path or NOWHERE, text))
        if actual == "number" and schema.type == "integer":
            errors.append(_nowhere(f"Checked value must be of type integer (default format) in {path}"))
    elif isinstance(value, str):
        _check_format(schema, value, path, errors)
    elif schema.format == "int32" and not -_INT32 <= value < _INT32:
        errors.append(_nowhere(f"Checked value must be of type integer with format int32 in {path}"))
    elif schema.format == "int64" and not -_INT64 <= value < _INT64:
        text = f'Invalid value: "float64": {path} in body must be of type int64: "float64"'
        errors.append(ApiFieldError("TypeInvalid", path, text))
        errors.append(_nowhere(f"Checked value must be of type integer with format int64 in {path}"))
    elif schema.format == "float" and abs(value) > _FLOAT32:
        errors.append(_nowhere(f"Checked value must be of type number with format float in {path}"))


def _check_format(schema: Schema, value: str, path: str, errors: Errors) -> None:
    check = CHECKS.get(schema.format)
    if check is not None and not check(value):
        shown = go_value(value)
        text = f"Invalid value: {shown}: {path} in body must be of type {schema.format}: {shown}"
        errors.append(ApiFieldError("TypeInvalid", path, text))


def _nowhere(text: str) -> ApiFieldError:
    return ApiFieldError("Invalid", NOWHERE, f'Invalid value: "": {text}')


@functools.lru_cache(maxsize=1024)
def pattern(text: str) -> Callable[[str], bool]:
    """Return a search by RE2 syntax. Raise ValueError with Go's message."""
    try:
        regex = compiled(text)
    except FunctionError as error:
        raise ValueError(str(error)) from None
    return lambda value: occurs(regex, value)


def _check_text(limits: Object, value: str, path: str, errors: Errors) -> None:
    if not limits:
        return
    longest, shortest = limits.get("maxLength"), limits.get("minLength")
    if longest is not None and len(value) > longest:
        errors.append(too_long(path, longest))
    elif shortest is not None and len(value) < shortest:
        errors.append(invalid(path, value, f"{path} in body should be at least {shortest} chars long"))
    elif "pattern" in limits and not pattern(limits["pattern"])(value):
        errors.append(invalid(path, value, f"{path} in body should match '{limits['pattern']}'"))


def _check_number(limits: Object, value: float, path: str, errors: Errors) -> None:
    if not limits:
        return

    def fail(text: str) -> None:
        errors.append(invalid(path, value, f"{path} in body should be {text}"))

    factor = limits.get("multipleOf")
    if factor and not _is_multiple(value, factor):
        fail(f"a multiple of {_number(factor)}")
    most, least = limits.get("maximum"), limits.get("minimum")
    if most is not None:
        if limits.get("exclusiveMaximum"):
            if value >= most:
                fail(f"less than {_number(most)}")
        elif value > most:
            fail(f"less than or equal to {_number(most)}")
    if least is not None:
        if limits.get("exclusiveMinimum"):
            if value <= least:
                fail(f"greater than {_number(least)}")
        elif value < least:
            fail(f"greater than or equal to {_number(least)}")


def _is_multiple(value: float, factor: float) -> bool:
    quotient = value / factor
    return abs(quotient - round(quotient)) < 1e-9


def _number(value: float) -> str:
    return go_float(float(value)) if isinstance(value, float) else str(value)


def _check_enum(choices: list[Any], value: Any, path: str, errors: Errors) -> None:
    if any(choice == value and isinstance(choice, bool) == isinstance(value, bool) for choice in choices):
        return
    listed = ", ".join(f'"{choice}"' if isinstance(choice, str) else f'"{go_value(choice)}"' for choice in choices)
    text = f"Unsupported value: {go_value(value)}: supported values: {listed}"
    errors.append(ApiFieldError("NotSupported", path, text))


def _check_list(schema: Schema, value: list[Any], path: str, errors: Errors) -> None:
    limits = schema.constraints
    if schema.items is not None:
        for index, item in enumerate(value):
            _validate(schema.items, item, f"{path}[{index}]", errors)
    least, most = limits.get("minItems"), limits.get("maxItems")
    if least is not None and len(value) < least:
        errors.append(invalid(path, len(value), f"{path} in body should have at least {least} items"))
    if most is not None and len(value) > most:
        errors.append(too_many(path, len(value), most))


def _check_object(schema: Schema, value: Object, path: str, errors: Errors) -> None:
    limits = schema.constraints
    least, most = limits.get("minProperties"), limits.get("maxProperties")
    if least is not None and len(value) < least:
        errors.append(invalid(path, len(value), f"{path} in body should have at least {least} properties"))
    if most is not None and len(value) > most:
        errors.append(too_many(path, len(value), most))
    prefix = f"{path}." if path else ""
    errors += [required(prefix + name) for name in schema.required if name not in value]
    if schema.embedded:
        errors += [required(prefix + name) for name in ("apiVersion", "kind") if not value.get(name)]
        errors += _embedded_metadata(value.get("metadata"), f"{prefix}metadata")
    for name, item in value.items():
        below = schema.properties.get(name) or schema.additional
        if below is not None:
            _validate(below, item, prefix + name, errors)


def _embedded_metadata(metadata: Any, at: str) -> Errors:
    if not isinstance(metadata, dict):
        return []
    labels = validate_labels(metadata.get("labels"), f"{at}.labels")
    return labels + validate_annotations(metadata.get("annotations"), f"{at}.annotations")


# -- allOf, anyOf, oneOf, not


def _junctors(limits: Object, value: Any, path: str, errors: Errors) -> None:
    name = path or ""
    if "anyOf" in limits:
        attempts = [_tried(schema, value, path) for schema in limits["anyOf"]]
        if all(attempts):
            errors.append(_nowhere(f'"{name}" must validate at least one schema (anyOf)'))
            errors += _fewest(attempts)
    if "oneOf" in limits:
        _one_of(limits["oneOf"], value, path, errors)
    if "allOf" in limits:
        attempts = [_tried(schema, value, path) for schema in limits["allOf"]]
        failed = [tried for tried in attempts if tried]
        for tried in failed:
            errors += tried
        if failed:
            which = ". None validated" if len(failed) == len(attempts) else ""
            errors.append(_nowhere(f'"{name}" must validate all the schemas (allOf){which}'))
    if "not" in limits and not _tried(limits["not"], value, path):
        errors.append(_nowhere(f'"{name}" must not validate the schema (not)'))


def _fewest(tried: list[Errors]) -> Errors:
    """Return the best alternative: the first with the fewest errors."""
    return sorted(tried, key=len)[0]


def _one_of(choices: list[Schema], value: Any, path: str, errors: Errors) -> None:
    attempts = [_tried(schema, value, path) for schema in choices]
    valid = sum(1 for tried in attempts if not tried)
    if valid == 1:
        return
    how = "Found none valid" if valid == 0 else f"Found {valid} valid alternatives"
    errors.append(_nowhere(f'"{path}" must validate one and only one schema (oneOf). {how}'))
    if valid == 0:
        errors += _fewest(attempts)


def _tried(schema: Schema, value: Any, path: str) -> Errors:
    errors: Errors = []
    _validate(schema, value, path, errors)
    return errors


# -- lists without duplicates


def validate_lists(schema: Schema, value: Any) -> Errors:
    """Return the errors of duplicates in sets and list maps."""
    errors: Errors = []
    if _has_keyed_lists(schema):
        _lists(schema, value, "", errors)
    return errors


def _has_keyed_lists(schema: Schema) -> bool:
    known: bool | None = schema.compiled.get("keyed")
    if known is None:
        schema.compiled["keyed"] = False
        below = [*schema.properties.values(), schema.additional, schema.items]
        known = schema is not object_meta() and (
            schema.is_granular_list or any(_has_keyed_lists(node) for node in below if node is not None)
        )
        schema.compiled["keyed"] = known
    return known


def _lists(schema: Schema, value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, list):
        if schema.is_granular_list:
            _unique(schema, value, path, errors)
        if schema.items is not None:
            for index, item in enumerate(value):
                _lists(schema.items, item, f"{path}[{index}]", errors)
    elif isinstance(value, dict):
        prefix = f"{path}." if path else ""
        for name, item in value.items():
            below = schema.properties.get(name) or schema.additional
            if below is not None and below is not object_meta():
                _lists(below, item, prefix + name, errors)


def _unique(schema: Schema, items: list[Any], path: str, errors: Errors) -> None:
    texts: set[str] = set()
    reported: set[str] = set()
    for index, item in enumerate(items):
        if schema.map_keys and not isinstance(item, dict):
            errors.append(invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map"))
            continue
        key: Any = {name: item[name] for name in schema.map_keys if name in item} if schema.map_keys else item
        text = compact(key)
        if text in texts and text not in reported:
            errors.append(duplicate(f"{path}[{index}]", key))
            reported.add(text)
        texts.add(text)
