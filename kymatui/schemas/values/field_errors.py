"""field.Error of k8s.io/apimachinery: messages about fields, and the causes of a Status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

REASONS = {
    "Required": "FieldValueRequired",
    "Invalid": "FieldValueInvalid",
    "TypeInvalid": "FieldValueTypeInvalid",
    "NotSupported": "FieldValueNotSupported",
    "Duplicate": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "TooLong": "FieldValueTooLong",
    "TooMany": "FieldValueTooMany",
    "NotFound": "FieldValueNotFound",
    "Internal": "InternalError",
}


class ApiFieldError(NamedTuple):
    """A field error; `kind` is a key of `REASONS`, `body` the text after the field."""

    kind: str
    field: str
    body: str

    @property
    def reason(self) -> str:
        return REASONS[self.kind]

    def __str__(self) -> str:
        return f"{self.field}: {self.body}" if self.field else self.body

    def cause(self) -> dict[str, str]:
        """Return one entry of a Status' details.causes."""
        return {"reason": self.reason, "message": self.body, "field": self.field}


class GoText(str):
    """A text that is not quoted when shown as a value, such as a number in Go's format."""


def go_value(value: Any) -> str:
    """Return an invalid value as the server shows it: strings quoted as in Go, the rest as JSON."""
    if isinstance(value, GoText):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(_ordered(value), separators=(",", ":"), ensure_ascii=False)


def _ordered(value: Any) -> Any:
    """Sort the keys of string maps; structs keep their order."""
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_map = all(isinstance(item, str) for item in value.values()) and not {"apiVersion", "key"} & value.keys()
    return {name: _ordered(value[name]) for name in (sorted(value) if is_map else value)}


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """Return Go's %q."""
    out = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def go_text(value: Any) -> str:
    """Return Go's %v of decoded JSON."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, float):
        return go_float(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def go_float(value: float) -> str:
    """Return Go's %v of a float64: shortest digits, an exponent from 1e+21 on."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value)) if abs(value) < 1e6 or abs(value) >= 1e21 else _exponent(value)
    return _exponent(value) if abs(value) < 1e-4 or abs(value) >= 1e21 else repr(value)


def _exponent(value: float) -> str:
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits = f"{value:.17e}".partition("e")
        exponent = digits[2]
        mantissa = repr(float(value) / 10 ** int(exponent)).removesuffix(".0")
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').zfill(2)}"


def required(field: str, detail: str = "") -> ApiFieldError:
    return ApiFieldError("Required", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> ApiFieldError:
    return ApiFieldError("Invalid", field, f"Invalid value: {go_value(value)}: {detail}")


def unsupported(field: str, value: Any, supported: Sequence[Any]) -> ApiFieldError:
    choices = ", ".join(go_value(choice) for choice in supported)
    return ApiFieldError("NotSupported", field, f"Unsupported value: {go_value(value)}: supported values: {choices}")


def duplicate(field: str, value: Any) -> ApiFieldError:
    return ApiFieldError("Duplicate", field, f"Duplicate value: {go_value(value)}")


def forbidden(field: str, detail: str) -> ApiFieldError:
    return ApiFieldError("Forbidden", field, f"Forbidden: {detail}")


def too_long(field: str, limit: int) -> ApiFieldError:
    return ApiFieldError("TooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> ApiFieldError:
    return ApiFieldError("TooMany", field, f"Too many: {count}: must have at most {limit} items")


def not_found(field: str, value: Any) -> ApiFieldError:
    return ApiFieldError("NotFound", field, f"Not found: {go_value(value)}")


def causes(errors: Iterable[ApiFieldError]) -> list[dict[str, str]]:
    """Return the causes of a Status in order."""
    return [error.cause() for error in errors]
