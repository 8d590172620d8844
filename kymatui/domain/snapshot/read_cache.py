"""What was read from one snapshot, kept for the next: most objects are the same ones, and need not be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Made = TypeVar("Made")


class ReadCache:
    """Keeps the last result of each computation with the objects that it was made from.

    Objects are compared by identity, so nobody may change an object of a snapshot in place. It is for one caller: two
    threads that share one lose time, and nothing else.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], tuple[Sequence[object], ...], object]] = {}

    def recall(
        self, name: str, inputs: tuple[Sequence[object], ...], make: Callable[[], Made], *others: object
    ) -> Made:
        """The last result under this name if it was made from the same objects and equal `others`; else a new one."""
        kept = self._kept.get(name)
        if kept is not None and kept[0] == others and all(map(_same, kept[1], inputs)):
            return kept[2]  # type: ignore[return-value]  # what is kept under one name is made by one function
        made = make()
        self._kept[name] = (others, inputs, made)
        return made

    def forget_others(self, prefix: str, names: Iterable[str]) -> None:
        """Drops what was kept under names with this prefix, except for these."""
        wanted = {prefix + name for name in names}
        for name in [name for name in self._kept if name.startswith(prefix) and name not in wanted]:
            del self._kept[name]


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return one is other or (len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True)))
