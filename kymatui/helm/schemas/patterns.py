"""Patterns of schemas, which are RE2's."""

from __future__ import annotations

from kymatui.helm.functions.text.regexes import compiled
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.types import FunctionError


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text. Raise ValueError for an invalid pattern."""
    try:
        return compiled(pattern).search(to_bytes(text)) is not None
    except FunctionError as error:
        raise ValueError(f"{quote(pattern)} is not valid regex: {error}") from error
