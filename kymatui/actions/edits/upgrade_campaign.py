"""Upgrades of directly installed modules in many contexts, each with a plan of its own, and nothing without a plan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchJob, Items, RunRenderer, run_items
from kymatui.actions.edits.campaign import ClusterCampaign, ListedFleet
from kymatui.actions.modules.install import Installation, InstallControls, InstallItem, plan_installs
from kymatui.actions.modules.install_choices import InstallAction
from kymatui.actions.modules.install_plan import InstallPort, read_catalog
from kymatui.domain.fleet.campaigns import CampaignChange, CampaignOutcome, CampaignPace, CampaignStep
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.terminal_text import with_subject
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.engine.apply.applier import ApplyOutcome
from kymatui.engine.jobs.job_records import RUNTIME_STEP
from kymatui.engine.jobs.journal import Journal, JournalMark
from kymatui.engine.jobs.run import USER_ACTION_SECONDS, RunLimits
from kymatui.engine.plans.plan import Plan
from kymatui.errors import CancelledError, ClusterError, KymatuiError, NotInstalledError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.actions.session import Session


UPGRADE: Final = "upgrade"


def upgrade_change(modules: Sequence[str]) -> CampaignChange:
    """Return the upgrade of some modules, or of all that are outdated."""
    words = f"upgrade {', '.join(modules) or 'all outdated modules'}"
    return CampaignChange(UPGRADE, tuple(modules), {} if modules else {"all": "true"}, words)


class ContextUpgrades(Struct, frozen=True):
    """The plans of one context; `left_out` has the reason of each module that is not upgraded with the others."""

    items: Sequence[InstallItem]
    left_out: tuple[str, ...] = ()


def plan_upgrades(port: InstallPort, modules: Sequence[str]) -> ContextUpgrades:
    """Plan the newest versions of modules, or of all that are outdated, as a screen does without further questions."""
    action = InstallAction(port)
    selection = action.upgrades(modules) if modules else action.all_upgrades()
    names = [request.module for request in selection.requests]
    requests = {
        f"{request.namespace}/{request.module}" if names.count(request.module) > 1 else request.module: request
        for request in selection.requests
    }
    return ContextUpgrades(plan_installs(port, requests), selection.left_out)


class UpgradeCampaign(ClusterCampaign):
    """The upgrade of some modules, or with `everything` of all outdated ones, in many contexts.

    A refused module refuses the context where a person named it, and is left out where everything was meant.
    """

    def __init__(
        self,
        listed: ListedFleet,
        port_of: Callable[[Session], InstallPort],
        planned: Callable[[Session], ContextUpgrades],
        pace: CampaignPace,
        *,
        everything: bool,
    ) -> None:
        super().__init__(listed, pace)
        self._port_of, self._upgrades_of, self._everything = port_of, planned, everything
        self._plans: dict[str, ContextUpgrades] = {}
        """What each context's plan showed, which is all that is applied there."""

    def plans_of(self, runtime: str) -> Sequence[Plan]:
        upgrades = self._plans.get(runtime)
        return [item.required_plan for item in upgrades.items if item.is_pending] if upgrades is not None else ()

    def plan_runtime(self, name: str, session: Session) -> CampaignStep:
        try:
            upgrades = self._upgrades_of(session)
        except ClusterError:
            raise
        except KymatuiError as error:
            return CampaignStep(name, CampaignOutcome.REFUSED, error.with_hint)
        refused = {item.name: item.refusal for item in upgrades.items if item.refusal is not None}
        absent = {
            module for module, refusal in refused.items() if isinstance(refusal, NotInstalledError | UnknownNameError)
        }
        reasons = tuple(with_subject(module, refusal.with_hint) for module, refusal in refused.items())
        pending, warnings = [item for item in upgrades.items if item.is_pending], (*reasons, *upgrades.left_out)
        if absent < refused.keys() and not (self._everything and pending):
            return CampaignStep(name, CampaignOutcome.REFUSED, "; ".join(reasons))
        if not pending:
            is_known = self._everything or len(absent) < len(upgrades.items)
            message = "; ".join(warnings) or "no outdated module"
            return CampaignStep(name, CampaignOutcome.UNCHANGED, message, is_known=is_known)
        self._plans[name] = upgrades
        catalog = read_catalog(self._port_of(session))
        rows = [(item.name, item.required_plan, catalog.row(item.required_plan.bundle.name)) for item in pending]
        lines = tuple((shown, row.installed if row else "", plan.bundle.version) for shown, plan, row in rows)
        effects = tuple(
            f"{shown} {summarize_actions(step.action.value for step in plan.writes)}" for shown, plan, _ in rows
        )
        git = joined_changes(item.required_plan for item in pending)
        return CampaignStep(name, CampaignOutcome.PLANNED, "", lines, effects, warnings=warnings, git=git)

    def change_runtime(
        self, step: CampaignStep, session: Session, changed: threading.Event, cancel: threading.Event, journal: Journal
    ) -> CampaignStep:
        del changed
        seconds = self.pace.timeout
        limits = RunLimits(ready=seconds, hooks=seconds, gone=seconds, broken=USER_ACTION_SECONDS)
        installation = Installation(self._port_of(session), InstallControls(lambda _: None, limits, self.pace.wait))
        completed: list[str] = []
        job = BatchJob(cancel, complete=lambda module, _: completed.append(module))
        journal.write(JournalMark.BEGUN, RUNTIME_STEP, step.runtime)
        try:
            ended = run_items(self._plans[step.runtime].items, installation, _Unseen(), job)
        except CancelledError as error:
            journal.write(JournalMark.FAILED, RUNTIME_STEP, step.runtime)
            is_changed = completed or any(part.has_changes for part in error.progress)
            outcome = CampaignOutcome.ACCEPTED if is_changed else CampaignOutcome.NOT_BEGUN
            return replace(step, outcome=outcome, message=str(error) if is_changed else "")
        errors = [with_subject(item.name, str(item.error)) for item in ended if item.error is not None]
        journal.write(JournalMark.FAILED if errors else JournalMark.DONE, RUNTIME_STEP, step.runtime)
        if errors:
            return replace(step, outcome=CampaignOutcome.FAILED, message="; ".join(errors))
        refused = "; ".join(with_subject(item.name, str(item.refusal)) for item in ended if item.refusal is not None)
        done = CampaignOutcome.DONE if self.pace.wait else CampaignOutcome.ACCEPTED
        return replace(step, outcome=CampaignOutcome.PARTLY if refused else done, message=refused)


class _Unseen(RunRenderer[Plan, ApplyOutcome]):
    """Display nothing of the run in one context: the campaign has its end."""

    def begin(self, items: Items[Plan, ApplyOutcome]) -> None: ...

    stop = begin
