"""A cache of what was read from one snapshot for the next one, as most objects stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Made = TypeVar("Made")


class ReadCache:
    """The cache of the last result of each computation, with its input objects.

    Inputs are compared by identity, so the objects of a snapshot must never be changed in place. A cache is for one
    caller: two threads that share one lose time, but stay correct.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], tuple[Sequence[object], ...], object]] = {}

    def recall(
        self, name: str, inputs: tuple[Sequence[object], ...], make: Callable[[], Made], *others: object
    ) -> Made:
        """Return the last result under this name if inputs and `others` are the same, else compute it."""
        kept = self._kept.get(name)
        if kept is not None and kept[0] == others and all(map(_same, kept[1], inputs)):
            return kept[2]  # type: ignore[return-value]  # what is kept under one name is made by one function
        value = make()
        self._kept[name] = (others, inputs, value)
        return value

    def forget_others(self, prefix: str, names: Iterable[str]) -> None:
        """Delete the results under names with this prefix, except for `names`."""
        keys = {prefix + name for name in names}
        for name in list(self._kept):  # copied in one step: another thread may add names meanwhile
            if name.startswith(prefix) and name not in keys:
                self._kept.pop(name, None)


def _same(values: Sequence[object], other: Sequence[object]) -> bool:
    return values is other or (len(values) == len(other) and all(a is b for a, b in zip(values, other, strict=True)))
