"""Run-time functions of compiled templates: fields, methods, conversions, loops, printing, errors."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from kymatui.helm.govalues.budget import LimitError, took
from kymatui.helm.govalues.naming import assignable, can_be_nil, elem_type, key_type, type_kind
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.printing import format_printable, format_value
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.types import ANY, INVALID, MAP, REFLECT, Function, FunctionError, NilPointer, Object, go_type
from kymatui.helm.govalues.zeros import typed, zero
from kymatui.helm.language.faults import PIPE_HINT, EvalError, ExecError, MethodError
from kymatui.helm.language.tables import Values

if TYPE_CHECKING:
    from kymatui.helm.language.nodes import Node

CHUNK: Final = 4096
"""How many turns of a loop go by between two looks at the clock."""

_METHODS: Final = Values.go_methods
CONCRETE: Final = object()
"""Stands for the container of a value that was not taken out of anything."""


class Spender(Protocol):
    """The part of a scope that loops use."""

    def spend(self, steps: int) -> None: ...


def static_type(container: Any, value: Any) -> str:
    """Return the Go type of a value's place: an element of []interface {} is an interface {}."""
    if container is CONCRETE or isinstance(container, Object):
        return go_type(value)
    if isinstance(container, (dict, list)):
        return elem_type(go_type(container))
    return go_type(value) if value is not None else ANY


def fields(value: Any, container: Any, names: tuple[str, ...]) -> Any:
    """Return `.a.b.c` of a value."""
    for name in names:
        cls = value.__class__
        if cls is dict:
            container, value = value, value.get(name)
        elif cls is Values and name not in _METHODS:
            container, value = value, value.table.get(name)
        else:
            container, value = value, field(value, name, container)
    return value


def field(value: Any, name: str, container: Any) -> Any:
    """Return `.name` of a value: a method, a field, or an entry of a map."""
    if value is INVALID:
        return INVALID
    if value is None:
        raise EvalError(f"nil pointer evaluating {static_type(container, value)}.{name}")
    methods = getattr(value.__class__, "go_methods", None)
    if methods and (method := methods.get(name)) is not None:
        check_count(method, 0, 0)
        try:
            return took(method.call(value))
        except FunctionError as error:
            raise MethodError(name, error) from None
    if isinstance(value, dict):
        if value.__class__ is dict or assignable("string", key_type(go_type(value))):
            return value[name] if name in value else zero(elem_type(go_type(value)))
    elif isinstance(value, Object):
        if name in value.go_fields:
            if not name[0].isupper():
                owner = static_type(container, value)
                raise EvalError(f"{name} is an unexported field of struct type {owner}")
            return value.read_field(name)
    elif isinstance(value, NilPointer):
        raise EvalError(f"nil pointer evaluating {go_type(value)}.{name}")
    raise EvalError(f"can't evaluate field {name} in type {static_type(container, value)}")


def check_count(method: Function, shown_count: int, count: int) -> None:
    """Raise EvalError for a wrong number of arguments; `count` includes the pipeline's."""
    expected = len(method.params)
    if method.variadic:
        if count < expected - 1:
            raise EvalError(
                f"wrong number of args for {method.name}: want at least {expected - 1} got {shown_count}", PIPE_HINT
            )
    elif count != expected:
        raise EvalError(f"wrong number of args for {method.name}: want {expected} got {count}", PIPE_HINT)


def find_method(value: Any, name: str, container: Any, shown_count: int, count: int) -> Function | None:
    """Return the method to call with arguments, None if the receiver is nil."""
    if value is INVALID:
        return None
    if value is None:
        raise EvalError(f"nil pointer evaluating {static_type(container, value)}.{name}")
    methods = getattr(value.__class__, "go_methods", None)
    if methods and (method := methods.get(name)) is not None:
        function: Function = method
        check_count(function, shown_count, count)
        return function
    if isinstance(value, dict) and assignable("string", key_type(go_type(value))):
        raise EvalError(f"{name} is not a method but has arguments")
    if isinstance(value, Object) and name in value.go_fields:
        raise EvalError(f"{name} has arguments but cannot be invoked as function")
    if isinstance(value, NilPointer):
        raise EvalError(f"nil pointer evaluating {go_type(value)}.{name}")
    raise EvalError(f"can't evaluate field {name} in type {static_type(container, value)}")


def method_argument(method: Function | None, index: int, value: Any, constant: tuple[str, str] | str) -> Any:
    """Return an argument converted for the method; `constant` describes a literal."""
    if method is None:
        return None
    expected = method.params[min(index, len(method.params) - 1)]
    if constant == "nil":
        if not can_be_nil(expected):
            raise EvalError(f"cannot assign nil to {expected}")
        return zero(expected)
    if not constant:
        return convert(value, expected)
    return _constant(value, constant[0], constant[1], expected)


def _constant(constant: Any, node: str, text: str, target: str) -> Any:
    kind = type_kind(target)
    numbers, ideal = constant if node == "Number" else ((None, None, None), constant)
    if kind == "interface" or target == REFLECT:
        return ideal
    if kind == "bool":
        expected, value = "bool", constant if node == "Bool" else None
    elif kind == "string":
        expected, value = "string", constant if node == "String" else None
    elif kind.startswith("int"):
        expected, value = "integer", numbers[0]
    elif kind.startswith("uint"):
        expected, value = "unsigned integer", numbers[1]
    elif kind.startswith("float"):
        expected, value = "float", numbers[2]
    else:
        raise EvalError(f"can't handle {text} for arg of type {target}")
    if value is None:
        raise EvalError(f"expected {expected}; found {text}")
    return typed(value, target)


