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
        whole, _, fraction = repr(value).partition(".")
        return f"{int(whole):,}.{fraction}" if whole.lstrip("-").isdigit() else repr(value)
    return f"{int(value):,}"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = ((str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for cls, name in kinds if isinstance(value, cls)), "object")


def error_message(error: Any) -> str:
    word, wanted, found = str(error.validator), error.validator_value, error.instance
    if word == "type":
        names = [wanted] if isinstance(wanted, str) else wanted
        return f"got {_kind(found)}, want {' or '.join(sorted(names, key=_TYPES.index))}"
    if word == "required":
        return _missing(error)
    if word in ("const", "enum"):
        return _choice(word, [wanted] if word == "const" else wanted)
    if word == "pattern":
        return f"{quoted(found)} does not match pattern {quoted(wanted)}"
    if word in ("minimum", "maximum") and error.schema.get(exclusive := f"exclusive{word.capitalize()}") is True:
        word = exclusive  # draft 4
    if word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        return f"{word}: got {_number(found)}, want {_number(wanted)}"
    if word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        return f"{word}: got {_number(len(found))}, want {_number(wanted)}"
    if word in ("additionalProperties", "unevaluatedProperties") and wanted is False:
        names = ", ".join(quoted(name) for name in error.message.split("\0"))
        return f"additional properties {names} not allowed"
    if "\0" in error.message and word in ("dependentRequired", "dependencies"):
        name, *missing = error.message.split("\0")
        return f"properties {', '.join(map(quoted, missing))} required, if {quoted(name)} exists"
    if word == "format":
        return f"{_shown(found)} is not valid {wanted}: {error.cause or 'no match'}"
    if word == "additionalItems" and wanted is False:
        return f"last {len(found) - len(error.schema['items'])} additionalItem(s) not allowed"
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


def _choice(word: str, wanted: list[Any]) -> str:
    if any(isinstance(one, (list, dict)) for one in wanted):
        return f"'{word}' failed"
    shown = [_shown(one) for one in wanted]
    return f"value must be {shown[0]}" if len(shown) == 1 else f"value must be one of {', '.join(shown)}"
