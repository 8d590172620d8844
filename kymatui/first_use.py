"""Data classes and regular expressions that are made on first use.

A command runs for a tenth of a second and needs few of the classes and patterns in the modules that it loads. The
standard library makes both when a module is imported: 0.5 ms for a frozen data class with slots, most of it the
compilation of six methods, and up to 4 ms for a pattern. Here a class costs 0.03 ms until its first instance.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from reprlib import recursive_repr
from types import CodeType, FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers know what they do
    from dataclasses import replace as replace
else:

    def dataclass(cls=None, /, **options):
        """Return what `dataclasses.dataclass` makes of the class; if it has slots, its methods are compiled later."""

        def make(cls):
            fields = _plain_fields(cls, options.get("frozen", False)) if _PLAIN.issuperset(options.items()) else None
            if fields is None or not options.get("slots"):
                return _standard().dataclass(**options)(cls)
            return _deferred_class(cls, fields, _Options(options.get("frozen", False), options.get("order", False)))

        return make if cls is None else make(cls)

    def replace(one, /, **changes):
        """Return a copy of an instance of a data class with other values of some fields."""
        if "__deferred_fields__" not in type(one).__dict__:
            return _standard().replace(one, **changes)
        values = {name: getattr(one, name) for name in one.__match_args__ if name not in changes}
        return type(one)(**values, **changes)


class _Options(NamedTuple):
    is_frozen: bool
    is_ordered: bool


_PLAIN = {(name, value) for name in ("frozen", "slots", "order") for value in (False, True)}
_NOT_PLAIN = ("ClassVar", "InitVar", "KW_ONLY")
_OPERATORS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_ORDER = tuple(_OPERATORS)[1:]
_OWN = {"__init__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__slots__", *_OPERATORS}
_MISSING: Any = object()


class _Field(NamedTuple):
    annotation: str
    default: Any
    """What stands behind `=`: a value, the standard library's Field, or _MISSING."""

    @property
    def standard(self) -> Any:
        """Return the standard library's Field, None for a plain default."""
        loaded = sys.modules.get("dataclasses")  # no Field exists before its module is loaded
        return self.default if loaded is not None and isinstance(self.default, loaded.Field) else None


_Fields = dict[str, _Field]


def _standard() -> Any:
    """Return the standard library's module; it loads `inspect`, which `kymatui --version` does not need."""
    import dataclasses

    return dataclasses


def _plain_fields(cls: Any, is_frozen: bool) -> _Fields | None:
    """Return all fields in their order; None where only the standard library knows what to do, or which error fits."""
    if not _OWN.isdisjoint(cls.__dict__):
        return None
    fields: _Fields = {}
    for base in reversed(cls.__mro__[1:]):
        if "__deferred_fields__" in base.__dict__:
            if base.__deferred_options__.is_frozen is not is_frozen:
                return None
            fields |= base.__deferred_fields__
        elif "__dataclass_fields__" in base.__dict__:
            return None
    for name, annotation in cls.__annotations__.items():
        fields[name] = _Field(annotation, cls.__dict__.get(name, _MISSING))
        if not isinstance(annotation, str) or any(word in annotation for word in _NOT_PLAIN):
            return None
    has_default = False
    for one in fields.values():
        if (standard := one.standard) is not None:
            if not standard.init or standard.hash is not None or standard.kw_only is True:
                return None
            missing = _standard().MISSING
            is_given = standard.default is not missing or standard.default_factory is not missing
        else:
            is_given = one.default is not _MISSING
            if one.default.__class__.__hash__ is None:  # a list that all instances would share
                return None
        if has_default and not is_given:
            return None
        has_default = has_default or is_given
    return fields


def _deferred_class(cls: Any, fields: _Fields, options: _Options) -> type:
    """Return the class with slots and methods; those that are compiled, and what describes its fields, come later."""
    space = {name: value for name, value in cls.__dict__.items() if name not in fields}
    space.pop("__dict__", None)
    space.pop("__weakref__", None)
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__deferred_fields__", ())}
    space |= {"__slots__": tuple(name for name in fields if name not in inherited), "__match_args__": tuple(fields)}
    space |= {"__deferred_fields__": fields, "__deferred_options__": options, "__replace__": replace}
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        space[name] = _Description()
    if "__repr__" not in space:
        space["__repr__"] = _repr_of([name for name, one in fields.items() if getattr(one.standard, "repr", True)])
    home: list[Any] = []  # the class, as soon as there is one: setting methods afterwards takes as long as making it
    for name in ("__init__", "__eq__", *(_ORDER if options.is_ordered else ())):
        space[name] = _deferred_method(home, name)
    if options.is_frozen:
        space |= {"__hash__": _deferred_method(home, "__hash__"), "__getstate__": _getstate, "__setstate__": _setstate}
        space["__setattr__"], space["__delattr__"] = _refusals(home, frozenset(fields))
    made = cast(Any, type(cls)(cls.__name__, cls.__bases__, space))
    made.__qualname__ = cls.__qualname__
    home.append(made)
    return cast(type, made)