def call_method(method: Function | None, receiver: Any, args: Sequence[Any]) -> Any:
    """Return the method's result, INVALID without a receiver."""
    return INVALID if method is None else took(method.call(receiver, *args))


def convert(value: Any, target: str) -> Any:
    """Return the value for a parameter of this type (validateType)."""
    if value is INVALID:
        if not can_be_nil(target):
            raise EvalError(f"invalid value; expected {target}")
        return zero(target)
    if target in (ANY, REFLECT):
        return value
    if value.__class__ is Values and target == MAP:
        return value.table
    if value is None:
        if type_kind(target) == "interface":
            return None
        raise EvalError(f"wrong type for value; expected {target}; got {ANY}")
    source_type = go_type(value)
    if assignable(source_type, target) or (source_type.startswith("*") and assignable(source_type[1:], target)):
        return value
    if type_kind(target) == "interface" and target != "error":
        return value
    raise EvalError(f"wrong type for value; expected {target}; got {source_type}")


class Watched:
    """A long sequence that counts steps and time during iteration, since it may be left early."""

    __slots__ = ("items", "scope")

    def __init__(self, scope: Spender, items: Sequence[Any]) -> None:
        self.scope = scope
        self.items = items

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        for number, item in enumerate(self.items):
            if number % CHUNK == 0:
                self.scope.spend(CHUNK)
            yield item


def _counted(scope: Spender, items: Sequence[Any]) -> Iterable[Any]:
    if len(items) > CHUNK:
        return Watched(scope, items)
    scope.spend(len(items))
    return items


def _refused(value: Any) -> EvalError:
    return EvalError(f"range can't iterate over {format_printable(value)}")


def values_of(scope: Spender, value: Any) -> Iterable[Any]:
    """Return the items for a range with one variable or none."""
    if isinstance(value, list):
        return _counted(scope, value)
    if isinstance(value, dict):
        return _counted(scope, [value[key] for key in sorted_keys(value)])
    if value is None or value is INVALID or isinstance(value, NilPointer):
        return ()
    if isinstance(value, int) and not isinstance(value, bool):
        numbers = range(min(max(0, value), sys.maxsize))
        cls = value.__class__
        return _counted(scope, numbers) if cls is int else map(cls, _counted(scope, numbers)) if value > 0 else ()
    raise _refused(value)


def pairs_of(scope: Spender, value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the pairs for a range with two variables."""
    if isinstance(value, list):
        return _counted(scope, list(enumerate(value)))
    if isinstance(value, dict):
        return _counted(scope, [(key, value[key]) for key in sorted_keys(value)])
    if value is None or value is INVALID or isinstance(value, NilPointer):
        return ()
    if isinstance(value, int) and not isinstance(value, bool):
        raise EvalError(f"can't use {format_value(value)} to iterate over more than one variable")
    raise _refused(value)


def printed(value: Any) -> str:
    """Return the text that an action prints."""
    if value is None or value is INVALID:
        return "<no value>"
    by_address = getattr(value.__class__, "go_address_string", None)
    return format_printable(value) if by_address is None else str(by_address(value))


class Failing(Protocol):
    """A compiled template, as far as errors need it."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> Placing: ...

    def node(self, error: Exception) -> tuple[Node, str]: ...


class Placing(Protocol):
    """A file, as far as errors need it."""

    def place(self, position: int) -> str: ...


def fault(template: Failing, error: Exception) -> NoReturn:
    """Raise Go's error for a failed line of a compiled template, or the limit that was exceeded with the place."""
    if isinstance(error, LimitError) and error.placed:
        raise error
    node, called = template.node(error)
    location = template.unit.place(node.position)
    where = f"template: {location}: executing {quote(template.name)} at <{node.text()}>: "
    if isinstance(error, LimitError):
        raise LimitError(f"{where}{error}", hint=error.hint, placed=True) from None
    if isinstance(error, EvalError):
        raise ExecError(where + str(error), expression=node.text(), hint=error.hint) from None
    if isinstance(error, UnboundLocalError):
        raise ExecError(f"{where}undefined variable: {node.text().partition('.')[0]}") from None
    if isinstance(error, MethodError):
        called, error = error.method, error.cause
    if called and isinstance(error, FunctionError):
        raise ExecError(f"{where}error calling {called}: ", error) from None
    # {{template}} adds nothing to the inner template's error.
    raise error


NAMES: Final[dict[str, Any]] = {
    "C": CONCRETE,
    "INVALID": INVALID,
    "EVAL": EvalError,
    "FAULTS": (FunctionError, EvalError, MethodError, UnboundLocalError, LimitError),
    "FAULT": fault,
    "F": field,
    "CHAIN": fields,
    "METHOD": find_method,
    "ARGUMENT": method_argument,
    "CALL": call_method,
    "CONVERT": convert,
    "ZERO": zero,
    "TYPED": typed,
    "RANGE1": values_of,
    "RANGE2": pairs_of,
    "str": str,
    "bool": bool,
    "int": int,
    "float": float,
    "dict": dict,
    "list": list,
}
"""All names that compiled templates can reach, besides the functions."""
