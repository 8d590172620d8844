"""Data classes and patterns that are made on first use behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import pickle
import pkgutil
import re
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
import pytest

import kymatui.domain
from kymatui import first_use

T = TypeVar("T")
Make = Callable[..., Any]


def shapes(dataclass: Make) -> dict[str, type]:
    """Return one class of each shape that the package has."""

    @dataclass(frozen=True, slots=True)
    class One:
        name: str

    @dataclass(frozen=True, slots=True)
    class Defaults:
        """With a docstring, and names that a compiled method could mistake for its own."""

        self_: str
        cls: int = 1
        other: tuple[str, ...] = ()
        items: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False)
        secret: str = field(default="s", repr=False)

        @property
        def both(self) -> str:
            return f"{self.self_}{self.cls}"

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        first: str
        second: int = 0

    @dataclass(frozen=True, slots=True)
    class Typed(Generic[T]):
        value: T
        more: str = ""

    @dataclass(frozen=True, slots=True)
    class Checked:
        value: int

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("below zero")

    @dataclass(frozen=True, slots=True)
    class Printed:
        value: int

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True, slots=True)
    class Below(Defaults):
        cls: int = 9
        below: str = ""

    @dataclass(frozen=True, slots=True)
    class Same(One):
        """The fields of its base alone."""

    @dataclass(frozen=True, slots=True)
    class Empty:
        """No fields."""

    @dataclass(frozen=True, slots=True)
    class Itself:
        self: str
        _0: int = 0
        hash: str = ""

    @dataclass(slots=True)
    class Changing:
        value: int
        items: list[int] = field(default_factory=list)

    return {
        one.__name__: one
        for one in (One, Defaults, Ordered, Typed, Checked, Printed, Below, Same, Empty, Itself, Changing)
    }


STANDARD, DEFERRED = shapes(dataclasses.dataclass), shapes(first_use.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("One", ("a",), {}),
    ("One", (), {"name": "a"}),
    ("One", ("b",), {}),
    ("Defaults", ("a",), {}),
    ("Defaults", ("a", 2, ("x",), ["y"], "n", "t"), {}),
    ("Defaults", ("a",), {"note": "other"}),
    ("Defaults", ("a",), {"items": ["z"], "cls": 3}),
    ("Ordered", ("a", 1), {}),
    ("Ordered", ("a", 2), {}),
    ("Ordered", ("b",), {}),
    ("Typed", (float("nan"),), {}),
    ("Typed", ([1],), {"more": "m"}),
    ("Checked", (3,), {}),
    ("Printed", (3,), {}),
    ("Below", ("a",), {}),
    ("Below", ("a", 9, ("x",), ["y"], "n", "t", "b"), {}),
    ("Same", ("a",), {}),
    ("Empty", (), {}),
    ("Itself", ("a",), {}),
    ("Itself", (), {"self": "a", "_0": 1, "hash": "h"}),
    ("Changing", (1,), {}),
    ("Changing", (1, [2]), {}),
]
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("One", (), {}),
    ("One", ("a", "b"), {}),
    ("One", ("a",), {"name": "b"}),
    ("Defaults", (), {"cls": 2}),
    ("Defaults", ("a",), {"unknown": 2}),
    ("Checked", (-1,), {}),
]


def outcome(call: Callable[[], Any]) -> tuple[str, object]:
    """Return what a call gives, or its error, with the name of the class and without where it was defined."""
    try:
        return "gives", call()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(("name", "args", "options"), WRONG)
def test_wrong_arguments_have_the_same_error(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    errors = [outcome(functools.partial(found[name], *args, **options)) for found in (STANDARD, DEFERRED)]
    assert errors[0] == errors[1]
    assert errors[0][0] != "gives"


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_an_instance_has_the_same_fields_text_and_hash(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    standard, deferred = STANDARD[name](*args, **options), DEFERRED[name](*args, **options)
    assert repr(deferred) == repr(standard)
    assert str(dataclasses.asdict(deferred)) == str(dataclasses.asdict(standard))
    assert outcome(lambda: hash(deferred)) == outcome(lambda: hash(standard))
    assert type(deferred).__match_args__ == type(standard).__match_args__
    assert type(deferred).__slots__ == type(standard).__slots__
    assert copy.copy(deferred) == deferred
    assert not hasattr(deferred, "__dict__")


@pytest.mark.parametrize("operator", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
def test_every_pair_compares_the_same(operator: str) -> None:
    made = [[found[name](*args, **options) for name, args, options in CALLS] for found in (STANDARD, DEFERRED)]
    for row in range(len(CALLS)):
        for column in range(len(CALLS)):
            standard, deferred = (getattr(found[row], operator)(found[column]) for found in made)
            assert deferred is standard, (CALLS[row], operator, CALLS[column])


def test_a_field_cannot_be_changed_deleted_or_added() -> None:
    for found in (STANDARD, DEFERRED):
        one = found["Defaults"]("a")
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'cls'"):
            one.cls = 2
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'cls'"):
            del one.cls
        assert one == found["Defaults"]("a")


def test_a_class_that_is_not_frozen_can_change() -> None:
    changing = DEFERRED["Changing"](1)
    changing.value = 2
    changing.items.append(3)
    assert changing == DEFERRED["Changing"](2, [3])
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing)
    with pytest.raises(AttributeError):
        changing.unknown = 1


def test_frozen_and_changing_classes_do_not_mix() -> None:
    for make in (dataclasses.dataclass, first_use.dataclass):
        base: Any = shapes(make)["One"]
        with pytest.raises(TypeError, match="cannot inherit"):
            make(slots=True)(type("Mixed", (base,), {"__annotations__": {}}))


def test_an_unknown_name_cannot_be_set_either() -> None:
    """Where Python 3.11 itself raises a TypeError of `super`."""
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'unknown'"):
        DEFERRED["Defaults"]("a").unknown = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'unknown'"):
        del DEFERRED["Defaults"]("a").unknown


def test_each_instance_has_a_list_of_its_own() -> None:
    first, second = DEFERRED["Defaults"]("a"), DEFERRED["Defaults"]("a")
    first.items.append("x")
    assert second.items == []


@pytest.mark.parametrize("name", DEFERRED)
def test_fields_are_described_the_same(name: str) -> None:
    described = [
        [(one.name, one.type, one.init, one.repr, one.compare, one.hash) for one in dataclasses.fields(found[name])]
        for found in (STANDARD, DEFERRED)
    ]
    assert described[0] == described[1]
    standard, deferred = (found[name].__dataclass_params__ for found in (STANDARD, DEFERRED))  # type: ignore[attr-defined]
    assert (deferred.frozen, deferred.order, deferred.eq) == (standard.frozen, standard.order, standard.eq)


@pytest.mark.parametrize("replace", [dataclasses.replace, first_use.replace])
def test_replacing_keeps_the_other_fields(replace: Make) -> None:
    for found in (STANDARD, DEFERRED):
        one = found["Defaults"]("a", 2, ("x",), ["y"], "n", "t")
        changed = replace(one, cls=3)
        assert (changed.cls, changed.self_, changed.note, changed.secret) == (3, "a", "n", "t")
        assert replace(found["Below"]("a", below="b"), cls=4) == found["Below"]("a", 4, below="b")
        with pytest.raises(TypeError, match="unknown"):
            replace(one, unknown=1)
        with pytest.raises(ValueError, match="below zero"):
            replace(found["Checked"](1), value=-1)


def test_a_deep_copy_has_lists_of_its_own() -> None:
    one = DEFERRED["Defaults"]("a", 2, ("x",), ["y"], "n", "t")
    deep = copy.deepcopy(one)
    assert (deep, deep.items is one.items, copy.copy(one).items is one.items) == (one, False, True)


@first_use.dataclass(frozen=True, slots=True)
class Sent:
    """A class that pickles by its name."""

    name: str
    values: tuple[int, ...] = ()


def test_an_instance_survives_pickling_and_decoding() -> None:
    one = Sent("a", (1, 2))
    assert pickle.loads(pickle.dumps(one)) == one
    assert msgspec.json.decode(msgspec.json.encode(one), type=Sent) == one
    assert msgspec.json.decode(b'{"name": "b"}', type=tuple[Sent, ...] | Sent) == Sent("b")


def test_a_pattern_takes_the_fields_in_order() -> None:
    match Sent("a", (1,)):
        case Sent(name, (first,)):
            assert (name, first) == ("a", 1)
        case _:
            pytest.fail("no match")


def test_a_subclass_of_either_kind_has_the_fields_of_both() -> None:
    @dataclasses.dataclass(frozen=True)
    class More(Sent):
        more: str = ""

    assert More("a", (1,), "m") == More("a", (1,), more="m")
    assert repr(More("a")).endswith("More(name='a', values=(), more='')")

    @first_use.dataclass(frozen=True, slots=True)
    class Most(Sent):
        most: str = ""

    assert Most("a", (), "m").most == "m"
    assert [one.name for one in dataclasses.fields(Most)] == ["name", "values", "most"]
    assert Most("a") != Sent("a")
    with pytest.raises(FrozenInstanceError):
        Most("a").name = "b"  # type: ignore[misc]


def test_threads_may_make_the_first_instance_at_once() -> None:
    for _ in range(20):
        made = shapes(first_use.dataclass)["Defaults"]
        start, results = threading.Barrier(4), list[object]()

        def make(made: type = made, start: threading.Barrier = start, results: list[object] = results) -> None:
            start.wait()
            results.append((made("a", items=["x"]), hash(made("a", items=())), dataclasses.fields(made)))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 4
        assert all(one[0] == results[0][0] for one in results)  # type: ignore[index]


def test_what_only_the_standard_library_knows_is_left_to_it() -> None:
    @first_use.dataclass(frozen=True, slots=True)
    class Counted:
        known: ClassVar[int] = 1
        value: int = 2

    assert (Counted.known, Counted(3).value) == (1, 3)

    @first_use.dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        value: int

    with pytest.raises(TypeError):
        Named(1)  # type: ignore[call-arg]

    @first_use.dataclass(frozen=True, slots=True)
    class Hashed:
        value: list[int]

        def __hash__(self) -> int:
            return 5

    assert hash(Hashed([])) == 5
    with pytest.raises(ValueError, match="mutable default"):

        @first_use.dataclass(frozen=True, slots=True)
        class Shared:
            value: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match="non-default argument"):

        @first_use.dataclass(frozen=True, slots=True)
        class Turned:
            first: int = 1
            second: str  # type: ignore[misc]


def test_every_class_of_the_domain_is_what_the_standard_library_would_make() -> None:
    found = list[type]()
    for module in pkgutil.walk_packages(kymatui.domain.__path__, "kymatui.domain."):
        loaded = importlib.import_module(module.name)
        found += [
            one
            for one in vars(loaded).values()
            if isinstance(one, type) and one.__module__ == module.name and dataclasses.is_dataclass(one)
        ]
    assert len(found) > 200
    for one in found:
        names = [each.name for each in dataclasses.fields(one) if each.init]
        assert list(one.__match_args__) == names, one  # type: ignore[attr-defined]
        if one.__dataclass_params__.frozen and "__slots__" in vars(one):  # type: ignore[attr-defined]
            blank: Any = object.__new__(one)
            with pytest.raises(FrozenInstanceError):
                setattr(blank, names[0], 1)


def test_a_deferred_pattern_is_compiled_when_it_is_used() -> None:
    pattern, wrong = first_use.deferred(r"(a)(?P<b>b)", re.IGNORECASE), first_use.deferred("(")
    found = pattern.fullmatch("AB")
    assert found is not None
    assert (found["b"], pattern.sub("x", "abab"), pattern.groups) == ("B", "xx", 2)
    with pytest.raises(re.error):
        wrong.match("a")


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_the_first_call_of_a_class_is_like_any_other(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert repr(shapes(first_use.dataclass)[name](*args, **options)) == repr(STANDARD[name](*args, **options))
