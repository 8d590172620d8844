"""One edit over many runtimes: what is planned for each, in which order, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class CampaignOutcome(StrEnum):
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


_AHEAD = (CampaignOutcome.UNDER_WAY, CampaignOutcome.PLANNED)
_GOOD = (*_AHEAD, CampaignOutcome.UNCHANGED, CampaignOutcome.DONE, CampaignOutcome.ACCEPTED)
_STOPS = (CampaignOutcome.REFUSED, CampaignOutcome.UNREACHED, CampaignOutcome.FAILED)


@dataclass(frozen=True, slots=True)
class CampaignStep:
    """One runtime.

    server      of its API, "" where it is not connected
    words       what came of it
    lines       field, before and after
    effects     what becomes of modules
    uninstalls  those of them that are uninstalled
    blocking    the objects that are deleted before them
    """

    runtime: str
    outcome: CampaignOutcome
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


def count_outcomes(legs: Sequence[CampaignStep]) -> Mapping[CampaignOutcome, int]:
    """How many runtimes stand how, in the order of the outcomes."""
    found = Counter(leg.outcome for leg in legs)
    return {outcome: found[outcome] for outcome in CampaignOutcome if found[outcome]}


def format_outcomes(legs: Sequence[CampaignStep]) -> str:
    """`3 done, 1 failed, 2 not begun`."""
    return ", ".join(f"{number} {outcome.value}" for outcome, number in count_outcomes(legs).items())


def waves(legs: Sequence[CampaignStep], canaries: int, at_once: int) -> tuple[tuple[CampaignStep, ...], ...]:
    """What is ahead, in the order in which it is carried out.

    What an earlier run has edited is seen to its end before anything more is edited; then the canaries come one by one,
    then so many at once.
    """
    begun = [leg for leg in legs if leg.outcome is CampaignOutcome.UNDER_WAY]
    planned = [leg for leg in legs if leg.outcome is CampaignOutcome.PLANNED]
    first = [(leg,) for leg in planned[:canaries]]
    return (*_chunks(begun, at_once), *first, *_chunks(planned[canaries:], at_once))


def _chunks(legs: Sequence[CampaignStep], size: int) -> Iterator[tuple[CampaignStep, ...]]:
    return (tuple(legs[at : at + size]) for at in range(0, len(legs), size))
