"""Decoding of JSON objects to Go structs, as sigs.k8s.io/yaml and encoding/json.

String fields accept YAML numbers and booleans as text; field names match in any case; a mismatch is an error with
Go's message. `None` leaves a field unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kymatui.helm.govalues.floats import format_float
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import load_exactly

Decoder = Callable[[Any, str], Any]
"""Takes a value that is not None, and the name of the field for errors ("Metadata.name" or "" at the root)."""

DECODING: Final = "error unmarshaling JSON: while decoding JSON: "
_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (str, "string"),
    (int, "number"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)


def decode_yaml(text: str | bytes, decoder: Decoder, budget: YamlBudget | None = None) -> Any:
    """Return yaml.Unmarshal into a Go type, None for an empty document. Raise YamlError."""
    value = load_exactly(text, budget=budget)
    return None if value is None else decoder(value, "")


def mismatch(value: Any, go_type: str, field: str) -> YamlError:
    kind = next((name for cls, name in _KINDS if isinstance(value, cls)), "value")
    where = f"Go struct field {field}" if field else "Go value"
    return YamlError(f"{DECODING}json: cannot unmarshal {kind} into {where} of type {go_type}")


def text(value: Any, field: str) -> str:
    """Return a string field: numbers and booleans as Go prints them (floats with 32 bits)."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format_float(value, "g", -1, 32)
    raise mismatch(value, "string", field)


def boolean(value: Any, field: str) -> bool:
    if isinstance(value, bool):
        return value
    raise mismatch(value, "bool", field)


def anything(value: Any, _field: str) -> Any:
    """Return an interface{}: whole numbers are floats."""
    if isinstance(value, dict):
        return {key: anything(part, "") for key, part in value.items()}
    if isinstance(value, list):
        return [anything(part, "") for part in value]
    return float(value) if type(value) is int else value


def sequence(item: Decoder, go_type: str, empty: Callable[[], Any]) -> Decoder:
    """Return the decoder of a slice; `empty` makes the replacement of null."""

    def decode(value: Any, field: str) -> list[Any]:
        if not isinstance(value, list):
            raise mismatch(value, go_type, field)
        return [empty() if part is None else item(part, field) for part in value]

    return decode


def string_map(value: Any, field: str) -> dict[str, str]:
    """Return a map[string]string."""
    if not isinstance(value, dict):
        raise mismatch(value, "map[string]string", field)
    return {key: "" if part is None else text(part, field) for key, part in value.items()}


def struct(name: str, fields: Mapping[str, Decoder], make: Callable[[dict[str, Any]], Any]) -> Decoder:
    """Return the decoder of a struct: {JSON name: decoder}; `make` builds it from the fields.

    `name` is its Go type, such as "v2.Metadata".
    """
    folded = {field.lower(): field for field in fields}
    short = "" if name.startswith("struct {") else name.rpartition(".")[2]

    def decode(value: Any, field: str) -> Any:
        if not isinstance(value, dict):
            raise mismatch(value, name, field)
        decoded: dict[str, Any] = {}
        for key in sorted(value):
            known = key if key in fields else folded.get(key.lower())
            if known is None or value[key] is None:
                continue
            # Go names the innermost struct, then the full path of the field.
            path = field.partition(".")[2]
            decoded[known] = fields[known](value[key], f"{short}.{path}.{known}" if path else f"{short}.{known}")
        return make(decoded)

    return decode
