"""`kymatui enable|disable|… NAME NAME …`: the edits of several modules as one plan, then all edits, then the wait."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kymatui.cli.asking import confirm
from kymatui.cli.direct.options import cancellable
from kymatui.cli.editing import (
    action_words,
    goes_on,
    hand_over,
    plan_json,
    require_rights,
    tell_of_handing_over,
    tell_stage,
)
from kymatui.cli.printing import markdown, say, table
from kymatui.cli.targets import plan_document, plan_text
from kymatui.domain.texts import plain
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.domain.stages import Stage
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.wiring import CatalogSession
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.toggling import Toggling


@dataclass(frozen=True, slots=True)
class _Leg:
    """One edit: what is proposed, the Kyma's generation once it is made, and how it ended.

    `on_its_way` is one that the Kyma says already, and whose end is still to come.
    """

    proposal: Proposal
    generation: int = 0
    is_made: bool = False
    on_its_way: bool = False
    words: str = ""
    failed: str = ""

    @property
    def module(self) -> str:
        return self.proposal.toggle.module

    def outcome(self, whole: str) -> str:
        if self.failed:
            return "unfinished" if self.is_made or self.on_its_way else "failed"
        if self.on_its_way:
            return whole
        if self.proposal.is_refused:
            return "refused"
        return "unchanged" if self.proposal.is_done else whole


class SeveralEdits:
    """One run of one command with several names."""

    def __init__(
        self,
        args: argparse.Namespace,
        toggles: Sequence[Toggle],
        session: CatalogSession | PairSession,
        changed: threading.Event,
    ) -> None:
        from kymatui.wiring.pair_toggling import edits_of

        self._args, self._toggles = args, toggles
        self._session, self._changed = session, changed
        self._toggling: Toggling = edits_of(session)

    def go(self) -> int:
        proposals = [self._toggling.propose(toggle) for toggle in self._toggles]
        legs = [_Leg(one, on_its_way=goes_on(self._args, self._toggling, one)) for one in proposals]
        todo = [leg for leg in legs if not leg.proposal.is_done and not leg.on_its_way]
        if any(leg.proposal.is_refused for leg in todo):
            return self._refused(legs)
        if not todo and any(leg.on_its_way for leg in legs):
            return self._ended(self._carry_out(legs))
        if not todo:
            return self._answer(legs, "unchanged", "the Kyma says so already")
        if self._args.dry_run:
            return self._answer(legs, "planned", "")
        for leg in todo:
            require_rights(self._session, self._toggling, leg.proposal)
        say(self._text(legs, "table"), sys.stderr)
        for leg in todo:
            tell_of_handing_over(self._session, leg.proposal.toggle)
        action = action_words([leg.proposal.toggle for leg in todo])
        confirm(self._session.target, action, yes=self._args.yes)
        return self._ended(self._carry_out(legs))

    def _refused(self, legs: Sequence[_Leg]) -> int:
        if self._args.output != "table":
            self._answer(legs, "refused", "")
            return RefusedError.exit_code
        said = [text for leg in legs if not leg.on_its_way for text in leg.proposal.refusals]
        raise RefusedError("; ".join(said), hint="nothing was changed, of the others neither")

    # doing it

    def _carry_out(self, legs: Sequence[_Leg]) -> list[_Leg]:
        """All edits, one patch each, then what follows from each; a failure keeps no other from going on."""
        with cancellable() as cancel:
            now = list(legs)
            try:
                for at, leg in enumerate(now):
                    now[at] = self._edit(leg, cancel)
                deadline = time.monotonic() + self._args.timeout
                for at, leg in enumerate(now):
                    if (leg.is_made or leg.on_its_way) and self._args.wait:
                        now[at] = self._follow(leg, deadline, cancel)
            except CancelledError:
                if self._args.output != "table":
                    self._answer(now, "unfinished", "")
                raise
        return now

    def _edit(self, leg: _Leg, cancel: threading.Event) -> _Leg:
        if leg.proposal.is_done or leg.on_its_way:
            return leg
        try:
            generation = self._toggling.carry_out(leg.proposal, cancel)
        except CancelledError:
            raise
        except KymatuiError as error:
            return replace(leg, failed=str(error))
        say(f"  the entry of {leg.module} is edited", sys.stderr)
        return replace(leg, generation=generation, is_made=True, words="the Kyma is edited")

    def _follow(self, leg: _Leg, deadline: float, cancel: threading.Event) -> _Leg:
        def tell(stage: Stage) -> None:
            tell_stage(stage, f"{leg.module}: ")

        left = max(0.0, deadline - time.monotonic())
        try:
            last = self._toggling.follow(leg.proposal, leg.generation, self._changed, left, tell, cancel)
            handed = hand_over(self._session, leg.proposal.toggle)
        except CancelledError:
            raise
        except KymatuiError as error:
            return replace(leg, failed=str(error))
        return replace(leg, words=handed or last.words)

    def _ended(self, legs: Sequence[_Leg]) -> int:
        failed = [leg for leg in legs if leg.failed]
        whole = "done" if self._args.wait else "accepted"
        ended = [f"{leg.module}: {plain(leg.words)}" for leg in legs if leg.words and not leg.failed]
        self._answer(legs, "unfinished" if failed else whole, "\n".join(ended) or "none has come to its end")
        if failed:
            said = "; ".join(f"{leg.module}: {leg.failed}" for leg in failed)
            hint = "run it again to go on: what is done is done"
            raise PartlyDoneError(f"{len(failed)} of {len(legs)} are not done: {said}", hint=hint)
        return 0

    # telling it

    def _answer(self, legs: Sequence[_Leg], outcome: str, words: str) -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            whole = "done" if outcome == "unfinished" else outcome
            edits = [
                plan_json(self._session.name, leg.proposal, leg.outcome(whole), leg.failed or leg.words) for leg in legs
            ]
            made = {"cluster": self._session.name, "verb": self._args.verb, "edits": edits, "outcome": outcome}
            say(plan_document(self._session.target, made, form))
        else:
            say(words or self._text(legs, form))
        return 0

    def _text(self, legs: Sequence[_Leg], form: str) -> str:
        """One table of the edits, one of what becomes of which module, and what is to be known."""
        draw = markdown if form == "md" else table
        edits = [leg.proposal.edit for leg in legs if leg.proposal.edit is not None]
        lines = [list(line) for edit in edits for line in edit.lines()]
        parts = [draw(("FIELD", "BEFORE", "AFTER"), lines)] if lines else []
        effects = dict.fromkeys((one.module, one.words) for leg in legs for one in leg.proposal.effects)
        same = [(leg.module, "the Kyma says so already") for leg in legs if leg.proposal.is_done or leg.on_its_way]
        parts.append(draw(("MODULE", "EFFECT"), [list(one) for one in (*effects, *same)]))
        parts += [f"refused: {plain(text)}" for leg in legs if not leg.on_its_way for text in leg.proposal.refusals]
        parts += [f"warning: {plain(text)}" for text in dict.fromkeys(t for leg in legs for t in leg.proposal.warnings)]
        return plan_text(self._session.target, "\n\n".join(parts), form)
