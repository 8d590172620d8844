"""Campaigns: one edit in many runtimes, with the plan, the order and the outcome of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.gitops import GitChanges
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.ownership import OwnedObject

MAX_PARALLEL = 8
"""Runtimes that are planned or edited at the same time."""


class CampaignOutcome(StrEnum):
    """The outcomes of a campaign in one runtime."""

    UNDER_WAY = "in progress"  # edited by an earlier run that did not wait for the end
    PLANNED = "planned"
    UNCHANGED = "unchanged"  # its Kyma already has the requested content
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    DONE = "done"
    PARTLY = "partly done"  # what could be planned is done, and the rest of its plan was refused
    STAYS = "not downgraded"  # edited, and lifecycle-manager keeps the version: it never downgrades
    ACCEPTED = "accepted"  # edited, without waiting for the result
    FAILED = "failed"
    NOT_BEGUN = "not started"


_AHEAD = (CampaignOutcome.UNDER_WAY, CampaignOutcome.PLANNED)
_GOOD = (*_AHEAD, CampaignOutcome.UNCHANGED, CampaignOutcome.DONE, CampaignOutcome.ACCEPTED)
_STOPS = (CampaignOutcome.REFUSED, CampaignOutcome.UNREACHABLE, CampaignOutcome.FAILED)


class CampaignStep(Struct, frozen=True):
    """The campaign in one runtime.

    runtime     namespace/name of its Kyma; of a context the identity of its cluster, "" before it is read, and its name
    server      API server, "" if not connected
    is_known    whether the runtime's Kyma or catalog has the module
    message     the result as a sentence
    lines       field, before and after
    effects     effects on modules
    uninstalls  the effects that uninstall modules
    blocking    the objects that are deleted first
    git         what comes from Git of what is edited
    """

    runtime: str
    outcome: CampaignOutcome
    message: str = ""
    lines: tuple[tuple[str, str, str], ...] = ()
    effects: tuple[str, ...] = ()
    uninstalls: tuple[str, ...] = ()
    blocking: tuple[OwnedObject, ...] = ()
    warnings: tuple[str, ...] = ()
    git: GitChanges = ()
    server: str = ""
    is_known: bool = True
    is_context: bool = False

    @property
    def label(self) -> str:
        """Return what a person reads: `namespace/name` of a runtime, the name of a context."""
        return self.name if self.is_context else self.runtime

    @property
    def name(self) -> str:
        """Return the name without its namespace."""
        return split_name(self.runtime)[1]

    @property
    def is_ahead(self) -> bool:
        """Return whether the runtime is still to be edited or waited for."""
        return self.outcome in _AHEAD

    @property
    def is_good(self) -> bool:
        return self.outcome in _GOOD

    @property
    def stops(self) -> bool:
        """Return whether the campaign stops after this outcome."""
        return self.outcome in _STOPS


def count_outcomes(steps: Sequence[CampaignStep]) -> Mapping[CampaignOutcome, int]:
    """Return the number of runtimes by outcome, in the order of the enum."""
    counts = Counter(step.outcome for step in steps)
    return {outcome: counts[outcome] for outcome in CampaignOutcome if counts[outcome]}


def format_outcomes(steps: Sequence[CampaignStep]) -> str:
    """Return a summary such as `3 done, 1 failed, 2 not started`."""
    return ", ".join(f"{number} {outcome.value}" for outcome, number in count_outcomes(steps).items())


def remaining_hint(steps: Sequence[CampaignStep]) -> str:
    """Return what a person can do about the runtimes that are not edited: a repeated command repairs none of them."""
    subject = subject_of(steps)
    remaining = {step.outcome for step in steps if not step.is_good} - {CampaignOutcome.STAYS}
    if not remaining:
        return ""
    if remaining == {CampaignOutcome.UNREACHABLE}:
        number = sum(step.outcome is CampaignOutcome.UNREACHABLE for step in steps)
        is_left = "is left" if number == 1 else "are left"
        audit = "--contexts" if subject == "context" else "--remote"
        return f"{format_count(number, f'unreachable {subject}')} {is_left}; `kymatui audit {audit}` says why"
    continues = CampaignOutcome.NOT_BEGUN in remaining or CampaignOutcome.FAILED in remaining
    again = "run the command again to continue" if continues else "fix this and run the command again"
    return f"{again}; completed {subject}s are skipped"


def summarize_campaign(steps: Sequence[CampaignStep]) -> str:
    """Return the summary line of a plan or result: `3 runtimes: 2 to change, 1 unchanged`."""
    counted = ", ".join(
        f"{number} {'to change' if outcome is CampaignOutcome.PLANNED else outcome.value}"
        for outcome, number in count_outcomes(steps).items()
    )
    planned = (step for step in steps if step.outcome is CampaignOutcome.PLANNED)
    uninstalls = Counter(module for step in planned for module in step.uninstalls)
    gone = "".join(f"; {module} uninstalled from {number}" for module, number in uninstalls.items())
    return f"{count_subjects(steps)}: {counted}{gone}"


def subject_of(steps: Sequence[CampaignStep]) -> str:
    """Return what is edited: contexts, or runtimes of a control plane."""
    return "context" if steps and steps[0].is_context else "runtime"


def count_subjects(steps: Sequence[CampaignStep], number: int | None = None) -> str:
    return format_count(len(steps) if number is None else number, subject_of(steps))


def job_runtimes(steps: Sequence[CampaignStep], *, is_resumed: bool) -> list[str]:
    """Return the runtimes of the job that applies a plan.

    Those that a first plan leaves out are not part of it; those that a resumed job cannot edit yet stay in it.
    """
    return [step.runtime for step in steps if step.is_ahead or (is_resumed and not step.is_good)]


class CampaignChange(Struct, frozen=True):
    """What a campaign changes, as journals, questions and documents have it; `words` are in lower case."""

    kind: str
    modules: tuple[str, ...]
    options: Mapping[str, str]
    words: str


class CampaignPace(Struct, frozen=True):
    """How many runtimes come first, one by one; how many go at once after them; whether each is waited for."""

    canaries: int = 1
    at_once: int = 4
    wait: bool = True
    timeout: float = 300.0


def waves(steps: Sequence[CampaignStep], canaries: int, at_once: int) -> tuple[tuple[CampaignStep, ...], ...]:
    """Return the open steps in batches, in the order of execution.

    First come runtimes that an earlier run edited, so that they finish before new edits; then the canaries one by
    one; then batches of `at_once`.
    """
    begun = [step for step in steps if step.outcome is CampaignOutcome.UNDER_WAY]
    planned = [step for step in steps if step.outcome is CampaignOutcome.PLANNED]
    first = [(step,) for step in planned[:canaries]]
    return (*_chunks(begun, at_once), *first, *_chunks(planned[canaries:], at_once))


def _chunks(steps: Sequence[CampaignStep], size: int) -> Iterator[tuple[CampaignStep, ...]]:
    return (tuple(steps[at : at + size]) for at in range(0, len(steps), size))
