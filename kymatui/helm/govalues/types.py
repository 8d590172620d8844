"""Go values, their Python representation and their Go types.

====================  ==========================================================================================
Go                    here
====================  ==========================================================================================
nil (of interface{})  None
bool, float64         bool, float
string                str; bytes that are not UTF-8 are surrogates, as with `surrogateescape`
int                   int
int64, uint8, …       Int64, Uint8, …: typed subclasses of int (arithmetic returns plain int)
complex128            complex
[]interface {}        list
another slice         TypedList("[]string", …): a typed list
map[string]any        dict
another map           TypedMap("map[string]string", …): a typed dict; named maps are subclasses
a struct or pointer   a subclass of Object: templates can read only its listed fields and methods
====================  ==========================================================================================

A class for a Go type has class attributes: `go_type` (%T), `go_kind` (reflect's Kind), `go_methods` (methods for
templates), and a method `go_string()` if the Go type has String() or Error(). If only the pointer to a struct has
String(), and values hold the struct, the method is `go_address_string()`: actions print it, `print` and `printf` do
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

ANY: Final = "interface {}"
MAP: Final = "map[string]interface {}"
LIST: Final = "[]interface {}"
BYTES: Final = "[]uint8"
REFLECT: Final = "reflect.Value"


class FunctionError(Exception):
    """A template function failed like a Go function that returns an error; the message is Go's."""


class Panic(FunctionError):
    """A Go function panicked; templates report it as an error of the call, unless Go says otherwise."""


class Invalid:
    """The type of INVALID."""

    __slots__ = ()
    go_type = "<nil>"
    go_kind = "invalid"
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __repr__(self) -> str:
        return "INVALID"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "INVALID"


class Function(NamedTuple):
    """A callable for templates: a function, or a method (`call` receives the receiver first).

    name      as templates write it
    params    Go type names of the parameters, without the receiver: "string", "int", "bool", "float64",
              "interface {}", "[]interface {}", "map[string]interface {}", "*semver.Version", …; "reflect.Value" accepts
              values without conversion, and INVALID for Go's zero Value
    variadic  the last parameter repeats (its name is that of one element)
    call      receives the checked and converted arguments by position; raises FunctionError
    takes_environment  the first argument of `call` is the Environment of the rendering (clock, random, lookup)
    """

    name: str
    params: tuple[str, ...]
    variadic: bool
    call: Callable[..., Any]
    takes_environment: bool = False

    def parameter(self, index: int) -> str:
        """Return the type of an argument; a variadic function's last type repeats."""
        return self.params[min(index, len(self.params) - 1)] if self.variadic else self.params[index]


INVALID: Final = Invalid()
"""reflect's zero Value: what a pipeline holds whose value is nil. Functions receive None in its place."""


class Int(int):
    """The base of the integer types except int (Go's int is Python's)."""

    __slots__ = ()
    go_type: ClassVar[str] = "int"
    go_kind: ClassVar[str] = "int"
    go_methods: ClassVar[Mapping[str, Function]] = {}
    bits: ClassVar[int] = 64
    signed: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class Int8(Int):
    __slots__ = ()
    go_type = go_kind = "int8"
    bits = 8


class Int16(Int):
    __slots__ = ()
    go_type = go_kind = "int16"
    bits = 16


class Int32(Int):
    __slots__ = ()
    go_type = go_kind = "int32"
    bits = 32


class Int64(Int):
    __slots__ = ()
    go_type = go_kind = "int64"


class Uint(Int):
    __slots__ = ()
    go_type = go_kind = "uint"
    signed = False


class Uint8(Uint):
    __slots__ = ()
    go_type = go_kind = "uint8"
    bits = 8


class Uint16(Uint):
    __slots__ = ()
    go_type = go_kind = "uint16"
    bits = 16


class Uint32(Uint):
    __slots__ = ()
    go_type = go_kind = "uint32"
    bits = 32


class Uint64(Uint):
    __slots__ = ()
    go_type = go_kind = "uint64"


class Float32(float):
    __slots__ = ()
    go_type = go_kind = "float32"
    go_methods: ClassVar[Mapping[str, Function]] = {}


class TypedList(list[Any]):
    """A slice other than []interface {}; `is_nil` distinguishes the nil slice from an empty one."""

    __slots__ = ("go_type", "is_nil")
    go_kind: ClassVar[str] = "slice"
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __init__(self, go_type: str, items: Iterable[Any] = (), *, is_nil: bool = False) -> None:
        super().__init__(items)
        self.go_type = go_type
        self.is_nil = is_nil

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.go_type, list(self)), (None, {"is_nil": self.is_nil}))


class TypedMap(dict[Any, Any]):
    """A map other than map[string]interface {}; keys have the key type, as in Go."""

    __slots__ = ("go_type", "is_nil")
    go_kind: ClassVar[str] = "map"
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __init__(
        self, go_type: str, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (), *, is_nil: bool = False
    ) -> None:
        super().__init__(items)
        self.go_type = go_type
        self.is_nil = is_nil

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.go_type, dict(self)), (None, {"is_nil": self.is_nil}))


class Object:
    """A struct, or a pointer to one (`go_kind` "struct" or "ptr", `go_type` with its leading "*").

    `go_fields` lists the exported fields in Go's order; `read_field` returns one of them. Templates can access these
    and `go_methods`, nothing else.
    """

    __slots__ = ()
    go_type: ClassVar[str] = "struct {}"
    go_kind: ClassVar[str] = "struct"
    go_fields: ClassVar[tuple[str, ...]] = ()
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __bool__(self) -> bool:
        return True

    def read_field(self, name: str) -> Any:
        """Return the value of a field from `go_fields`."""
        raise KeyError(name)


class NilPointer:
    """A nil pointer of some type: NilPointer("*semver.Version")."""

    __slots__ = ("go_type",)
    go_kind: ClassVar[str] = "ptr"
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __init__(self, go_type: str) -> None:
        self.go_type = go_type

    def __bool__(self) -> bool:
        return False


PLAIN: Final[Mapping[type, tuple[str, str]]] = {
    type(None): ("<nil>", "invalid"),
    bool: ("bool", "bool"),
    str: ("string", "string"),
    int: ("int", "int"),
    float: ("float64", "float64"),
    complex: ("complex128", "complex128"),
    list: (LIST, "slice"),
    dict: (MAP, "map"),
}
"""Go's type and kind of the values that Python has of its own."""


def go_type(value: Any) -> str:
    """Return %T: "string", "[]interface {}", "*semver.Version", and "<nil>" for nil."""
    plain = PLAIN.get(type(value))
    return plain[0] if plain else str(value.go_type)


def kind(value: Any) -> str:
    """Return reflect's Kind: "invalid", "bool", "int64", "string", "slice", "map", "struct", "ptr", …."""
    plain = PLAIN.get(type(value))
    return plain[1] if plain else str(value.go_kind)


def wrap_integer(number: int, bits: int = 64, signed: bool = True) -> int:
    """Return the number wrapped around to `bits`, as Go's integers do."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def describe_type(value: Any) -> str:
    """Return what a value is, since the value itself may be secret: "text", "a number", "a list"."""
    if isinstance(value, bool):
        return "true or false"
    names = ((str, "text"), ((int, float), "a number"), (list, "a list"), (dict, "a table"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")
