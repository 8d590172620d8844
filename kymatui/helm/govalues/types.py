"""Go's values as Python has them, and their Go types.

====================  ==========================================================================================
Go                    here
====================  ==========================================================================================
nil (of interface{})  None
bool, float64         bool, float
string                str; bytes that are no UTF-8 stand as surrogates, as `surrogateescape` makes them
int                   int
int64, uint8, …       Int64, Uint8, …: subclasses of int that know their type (arithmetic gives plain int again)
complex128            complex
[]interface {}        list
another slice         TypedList("[]string", …): a list that knows its type
map[string]any        dict
another map           TypedMap("map[string]string", …): a dict that knows its type; named maps are subclasses
a struct or pointer   a subclass of Object: what templates may read of it is listed, nothing else exists for them
====================  ==========================================================================================

A class made for Go says so by class attributes: `go_type` (what %T prints), `go_kind` (what reflect's Kind prints),
`go_methods` (what a template may call on it), and by a method `go_string()` where the Go type has String() or Error().
Where only the pointer to a struct has String(), and values hold the struct, it is `go_address_string()`: actions
print by it, `print` and `printf` do not.
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
    """A function of a template fails, as a Go function does that returns an error; the text is Go's."""


class Panic(FunctionError):
    """A Go function panics: templates turn that into an error of the call, except where Go says otherwise."""


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
    """Something that a template can call: a function, or a method (then `call` takes the receiver first).

    name      as templates write it
    params    Go type names of the parameters, without the receiver: "string", "int", "bool", "float64",
              "interface {}", "[]interface {}", "map[string]interface {}", "*semver.Version", …; "reflect.Value" takes
              what is there without a conversion, and INVALID where Go has the zero Value
    variadic  the last parameter repeats (its name is that of one element)
    call      takes the arguments, checked and converted, by position; raises FunctionError
    takes_environment  the first argument of `call` is the Environment of the rendering (clock, random, lookup)
    """

    name: str
    params: tuple[str, ...]
    variadic: bool
    call: Callable[..., Any]
    takes_environment: bool = False


INVALID: Final = Invalid()
"""reflect's zero Value: what a pipeline holds whose value is nil. Functions receive None in its place."""


class Int(int):
    """The root of the integer types other than int (Go's int is Python's)."""

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
    """A slice that is not []interface {}; `is_nil` tells the nil slice from an empty one."""

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
    """A map that is not map[string]interface {}; keys are of the key's type, as Go would have them."""

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

    `go_fields` lists, in Go's order, the exported fields; `read_field` gives one of them. A template reaches these and
    `go_methods`, and nothing else.
    """

    __slots__ = ()
    go_type: ClassVar[str] = "struct {}"
    go_kind: ClassVar[str] = "struct"
    go_fields: ClassVar[tuple[str, ...]] = ()
    go_methods: ClassVar[Mapping[str, Function]] = {}

    def __bool__(self) -> bool:
        return True

    def read_field(self, name: str) -> Any:
        """The value of a field that is in `go_fields`."""
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
    """What %T prints: "string", "[]interface {}", "*semver.Version", and "<nil>" for nil."""
    plain = PLAIN.get(type(value))
    return plain[0] if plain else str(value.go_type)


def kind(value: Any) -> str:
    """What reflect's Kind prints: "invalid", "bool", "int64", "float64", "string", "slice", "map", "struct", "ptr"."""
    plain = PLAIN.get(type(value))
    return plain[1] if plain else str(value.go_kind)


def wrap_integer(number: int, bits: int = 64, signed: bool = True) -> int:
    """What is left of a whole number in so many bits: Go's integers wrap around."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number
