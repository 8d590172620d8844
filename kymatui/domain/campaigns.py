"""One edit over many runtimes: what is planned for each, in which order, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How one runtime stands."""

    UNDER_WAY = "under way"  # edited before, and not seen to its end
    PLANNED = "planned"
    UNCHANGED = "unchanged"  # its Kyma says so already
    REFUSED = "refused"
    UNREACHED = "unreached"
    DONE = "done"
    STAYS = "stays"  # edited, and lifecycle-manager keeps the version: it never downgrades
    ACCEPTED = "accepted"  # edited, and nobody waited for what that sets off
    FAILED = "failed"
    NOT_BEGUN = "not begun"


_AHEAD = (Outcome.UNDER_WAY, Outcome.PLANNED)
_GOOD = (*_AHEAD, Outcome.UNCHANGED, Outcome.DONE, Outcome.ACCEPTED)
_STOPS = (Outcome.REFUSED, Outcome.UNREACHED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Leg:
    """One runtime.

    server      of its API, "" where it is not connected
    words       what came of it
    lines       field, before and after
    effects     what becomes of modules
    uninstalls  those of them that are uninstalled
    blocking    the objects that are deleted before them
    """

    runtime: str
    outcome: Outcome
    words: str = ""
    lines: tuple[tuple[str, str, str], ...] = ()
    effects: tuple[str, ...] = ()
    uninstalls: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    server: str = ""

    @property
    def name(self) -> str:
        """Without its namespace."""
        return self.runtime.rpartition("/")[2]

    @property
    def is_ahead(self) -> bool:
        """Whether something is left to be done, or to be waited for."""
        return self.outcome in _AHEAD

    @property
    def is_good(self) -> bool:
        return self.outcome in _GOOD

    @property
    def stops(self) -> bool:
        """Whether no further runtime is edited after it."""
        return self.outcome in _STOPS


def counts(legs: Sequence[Leg]) -> Mapping[Outcome, int]:
    """How many runtimes stand how, in the order of the outcomes."""
    found = Counter(leg.outcome for leg in legs)
    return {outcome: found[outcome] for outcome in Outcome if found[outcome]}


def outcome_counts(legs: Sequence[Leg]) -> str:
    """`3 done, 1 failed, 2 not begun`."""
    return ", ".join(f"{number} {outcome.value}" for outcome, number in counts(legs).items())


def waves(legs: Sequence[Leg], canaries: int, at_once: int) -> tuple[tuple[Leg, ...], ...]:
    """What is ahead, in the order in which it is carried out.

    What an earlier run has edited is seen to its end before anything more is edited; then the canaries come one by one,
    then so many at once.
    """
    begun = [leg for leg in legs if leg.outcome is Outcome.UNDER_WAY]
    planned = [leg for leg in legs if leg.outcome is Outcome.PLANNED]
    first = [(leg,) for leg in planned[:canaries]]
    return (*_chunks(begun, at_once), *first, *_chunks(planned[canaries:], at_once))


def _chunks(legs: Sequence[Leg], size: int) -> Iterator[tuple[Leg, ...]]:
    return (tuple(legs[at : at + size]) for at in range(0, len(legs), size))
