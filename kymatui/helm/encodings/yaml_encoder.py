"""YAML of template values, by way of JSON as sigs.k8s.io/yaml."""

from __future__ import annotations

from typing import Any

from kymatui.helm.encodings.json_encoder import JsonError, plain_value
from kymatui.helm.govalues.types import Panic
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.writing import dump_yaml


def encode_yaml(value: Any) -> str:
    """Return YAML by way of JSON. Raise YamlError."""
    try:
        return dump_yaml(plain_value(value)).removesuffix("\n")
    except JsonError as error:
        raise YamlError(f"error marshaling into JSON: {error}") from error


def to_yaml(value: Any) -> str:
    """Return YAML, "" if the value cannot be represented."""
    try:
        return encode_yaml(value)
    except YamlError:
        return ""


def must_to_yaml(value: Any) -> str:
    """Return YAML; panic if the value cannot be represented."""
    try:
        return encode_yaml(value)
    except YamlError as error:
        raise Panic(str(error)) from error
