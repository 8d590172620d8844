"""YAML that a person edits, read as the API server reads it."""

from __future__ import annotations

from typing import Any

from kymatui.errors import InvalidError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly


def parse_yaml(text: str) -> Any:
    """Return the first document; times and dates are texts, whole numbers int. Raise InvalidError."""
    try:
        return load_exactly(text, strict=True)
    except YamlError as error:
        raise InvalidError(f"invalid YAML: {error.summary}", status=422) from None
