"""One edit over many runtimes, carried out: planned for each, the canaries first, and no further after a failure.

What is edited is read from the clusters, and what was seen to its end from a book: whoever runs the same again goes on
where it stopped, with those first that were edited and not seen to be done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.edits.edit_watch import StartedEdit
from kymatui.actions.edits.uninstall import UninstallConsent
from kymatui.actions.modules.handover import awaits_handover, complete_handover, planned_handover
from kymatui.actions.plans import Uninstall
from kymatui.domain.fleet.campaigns import MAX_PARALLEL, CampaignOutcome, CampaignPace, CampaignStep, waves
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.cluster_name import ClusterName
from kymatui.engine.cluster.cluster_identity import name_cluster
from kymatui.engine.jobs.job_progress import EDIT_WORDS, JobProgress
from kymatui.engine.jobs.job_records import RUNTIME_STEP
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal, JournalMark
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError, OutdatedError, PartlyDoneError

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.domain.kyma_edit.module_edit import EditProposal, ModuleEdit
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.engine.cluster.ports import Cluster


class CampaignPort(Protocol):
    """A control plane that is listed once for all runtimes of a campaign."""

    @property
    def target(self) -> ClusterTarget: ...

    @property
    def cluster(self) -> Cluster: ...

    def begun(self, cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
        """Return the runtimes that an earlier run of the same edit began, and did not see to the end."""
        ...

    def open(self, runtime: str, on_change: Callable[[], None]) -> Session:
        """Return the session of a runtime, which is listed. Raise what keeps it from being."""

    def edits(self, session: Session) -> ClusterKymaEdits: ...


ListedFleet = Callable[[Sequence[str]], AbstractContextManager[CampaignPort]]
"""Lists the control plane of these runtimes; raises what keeps it from being listed."""


class Campaign:
    """One toggle over the runtimes of a control plane, which are named `namespace/name`.

    The control plane is listed once for all of them; each runtime is asked by itself, and let go of again.
    """

    def __init__(
        self, listed: ListedFleet, toggle: ModuleEdit, pace: CampaignPace, consent: UninstallConsent | None = None
    ) -> None:
        self._listed, self._toggle, self._pace = listed, toggle, pace
        self._consent = consent or UninstallConsent()
        self._begun: frozenset[str] = frozenset()
        self.target: ClusterTarget | None = None
        """The control plane, once something is planned."""
        self.home = ClusterName("")
        """The same as the journal names it."""
        self._uninstalls: dict[str, Sequence[Uninstall]] = {}
        """What each runtime's plan showed of the modules that it uninstalls."""

    def plan(
        self, runtimes: Sequence[str], tell: Callable[[CampaignStep], None] = lambda _: None
    ) -> list[CampaignStep]:
        """Plan each runtime and report each plan from any thread; also those of runtimes that cannot be reached.

        Raises what keeps the control plane from being read.
        """

        def planned(name: str) -> CampaignStep:
            leg = self._planned(plane, name)
            tell(leg)
            return leg

        with self._listed(runtimes) as plane, ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="plan") as pool:
            self.target = plane.target
            self.home = name_cluster(plane.cluster)
            self._begun = plane.begun(self.home, self._toggle)
            return _refuse_unknown(list(pool.map(planned, runtimes)))

    def _planned(self, plane: CampaignPort, name: str) -> CampaignStep:
        try:
            session = plane.open(name, lambda: None)
        except KymatuiError as error:
            return CampaignStep(name, CampaignOutcome.UNREACHED, str(error))
        try:
            toggling = plane.edits(session)
            proposal = self._proposed(toggling)
            found = self._with_uninstalls(_leg(name, proposal), toggling, proposal)
            found = replace(found, server=session.target.server)
            found = self._with_handover(found, toggling, proposal)
            return self._standing(found, toggling, proposal) if found.outcome is CampaignOutcome.UNCHANGED else found
        except KymatuiError as error:
            return CampaignStep(name, CampaignOutcome.UNREACHED, str(error))
        finally:
            session.close()

    def _with_uninstalls(self, leg: CampaignStep, toggling: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Add what has to be deleted before modules go; refuse if that, or reading it, is not allowed."""
        if leg.outcome is not CampaignOutcome.PLANNED or not leg.uninstalls:
            return leg
        found = toggling.uninstalls(leg.uninstalls, self._consent, self._pace.timeout)
        blocking = tuple(owned for one in found for owned in one.blocking)
        said = [f"{one.refusal} ({one.refusal.hint})" for one in found if one.refusal is not None]
        if said:
            return replace(leg, outcome=CampaignOutcome.REFUSED, message="; ".join(said), blocking=blocking)
        self._uninstalls[leg.runtime] = found
        return replace(leg, blocking=blocking)

    def _with_handover(self, leg: CampaignStep, toggling: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Add what becomes of a direct installation, also where the Kyma already has the edit."""
        if not self._toggle.takes_up or leg.outcome not in (CampaignOutcome.PLANNED, CampaignOutcome.UNCHANGED):
            return leg
        is_planned = leg.outcome is CampaignOutcome.PLANNED
        if not is_planned and not (self._pace.wait and awaits_handover(toggling, self._toggle)):
            return leg
        notice = planned_handover(toggling, self._toggle)
        if notice and not self._pace.wait:
            notice = f"{notice}, once the command is run again without --no-wait"
        warnings = (*leg.warnings, *([notice] if notice else []))
        return replace(leg, outcome=leg.outcome if is_planned else CampaignOutcome.UNDER_WAY, warnings=warnings)

    def _proposed(self, toggling: ClusterKymaEdits) -> EditProposal:
        """Propose the edit as for one runtime; a module that is already disabled is done, and not refused."""
        found = toggling.propose(self._toggle)
        return replace(found, refusals=()) if found.gone else found

    def _standing(self, leg: CampaignStep, toggling: ClusterKymaEdits, proposal: EditProposal) -> CampaignStep:
        """Return where the edit stands in a Kyma that already has it; a failure counts also after an earlier run."""
        if not proposal.known:
            return replace(leg, message="not requested in the Kyma, and not in the catalog", is_known=False)
        now = toggling.standing(proposal)
        if now.finished:
            return leg
        if leg.runtime in self._begun and self._pace.wait:
            return replace(leg, outcome=CampaignOutcome.UNDER_WAY, message=f"edited by an earlier run; {now.message}")
        return replace(leg, message=f"{leg.message}; {now.message}")

    def progress(self, legs: Sequence[CampaignStep]) -> JobProgress:
        """Return which runtimes are done, edited without an end yet, and not edited."""
        done = tuple(leg.runtime for leg in legs if leg.outcome in (CampaignOutcome.DONE, CampaignOutcome.STAYS))
        edited = tuple((leg.runtime, leg.message) for leg in legs if leg.outcome is CampaignOutcome.ACCEPTED)
        left = (CampaignOutcome.NOT_BEGUN, CampaignOutcome.FAILED, CampaignOutcome.PLANNED)
        return JobProgress(EDIT_WORDS, done, edited, tuple(leg.runtime for leg in legs if leg.outcome in left))

    def carry_out(
        self,
        legs: Sequence[CampaignStep],
        tell: Callable[[CampaignStep], None],
        cancel: threading.Event,
        begins: Callable[[Sequence[CampaignStep]], None] = lambda _: None,
        journal: Journal = NO_JOURNAL,
    ) -> list[CampaignStep]:
        """Carry out all that is planned; begin nothing more after the first failure, or once `cancel` is set.

        `progress` gets every leg when it has ended, from any thread, and `begins` those that are begun together. Raises
        what keeps the control plane from being read.
        """
        found = {leg.runtime: leg for leg in legs}
        planned = [leg.runtime for leg in legs if leg.is_ahead]
        failed = False

        def edited(leg: CampaignStep) -> CampaignStep:
            ended = self._edited(plane, leg, cancel, journal)
            tell(ended)
            return ended

        with (
            self._listed(planned) as plane,
            ThreadPoolExecutor(self._pace.at_once, thread_name_prefix="edit") as pool,
        ):
            for wave in waves(legs, self._pace.canaries, self._pace.at_once):
                if failed or cancel.is_set():
                    found.update({leg.runtime: replace(leg, outcome=CampaignOutcome.NOT_BEGUN) for leg in wave})
                    continue
                begins(wave)
                for ended in pool.map(edited, wave):
                    found[ended.runtime] = ended
                    failed = failed or ended.stops
        return [found[leg.runtime] for leg in legs]

    def _edited(
        self, plane: CampaignPort, leg: CampaignStep, cancel: threading.Event, journal: Journal
    ) -> CampaignStep:
        if cancel.is_set():
            return replace(leg, outcome=CampaignOutcome.NOT_BEGUN)
        changed = threading.Event()
        try:
            session = plane.open(leg.runtime, changed.set)
        except KymatuiError as error:
            return replace(leg, outcome=CampaignOutcome.FAILED, message=f"no changes made: {error}")
        try:
            if leg.outcome is CampaignOutcome.UNDER_WAY:
                return self._followed(leg, plane.edits(session), changed, cancel, journal)
            return self._run(leg, plane.edits(session), changed, cancel, journal)
        except KymatuiError as error:
            return replace(leg, outcome=CampaignOutcome.FAILED, message=str(error))
        finally:
            session.close()

    def _followed(
        self,
        leg: CampaignStep,
        toggling: ClusterKymaEdits,
        changed: threading.Event,
        cancel: threading.Event,
        journal: Journal,
    ) -> CampaignStep:
        """Return what an earlier run has edited, until it is done."""
        proposal = self._proposed(toggling)
        if not proposal.is_done:
            raise OutdatedError("no changes made: another client changed the Kyma after the earlier run")
        return self._until_done(leg, toggling, proposal, 0, changed, cancel, journal)

    def _run(
        self,
        leg: CampaignStep,
        toggling: ClusterKymaEdits,
        changed: threading.Event,
        cancel: threading.Event,
        journal: Journal,
    ) -> CampaignStep:
        proposal = self._proposed(toggling)
        now = replace(_leg(leg.runtime, proposal), server=leg.server)
        if now.outcome is CampaignOutcome.UNCHANGED:
            return now
        if now.outcome is not CampaignOutcome.PLANNED or now.lines != leg.lines:
            raise OutdatedError("no changes made: the Kyma changed after the plan")
        if not toggling.may_write(proposal):
            raise ForbiddenError("no changes made: you lack the permission to patch the runtime's Kyma", status=403)
        if cancel.is_set():
            return replace(leg, outcome=CampaignOutcome.NOT_BEGUN)
        journal.write(JournalMark.BEGUN, RUNTIME_STEP, leg.runtime)
        try:
            generation = toggling.carry_out(proposal, cancel, self._uninstalls.get(leg.runtime, ()))
        except CancelledError as error:
            return self._cancelled(leg, toggling, proposal, error, journal)
        except KymatuiError:
            journal.write(JournalMark.FAILED, RUNTIME_STEP, leg.runtime)
            raise
        if not self._pace.wait:
            journal.write(JournalMark.DONE, RUNTIME_STEP, leg.runtime)
            return replace(leg, outcome=CampaignOutcome.ACCEPTED, message="the Kyma is edited")
        return self._until_done(leg, toggling, proposal, generation, changed, cancel, journal)

    def _cancelled(
        self,
        leg: CampaignStep,
        toggling: ClusterKymaEdits,
        proposal: EditProposal,
        error: CancelledError,
        journal: Journal,
    ) -> CampaignStep:
        """Return whether the edit was made before the cancel; the Kyma itself says so."""
        try:
            is_made = toggling.is_made(proposal)
        except KymatuiError:
            journal.write(JournalMark.FAILED, RUNTIME_STEP, leg.runtime)
            raise
        if is_made:
            return replace(leg, outcome=CampaignOutcome.ACCEPTED, message="the Kyma is edited")
        journal.write(JournalMark.FAILED, RUNTIME_STEP, leg.runtime)
        gone = tuple(map(str, error.gone))
        deleted = f"the Kyma is not edited; {format_count(len(gone), 'object')} deleted: {', '.join(gone)}"
        return replace(leg, outcome=CampaignOutcome.NOT_BEGUN, message=deleted if gone else "")

    def _until_done(
        self,
        leg: CampaignStep,
        toggling: ClusterKymaEdits,
        proposal: EditProposal,
        generation: int,
        changed: threading.Event,
        cancel: threading.Event,
        journal: Journal,
    ) -> CampaignStep:
        try:
            started = [StartedEdit(proposal, generation)]
            (end,) = toggling.follow_all(started, changed, self._pace.timeout, lambda *_: None, cancel, unattended=True)
        except CancelledError as error:  # the edit stays, and lifecycle-manager continues
            return replace(leg, outcome=CampaignOutcome.ACCEPTED, message=str(error))
        except KymatuiError:
            journal.write(JournalMark.FAILED, RUNTIME_STEP, leg.runtime)
            raise
        if end.failed and not end.stage.held:
            journal.write(JournalMark.FAILED, RUNTIME_STEP, leg.runtime)
            raise PartlyDoneError(end.failed)
        journal.write(JournalMark.DONE, RUNTIME_STEP, leg.runtime)
        handed = complete_handover(toggling, self._toggle) if self._toggle.takes_up else ""
        outcome = CampaignOutcome.STAYS if end.stage.held else CampaignOutcome.DONE
        return replace(leg, outcome=outcome, message=handed or end.stage.message)


def _refuse_unknown(legs: list[CampaignStep]) -> list[CampaignStep]:
    """Refuse a module that no runtime knows, which is a mistyped name; where one runtime knows it, skip the others."""
    if any(leg.is_known for leg in legs if leg.outcome is not CampaignOutcome.UNREACHED):
        return legs
    return [leg if leg.is_known else replace(leg, outcome=CampaignOutcome.REFUSED) for leg in legs]


def _leg(name: str, proposal: EditProposal) -> CampaignStep:
    lines = proposal.edit.lines() if proposal.edit is not None else ()
    effects = tuple(f"{effect.module} {effect.message}" for effect in proposal.effects)
    if proposal.is_refused:
        return CampaignStep(name, CampaignOutcome.REFUSED, "; ".join(proposal.refusals), lines)
    if proposal.is_done:
        return CampaignStep(name, CampaignOutcome.UNCHANGED, "the Kyma has these values already")
    uninstalls = tuple(effect.module for effect in proposal.effects if effect.uninstalls)
    return CampaignStep(name, CampaignOutcome.PLANNED, "", lines, effects, uninstalls, warnings=proposal.warnings)
