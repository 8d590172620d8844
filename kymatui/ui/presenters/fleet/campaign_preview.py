"""Preview of a campaign, one edit over many runtimes, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignStep, format_outcomes, summarize_campaign
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma_edit.module_edit import ModuleEdit
from kymatui.domain.ownership import describe_objects
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.ui.presenters.plans import kyma_edit_preview

_MARKS = {CampaignOutcome.UNDER_WAY: PlannedChange.SAME, CampaignOutcome.UNCHANGED: PlannedChange.SAME}
_NAMED: Final = 3  # runtimes that a line names; the others are counted


def campaign_title(toggle: ModuleEdit, number: int) -> str:
    """Return a title such as `move istio to channel fast, 12 runtimes`."""
    return f"{kyma_edit_preview.edit_title([toggle])}, {format_count(number, 'runtime')}"


def preview_campaign(legs: Sequence[CampaignStep], toggle: ModuleEdit, canaries: int, at_once: int) -> Preview:
    """Return one line per runtime: edited runtimes in their order, then the others with the reason."""
    begun = [leg for leg in legs if leg.outcome is CampaignOutcome.UNDER_WAY]
    planned = [leg for leg in legs if leg.outcome is CampaignOutcome.PLANNED]
    others = [leg for leg in legs if not leg.is_ahead]
    lines = [_planned(leg, canary=number < canaries) for number, leg in enumerate(planned)]
    words = campaign_title(toggle, len(planned))
    return Preview(
        words,
        lines=(*map(_left_out, begun), *lines, *map(_left_out, others)),
        refusals=() if planned or begun else ("no selected runtime can be edited",),
        warnings=tuple(_warnings(begun, planned, others, canaries, at_once)),
        consents=tuple(_consents(planned)),
        question=f"{words[:1].upper()}{words[1:]}?",
        editable=True,
        overview=summarize_campaign(legs),
    )


def _planned(leg: CampaignStep, *, canary: bool) -> PreviewLine:
    count = len(leg.blocking)
    first = [f"deletes {format_count(count, 'object')} first"] if count else []
    note = "; ".join([*leg.effects, *first]) or "no other effect"
    target = (f"  server {leg.server}",) if leg.server else ()
    diff = (
        target
        + tuple(
            line
            for field, before, after in leg.lines
            for line in (f"  {field}", *((f"- {before}",) if before else ()), *((f"+ {after}",) if after else ()))
        )
        + tuple(f"- {one.name}" for one in leg.blocking)
    )
    return PreviewLine(
        PlannedChange.DELETE if leg.uninstalls else PlannedChange.CHANGE,
        leg.name,
        f"canary: {note}" if canary else note,
        diff,
    )


def _left_out(leg: CampaignStep) -> PreviewLine:
    words = leg.message if leg.outcome in _MARKS else f"{leg.outcome.value}: {leg.message}"
    return PreviewLine(_MARKS.get(leg.outcome, PlannedChange.CONFLICT), leg.name, words, (f"  {leg.message}",))


def _warnings(
    begun: Sequence[CampaignStep],
    planned: Sequence[CampaignStep],
    others: Sequence[CampaignStep],
    canaries: int,
    at_once: int,
) -> Iterator[str]:
    if begun:
        yield f"kymatui first waits for {format_count(len(begun), 'runtime')} that an earlier run edited"
    if planned:
        first = format_count(canaries, "canary", "canaries") + (", one by one" if canaries > 1 else "")
        pace = f"{first}, then batches of {at_once}; " if len(planned) > canaries else ""
        yield f"{pace}kymatui waits until each runtime is ready, and stops on failure"
    left = sum(leg.outcome is not CampaignOutcome.UNCHANGED for leg in others)
    if left:
        yield f"{format_count(left, 'runtime')} cannot be edited and {'is' if left == 1 else 'are'} skipped"
    yield from dict.fromkeys(text for leg in planned for text in leg.warnings)


def _consents(planned: Sequence[CampaignStep]) -> Iterator[Consent]:
    """Yield the consents; to uninstall on several clusters, you type their number."""
    loses = sum(bool(leg.uninstalls) for leg in planned)
    if objects := [one for leg in planned for one in leg.blocking]:
        yield Consent("cascade", f"also delete {describe_objects(objects)}")
    if loses:
        yield Consent("number", f"uninstall from {format_count(loses, 'runtime')}", typed=str(loses))


def format_campaign_end(worked: Sequence[CampaignStep]) -> str:
    """Return the count of each result, and the names of failed and unstarted runtimes."""
    said = [format_outcomes(worked)]
    for outcome in (
        CampaignOutcome.FAILED,
        CampaignOutcome.REFUSED,
        CampaignOutcome.UNREACHABLE,
        CampaignOutcome.NOT_BEGUN,
    ):
        found = [leg for leg in worked if leg.outcome is outcome]
        names = ", ".join(f"{leg.name} ({leg.message})" if leg.message else leg.name for leg in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        said += [f"{outcome.value}: {names}{more}"] if found else []
    return "; ".join(said)
