"""Values, keys and numbers as Go prints them: few texts have one, so the reader loads this when it needs it."""

from __future__ import annotations

import math
import struct
from itertools import islice
from typing import Any, Final

from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.types import TypedMap
from kymatui.helm.yaml.conversions import CONVERTING, EXACT
from kymatui.helm.yaml.errors import BadKey, YamlError

_INT: Final = 1 << 63
_MOST_PRINTED: Final = 1000  # entries of a collection in a message
_DEEPEST_PRINTED: Final = 50
_INFINITE: Final = {math.inf: "+Inf", -math.inf: "-Inf"}


def float_key(number: float) -> str:
    try:
        text = format_float(struct.unpack("f", struct.pack("f", number))[0], "g", -1, 32)
    except OverflowError:
        text = "+Inf" if number > 0 else "-Inf"
    return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)


def check_clean(value: Any) -> None:
    """Raise YamlError for values JSON lacks: NaN, infinities, and keys that are null or too large."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key, value in part.items():
                if isinstance(key, BadKey):
                    raise YamlError(CONVERTING + _unsupported(key, value), problem="a key is null or too large")
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, float) and not math.isfinite(part):
            raise YamlError(
                f"{CONVERTING}json: unsupported value: {_INFINITE.get(part, 'NaN')}", problem="a number is not finite"
            )


def _unsupported(key: BadKey, value: Any) -> str:
    kind, shown = ("%!s(<nil>)", "<nil>") if key.value is None else ("uint64", f"0x{key.value:x}")
    return f"unsupported map key of type: {kind}, key: {shown}, value: {_printed('%+#v', value)}"


def printed_digits(value: Any) -> Any:
    """Change large numbers in the value to the digits that Go prints, and return it."""
    changed = [value]
    waiting: list[Any] = [changed]
    while waiting:
        container = waiting.pop()
        for key, part in container.items() if container.__class__ is dict else enumerate(container):
            if part.__class__ is dict or part.__class__ is list:
                waiting.append(part)
            elif part.__class__ is float and EXACT <= abs(part) < 1e21:
                container[key] = int(format_float(part, "f"))
    return changed[0]


def shown_key(value: Any) -> str:
    """Return Go's %#v of a value as go-yaml has it."""
    return _printed("%#v", value)


def _printed(verb: str, value: Any) -> str:
    """Return a value in the words of Go's fmt; a long or deep one is cut, as it is for a message only."""

    def in_go(value: Any, depth: int) -> Any:
        if depth > _DEEPEST_PRINTED:
            return "..."
        if isinstance(value, dict):
            pairs = islice(value.items(), _MOST_PRINTED)
            converted = {in_go(key, depth + 1): in_go(part, depth + 1) for key, part in pairs}
            return TypedMap("map[interface {}]interface {}", converted)
        if isinstance(value, list):
            return [in_go(part, depth + 1) for part in value[:_MOST_PRINTED]]
        if isinstance(value, BadKey):
            return value.value
        is_integer = isinstance(value, float) and value.is_integer() and abs(value) < _INT
        return int(value) if is_integer else value

    return sprintf(verb, in_go(value, 0))
