"""Patterns of schemas, which are RE2's."""

from __future__ import annotations

from kymatui.helm.functions.text.regexes import compiled, occurs
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.types import FunctionError


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text. Raise ValueError for an invalid pattern."""
    try:
        return occurs(compiled(pattern), text)
    except FunctionError as error:
        raise ValueError(f"{quote(pattern)} is not valid regex: {error}") from error
