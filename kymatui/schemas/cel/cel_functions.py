"""Functions, methods and operators of CEL."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from kymatui.helm.functions.text.regexes import occurs
from kymatui.schemas.cel import cel_libraries, cel_values
from kymatui.schemas.cel.cel_costs import count_arguments, hold
from kymatui.schemas.cel.cel_times import PARTS, add, duration, show_duration, show_timestamp, subtract, timestamp
from kymatui.schemas.cel.cel_values import CelError, equal, type_name
from kymatui.schemas.values.field_errors import go_float

_LIMIT = 1 << 63
_MOST_DIGITS = 100
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compute(name: str, left: Any, right: Any) -> Any:
    """Return the result of an arithmetic or ordering operator. Raise `CelError`."""
    if name in _ORDERED:
        plain = isinstance(left, (str, bool, datetime, timedelta)) and type(left) is type(right)
        if plain or (_is_number(left) and _is_number(right)):
            return _ORDERED[name](left, right)
        raise CelError("no such overload")
    if name == "+" and type(left) is type(right) and isinstance(left, (str, list)):
        hold(len(left) + len(right))
        return left + right
    if name in ("+", "-") and isinstance(left, (datetime, timedelta)):
        return add(left, right) if name == "+" else subtract(left, right)
    if not (_is_number(left) and _is_number(right)) or (type(left) is not type(right) and left != 0):
        raise CelError("no such overload")
    if isinstance(left, float) or isinstance(right, float):
        return _float(name, float(left), float(right))
    return _integer(name, left, right)


def _integer(name: str, left: int, right: int) -> int:
    if name in ("/", "%") and right == 0:
        raise CelError("division by zero" if name == "/" else "modulus by zero")
    if name == "/":
        result = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    elif name == "%":
        result = int(math.fmod(left, right)) if abs(left) < 1 << 52 else left - right * int(left / right)
    else:
        result = {"+": left + right, "-": left - right, "*": left * right}[name]
    if not -_LIMIT <= result < _LIMIT:
        raise CelError("integer overflow")
    return result


def _float(name: str, left: float, right: float) -> float:
    if name == "/":
        return left / right if right else math.copysign(math.inf, left) if left else math.nan
    if name == "%":
        raise CelError("no such overload")
    return {"+": left + right, "-": left - right, "*": left * right}[name]


def select(value: Any, name: str) -> Any:
    """Return a field of an object or entry of a map; for an optional value, an optional one."""
    if isinstance(value, cel_values.Optional):
        return cel_values.select_optional(value, name)
    if not isinstance(value, dict):
        raise CelError("no such overload")
    if name not in value:
        raise CelError(f"no such key: {name}")
    return value[name]


def index(value: Any, key: Any) -> Any:
    """Return an item of a list or entry of a map; for an optional value, an optional one."""
    if isinstance(value, cel_values.Optional):
        return cel_values.select_optional(value, key)
    if isinstance(value, dict):
        return select(value, key)
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        if 0 <= key < len(value):
            return value[key]
        raise CelError(f"index out of bounds: {key}")
    raise CelError("no such overload")


def contains(value: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return value in container
    if isinstance(container, list):
        return any(equal(value, item) for item in container)
    raise CelError("no such overload")


def _size(value: Any) -> int:
    if isinstance(value, (str, list, dict)):
        return len(value)
    raise CelError("no such overload")


def _to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise CelError(f"type conversion error from '{type_name(value)}' to 'int'") from None
    if not -_LIMIT <= number < 2 * _LIMIT:
        raise CelError("range error converting to int")
    return number


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise CelError(f"type conversion error from '{type_name(value)}' to 'double'") from None


def _to_string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, timedelta):
        return show_duration(value)
    if isinstance(value, datetime):
        return show_timestamp(value)
    if isinstance(value, (str, int)):
        return str(value)
    raise CelError(f"type conversion error from '{type_name(value)}' to 'string'")


def _matches(text: Any, expression: Any) -> bool:
    return cel_libraries.searched(_text(text), _text(expression), occurs)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CelError("no such overload")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CelError("no such overload")
    return value


def _sum(values: Any) -> Any:
    return sum(_list(values))


def _extreme(choose: Callable[..., Any]) -> Callable[[Any], Any]:
    def found(values: Any) -> Any:
        if not _list(values):
            raise CelError("min or max called on empty list")
        return choose(values)

    return found


def _is_sorted(values: Any) -> bool:
    items = _list(values)
    return all(compute("<=", item, other) for item, other in itertools.pairwise(items))


def _position(values: Any, target: Any) -> int:
    if isinstance(values, str):
        return values.find(_text(target))
    return next((position for position, item in enumerate(_list(values)) if equal(item, target)), -1)


def _last_position(values: Any, target: Any) -> int:
    if isinstance(values, str):
        return values.rfind(_text(target))
    items = _list(values)
    return next((position for position in range(len(items) - 1, -1, -1) if equal(items[position], target)), -1)


def _substring(text: Any, start: int, end: int | None = None) -> str:
    full_text = _text(text)
    stop = len(full_text) if end is None else end
    if not 0 <= start <= stop <= len(full_text):
        raise CelError(f"index out of range: {start}")
    return full_text[start:stop]


def _split(text: Any, separator: Any, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator == "":
        return list(_text(text))
    return _text(text).split(_text(separator), count - 1 if count > 0 else -1)


def _format(text: Any, values: Any) -> str:
    """Format %s, %d, %f, %x and %%, as the strings extension does."""
    remaining = iter(_list(values))

    def replaced(match: re.Match[str]) -> str:
        if match["verb"] == "%":
            return "%"
        try:
            value = next(remaining)
        except StopIteration:
            raise CelError("index out of range") from None
        if match["verb"] == "f":
            digits = int(match["digits"][:4]) if match["digits"] else 6
            if digits > _MOST_DIGITS:
                raise CelError(f"precision {digits} is more than {_MOST_DIGITS}")
            return f"{value:.{digits}f}"
        if match["verb"] in "xXob":
            return f"{value:{match['verb']}}"
        return _shown(value)

    hold(len(_text(text)))
    return re.sub(r"%(?:\.(?P<digits>\d+))?(?P<verb>[sdfexXob%])", replaced, _text(text))


def _replace(text: Any, old: Any, new: Any, limit: int = -1) -> str:
    growth = max(len(_text(new)) - len(_text(old)), 0)
    count = _text(text).count(old)
    hold(len(text) + growth * (count if limit < 0 else min(count, limit)))
    replaced: str = text.replace(old, new, limit)
    return replaced


def _join(values: Any, separator: Any = "") -> str:
    hold(sum(len(_text(value)) for value in _list(values)) + len(_text(separator)) * len(values))
    return str(separator).join(values)


def _shown(value: Any) -> str:
    count_arguments((value,))
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(item)}" for key, item in value.items()) + "}"
    return "null" if value is None else _to_string(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "int": _to_int,
    "uint": _to_int,
    "double": _to_double,
    "string": _to_string,
    "bool": lambda value: value if isinstance(value, bool) else _text(value) == "true",
    "dyn": lambda value: value,
    "type": type_name,
    "matches": _matches,
    "duration": duration,
    "timestamp": timestamp,
    **cel_libraries.FUNCTIONS,
}
METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "startsWith": lambda text, prefix: _text(text).startswith(_text(prefix)),
    "endsWith": lambda text, suffix: _text(text).endswith(_text(suffix)),
    "contains": lambda text, part: _text(part) in _text(text),
    "matches": _matches,
    "lowerAscii": lambda text: _text(text).lower(),
    "upperAscii": lambda text: _text(text).upper(),
    "trim": lambda text: _text(text).strip(),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "substring": _substring,
    "charAt": lambda text, start: _substring(text, start, min(start + 1, len(text))),
    "indexOf": _position,
    "lastIndexOf": _last_position,
    "sum": _sum,
    "min": _extreme(min),
    "max": _extreme(max),
    "isSorted": _is_sorted,
    "reverse": lambda values: values[::-1] if isinstance(values, str) else _list(values)[::-1],
    "format": _format,
    **PARTS,
    **cel_values.METHODS,
    **cel_libraries.METHODS,
}
RESULTS: dict[str, str] = {
    **dict.fromkeys(("size", "int", "indexOf", "lastIndexOf", "compareTo", "sign"), "int"),
    "double": "double",
    **dict.fromkeys(("string", "lowerAscii", "upperAscii", "trim", "replace", "join", "substring", "charAt"), "string"),
    **dict.fromkeys(("startsWith", "endsWith", "contains", "matches", "isSorted", "bool"), "bool"),
    **dict.fromkeys(("all", "exists", "exists_one", "existsOne", "hasValue"), "bool"),
    **dict.fromkeys(("isQuantity", "isURL", "isIP", "isCIDR", "isSemver", "isLessThan", "isGreaterThan"), "bool"),
}
"""The types of what functions, methods and macros come to, where they have one."""
