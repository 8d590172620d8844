"""Time and memory that one rendering may use, counted while it runs.

Functions of templates know nothing of the rendering that calls them, and a thread runs one rendering at a time. So the
budget is the thread's: who starts a rendering enters it, and everything below counts on it. Without one, nothing is
counted.

Memory is counted where text, lists and maps are made, and never given back: that is the same on every machine and in
every run. Time is looked at between pieces of work of which each takes some milliseconds at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import getsizeof
from typing import Any, Final, Protocol, TypeVar

from kymatui.errors import HelmError

Item = TypeVar("Item")
Result = TypeVar("Result")

BYTES: Final = 1 << 15
"""Bytes that are made between two looks at the clock."""
CALL: Final = BYTES // 128
"""What a call brings the next look nearer by: calls that do not look by themselves take some milliseconds at most."""
CHUNK: Final = 4096
"""Items of a long sequence between two looks at the clock."""
SHORTEST_WAIT: Final = 0.001
ELEMENT: Final = 64
"""Bytes of an element of a list that a function makes with its elements."""


class Limits(Protocol):
    """The part of a rendering's limits that a budget holds."""

    @property
    def seconds(self) -> float: ...

    @property
    def memory(self) -> int: ...


class LimitError(HelmError):
    """A rendering would use more than its limits allow; `placed` once the message names template and line."""

    def __init__(self, message: str, *, hint: str = "", placed: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.placed = placed


class RenderBudget:
    """What is left of the time and memory of one rendering."""

    __slots__ = ("check_below", "deadline", "limits", "memory", "monotonic", "outer")

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self.limits = limits
        self.monotonic = monotonic
        self.deadline = monotonic() + limits.seconds
        self.memory = limits.memory
        self.check_below = max(self.memory - BYTES, 0)
        self.outer: list[RenderBudget | None] = []

    def took(self, value: Any) -> Any:
        """Count a function's call and the value that it returned. Raise LimitError."""
        self.memory -= getsizeof(value)
        self.check_below += CALL
        if self.memory < self.check_below:
            self.check()
        return value

    def check(self) -> None:
        """Raise LimitError if time or memory are used up."""
        self.check_below = max(self.memory - BYTES, 0)
        if self.memory < 0:
            raise LimitError(
                f"templates made more than {self.limits.memory} bytes of text, lists and maps",
                hint="Look for a value that grows in a loop.",
            )
        if self.monotonic() > self.deadline:
            raise LimitError(
                f"templates took more than {self.limits.seconds:g} seconds", hint="Look for a loop that never ends."
            )

    @classmethod
    def of(cls, other: RenderBudget) -> RenderBudget:
        """Return a budget with the rest of another, for a thread that may go on after its deadline."""
        budget = RenderBudget(other.limits, other.monotonic)
        budget.deadline, budget.memory = other.deadline, other.memory
        return budget

    def __enter__(self) -> None:
        """Make this the budget of the thread."""
        self.outer.append(_THREAD.budget)
        _THREAD.budget = self

    def __exit__(self, *_: object) -> None:
        _THREAD.budget = self.outer.pop()


class _Thread(threading.local):
    budget: RenderBudget | None = None


_THREAD: Final = _Thread()


def charge(size: int) -> None:
    """Count bytes that are about to be made. Raise LimitError."""
    if (budget := _THREAD.budget) is not None:
        budget.memory -= size
        if budget.memory < budget.check_below:
            budget.check()


def check_budget() -> None:
    """Look at the clock before a piece of work of several milliseconds. Raise LimitError."""
    if (budget := _THREAD.budget) is not None:
        budget.check()


def tick() -> None:
    """Count a short piece of work, for the next look at the clock. Raise LimitError."""
    if (budget := _THREAD.budget) is not None:
        budget.check_below += CALL
        if budget.memory < budget.check_below:
            budget.check()


def within_deadline(call: Callable[..., Result], *arguments: Any) -> Result:
    """Return a call's result. Raise LimitError at the deadline, whatever the call does.

    For calls that nothing interrupts, that let other threads run, and that end by themselves some seconds later. A
    process of its own would end sooner, but would have to start first, and is not to be had everywhere.
    """
    if (budget := _THREAD.budget) is None:
        return call(*arguments)
    budget.check()
    results: list[Result] = []
    failures: list[BaseException] = []

    def work() -> None:
        with RenderBudget.of(budget):
            try:
                results.append(call(*arguments))
            except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
                failures.append(error)

    thread = threading.Thread(target=work, name="template function", daemon=True)
    thread.start()
    while thread.is_alive() and not results and not failures:
        thread.join(max(SHORTEST_WAIT, budget.deadline - budget.monotonic()))
        budget.check()
    if failures:
        raise failures[0]
    return results[0]


def took(value: Any) -> Any:
    """Count a method's call and the value that it returned. Raise LimitError."""
    return value if (budget := _THREAD.budget) is None else budget.took(value)


def paced(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items of a long sequence of unknown length, with a look at the clock now and then."""
    for number, item in enumerate(items):
        if not number % CHUNK:
            check_budget()
        yield item


def watched(items: Sequence[Item]) -> Sequence[Item] | Iterator[Item]:
    """Return the items, which look at the clock now and then if there are many. Raise LimitError."""
    if len(items) <= CHUNK or _THREAD.budget is None:
        return items
    return _watched(items, _THREAD.budget)


def _watched(items: Sequence[Item], budget: RenderBudget) -> Iterator[Item]:
    for start in range(0, len(items), CHUNK):
        budget.check()
        yield from items[start : start + CHUNK]
