"""Functions on lists of any type; each "must" function and its counterpart are the same here."""

from __future__ import annotations

import math
from typing import Any, Final

from kymatui.helm.functions.casting import cast_integer, truncate
from kymatui.helm.functions.declaring import declare, hold_list, table
from kymatui.helm.functions.defaults import empty
from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import ELEMENT, charge
from kymatui.helm.govalues.comparing import deep_equal
from kymatui.helm.govalues.types import LIST, FunctionError, Panic, TypedList, kind

_NIL_KIND: Final = "runtime error: invalid memory address or nil pointer dereference"
_SCALARS: Final = (str, bool, int, float, type(None))


def _nil_list() -> TypedList:
    return TypedList(LIST, is_nil=True)


def _items(value: Any, complaint: str) -> list[Any]:
    """Return the list. Raise FunctionError with the kind of another value."""
    if isinstance(value, list):
        return value
    if value is None:
        raise Panic(_NIL_KIND)
    raise FunctionError(f"{complaint} {kind(value)}")


def make_list(*values: Any) -> list[Any]:
    return list(values)


def append(items: Any, value: Any) -> list[Any]:
    return [*_items(items, "Cannot push on type"), value]


def prepend(items: Any, value: Any) -> list[Any]:
    return [value, *_items(items, "Cannot prepend on type")]


def first(items: Any) -> Any:
    elements = _items(items, "Cannot find first on type")
    return elements[0] if elements else None


def last(items: Any) -> Any:
    elements = _items(items, "Cannot find last on type")
    return elements[-1] if elements else None


def rest(items: Any) -> list[Any]:
    elements = _items(items, "Cannot find rest on type")
    return list(elements[1:]) if elements else _nil_list()


def initial(items: Any) -> list[Any]:
    elements = _items(items, "Cannot find initial on type")
    return list(elements[:-1]) if elements else _nil_list()


def reverse(items: Any) -> list[Any]:
    return list(reversed(_items(items, "Cannot find reverse on type")))


def compact(items: Any) -> list[Any]:
    return [item for item in _items(items, "Cannot compact on type") if not empty(item)]


def uniq(items: Any) -> list[Any]:
    unique = _Members([])
    for item in _items(items, "Cannot find uniq on type"):
        if item not in unique:
            unique.add(item)
    return unique.items


def without(items: Any, *omitted: Any) -> list[Any]:
    elements = _items(items, "Cannot find without on type")
    unwanted = _Members(omitted)
    return [item for item in elements if item not in unwanted]


def has(needle: Any, items: Any) -> bool:
    return items is not None and needle in _Members(_items(items, "Cannot find has on type"))


class _Members:
    """A set with reflect.DeepEqual; scalars are hashed."""

    def __init__(self, items: Any) -> None:
        self.items: list[Any] = []
        self._scalars: set[tuple[type, Any]] = set()
        self._others: list[Any] = []
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        self.items.append(item)
        if isinstance(item, _SCALARS):
            self._scalars.add((type(item), item))
        else:
            hold_value(item, "a value to compare")
            self._others.append(item)

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, _SCALARS):
            return item == item and (type(item), item) in self._scalars  # NaN equals no value
        hold_value(item, "a value to compare")
        return any(deep_equal(item, other) for other in self._others)


def concat(*lists: Any) -> list[Any]:
    hold_list(sum(len(items) for items in lists if isinstance(items, list)), "concat: the list")
    joined: list[Any] = []
    for items in lists:
        if items is None:
            raise Panic(_NIL_KIND)
        if not isinstance(items, list):
            raise Panic(f"Cannot concat type {kind(items)} as list")
        joined += items
    return joined or _nil_list()


def slice_list(items: Any, *indices: Any) -> Any:
    """Return items[from:to] of the same type."""
    elements = _items(items, "list should be type of slice or array but")
    if not elements:
        return None
    start = cast_integer(indices[0]) if indices else 0
    end = cast_integer(indices[1]) if len(indices) > 1 else len(elements)
    if not 0 <= start <= end <= _capacity(elements):
        raise Panic("reflect.Value.Slice: slice index out of bounds")
    part = elements[start:end] + [None] * (end - max(start, len(elements)))
    return TypedList(items.go_type, part) if isinstance(items, TypedList) else part


def _capacity(items: list[Any]) -> int:
    """Return the slice's capacity: Go can slice beyond the end, to nils, within the capacity.

    A list from values was built by appending, which doubles the capacity.
    """
    return 1 << (len(items) - 1).bit_length() if type(items) is list and len(items) <= 512 else len(items)


def chunk(size: int, items: Any) -> TypedList:
    """Return lists of `size` elements; the last has the rest."""
    elements = _items(items, "Cannot chunk type")
    count = _chunk_count(len(elements), size)
    if count < 0 or count > 1 << 47:
        raise Panic("runtime error: makeslice: len out of range")
    hold_list(count, "chunk: the list")
    charge(ELEMENT * count + 8 * len(elements))
    chunks: list[list[Any]] = []
    for number in range(count):
        length = size
        if number == count - 1:
            length = truncate(math.floor(math.fmod(len(elements), size))) if size else -(1 << 63)
            length = length or size
        chunks.append(_chunk(elements, number * size, length))
    return TypedList("[][]interface {}", chunks)


def _chunk_count(length: int, size: int) -> int:
    if size == 0:
        if length == 1:
            return -(1 << 63)  # 0/0 is NaN, and the smallest integer when converted
        return truncate(math.inf if length > 1 else -math.inf)
    return truncate(math.floor((length - 1) / size) + 1)


def _chunk(items: list[Any], start: int, length: int) -> list[Any]:
    if length < 0:
        raise Panic("runtime error: makeslice: len out of range")
    hold_list(length, "chunk: the list")
    if start + length > len(items) or (start < 0 and length):
        raise Panic("reflect: slice index out of range")
    return items[start : start + length]


FUNCTIONS: Final = table(
    (
        declare("list(...any)", make_list),
        declare("tuple(...any)", make_list),
        declare("append(any, any)", append),
        declare("push(any, any)", append),
        declare("mustAppend(any, any)", append),
        declare("mustPush(any, any)", append),
        declare("prepend(any, any)", prepend),
        declare("mustPrepend(any, any)", prepend),
        declare("first(any)", first),
        declare("mustFirst(any)", first),
        declare("last(any)", last),
        declare("mustLast(any)", last),
        declare("rest(any)", rest),
        declare("mustRest(any)", rest),
        declare("initial(any)", initial),
        declare("mustInitial(any)", initial),
        declare("reverse(any)", reverse),
        declare("mustReverse(any)", reverse),
        declare("compact(any)", compact),
        declare("mustCompact(any)", compact),
        declare("uniq(any)", uniq),
        declare("mustUniq(any)", uniq),
        declare("without(any, ...any)", without),
        declare("mustWithout(any, ...any)", without),
        declare("has(any, any)", has),
        declare("mustHas(any, any)", has),
        declare("concat(...any)", concat),
        declare("slice(any, ...any)", slice_list),
        declare("mustSlice(any, ...any)", slice_list),
        declare("chunk(int, any)", chunk),
        declare("mustChunk(int, any)", chunk),
    )
)
