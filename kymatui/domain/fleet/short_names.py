"""Short forms of names for narrow columns: of UUIDs, the part that tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

WIDEST: Final = 12
"""Characters of a short form, with the ellipsis; the narrowest column of runtimes has as many."""
_LEAST: Final = 8  # characters of a UUID's first group, which people know it by
_CUT: Final = "…"


def short_names(names: Iterable[str]) -> Mapping[str, str]:
    """Return a short form of each name that is longer than `WIDEST`; no two are alike.

    It is the beginning, else the end, else a part of the middle; where all of these repeat, a beginning and a number.
    """
    known = sorted(set(names))
    long = [name for name in known if len(name) > WIDEST]
    starts, ends = _unique_lengths(known), _unique_lengths(sorted(name[::-1] for name in known))
    shortened = {name: _short(name, starts[name], ends[name[::-1]]) for name in long}
    counts, number = Counter([*shortened.values(), *(name for name in known if len(name) <= WIDEST)]), 0
    for name in long:
        if counts[shortened[name]] > 1:
            number += 1
            mark = f"{_CUT}~{number}"
            shortened[name] = name[: max(1, WIDEST - len(mark))] + mark
    return shortened


def _short(name: str, start: int, end: int) -> str:
    room = WIDEST - 1
    if start <= room:
        return name[: max(_LEAST, start)] + _CUT
    if end <= room:
        return _CUT + name[-max(_LEAST, end) :]
    room -= 1
    at = min(start - 1, len(name) - room)
    return f"{_CUT}{name[at : at + room]}{_CUT}"


def _unique_lengths(ordered: Sequence[str]) -> dict[str, int]:
    """Return how many first characters of each name no other name begins with, by name."""
    shared = [0, *(_shared(name, other) for name, other in pairwise(ordered)), 0]
    return {name: max(shared[at], shared[at + 1]) + 1 for at, name in enumerate(ordered)}


def _shared(name: str, other: str) -> int:
    for at, (left, right) in enumerate(zip(name, other, strict=False)):
        if left != right:
            return at
    return min(len(name), len(other))
