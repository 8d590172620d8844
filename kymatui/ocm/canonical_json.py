"""Canonical JSON: RFC 8785 (JCS), and Go's json.Marshal for the oldest normalisation.

Numbers are doubles, as in JSON: 1 and 1.0 are equal, and digits beyond a double's precision are lost, as in every
implementation of the model. Go reads half a surrogate pair as U+FFFD.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import rfc8785

from kymatui.ocm.errors import DescriptorError

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HTML: Final = re.compile("[<>&\u2028\u2029]")


def canonical_json(value: Any) -> bytes:
    """Return JSON by RFC 8785: keys sorted by UTF-16, shortest numbers, no spaces. Raises DescriptorError."""
    try:
        return rfc8785.dumps(_plain(value))
    except RecursionError as error:
        raise DescriptorError("a component descriptor is nested too deeply") from error
    except rfc8785.CanonicalizationError as error:
        raise DescriptorError(f"a component descriptor cannot be normalised: {error}") from error


def go_json(value: Any) -> bytes:
    """Return JSON as Go's json.Marshal: keys sorted by bytes; `<`, `>`, `&`, U+2028 and U+2029 escaped."""
    try:
        return _go_text(_plain(value)).encode()
    except RecursionError as error:
        raise DescriptorError("a component descriptor is nested too deeply") from error


def _plain(value: Any) -> Any:
    """Return the value with doubles for all numbers and without surrogates."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise DescriptorError("a component descriptor has a number that is too large") from None
    return value


def _go_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_go_text(key)}:{_go_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_go_text, value)) + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return _HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if value == 0 and isinstance(value, float) and math.copysign(1, value) < 0:
        return "-0"
    return canonical_json(value).decode()
