"""Messages of Helm's library for one invalid value."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.quoting import quote

_TYPES: Final = ("null", "boolean", "number", "integer", "string", "array", "object")


def quoted(text: str) -> str:
    return "'" + quote(text)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "value" if isinstance(value, (list, dict)) else format_value(value)


def _number(value: Any) -> str:
    """Return numbers with thousands separators, as the library's English messages."""
    if isinstance(value, float) and not value.is_integer():
        integer, _, fraction = repr(value).partition(".")
        return f"{int(integer):,}.{fraction}" if integer.lstrip("-").isdigit() else repr(value)
    return f"{int(value):,}"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = ((str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for cls, name in kinds if isinstance(value, cls)), "object")


def error_message(error: Any) -> str:
    word, expected, actual = str(error.validator), error.validator_value, error.instance
    if word == "type":
        names = [expected] if isinstance(expected, str) else expected
        return f"got {_kind(actual)}, want {' or '.join(sorted(names, key=_TYPES.index))}"
    if word == "required":
        return _missing(error)
    if word in ("const", "enum"):
        return _choice(word, [expected] if word == "const" else expected)
    if word == "pattern":
        return f"{quoted(actual)} does not match pattern {quoted(expected)}"
    if word in ("minimum", "maximum") and error.schema.get(exclusive := f"exclusive{word.capitalize()}") is True:
        word = exclusive  # draft 4
    if word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        return f"{word}: got {_number(actual)}, want {_number(expected)}"
    if word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        return f"{word}: got {_number(len(actual))}, want {_number(expected)}"
    if word in ("additionalProperties", "unevaluatedProperties") and expected is False:
        names = ", ".join(quoted(name) for name in error.message.split("\0"))
        return f"additional properties {names} not allowed"
    if "\0" in error.message and word in ("dependentRequired", "dependencies"):
        name, *missing = error.message.split("\0")
        return f"properties {', '.join(map(quoted, missing))} required, if {quoted(name)} exists"
    if word == "format":
        return f"{_shown(actual)} is not valid {expected}: {error.cause or 'no match'}"
    if word == "additionalItems" and expected is False:
        return f"last {len(actual) - len(error.schema['items'])} additionalItem(s) not allowed"
    if word == "oneOf":
        return f"'oneOf' failed, {'none' if error.context else f'subschemas {error.message}'} matched"
    fixed = {
        "not": "'not' failed",
        "anyOf": "'anyOf' failed",
        "contains": "no items match contains schema",
        "None": "false schema",
        "propertyNames": f"invalid propertyName {quoted(error.message)}",
    }
    return fixed.get(word) or str(error.message)


def _missing(error: Any) -> str:
    names = [name for name in error.validator_value if name not in error.instance]
    listed = ", ".join(quoted(name) for name in names)
    return f"missing {'property' if len(names) == 1 else 'properties'} {listed}"


def _choice(word: str, allowed: list[Any]) -> str:
    if any(isinstance(allowed_value, (list, dict)) for allowed_value in allowed):
        return f"'{word}' failed"
    shown = [_shown(allowed_value) for allowed_value in allowed]
    return f"value must be {shown[0]}" if len(shown) == 1 else f"value must be one of {', '.join(shown)}"
