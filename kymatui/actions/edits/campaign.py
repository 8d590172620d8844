"""One change of many runtimes, carried out: planned for each, the canaries first, and no further after a failure.

What is edited is read from the clusters, and what was seen to its end from a book: whoever runs the same again goes on
where it stopped, with those first that were edited and not seen to be done.

Upgrades of directly installed modules in many contexts, each with a plan of its own, and nothing without a plan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Items, RunRenderer, Verb, Work, run_items
from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.edits.edit_watch import StartedEdit
from kymatui.actions.edits.handover import awaits_handover, complete_handover, planned_handover
from kymatui.actions.edits.uninstall import UninstallConsent
from kymatui.actions.modules.install import Installation, InstallControls, InstallItem, plan_installs
from kymatui.actions.modules.install_choices import InstallAction
from kymatui.actions.modules.install_plan import InstallPort, read_catalog
from kymatui.actions.plans import Uninstall
from kymatui.domain.fleet.campaigns import (
    MAX_PARALLEL,
    CampaignChange,
    CampaignOutcome,
    CampaignPace,
    CampaignStep,
    format_outcomes,
    waves,
)
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count, with_subject
from kymatui.domain.kyma_edit.module_edit import EditProposal, ModuleEdit
from kymatui.domain.plans.cluster_target import ClusterName, ClusterTarget
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.engine.apply.applier import ApplyOutcome
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.jobs.job_progress import EDIT_WORDS, JobProgress
from kymatui.engine.jobs.job_records import RUNTIME_STEP
from kymatui.engine.jobs.journal import Journal, JournalMark
from kymatui.engine.jobs.run import USER_ACTION_SECONDS, RunLimits
from kymatui.engine.plans.plan import Plan
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ForbiddenError,
    KymatuiError,
    NotInstalledError,
    OutdatedError,
    PartlyDoneError,
    ReadOnlyError,
    RefusedError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from kymatui.actions.session import Session


class CampaignPort(Protocol):
    """A control plane that is listed once for all runtimes of a campaign, or contexts, each with its own cluster."""

    @property
    def target(self) -> ClusterTarget: ...

    @property
    def home(self) -> ClusterName:
        """Return what journals name the fleet."""

    @property
    def has_contexts(self) -> bool:
        """Return whether contexts take the place of runtimes."""

    def name_runtime(self, runtime: str, session: Session) -> str:
        """Return what plans and journals name a runtime that is listed."""

    def begun(self, cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
        """Return the runtimes that an earlier run of the same edit began, and did not see to the end."""

    def open(self, runtime: str, on_change: Callable[[], None]) -> Session:
        """Return the session of a runtime, which is listed. Raise what keeps it from being."""


ListedFleet = Callable[[Sequence[str]], AbstractContextManager[CampaignPort]]
"""Lists the control plane of these runtimes; raises what keeps it from being listed."""


class ClusterCampaign:
    """One change of many runtimes of a control plane, which are named `namespace/name`, or of many contexts.

    The control plane is listed once for all of them; each runtime is asked by itself, and let go of again.
    """

    def __init__(self, listed: ListedFleet, pace: CampaignPace) -> None:
        self._listed, self.pace = listed, pace
        self.target: ClusterTarget | None = None
        """The control plane, once something is planned."""
        self.home = ClusterName("")
        """The same as the journal names it."""

    def prepare(self, plane: CampaignPort) -> None:
        """Read what the plans of all runtimes need."""

    def plan_runtime(self, name: str, session: Session) -> CampaignStep:
        """Plan one runtime. What it raises is the runtime's outcome."""
        raise NotImplementedError

    def plans_of(self, runtime: str) -> Sequence[Plan]:
        """Return the plans of direct installations that are applied in a runtime."""
        return ()

    def change_runtime(
        self, step: CampaignStep, session: Session, changed: threading.Event, cancel: threading.Event, journal: Journal
    ) -> CampaignStep:
        """Apply the plan of one runtime; return the step with its outcome. What it raises is a failure."""
        raise NotImplementedError

    def plan(
        self, runtimes: Sequence[str], tell: Callable[[CampaignStep], None] = lambda _: None
    ) -> list[CampaignStep]:
        """Plan each runtime and report each plan from any thread; also those of runtimes that cannot be reached.

        Raises what keeps the control plane from being read.
        """

        def planned(name: str) -> CampaignStep:
            step = replace(self._planned(plane, name), is_context=plane.has_contexts)
            tell(step)
            return step

        with self._listed(runtimes) as plane:
            self.target = plane.target
            self.home = plane.home
            self.prepare(plane)
            return list(_skip_repeated(_refuse_unknown(run_for_each(runtimes, planned, None, MAX_PARALLEL))))

    def _planned(self, plane: CampaignPort, name: str) -> CampaignStep:
        try:
            session = plane.open(name, lambda: None)
        except KymatuiError as error:
            refused = isinstance(error, RefusedError | ReadOnlyError)
            return CampaignStep(name, CampaignOutcome.REFUSED if refused else CampaignOutcome.UNREACHABLE, str(error))
        try:
            name = plane.name_runtime(name, session)
            return replace(self.plan_runtime(name, session), server=session.target.server)
        except KymatuiError as error:
            return CampaignStep(name, CampaignOutcome.UNREACHABLE, str(error))
        finally:
            session.close()

    def runs(self, runtimes: Sequence[str]) -> AbstractContextManager[CampaignPort]:
        """Return the control plane for a run. Raise what keeps it from being listed."""
        return self._listed(runtimes)

    def edit(self, plane: CampaignPort, step: CampaignStep, cancel: threading.Event, journal: Journal) -> CampaignStep:
        """Change one runtime, or follow what an earlier run changed; return the step with its outcome."""
        if cancel.is_set():
            return replace(step, outcome=CampaignOutcome.NOT_BEGUN)
        changed = threading.Event()
        try:
            session = plane.open(step.runtime, changed.set)
        except KymatuiError as error:
            return replace(step, outcome=CampaignOutcome.FAILED, message=f"no changes made: {error}")
        try:
            return self.change_runtime(step, session, changed, cancel, journal)
        except KymatuiError as error:
            return replace(step, outcome=CampaignOutcome.FAILED, message=str(error))
        finally:
            session.close()


