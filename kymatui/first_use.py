"""Data classes and regular expressions that are made on first use.

A command runs for a tenth of a second and needs few of the classes and patterns in the modules that it loads. The
standard library makes both when a module is imported: 0.5 ms for a frozen data class with slots, most of it the
compilation of six methods, and up to 4 ms for a pattern. Here a class costs 0.06 ms until its first instance.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers know what it does
else:

    def dataclass(cls=None, /, **options):
        """Return what `dataclasses.dataclass` does of the class; its methods come later if it is frozen with slots."""

        def make(cls):
            plain = {**options, "order": False} == {"frozen": True, "slots": True, "order": False}
            fields = _plain_fields(cls) if plain else None
            if fields is None:
                return dataclasses.dataclass(**options)(cls)
            return _deferred_class(cls, fields, is_ordered=options.get("order", False))

        return make if cls is None else make(cls)


_NOT_PLAIN = ("ClassVar", "InitVar", "KW_ONLY")
_OPERATORS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_ORDER = tuple(_OPERATORS)[1:]
_OWN = {"__init__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__slots__", *_OPERATORS}


def _plain_fields(cls: type) -> dict[str, Any] | None:
    """Return the fields with their defaults or MISSING, in order; None where only the standard library knows better."""
    if not _OWN.isdisjoint(cls.__dict__) or hasattr(cls, "__dataclass_fields__"):  # the latter: of a base
        return None
    fields = {name: cls.__dict__.get(name, MISSING) for name in cls.__annotations__}
    has_default = False
    for name, annotation in cls.__annotations__.items():
        if not isinstance(annotation, str) or any(word in annotation for word in _NOT_PLAIN):
            return None
        default = fields[name]
        if isinstance(default, Field):
            if not default.init or default.hash is not None or default.kw_only is not MISSING:
                return None
            is_given = default.default is not MISSING or default.default_factory is not MISSING
        else:
            is_given = default is not MISSING
            if default.__class__.__hash__ is None:  # a list that all instances would share
                return None
        if has_default and not is_given:
            return None
        has_default = has_default or is_given
    return fields if fields else None


def _deferred_class(cls: type, fields: dict[str, Any], *, is_ordered: bool) -> type:
    """Return the class with slots and methods; those that are compiled, and what describes its fields, come later."""
    space = {name: value for name, value in cls.__dict__.items() if name not in fields}
    space.pop("__dict__", None)
    space.pop("__weakref__", None)
    space |= {"__slots__": tuple(fields), "__match_args__": tuple(fields)}
    if "__repr__" not in space:
        space["__repr__"] = _repr_of([name for name, value in fields.items() if getattr(value, "repr", True)])
    space |= {"__getstate__": _getstate, "__setstate__": _setstate, "__replace__": _replace}
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        space[name] = _Description(fields, is_ordered=is_ordered)
    qualname, made = cls.__qualname__, cast(Any, type(cls)(cls.__name__, cls.__bases__, space))
    made.__qualname__ = qualname
    made.__setattr__, made.__delattr__ = _refusals(made, frozenset(fields))
    for name in ("__init__", "__eq__", "__hash__", *(_ORDER if is_ordered else ())):
        setattr(made, name, _deferred_method(made, name, fields))
    return cast(type, made)


def _deferred_method(cls: Any, name: str, fields: dict[str, Any]) -> Callable[..., Any]:
    """Return a method that compiles itself, and takes its own place, when it is called the first time."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        compiled = _compile_init(cls, fields) if name == "__init__" else _compile_comparison(cls, name, fields)
        setattr(cls, name, compiled)
        return compiled(self, *args, **kwargs)

    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _compile_init(cls: type, fields: dict[str, Any]) -> Callable[..., Any]:
    """Return an `__init__` that sets each slot, past the `__setattr__` that refuses it."""
    known: dict[str, Any] = {"_MISSING": MISSING}
    parameters, lines = [], []
    for name, default in fields.items():
        known[f"_set_{name}"] = cls.__dict__[name].__set__
        value = name
        if isinstance(default, Field) and default.default_factory is not MISSING:
            known[f"_make_{name}"] = default.default_factory
            parameters.append(f"{name}=_MISSING")
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        else:
            known[f"_default_{name}"] = default.default if isinstance(default, Field) else default
            is_given = known[f"_default_{name}"] is not MISSING
            parameters.append(f"{name}=_default_{name}" if is_given else name)
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compile(cls, "__init__", ", ".join(("self", *parameters)), lines, known)


def _compile_comparison(cls: type, name: str, fields: dict[str, Any]) -> Callable[..., Any]:
    """Return `__hash__` or an operator that compares instances of one class by their fields, as tuples."""
    compared = [name for name, value in fields.items() if not isinstance(value, Field) or value.compare]
    mine, others = (f"({''.join(f'{one}.{field}, ' for field in compared)})" for one in ("self", "other"))
    if name == "__hash__":
        return _compile(cls, name, "self", [f"return hash({mine})"], {})
    lines = [
        f"if other.__class__ is self.__class__: return {mine} {_OPERATORS[name]} {others}",
        "return NotImplemented",
    ]
    return _compile(cls, name, "self, other", lines, {})


def _compile(cls: type, name: str, parameters: str, lines: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    exec(f"def {name}({parameters}):\n" + "\n".join(f" {line}" for line in lines), known)  # noqa: S102  field names only
    made = cast("Callable[..., Any]", known[name])
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return made


def _repr_of(names: Iterable[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refusals(cls: Any, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the methods that refuse to assign and to delete fields, in subclasses too."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    return dataclasses.replace(self, **changes)


class _Description:
    """Makes `__dataclass_fields__` and `__dataclass_params__` of a class when one of them is read."""

    def __init__(self, fields: dict[str, Any], *, is_ordered: bool) -> None:
        self._fields, self._is_ordered = fields, is_ordered

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: Any) -> Any:
        space = {name: value for name, value in self._fields.items() if value is not MISSING}
        space |= {"__annotations__": self._owner.__annotations__, "__module__": self._owner.__module__}
        space["__doc__"] = "-"  # else a signature is made for it, in 2 ms
        twin: Any = type(self._owner.__name__, (), space)
        if self._name == "__dataclass_fields__":  # for `replace`: without the methods, which cost ten times as much
            dataclasses.dataclass(init=False, repr=False, eq=False)(twin)
        else:
            dataclasses.dataclass(frozen=True, order=self._is_ordered)(twin)
        setattr(self._owner, self._name, getattr(twin, self._name))
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
