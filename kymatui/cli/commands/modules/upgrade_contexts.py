"""`kymatui upgrade --contexts`: the plan of each context, one question, and the upgrades with their canaries first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kymatui.actions.edits.campaign import (
    CampaignItem,
    ContextUpgrades,
    UpgradeCampaign,
    campaign_steps,
    upgrade_change,
)
from kymatui.actions.modules.install import plan_installs
from kymatui.actions.modules.install_plan import Adoption, InstallRequest
from kymatui.actions.modules.upgrade import SkippedUpgrade
from kymatui.cli.commands.fleet.campaign_run import CampaignView, pace_of, run_campaign, selected_contexts
from kymatui.cli.commands.modules.install_run import install_requests
from kymatui.cli.commands.modules.upgrade import outdated_modules, recorded_sources
from kymatui.cli.options.direct_install import CommandContext, no_changes_on_interrupt
from kymatui.cli.output.install_results import left_out_json
from kymatui.cli.output.plan_changes import changes_text, plan_json
from kymatui.domain.fleet.campaigns import CampaignOutcome

if TYPE_CHECKING:
    from kymatui.actions.session import Session


def upgrade_contexts(args: argparse.Namespace, names: Sequence[str]) -> int:
    """Upgrade modules, or without names all that are outdated, in the contexts of a command line."""
    pace, skipped = pace_of(args), dict[str, "Sequence[SkippedUpgrade]"]()

    def planned(session: Session) -> ContextUpgrades:
        context = CommandContext(args, session, "")
        requests, left_out = _requests(context, names)
        skipped[session.name] = left_out
        return ContextUpgrades(plan_installs(context.port, requests), tuple(upgrade.message for upgrade in left_out))

    with no_changes_on_interrupt():
        listed, contexts, _ = selected_contexts(args, edits_kymas=False, writes=not args.dry_run)
        campaign = UpgradeCampaign(
            listed, lambda session: CommandContext(args, session, "").port, planned, pace, everything=not names
        )
        view = partial(UpgradeCampaignView, campaign, skipped)
        return run_campaign(args, campaign, contexts, upgrade_change(names), view)


def _requests(
    context: CommandContext, names: Sequence[str]
) -> tuple[dict[str, InstallRequest], Sequence[SkippedUpgrade]]:
    if not names:
        return outdated_modules(context)
    return install_requests(context, recorded_sources(context, names), Adoption.UPGRADE), ()


class UpgradeCampaignView(CampaignView):
    """The upgrades of contexts in words and as a document, each with its whole plan."""

    def __init__(self, campaign: UpgradeCampaign, skipped: Mapping[str, Sequence[SkippedUpgrade]], *more: Any) -> None:
        super().__init__(*more)
        self._plans_of, self._skipped = campaign.plans_of, skipped

    def parts(self, items: Sequence[CampaignItem], form: str) -> Iterator[str]:
        yield from super().parts(items, form)
        for step in campaign_steps(items):
            for plan in self._plans_of(step.runtime) if step.outcome is CampaignOutcome.PLANNED else ():
                yield f"context {step.label}: {plan.bundle.name}\n\n{changes_text(plan, form)}"

    def document(self, items: Sequence[CampaignItem], outcome: str) -> dict[str, Any]:
        """Return the document of a campaign, with the plans of each context and what they leave out."""
        document = super().document(items, outcome)
        for entry, step in zip(document["contexts"], campaign_steps(items), strict=True):
            unread = step.outcome in (CampaignOutcome.UNREACHABLE, CampaignOutcome.REFUSED)
            entry["status"] = step.outcome.value if unread else "listed"
            plans = self._plans_of(step.runtime) if step.outcome is not CampaignOutcome.UNCHANGED else ()
            entry["plans"] = [plan_json(plan, step.outcome.value) for plan in plans]
            entry["leftOut"] = left_out_json(self._skipped.get(step.name, ()))
        return document
