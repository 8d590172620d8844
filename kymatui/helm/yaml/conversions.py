"""Conversion of values, keys and errors between go-yaml and JSON."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from typing import Any, Final

import yaml as pyyaml

from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.text import from_bytes, is_valid
from kymatui.helm.yaml.errors import BadKey, YamlError
from kymatui.helm.yaml.misreading import in_go

CONVERTING: Final = "error converting YAML to JSON: "
EXACT: Final = 1 << 53
"""Whole numbers below this are what they are as floats."""

_COLLECTIONS: Final = (dict, list)


def copy_plain(value: Any) -> Any:
    """Return a copy that shares no list or dict with the value."""
    if value.__class__ is dict:
        return {key: copy_plain(part) if part.__class__ in _COLLECTIONS else part for key, part in value.items()}
    if value.__class__ is list:
        return [copy_plain(part) if part.__class__ in _COLLECTIONS else part for part in value]
    return value


def decode_binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("!!binary value contains invalid base64 data") from error
    found = from_bytes(data)
    return found if is_valid(found) else "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in found)


def float_key(number: float) -> str:
    try:
        text = format_float(struct.unpack("f", struct.pack("f", number))[0], "g", -1, 32)
    except OverflowError:
        text = "+Inf" if number > 0 else "-Inf"
    return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)


def allowed_alias_ratio(decoded: int) -> float:
    """Return go-yaml's limit for documents that grow by aliases."""
    if decoded <= 400_000:
        return 0.99
    if decoded >= 4_000_000:
        return 0.10
    return 0.99 - 0.89 * ((decoded - 400_000) / 3_600_000)


def check_clean(value: Any) -> None:
    """Raise YamlError for values JSON lacks: NaN, infinities, and keys that are null or too large."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key, value in part.items():
                if isinstance(key, BadKey):
                    raise YamlError(CONVERTING + _unsupported(key, value))
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, float) and not math.isfinite(part):
            raise YamlError(f"{CONVERTING}json: unsupported value: {format_float(part)}")


def _unsupported(key: BadKey, value: Any) -> str:
    kind, shown = ("%!s(<nil>)", "<nil>") if key.value is None else ("uint64", f"0x{key.value:x}")
    return f"unsupported map key of type: {kind}, key: {shown}, value: {sprintf('%+#v', in_go(value))}"


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
    return YamlError(f"{CONVERTING}yaml: {where}{problem}")


def printed_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: printed_digits(part) for key, part in value.items()}
    if isinstance(value, list):
        return [printed_digits(part) for part in value]
    if isinstance(value, float) and EXACT <= abs(value) < 1e21:
        return int(format_float(value, "f"))
    return value
