"""The built-in functions of text/template: comparison, indexing, length, printing, escaping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote_plus

from kymatui.helm.govalues import comparing
from kymatui.helm.govalues.budget import tick, watched
from kymatui.helm.govalues.naming import can_be_nil, elem_type, key_type, type_kind
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.printing import format_printable, sprint, sprintln
from kymatui.helm.govalues.quoting import is_print
from kymatui.helm.govalues.text import byte_length, check_size, from_bytes, join_bounded, normalize, to_bytes
from kymatui.helm.govalues.types import (
    ANY,
    INVALID,
    REFLECT,
    Function,
    FunctionError,
    NilPointer,
    Panic,
    TypedList,
    Uint8,
    go_type,
    kind,
)
from kymatui.helm.govalues.zeros import assignable_value, typed, zero

_ZERO_VALUE: Final = "reflect: call of reflect.Value.Type on zero Value"


def _truth_only(*values: Any) -> Any:
    """Stand for `and`, `or` and `not`, which are compiled inline and never called."""
    raise Panic("unreachable")


def equals_any(first: Any, *others: Any) -> bool:
    """Return eq: whether `first` equals one of the others."""
    if not others:
        raise FunctionError("missing argument for comparison")
    return any(_equals(first, other) for other in others)


def _equals(first: Any, other: Any) -> bool:
    tick()
    return comparing.equal(first, other)


def not_equal(first: Any, second: Any) -> bool:
    return not comparing.equal(first, second)


def less_or_equal(first: Any, second: Any) -> bool:
    return comparing.less(first, second) or comparing.equal(first, second)


def greater(first: Any, second: Any) -> bool:
    return not less_or_equal(first, second)


def greater_or_equal(first: Any, second: Any) -> bool:
    return not comparing.less(first, second)


def length(item: Any) -> int:
    """Return len: of a string in bytes, of a map, of a slice."""
    if item.__class__ in (list, dict):
        return len(item)
    if item is None or isinstance(item, NilPointer):
        raise FunctionError("len of nil pointer")
    if item is INVALID:
        raise Panic(_ZERO_VALUE)
    if isinstance(item, str):
        return byte_length(item)
    if isinstance(item, (list, dict)):
        return len(item)
    raise FunctionError(f"len of type {go_type(item).removeprefix('*')}")


def _index_number(number: Any, capacity: int) -> int:
    if number is None or number is INVALID:
        raise FunctionError("cannot index slice/array with nil")
    if isinstance(number, bool) or not isinstance(number, int):
        raise FunctionError(f"cannot index slice/array with type {go_type(number)}")
    if not 0 <= number <= capacity:
        raise FunctionError(f"index out of range: {int(number)}")
    return int(number)


def index(item: Any, *indexes: Any) -> Any:
    """Return x[1]["a"] for index x 1 "a"."""
    if item is None or item is INVALID:
        raise FunctionError("index of untyped nil")
    for position in indexes:
        if item is None or item is INVALID or isinstance(item, NilPointer):
            raise FunctionError("index of nil pointer")
        item = _index_one(item, position)
    return item


def _index_one(item: Any, position: Any) -> Any:
    if isinstance(item, dict):
        return _index_map(item, position)
    if isinstance(item, list):
        number = _index_number(position, len(item))
        if number == len(item):
            raise Panic("reflect: slice index out of range")
        return item[number]
    if isinstance(item, str):
        data = to_bytes(item)
        number = _index_number(position, len(data))
        if number == len(data):
            raise Panic("reflect: string index out of range")
        return Uint8(data[number])
    raise FunctionError(f"can't index item of type {go_type(item).removeprefix('*')}")


def _index_map(item: dict[Any, Any], key: Any) -> Any:
    expected = key_type(go_type(item))
    if key is None or key is INVALID:
        if not can_be_nil(expected):
            raise FunctionError(f"value is nil; should be of type {expected}")
        key = None
    elif not assignable_value(key, expected):
        if not (_is_int(kind(key)) and _is_int(type_kind(expected))):
            raise FunctionError(f"value has type {go_type(key)}; should be {expected}")
        key = typed(int(key), expected)
    return item[key] if key in item else zero(elem_type(go_type(item)))


def _is_int(name: str) -> bool:
    return name.startswith(("int", "uint")) and name != "interface"


def slice_item(item: Any, *indexes: Any) -> Any:
    """Return x[1:2] for slice x 1 2."""
    if item is None or item is INVALID:
        raise FunctionError("slice of untyped nil")
    if isinstance(item, NilPointer):
        raise FunctionError("slice of nil pointer")
    if len(indexes) > 3:
        raise FunctionError(f"too many slice indexes: {len(indexes)}")
    content: Any = item
    if isinstance(item, str):
        if len(indexes) == 3:
            raise FunctionError("cannot 3-index slice a string")
        content = to_bytes(item)
    elif not isinstance(item, list):
        raise FunctionError(f"can't slice item of type {go_type(item).removeprefix('*')}")
    bounds = [0, len(content), len(content)]
    for position, number in enumerate(indexes):
        bounds[position] = _index_number(number, len(content))
    if bounds[0] > bounds[1]:
        raise FunctionError(f"invalid slice index: {bounds[0]} > {bounds[1]}")
    if len(indexes) == 3 and bounds[1] > bounds[2]:
        raise FunctionError(f"invalid slice index: {bounds[1]} > {bounds[2]}")
    part = content[bounds[0] : bounds[1]]
    if isinstance(item, str):
        return from_bytes(part)
    return TypedList(item.go_type, part) if isinstance(item, TypedList) else part


def call(name: str, callee: Any, *_: Any) -> Any:
    """Fail always: templates hold no functions as values. `name` is the source text of the callee."""
    if callee is None or callee is INVALID:
        raise FunctionError("call of nil")
    raise FunctionError(f"non-function {name} of type {go_type(callee)}")


def _joined(values: tuple[Any, ...]) -> str:
    """Return evalArgs: the text that the escape functions receive."""
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return sprint(*("<no value>" if value is None else value for value in values), write=format_printable)


# The ampersand comes first, since the other replacements contain one.
_HTML: Final = (("&", "&amp;"), ('"', "&#34;"), ("'", "&#39;"), ("<", "&lt;"), (">", "&gt;"), ("\0", "\ufffd"))


def escape_html(*values: Any) -> str:
    text = _joined(values)
    for plain, escaped in _HTML:
        check_size(len(text) + text.count(plain) * (len(escaped) - 1))
        text = text.replace(plain, escaped)
    return text


_JS: Final = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _escape_js_character(char: str) -> str:
    if (special := _JS.get(char)) is not None:
        return special
    if char < " ":
        return f"\\u00{ord(char):02X}"
    if char < "\x80":
        return char
    if "\udc80" <= char <= "\udcff":
        return "\\uFFFD" if not is_print("\ufffd") else char
    return char if is_print(char) else f"\\u{ord(char):04X}"


def escape_js(*values: Any) -> str:
    return join_bounded([_escape_js_character(char) for char in watched(normalize(_joined(values)))])


def escape_query(*values: Any) -> str:
    return join_bounded([quote_plus(to_bytes(_joined(values)), safe="~")])


def _builtin(name: str, params: tuple[str, ...], variadic: bool, function: Callable[..., Any]) -> Function:
    return Function(name, params, variadic, function)


BUILTINS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (
        _builtin("and", (REFLECT, REFLECT), True, _truth_only),
        _builtin("or", (REFLECT, REFLECT), True, _truth_only),
        _builtin("not", (REFLECT,), False, _truth_only),
        _builtin("eq", (REFLECT, REFLECT), True, equals_any),
        _builtin("ne", (REFLECT, REFLECT), False, not_equal),
        _builtin("lt", (REFLECT, REFLECT), False, comparing.less),
        _builtin("le", (REFLECT, REFLECT), False, less_or_equal),
        _builtin("gt", (REFLECT, REFLECT), False, greater),
        _builtin("ge", (REFLECT, REFLECT), False, greater_or_equal),
        _builtin("len", (REFLECT,), False, length),
        _builtin("index", (REFLECT, REFLECT), True, index),
        _builtin("slice", (REFLECT, REFLECT), True, slice_item),
        _builtin("call", (REFLECT, REFLECT), True, call),
        _builtin("print", (ANY,), True, sprint),
        _builtin("printf", ("string", ANY), True, sprintf),
        _builtin("println", (ANY,), True, sprintln),
        _builtin("html", (ANY,), True, escape_html),
        _builtin("js", (ANY,), True, escape_js),
        _builtin("urlquery", (ANY,), True, escape_query),
    )
}

UNCOUNTED: Final = frozenset(
    {
        "all", "any", "coalesce", "default", "dig", "empty", "fail", "first", "get", "hasKey", "include", "index",
        "kindIs", "kindOf", "last", "lookup", "merge", "mergeOverwrite", "mustFirst", "mustLast", "mustMerge",
        "mustMergeOverwrite", "not", "required", "set", "ternary", "tpl", "typeIs", "typeIsLike", "typeOf", "unset",
    }
)  # fmt: skip
"""Functions that make no value of their own and take no time, or count what they make themselves."""