class _RuntimeEdit(Struct, frozen=True):
    """The edit of one runtime while it is made."""

    step: CampaignStep
    edits: ClusterKymaEdits
    changed: threading.Event
    cancel: threading.Event
    journal: Journal

    def mark(self, mark: JournalMark) -> None:
        self.journal.write(mark, RUNTIME_STEP, self.step.runtime)


class Campaign(ClusterCampaign):
    """One edit of the Kymas of many runtimes."""

    def __init__(
        self,
        listed: ListedFleet,
        edits_of: Callable[[Session], ClusterKymaEdits],
        toggle: ModuleEdit,
        pace: CampaignPace,
        consent: UninstallConsent | None = None,
    ) -> None:
        """Take the control plane's lists, and what returns the edits of a runtime's session."""
        super().__init__(listed, pace)
        self._edits_of, self._toggle = edits_of, toggle
        self._consent = consent or UninstallConsent()
        self._begun: frozenset[str] = frozenset()
        self._uninstalls: dict[str, Sequence[Uninstall]] = {}
        """What each runtime's plan showed of the modules that it uninstalls."""

    def prepare(self, plane: CampaignPort) -> None:
        self._begun = plane.begun(self.home, self._toggle)

    def plan_runtime(self, name: str, session: Session) -> CampaignStep:
        edits = self._edits_of(session)
        proposal = self._proposed(edits)
        step = self._with_uninstalls(_planned_step(name, proposal), edits, proposal)
        step = self._with_handover(step, edits, proposal)
        return self._standing(step, edits, proposal) if step.outcome is CampaignOutcome.UNCHANGED else step

    def change_runtime(
        self, step: CampaignStep, session: Session, changed: threading.Event, cancel: threading.Event, journal: Journal
    ) -> CampaignStep:
        run = self._followed if step.outcome is CampaignOutcome.UNDER_WAY else self._run
        return run(_RuntimeEdit(step, self._edits_of(session), changed, cancel, journal))

    def _with_uninstalls(self, step: CampaignStep, edits: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Add what has to be deleted before modules go; refuse if that, or reading it, is not allowed."""
        if step.outcome is not CampaignOutcome.PLANNED or not step.uninstalls:
            return step
        uninstalls = edits.uninstalls(step.uninstalls, self._consent, self.pace.timeout)
        blocking = tuple(owned for uninstall in uninstalls for owned in uninstall.blocking)
        refusals = [uninstall.refusal.with_hint for uninstall in uninstalls if uninstall.refusal is not None]
        if refusals:
            return replace(step, outcome=CampaignOutcome.REFUSED, message="; ".join(refusals), blocking=blocking)
        self._uninstalls[step.runtime] = uninstalls
        return replace(step, blocking=blocking, git=joined_changes((step, *uninstalls)))

    def _with_handover(self, step: CampaignStep, edits: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Add what becomes of a direct installation, also where the Kyma already has the edit."""
        if not self._toggle.takes_up or step.outcome not in (CampaignOutcome.PLANNED, CampaignOutcome.UNCHANGED):
            return step
        is_planned = step.outcome is CampaignOutcome.PLANNED
        if not is_planned and not (self.pace.wait and awaits_handover(edits, self._toggle)):
            return step
        notice = planned_handover(edits, self._toggle)
        if notice and not self.pace.wait:
            notice = f"{notice}, once the command is run again without --no-wait"
        warnings = (*step.warnings, *([notice] if notice else []))
        return replace(step, outcome=step.outcome if is_planned else CampaignOutcome.UNDER_WAY, warnings=warnings)

    def _proposed(self, edits: ClusterKymaEdits) -> EditProposal:
        """Propose the edit as for one runtime; a module that is already disabled is done, and not refused."""
        proposal = edits.propose(self._toggle)
        return replace(proposal, refusals=()) if proposal.gone else proposal

    def _standing(self, step: CampaignStep, edits: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Return where the edit stands in a Kyma that already has it; a failure counts also after an earlier run."""
        if not proposal.known:
            return replace(step, message="not requested in the Kyma, and not in the catalog", is_known=False)
        now = edits.standing(proposal)
        if now.finished:
            return step
        if step.runtime in self._begun and self.pace.wait:
            return replace(step, outcome=CampaignOutcome.UNDER_WAY, message=f"changed by an earlier run; {now.message}")
        return replace(step, message=f"{step.message}; {now.message}")

    def _followed(self, edit: _RuntimeEdit) -> CampaignStep:
        """Return what an earlier run has edited, until it is done."""
        proposal = self._proposed(edit.edits)
        if not proposal.is_done:
            raise OutdatedError("no changes made: another client changed the Kyma after the earlier run")
        return self._until_done(edit, proposal, 0)

    def _run(self, edit: _RuntimeEdit) -> CampaignStep:
        step, edits = edit.step, edit.edits
        proposal = self._proposed(edits)
        now = replace(_planned_step(step.runtime, proposal), server=step.server, is_context=step.is_context)
        if now.outcome is CampaignOutcome.UNCHANGED:
            return now
        if now.outcome is not CampaignOutcome.PLANNED or now.lines != step.lines:
            raise OutdatedError("no changes made: the Kyma changed after the plan")
        if not edits.may_write(proposal):
            raise ForbiddenError("no changes made: you lack the permission to patch the runtime's Kyma", status=403)
        if edit.cancel.is_set():
            return replace(step, outcome=CampaignOutcome.NOT_BEGUN)
        edit.mark(JournalMark.BEGUN)
        try:
            generation = edits.carry_out(proposal, edit.cancel, self._uninstalls.get(step.runtime, ()))
        except CancelledError as error:
            return self._cancelled(edit, proposal, error)
        except KymatuiError:
            edit.mark(JournalMark.FAILED)
            raise
        if not self.pace.wait:
            edit.mark(JournalMark.DONE)
            return replace(step, outcome=CampaignOutcome.ACCEPTED, message="the Kyma is edited")
        return self._until_done(edit, proposal, generation)

    def _cancelled(self, edit: _RuntimeEdit, proposal: EditProposal, error: CancelledError) -> CampaignStep:
        """Return whether the edit was made before the cancel; the Kyma itself says so."""
        try:
            is_made = edit.edits.is_made(proposal)
        except KymatuiError:
            edit.mark(JournalMark.FAILED)
            raise
        if is_made:
            return replace(edit.step, outcome=CampaignOutcome.ACCEPTED, message="the Kyma is edited")
        edit.mark(JournalMark.FAILED)
        gone = tuple(map(str, error.gone))
        deleted = f"the Kyma is not edited; {format_count(len(gone), 'object')} deleted: {', '.join(gone)}"
        return replace(edit.step, outcome=CampaignOutcome.NOT_BEGUN, message=deleted if gone else "")

    def _until_done(self, edit: _RuntimeEdit, proposal: EditProposal, generation: int) -> CampaignStep:
        edits, started = edit.edits, [StartedEdit(proposal, generation)]
        try:
            (end,) = edits.follow_all(
                started, edit.changed, self.pace.timeout, lambda *_: None, edit.cancel, unattended=True
            )
        except CancelledError as error:  # the edit stays, and lifecycle-manager continues
            return replace(edit.step, outcome=CampaignOutcome.ACCEPTED, message=str(error))
        except KymatuiError:
            edit.mark(JournalMark.FAILED)
            raise
        if end.failed and not end.stage.held:
            edit.mark(JournalMark.FAILED)
            raise PartlyDoneError(end.failed)
        edit.mark(JournalMark.DONE)
        handed = complete_handover(edits, self._toggle) if self._toggle.takes_up else ""
        outcome = CampaignOutcome.STAYS if end.stage.held else CampaignOutcome.DONE
        return replace(edit.step, outcome=outcome, message=handed or end.stage.message)


CampaignItem = BatchItem[CampaignStep, CampaignStep]


def campaign_item(step: CampaignStep) -> CampaignItem:
    """Return a planned runtime for a batch; its result is the step with its outcome."""
    if step.is_ahead:
        return CampaignItem(step.runtime, step)
    refusal = None if step.is_good else RefusedError(step.message)
    return CampaignItem(step.runtime, step, Work.NOTHING, refusal)


def campaign_steps(items: Sequence[CampaignItem]) -> list[CampaignStep]:
    """Return each runtime with its outcome, or as it was planned; one that lacks an option is refused."""
    return [_step(item) for item in items]


def _step(item: CampaignItem) -> CampaignStep:
    step = item.result or item.required_plan
    if item.refusal is None or not step.is_ahead:
        return step
    return replace(step, outcome=CampaignOutcome.REFUSED, message=item.refusal.with_hint)


class CampaignEdit(Verb[CampaignStep, CampaignStep]):
    """The change of each runtime: the canaries first, and no further after a failure.

    `ended` gets each runtime with its outcome, in any thread.
    """

    def __init__(self, campaign: ClusterCampaign, ended: Callable[[CampaignStep], None]) -> None:
        self._campaign, self._ended = campaign, ended
        self._plane: CampaignPort | None = None

    @contextmanager
    def session(self, items: Sequence[CampaignItem]) -> Iterator[None]:
        with self._campaign.runs([item.name for item in items if item.runs]) as self._plane:
            yield

    def waves(self, items: Sequence[CampaignItem]) -> list[list[int]]:
        numbers = {item.name: number for number, item in enumerate(items)}
        steps, pace = [item.required_plan for item in items], self._campaign.pace
        return [[numbers[step.runtime] for step in wave] for wave in waves(steps, pace.canaries, pace.at_once)]

    def run(self, item: CampaignItem, job: BatchJob) -> CampaignItem:
        assert self._plane is not None, "the control plane is listed during a run"
        result = self._campaign.edit(self._plane, item.required_plan, job.cancel, job.journal)
        self._ended(result)
        return replace(item, result=result, error=None if result.is_good else PartlyDoneError(result.message))

    def stops(self, item: CampaignItem) -> bool:
        return item.result is not None and item.result.stops

    def skipped(self, item: CampaignItem) -> CampaignItem:
        step = replace(item.required_plan, outcome=CampaignOutcome.NOT_BEGUN)
        return replace(item, result=step, error=PartlyDoneError("not started"))

    def follow(self, items: list[CampaignItem], job: BatchJob) -> None:
        """Raise CancelledError if a person stopped the last runtimes: each ended by itself."""
        if job.cancel.is_set():
            raise CancelledError(format_outcomes(campaign_steps(items)))

    def stopped(self, items: Sequence[CampaignItem], error: CancelledError) -> CancelledError:
        """Return the error with the runtimes that are done, edited without an end yet, and not edited."""
        steps = campaign_steps(items)
        done = tuple(step.label for step in steps if step.outcome in (CampaignOutcome.DONE, CampaignOutcome.STAYS))
        edited = tuple((step.label, step.message) for step in steps if step.outcome is CampaignOutcome.ACCEPTED)
        outcomes = (CampaignOutcome.NOT_BEGUN, CampaignOutcome.FAILED, CampaignOutcome.PLANNED)
        progress = JobProgress(
            EDIT_WORDS, done, edited, tuple(step.label for step in steps if step.outcome in outcomes)
        )
        return CancelledError(format_outcomes(steps), progress=(progress,), is_at_once=error.is_at_once)


def campaign_target(target: ClusterTarget, steps: Sequence[CampaignStep]) -> ClusterTarget:
    """Return the control plane of these runtimes; for contexts only these."""
    names = tuple(step.name for step in steps if step.is_context)
    return replace(target, contexts=names) if names else target


def _refuse_unknown(steps: list[CampaignStep]) -> list[CampaignStep]:
    """Refuse a module that no runtime knows, which is a mistyped name; where one runtime knows it, skip the others."""
    if any(step.is_known for step in steps if step.outcome is not CampaignOutcome.UNREACHABLE):
        return steps
    return [step if step.is_known else replace(step, outcome=CampaignOutcome.REFUSED) for step in steps]


def _skip_repeated(steps: Iterable[CampaignStep]) -> Iterator[CampaignStep]:
    """Edit a cluster once that several contexts have, such as one for each of its users."""
    first: dict[str, CampaignStep] = {}
    for step in steps:
        identity = split_name(step.runtime)[0] if step.is_context and step.is_ahead else ""
        known = first.setdefault(identity, step) if identity else step
        if known is not step:
            message = f"the same cluster as context {known.name}"
            step = replace(step, outcome=CampaignOutcome.UNCHANGED, message=message, lines=(), effects=())
        yield step


def _planned_step(name: str, proposal: EditProposal) -> CampaignStep:
    lines = proposal.edit.lines() if proposal.edit is not None else ()
    effects = tuple(f"{effect.module} {effect.message}" for effect in proposal.effects)
    if proposal.is_refused:
        return CampaignStep(name, CampaignOutcome.REFUSED, "; ".join(proposal.refusals), lines)
    if proposal.is_done:
        return CampaignStep(name, CampaignOutcome.UNCHANGED, "the Kyma has these values already")
    uninstalls = tuple(effect.module for effect in proposal.effects if effect.uninstalls)
    return CampaignStep(
        name, CampaignOutcome.PLANNED, "", lines, effects, uninstalls, warnings=proposal.warnings, git=proposal.git
    )


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
