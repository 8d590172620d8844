"""Preview of a campaign, one edit over many runtimes, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kymatui.domain.fleet.campaigns import (
    CampaignOutcome,
    CampaignPace,
    CampaignStep,
    count_subjects,
    format_outcomes,
    subject_of,
    summarize_campaign,
)
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.ownership import describe_objects
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, git_consents
from kymatui.engine.plans.plan import Plan
from kymatui.ui.presenters.plans import install_preview

_MARKS = {CampaignOutcome.UNDER_WAY: PlannedChange.SAME, CampaignOutcome.UNCHANGED: PlannedChange.SAME}
_NAMED: Final = 3  # runtimes that a line names; the others are counted


def campaign_title(words: str, steps: Sequence[CampaignStep], number: int) -> str:
    """Return a title such as `move istio to channel fast, 12 runtimes`."""
    return f"{words}, {count_subjects(steps, number)}"


def preview_campaign(
    steps: Sequence[CampaignStep],
    title: str,
    pace: CampaignPace,
    plans_of: Callable[[str], Sequence[Plan]] = lambda _: (),
) -> Preview:
    """Return one line per runtime: edited runtimes in their order, then the others with the reason.

    `plans_of` returns the direct installations in a runtime, of which the line displays each object that changes.
    """
    canaries, at_once = pace.canaries, pace.at_once
    begun = [step for step in steps if step.outcome is CampaignOutcome.UNDER_WAY]
    planned = [step for step in steps if step.outcome is CampaignOutcome.PLANNED]
    others = [step for step in steps if not step.is_ahead]
    lines = [_planned(step, plans_of(step.runtime), canary=number < canaries) for number, step in enumerate(planned)]
    words = campaign_title(title, steps, len(planned))
    installs = [plan for step in planned for plan in plans_of(step.runtime)]
    return Preview(
        words,
        lines=(*map(_left_out, begun), *lines, *map(_left_out, others)),
        refusals=() if planned or begun else (f"no selected {subject_of(steps)} can be changed",),
        warnings=tuple(_warnings(begun, planned, others, canaries, at_once)),
        grants=tuple(dict.fromkeys(install_preview.granted_rights(installs))),
        consents=(*_consents(planned), *git_consents(joined_changes(planned))),
        question=f"{words[:1].upper()}{words[1:]}?",
        editable=True,
        overview=summarize_campaign(steps),
    )


def _planned(step: CampaignStep, plans: Sequence[Plan], *, canary: bool) -> PreviewLine:
    count = len(step.blocking)
    first = [f"deletes {format_count(count, 'object')} first"] if count else []
    note = "; ".join([*step.effects, *first]) or "no other effect"
    target = (f"  server {step.server}",) if step.server else ()
    diff = (
        target
        + tuple(
            line
            for field, before, after in step.lines
            for line in (f"  {field}", *((f"- {before}",) if before else ()), *((f"+ {after}",) if after else ()))
        )
        + tuple(f"- {owned.name}" for owned in step.blocking)
        + tuple(
            line
            for plan in plans
            for change in plan.writes
            for line in (f"  {change.action.value} {change.ref}", *install_preview.object_diff(change))
        )
    )
    return PreviewLine(
        PlannedChange.DELETE if step.uninstalls else PlannedChange.CHANGE,
        step.name,
        f"canary: {note}" if canary else note,
        diff,
    )


def _left_out(step: CampaignStep) -> PreviewLine:
    words = step.message if step.outcome in _MARKS else f"{step.outcome.value}: {step.message}"
    return PreviewLine(_MARKS.get(step.outcome, PlannedChange.CONFLICT), step.name, words, (f"  {step.message}",))


def _warnings(
    begun: Sequence[CampaignStep],
    planned: Sequence[CampaignStep],
    others: Sequence[CampaignStep],
    canaries: int,
    at_once: int,
) -> Iterator[str]:
    if begun:
        yield f"kymatui first waits for {count_subjects(begun)} that an earlier run changed"
    if planned:
        first = format_count(canaries, "canary", "canaries") + (", one by one" if canaries > 1 else "")
        pace = f"{first}, then batches of {at_once}; " if len(planned) > canaries else ""
        yield f"{pace}kymatui waits until each {subject_of(planned)} is ready, and stops on failure"
    count = sum(step.outcome is not CampaignOutcome.UNCHANGED for step in others)
    if count:
        yield f"{count_subjects(others, count)} cannot be changed and {'is' if count == 1 else 'are'} skipped"
    yield from dict.fromkeys(text for step in planned for text in step.warnings)


def _consents(planned: Sequence[CampaignStep]) -> Iterator[Consent]:
    """Yield the consents; to uninstall on several clusters, you type their number."""
    loses = sum(bool(step.uninstalls) for step in planned)
    if objects := [owned for step in planned for owned in step.blocking]:
        yield Consent("cascade", f"also delete {describe_objects(objects)}")
    if loses:
        yield Consent("number", f"uninstall from {count_subjects(planned, loses)}", typed=str(loses))


def format_campaign_end(worked: Sequence[CampaignStep]) -> str:
    """Return the count of each result, and the names of failed and unstarted runtimes."""
    sentences = [format_outcomes(worked)]
    for outcome in (
        CampaignOutcome.FAILED,
        CampaignOutcome.PARTLY,
        CampaignOutcome.REFUSED,
        CampaignOutcome.UNREACHABLE,
        CampaignOutcome.NOT_BEGUN,
    ):
        matching = [step for step in worked if step.outcome is outcome]
        names = ", ".join(f"{step.name} ({step.message})" if step.message else step.name for step in matching[:_NAMED])
        more = f" and {len(matching) - _NAMED} more" if len(matching) > _NAMED else ""
        sentences += [f"{outcome.value}: {names}{more}"] if matching else []
    return "; ".join(sentences)
