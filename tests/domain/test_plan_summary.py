"""The summary line of a plan: what it creates, changes and deletes, without counts of zero."""

from __future__ import annotations

import pytest

from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignStep, summarize_campaign
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewLine, summarize_actions


@pytest.mark.parametrize(
    ("actions", "summary"),
    [
        ((), "no changes"),
        (("same", "same"), "2 unchanged"),
        (("delete", "create", "change", "create"), "2 to create, 1 to change, 1 to delete"),
        (("delete", "uninstall", "install", "uninstall"), "1 module to install, 1 to delete, 2 modules to uninstall"),
        (("conflict", "blocked", "keep"), "1 to keep, 1 conflict, 1 blocked"),
        (("conflict", "conflict", "refused"), "2 conflicts, 1 refused"),
    ],
)
def test_each_action_is_counted_and_zero_is_left_out(actions: tuple[str, ...], summary: str) -> None:
    assert summarize_actions(actions) == summary


def test_every_mark_of_a_preview_has_its_part() -> None:
    preview = Preview("x", tuple(PreviewLine(mark, mark.word) for mark in PlannedChange))
    assert preview.summary == "1 to create, 1 to change, 1 to delete, 1 conflict, 1 unchanged"
    assert {mark for mark, _ in preview.summary_parts} == {*PlannedChange}
    assert Preview("x").summary == "no changes"


def test_a_module_is_no_object_and_a_line_may_be_part_of_another() -> None:
    deleted = PreviewLine(PlannedChange.DELETE, "Keda kyma-system/default")
    module = PreviewLine(PlannedChange.DELETE, "module keda", counts_as="uninstall")
    part = PreviewLine(PlannedChange.DELETE, "Manifest kyma-system/keda", counts_as="")
    preview = Preview("x", (deleted, module, part))
    assert preview.summary == "1 to delete, 1 module to uninstall"
    assert {mark for mark, _ in preview.summary_parts} == {PlannedChange.DELETE}


def test_a_campaign_counts_runtimes_and_names_what_it_uninstalls() -> None:
    legs = [
        CampaignStep("kcp/a", CampaignOutcome.PLANNED, uninstalls=("keda",)),
        CampaignStep("kcp/b", CampaignOutcome.PLANNED),
        CampaignStep("kcp/c", CampaignOutcome.UNREACHABLE),
    ]
    assert summarize_campaign(legs) == "3 runtimes: 2 to change, 1 unreachable; keda uninstalled from 1"
    assert summarize_campaign(legs[1:2]) == "1 runtime: 1 to change"
