"""`kymatui enable|disable|… NAME …`: the edits of all modules as one plan, then all edits, then the wait for all."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.jobs import job_cluster
from kymatui.actions.modules.handover import awaits_handover, complete_handover, planned_handover
from kymatui.cli.options import uninstalls as uninstalling
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import ProgressPrinter
from kymatui.cli.options.editing import (
    action_words,
    is_in_progress,
    plan_json,
    print_stage,
    require_rights,
)
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.plan_summaries import edit_summary
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_text, table, wrapped
from kymatui.domain.kubernetes.terminal_text import sanitize, with_subject
from kymatui.domain.kyma_edit.module_edit import EditVerb, edit_options
from kymatui.engine.jobs.job_progress import EDIT_WORDS, JobProgress
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.plans import Uninstall
    from kymatui.actions.session import ListedSession
    from kymatui.domain.kyma_edit.edit_progress import EditProgress
    from kymatui.domain.kyma_edit.module_edit import EditProposal, ModuleEdit
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.engine.jobs.journal import Journal
    from kymatui.engine.jobs.open_job import OpenJob

_SAME = "no change: the Kyma already has this setting"


class _Leg(Struct, frozen=True):
    """One edit: what is proposed, what it uninstalls with what was agreed to, and how it ended.

    `on_its_way` is one that the Kyma says already, and whose end is still to come; `refusals` say why it is not made.
    `hands_over` is one of these that only has to release what is installed directly.
    """

    proposal: EditProposal
    uninstalls: tuple[Uninstall, ...]
    refusals: tuple[str, ...]
    on_its_way: bool = False
    hands_over: bool = False
    generation: int = 0
    is_made: bool = False
    message: str = ""
    error: KymatuiError | None = None

    @property
    def module(self) -> str:
        return self.proposal.toggle.module

    @property
    def unblocks(self) -> bool:
        """Return whether it is under way, and what blocks it is deleted."""
        return self.on_its_way and any(one.blocking for one in self.uninstalls)

    @property
    def is_todo(self) -> bool:
        return self.unblocks if self.on_its_way else not self.proposal.is_done or bool(self.refusals)

    def outcome(self, whole: str) -> str:
        if self.error is not None:
            return "unfinished" if self.is_made or self.on_its_way else "failed"
        if self.on_its_way:
            return whole
        if self.refusals:
            return "refused"
        return "unchanged" if self.proposal.is_done else whole


class EditRun:
    """One run of one command, with one name or several."""

    def __init__(
        self,
        args: argparse.Namespace,
        toggles: Sequence[ModuleEdit],
        session: ListedSession,
        changed: threading.Event,
    ) -> None:
        from kymatui.composition.session_ports import edits_of

        self._args, self._toggles = args, toggles
        self._session, self._changed = session, changed
        self._toggling: ClusterKymaEdits = edits_of(session)

    def run(self) -> int:
        legs = [self._leg(toggle) for toggle in self._toggles]
        todo = [leg for leg in legs if leg.is_todo]
        if any(leg.refusals for leg in todo):
            return self._refused(legs)
        released = [leg for leg in legs if leg.hands_over]
        if not (todo or released) and any(leg.on_its_way for leg in legs) and not self._args.dry_run:
            return self._run(legs)
        if not (todo or released):
            stages = (leg.message for leg in legs if leg.message)
            return self._answer(legs, "unchanged", "; ".join(dict.fromkeys((_SAME, *stages))))
        toggles = [leg.proposal.toggle for leg in (*todo, *released)]
        notices = [planned_handover(self._toggling, one) for one in toggles if one.takes_up]
        if self._args.dry_run:
            status = self._answer(legs, "planned")
            _say_all(notices)
            return status
        for leg in todo:
            require_rights(self._session, self._toggling, leg.proposal)
        print_text(self._text(legs, "table"), sys.stderr)
        _say_all(notices)
        following = uninstalling.uninstall_consequence(one for leg in todo for one in leg.uninstalls)
        action = action_words([leg.proposal.toggle for leg in todo or released])
        confirm(self._target(todo or released), action, following, yes=self._args.yes)
        return self._run(legs)

    def _leg(self, toggle: ModuleEdit) -> _Leg:
        """Return what is proposed, with what still exists of a module that goes."""
        proposal = self._toggling.propose(toggle)
        on_its_way = is_in_progress(self._args, self._toggling, proposal)
        hands_over = not on_its_way and self._hands_over(proposal)
        stage = self._toggling.standing(proposal).message if on_its_way and self._args.dry_run else ""
        is_resumed = getattr(self._args, "resumed_job", None) is not None
        if (on_its_way or is_resumed) and proposal.gone:  # the Kyma does not request it: there is nothing to refuse
            proposal = replace(proposal, refusals=())
        modules = [effect.module for effect in proposal.effects if effect.uninstalls]
        if on_its_way and toggle.verb is EditVerb.DISABLE and self._args.cascade:
            modules = [toggle.module]
        consent = uninstalling.consent_of(self._args)
        found = () if proposal.is_refused else self._toggling.uninstalls(modules, consent, self._args.timeout)
        refusals = (*proposal.refusals, *uninstalling.uninstall_refusals(found))
        hands_over = hands_over and not refusals
        return _Leg(proposal, found, refusals, on_its_way or hands_over, hands_over, message=stage)

    def _hands_over(self, proposal: EditProposal) -> bool:
        """Return whether only the release of a direct installation is left to do."""
        toggle = proposal.toggle
        return toggle.takes_up and proposal.is_done and self._args.wait and awaits_handover(self._toggling, toggle)

    def _refused(self, legs: Sequence[_Leg]) -> int:
        if self._args.output != "table":
            self._answer(legs, "refused")
            return RefusedError.exit_code
        if any(leg.uninstalls for leg in legs):
            print_text(self._text(legs, "table"), sys.stdout if self._args.dry_run else sys.stderr)
        raise RefusedError("; ".join(text for leg in legs for text in leg.refusals), hint="no changes made")

    # doing it

    def _run(self, legs: Sequence[_Leg]) -> int:
        """Make all edits as one job."""
        work = [leg for leg in legs if leg.is_todo or leg.on_its_way]
        names, first = [leg.module for leg in work], work[0].proposal.toggle
        words = action_words([leg.proposal.toggle for leg in work])
        title, options = f"{words[:1].lower()}{words[1:]}", edit_options(first)
        with recorded_job(self._args, job_cluster(self._session), first.verb.value, names, title, options) as (
            job,
            cancel,
        ):
            return self._ended(self._carry_out(legs, job, cancel))

    def _carry_out(self, legs: Sequence[_Leg], job: OpenJob, cancel: threading.Event) -> list[_Leg]:
        """Make all edits, one patch each, then follow each to its end; a failure stops no other edit."""
        now = list(legs)
        try:
            for at, leg in enumerate(now):
                now[at] = self._edit(leg, job.journal, cancel)
            now = self._follow(now, cancel) if self._args.wait else now
        except CancelledError as error:
            if self._args.output != "table":
                self._answer(now, "unfinished")
            raise CancelledError(str(error), hint=error.hint, progress=_progress(now, error)) from error
        for leg in now:
            if leg.error is None and (leg.is_made or leg.on_its_way):
                job.complete(leg.module)
        return now

    def _edit(self, leg: _Leg, journal: Journal, cancel: threading.Event) -> _Leg:
        if not leg.is_todo:
            return leg
        try:
            if leg.unblocks:
                self._toggling.unblock(leg.uninstalls, cancel, ProgressPrinter(), journal)
                return leg
            generation = self._toggling.carry_out(leg.proposal, cancel, leg.uninstalls, ProgressPrinter(), journal)
        except CancelledError:
            raise
        except KymatuiError as error:
            return replace(leg, error=error)
        if len(self._toggles) > 1:
            print_line(f"  entry of {leg.module} edited", sys.stderr)
        return replace(leg, generation=generation, is_made=True, message="Kyma edited")

    def _follow(self, legs: list[_Leg], cancel: threading.Event) -> list[_Leg]:
        """Follow all edits in parallel, so that one that waits for the user does not block the others."""
        from kymatui.actions.edits.edit_watch import StartedEdit

        at = [place for place, leg in enumerate(legs) if leg.error is None and (leg.is_made or leg.on_its_way)]
        started = [StartedEdit(legs[place].proposal, legs[place].generation) for place in at]

        def print_progress(number: int, stage: EditProgress) -> None:
            print_stage(stage, f"{legs[at[number]].module}: " if len(legs) > 1 else "")

        ends = self._toggling.follow_all(
            started, self._changed, self._args.timeout, print_progress, cancel, unattended=True
        )
        for place, end in zip(at, ends, strict=True):
            leg = legs[place]
            if end.failed:
                hint = f"run `kymatui module {leg.module}`"
                legs[place] = replace(leg, error=PartlyDoneError(end.failed, hint=hint))
                continue
            try:
                toggle = leg.proposal.toggle
                handed = complete_handover(self._toggling, toggle) if toggle.takes_up else ""
            except KymatuiError as error:
                legs[place] = replace(leg, error=error)
                continue
            legs[place] = replace(leg, message=handed or end.stage.message)
        return legs

    def _ended(self, legs: Sequence[_Leg]) -> int:
        failed = [leg for leg in legs if leg.error is not None]
        whole = "done" if self._args.wait else "accepted"
        ended = [sanitize(f"{leg.module}: {leg.message}") for leg in legs if leg.message and leg.error is None]
        alone = len(legs) == 1
        if not alone or not failed or self._args.output != "table":
            self._answer(legs, "unfinished" if failed else whole, "\n".join(ended) or "no change is complete yet")
        if failed and alone:
            assert failed[0].error is not None
            raise failed[0].error
        if failed:
            said = "; ".join(f"{leg.module}: {leg.error}" for leg in failed)
            hint = "run the same command again to continue; completed modules are skipped"
            raise PartlyDoneError(f"{len(failed)} of {len(legs)} modules not done: {said}", hint=hint)
        return 0

    # telling it

    def _answer(self, legs: Sequence[_Leg], outcome: str, words: str = "") -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            print_text(plan_document(self._target(legs), self._document(legs, outcome, words), form))
        elif words:
            alone = legs[0].module if len(legs) == 1 and not words.startswith(f"{legs[0].module}:") else ""
            print_text(with_subject(sanitize(alone), words) if alone else words)
        else:
            print_text(self._text(legs, form))
        return 0

    def _document(self, legs: Sequence[_Leg], outcome: str, words: str) -> dict[str, Any]:
        """Return the edit of a single name; for several all edits."""
        whole = "done" if outcome == "unfinished" else outcome
        edits = [
            plan_json(
                self._session.name,
                leg.proposal,
                leg.outcome(whole),
                str(leg.error) if leg.error is not None else leg.message or (words if len(legs) == 1 else ""),
                refusals=leg.refusals,
                uninstalls=uninstalling.uninstalls_json(leg.uninstalls),
            )
            for leg in legs
        ]
        if len(edits) == 1:
            return {**edits[0], "outcome": outcome}
        return {"cluster": self._session.name, "verb": self._args.verb, "edits": edits, "outcome": outcome}

    def _target(self, legs: Sequence[_Leg]) -> ClusterTarget:
        return self._session.target.of_kyma(leg.proposal.edit.kyma.path for leg in legs if leg.proposal.edit)

    def _text(self, legs: Sequence[_Leg], form: str) -> str:
        summary = edit_summary(
            ((leg.proposal, bool(leg.refusals)) for leg in legs), (one for leg in legs for one in leg.uninstalls)
        )
        return plan_text(self._target(legs), summary, "\n\n".join(self._parts(legs, form)), form)

    def _parts(self, legs: Sequence[_Leg], form: str) -> Iterator[str]:
        """Yield a table of edits, one of effects, the remaining objects, and the warnings."""
        draw = markdown if form == "md" else table
        edits = [leg.proposal.edit for leg in legs if leg.proposal.edit is not None]
        if lines := [list(line) for edit in edits for line in edit.lines()]:
            yield draw(("FIELD", "BEFORE", "AFTER"), lines)
        effects = dict.fromkeys((one.module, one.message) for leg in legs for one in leg.proposal.effects)
        same = [(leg.module, _SAME) for leg in legs if leg.proposal.is_done or leg.on_its_way]
        if rows := [list(one) for one in (*effects, *same)]:
            yield draw(("MODULE", "EFFECT"), rows)
        yield from uninstalling.uninstall_tables([one for leg in legs for one in leg.uninstalls], form)
        yield from (paragraph(f"refused: {text}", form) for leg in legs for text in leg.refusals)
        warnings = dict.fromkeys(one for leg in legs for one in leg.proposal.warnings)
        yield from (paragraph(f"warning: {one}", form) for one in warnings)


def _progress(legs: Sequence[_Leg], error: CancelledError) -> tuple[JobProgress, ...]:
    """Return what is done and left of all edits; `error` has what it stopped in."""
    known = {name for part in error.progress for name in (*part.done, *(name for name, _ in part.ongoing))}
    made = tuple((leg.module, "") for leg in legs if leg.is_made and leg.module not in known)
    left = tuple(leg.module for leg in legs if leg.is_todo and not leg.is_made and leg.module not in known)
    return (*error.progress, JobProgress(EDIT_WORDS, ongoing=made, left=left))


def _say_all(notices: Iterable[str]) -> None:
    """Print beside the plan what else becomes of its modules."""
    for notice in filter(None, notices):
        print_text(wrapped(notice), sys.stderr)
