"""Conversion to and from JSON, YAML and TOML.

Helm's from… functions do not fail: they return the error in the result, under the key "Error" or as the only element.
"""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.encodings.json_decoder import (
    JsonSyntaxError,
    decode_json,
    decode_json_array,
    decode_json_object,
    mistyped,
)
from kymatui.helm.encodings.json_encoder import JsonError, encode_json, plain_value
from kymatui.helm.encodings.yaml_encoder import must_to_yaml, to_yaml
from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.govalues.types import LIST, MAP, FunctionError, Panic, TypedList, TypedMap
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml
from kymatui.helm.yaml.writing import dump_yaml_pretty

LONGEST_TOML: Final = 1_000_000
"""Characters of a document, which tomllib looks at one by one."""
_UNMARSHALING: Final = "error unmarshaling JSON: while decoding JSON: "


def to_json(value: Any) -> str:
    """Return JSON, "" if the value cannot be represented."""
    try:
        return encode_json(value)
    except JsonError:
        return ""


def must_to_json(value: Any) -> str:
    try:
        return encode_json(value)
    except JsonError as error:
        raise Panic(str(error)) from error


def to_pretty_json(value: Any) -> str:
    try:
        return encode_json(value, indent="  ")
    except JsonError:
        return ""


def must_to_pretty_json(value: Any) -> str:
    try:
        return encode_json(value, indent="  ")
    except JsonError as error:
        raise FunctionError(str(error)) from error


def to_raw_json(value: Any) -> str:
    """Return JSON without HTML escapes."""
    try:
        return encode_json(value, html=False)
    except JsonError as error:
        raise Panic(str(error)) from error


def from_json(text: str) -> dict[str, Any]:
    try:
        return _object(decode_json_object(text))
    except JsonSyntaxError as error:
        return {"Error": str(error)}


def from_json_array(text: str) -> list[Any]:
    try:
        return _array(decode_json_array(text))
    except JsonSyntaxError as error:
        return [str(error)]


def must_from_json(text: str) -> Any:
    try:
        return decode_json(text)
    except JsonSyntaxError as error:
        raise FunctionError(str(error)) from error


def _object(value: dict[str, Any] | None) -> dict[str, Any]:
    return TypedMap(MAP, is_nil=True) if value is None else value


def _array(value: list[Any] | None) -> list[Any]:
    return TypedList(LIST, is_nil=True) if value is None else value


def to_yaml_pretty(value: Any) -> str:
    """Return YAML with sequences indented below their key."""
    try:
        return dump_yaml_pretty(plain_value(value, nil_is_empty=True)).removesuffix("\n")
    except (YamlError, JsonError):
        return ""


def from_yaml(text: str) -> dict[str, Any]:
    """Return the YAML map; empty text gives an empty map."""
    try:
        value = load_yaml(text)
    except YamlError as error:
        return {"Error": str(error)}
    if value is None or isinstance(value, dict):
        return value or {}
    return {"Error": f"{_UNMARSHALING}{mistyped(value, MAP)}"}


def from_yaml_array(text: str) -> list[Any]:
    try:
        value = load_yaml(text)
    except YamlError as error:
        return [str(error)]
    if value is None or isinstance(value, list):
        return value or []
    return [f"{_UNMARSHALING}{mistyped(value, LIST)}"]


def to_toml(value: Any) -> str:
    """Return TOML, or the error's text if the value cannot be represented."""
    # Few charts use TOML, and its modules are slow to import.
    from kymatui.helm.encodings.toml import TomlError, encode_toml

    if value is None:
        raise Panic("reflect: call of reflect.Value.Type on zero Value")
    hold_value(value, "toToml: the text")
    try:
        return encode_toml(value)
    except TomlError as error:
        return str(error)


def from_toml(text: str) -> dict[str, Any]:
    from kymatui.helm.encodings.toml import TomlSyntaxError, decode_toml

    if len(text) > LONGEST_TOML:
        raise LimitError(f"a TOML document has more than {LONGEST_TOML} characters")
    try:
        return decode_toml(text)
    except TomlSyntaxError as error:
        return {"Error": str(error)}


FUNCTIONS: Final = table(
    (
        declare("toJson(any)", to_json),
        declare("mustToJson(any)", must_to_json),
        declare("toPrettyJson(any)", to_pretty_json),
        declare("mustToPrettyJson(any)", must_to_pretty_json),
        declare("toRawJson(any)", to_raw_json),
        declare("mustToRawJson(any)", to_raw_json),
        declare("fromJson(string)", from_json),
        declare("fromJsonArray(string)", from_json_array),
        declare("mustFromJson(string)", must_from_json),
        declare("toYaml(any)", to_yaml),
        declare("mustToYaml(any)", must_to_yaml),
        declare("toYamlPretty(any)", to_yaml_pretty),
        declare("fromYaml(string)", from_yaml),
        declare("fromYamlArray(string)", from_yaml_array),
        declare("toToml(any)", to_toml),
        declare("fromToml(string)", from_toml),
    )
)
