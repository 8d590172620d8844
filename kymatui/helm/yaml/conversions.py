"""Conversion of values, keys and errors between go-yaml and JSON."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

import yaml as pyyaml

from kymatui.helm.govalues.text import from_bytes, is_valid
from kymatui.helm.yaml.errors import YamlError

CONVERTING: Final = "error converting YAML to JSON: "
EXACT: Final = 1 << 53
"""Whole numbers below this are what they are as floats."""

_COLLECTIONS: Final = (dict, list)
_IS_LIBYAML: Final = bool(pyyaml.__with_libyaml__)


def copy_plain(value: Any) -> Any:
    """Return a copy that shares no list or dict with the value."""
    copied = [value]
    waiting: list[Any] = [copied]
    while waiting:  # no recursion: what aliases repeat may be as deep as the whole text
        container = waiting.pop()
        for key, part in container.items() if container.__class__ is dict else enumerate(container):
            if part.__class__ in _COLLECTIONS:
                container[key] = part = part.copy()
                waiting.append(part)
    return copied[0]


def count_nodes(value: Any) -> int:
    """Return the number of maps, lists and scalars in the value."""
    number = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        number += 1
        if part.__class__ in _COLLECTIONS:
            waiting.extend(part.values() if part.__class__ is dict else part)
    return number


def count_characters(value: Any) -> int:
    """Return the characters of all keys and texts in the value."""
    number = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if part.__class__ is str:
            number += len(part)
        elif part.__class__ is dict:
            waiting.extend(part)
            waiting.extend(part.values())
        elif part.__class__ is list:
            waiting.extend(part)
    return number


def decode_binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("!!binary value contains invalid base64 data") from error
    decoded = from_bytes(data)
    return decoded if is_valid(decoded) else "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in decoded)


def allowed_alias_ratio(decoded: int) -> float:
    """Return go-yaml's limit for documents that grow by aliases."""
    if decoded <= 400_000:
        return 0.99
    if decoded >= 4_000_000:
        return 0.10
    return 0.99 - 0.89 * ((decoded - 400_000) / 3_600_000)


def syntax_error(error: pyyaml.YAMLError) -> YamlError:
    """Return libyaml's problem with go-yaml's line, which is not always the line of the problem."""
    problem = (
        getattr(error, "problem", None) or getattr(error, "reason", None) or "unknown problem parsing YAML content"
    )
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + isinstance(error, pyyaml.scanner.ScannerError)
    elif context is not None:
        line = context.line
    where = f"line {line}: " if line else ""
    known = problem if _IS_LIBYAML else ""  # PyYAML's own parser quotes the text
    return YamlError(f"{CONVERTING}yaml: {where}{problem}", problem=known, mark=mark)