def _deferred_method(home: list[Any], name: str) -> Callable[..., Any]:
    """Return a method that compiles itself, and takes its own place, when it is called the first time."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        (cls,) = home
        compiled = _compile_init(cls) if name == "__init__" else _compile_comparison(cls, name)
        setattr(cls, name, compiled)
        return compiled(self, *args, **kwargs)

    return method


def _compile_init(cls: Any) -> Callable[..., Any]:
    """Return an `__init__` that sets each slot, past a `__setattr__` that refuses it."""
    known: dict[str, Any] = {"_MISSING": _MISSING}
    defaults, factories = [], []
    for number, (name, one) in enumerate(cls.__deferred_fields__.items()):
        slot = getattr(cls, name)
        assert isinstance(slot, MemberDescriptorType), f"{cls.__qualname__}.{name} is a field and something else"
        factory, default = _default_of(one)
        known |= {f"_set_{number}": slot.__set__, f"_make_{number}": factory}
        factories.append(factory is not None)
        defaults += [default] if factory is not None or default is not _MISSING else []
    names = tuple(cls.__deferred_fields__)
    code = _init_code(tuple(factories), hasattr(cls, "__post_init__"))
    me = "self" if "self" not in names else "__dataclass_self__"
    made = FunctionType(code.replace(co_varnames=(me, *names)), known, "__init__", tuple(defaults))
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


@lru_cache(maxsize=256)
def _init_code(factories: tuple[bool, ...], is_checked: bool) -> CodeType:
    """Return the code for so many fields, of any names: compiling takes twenty times as long as naming them."""
    lines = [
        f"_set_{number}(self, _make_{number}() if _{number} is _MISSING else _{number})"
        if has_factory
        else f"_set_{number}(self, _{number})"
        for number, has_factory in enumerate(factories)
    ]
    parameters = ", ".join(("self", *(f"_{number}" for number in range(len(factories)))))
    lines += ["self.__post_init__()"] if is_checked else []
    return _compile("__init__", parameters, lines or ["pass"]).__code__


def _default_of(one: _Field) -> tuple[Callable[[], Any] | None, Any]:
    """Return what makes the default of a field, if anything does, and else the default or _MISSING."""
    if one.standard is None:
        return None, one.default
    missing = _standard().MISSING
    if one.standard.default_factory is not missing:
        return one.standard.default_factory, _MISSING
    return None, _MISSING if one.standard.default is missing else one.standard.default


def _compile_comparison(cls: Any, name: str) -> Callable[..., Any]:
    """Return `__hash__` or an operator that compares instances of one class by their fields, as tuples."""
    compared = [name for name, one in cls.__deferred_fields__.items() if getattr(one.standard, "compare", True)]
    mine, others = (f"({''.join(f'{one}.{field}, ' for field in compared)})" for one in ("self", "other"))
    if name == "__hash__":
        made = _compile(name, "self", [f"return hash({mine})"])
    else:
        same = f"if other.__class__ is self.__class__: return {mine} {_OPERATORS[name]} {others}"
        made = _compile(name, "self, other", [same, "return NotImplemented"])
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return made


def _compile(name: str, parameters: str, lines: list[str]) -> FunctionType:
    known: dict[str, Any] = {}
    exec(f"def {name}({parameters}):\n" + "\n".join(f" {line}" for line in lines), known)  # noqa: S102  field names only
    return cast(FunctionType, known[name])


def _repr_of(names: Iterable[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refusals(home: list[Any], names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the methods that refuse to assign and to delete fields, in subclasses too."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is home[0] or name in names:
            raise _standard().FrozenInstanceError(f"cannot assign to field {name!r}")
        super(home[0], self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is home[0] or name in names:
            raise _standard().FrozenInstanceError(f"cannot delete field {name!r}")
        super(home[0], self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


class _Description:
    """Makes `__dataclass_fields__` and `__dataclass_params__` of a class when one of them is read."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: Any) -> Any:
        cls, fields = self._owner, self._owner.__deferred_fields__
        space: dict[str, Any] = {name: one.default for name, one in fields.items() if one.default is not _MISSING}
        space["__annotations__"] = {name: one.annotation for name, one in fields.items()}
        space |= {"__module__": cls.__module__, "__doc__": "-"}  # else a signature is made for it, in 2 ms
        twin: Any = type(cls.__name__, (), space)
        if self._name == "__dataclass_fields__":  # without the methods, which cost ten times as much
            _standard().dataclass(init=False, repr=False, eq=False)(twin)
        else:
            options = cls.__deferred_options__
            _standard().dataclass(frozen=options.is_frozen, order=options.is_ordered)(twin)
        setattr(cls, self._name, getattr(twin, self._name))
        return getattr(twin, self._name)


class _DeferredPattern:
    """A proxy for a compiled pattern; it looks up each method once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def deferred(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return `re.compile(pattern, flags)`, compiled on first use; an invalid pattern fails then."""
    return cast("re.Pattern[str]", _DeferredPattern(pattern, flags))
