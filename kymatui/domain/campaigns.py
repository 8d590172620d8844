"""One edit over many runtimes: what is planned for each, in which order, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How one runtime stands."""

    PLANNED = "planned"
    UNCHANGED = "unchanged"  # its Kyma says so already
    REFUSED = "refused"
    UNREACHED = "unreached"
    DONE = "done"
    ACCEPTED = "accepted"  # edited, and nobody waited for what that sets off
    FAILED = "failed"
    NOT_BEGUN = "not begun"


_GOOD = (Outcome.UNCHANGED, Outcome.DONE, Outcome.ACCEPTED, Outcome.PLANNED)


@dataclass(frozen=True, slots=True)
class Leg:
    """One runtime; `lines` are field, before and after, `effects` what becomes of modules, `words` what came of it."""

    runtime: str
    outcome: Outcome
    words: str = ""
    lines: tuple[tuple[str, str, str], ...] = ()
    effects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Without its namespace."""
        return self.runtime.rpartition("/")[2]

    @property
    def is_good(self) -> bool:
        return self.outcome in _GOOD


def counts(legs: Sequence[Leg]) -> Mapping[Outcome, int]:
    """How many runtimes stand how, in the order of the outcomes."""
    found = Counter(leg.outcome for leg in legs)
    return {outcome: found[outcome] for outcome in Outcome if found[outcome]}


def counted(legs: Sequence[Leg]) -> str:
    """`3 done, 1 failed, 2 not begun`."""
    return ", ".join(f"{number} {outcome.value}" for outcome, number in counts(legs).items())


def waves(legs: Sequence[Leg], canaries: int, at_once: int) -> tuple[tuple[Leg, ...], ...]:
    """What is planned, in the order in which it is carried out: the canaries one by one, then so many at once."""
    planned = [leg for leg in legs if leg.outcome is Outcome.PLANNED]
    first = [(leg,) for leg in planned[:canaries]]
    rest = planned[canaries:]
    return (*first, *(tuple(rest[at : at + at_once]) for at in range(0, len(rest), at_once)))
