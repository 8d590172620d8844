"""Several installations or upgrades as one plan: one table, one question, one after the other.

What cannot be planned speaks against the whole where a person named it, and is left out where everything was meant.
What fails keeps nothing else from going on, and the end says what is done and what is not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kymatui.cli.commands.modules.install import plan_install
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, ProgressPrinter, cancellable, refuse_managed
from kymatui.cli.output.plan_changes import change_counts, changes_text, counts, plan_json
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, say, table
from kymatui.errors import CancelledError, KymatuiError, OutdatedError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.actions.modules.upgrade import SkippedUpgrade
    from kymatui.engine.jobs.run import Run
    from kymatui.engine.plans.plan import Plan

_ATTEMPTS = 4
_SAME = "everything is as it should be"
_DONE = {"install": "installed", "upgrade": "upgraded", "adopt": "taken over"}


@dataclass(frozen=True, slots=True)
class InstallOrder:
    """One module, and where it comes from; `namespace` is "" where the source says it.

    `shown` is what it is called where another one has the same name.
    """

    name: str
    source: ModuleSource
    namespace: str = ""
    shown: str = ""

    def __str__(self) -> str:
        return self.shown or self.name


@dataclass(frozen=True, slots=True)
class _Leg:
    """One order with what became of it: a plan, or why there is none; `failed` says why it did not come to its end."""

    order: InstallOrder
    plan: Plan | None = None
    refused: str = ""
    failed: str = ""
    done: bool = False

    @property
    def trouble(self) -> str:
        return self.refused or self.failed

    @property
    def is_same(self) -> bool:
        return self.plan is not None and self.plan.changes_nothing


def install_batch(
    place: CommandContext,
    verb: str,
    orders: Sequence[InstallOrder],
    *,
    everything: bool = False,
    left_out: Sequence[SkippedUpgrade] = (),
) -> int:
    """`verb` is install, upgrade or adopt; `everything` says that nobody named them one by one."""
    return _Several(place, verb, orders, everything, left_out).go()


class _Several:
    """One run."""

    def __init__(
        self,
        place: CommandContext,
        verb: str,
        orders: Sequence[InstallOrder],
        everything: bool,
        left_out: Sequence[SkippedUpgrade],
    ) -> None:
        self._place, self._args, self._verb = place, place.args, verb
        self._orders, self._everything, self._left_out = orders, everything, left_out

    def go(self) -> int:
        legs = [self._leg(order) for order in self._orders]
        refused = [leg for leg in legs if leg.refused]
        todo = [leg for leg in legs if leg.plan is not None and not leg.is_same and not leg.refused]
        if refused and (not self._everything or not todo):
            self._answer(legs, "refused")
            raise self._refusal(refused)
        if self._args.dry_run:
            return self._answer(legs, "planned") if todo else self._answer(legs, "unchanged", _SAME)
        if todo:
            if self._args.output == "table":
                say(self._text(legs, "table"), sys.stderr)
            steps = [step for leg in todo if leg.plan is not None for step in leg.plan.steps]
            adopted = [str(leg.order) for leg in todo if self._verb == "upgrade" and _adopts(leg)]
            action = f"{self._verb.capitalize()} {', '.join(map(_named, todo))}"
            action += f" and adopt {', '.join(adopted)}" if adopted else ""
            confirm(self._place.target, action, change_counts(steps), yes=self._args.yes)
        return self._ended(self._carry_out(legs))

    def _leg(self, order: InstallOrder) -> _Leg:
        try:
            made = self._planned(order)
        except KymatuiError as error:
            return _Leg(order, refused=f"{error} ({error.hint})" if error.hint else str(error))
        blockers = "; ".join(f"{step.ref}: {step.reason}" for step in made.blockers[:3])
        return _Leg(order, made, refused=blockers)

    def _planned(self, order: InstallOrder) -> Plan:
        must_exist = self._verb == "upgrade"
        return plan_install(self._place, order.name, order.source, order.namespace, must_exist=must_exist)

    def _refusal(self, refused: Sequence[_Leg]) -> KymatuiError:
        if self._everything:
            return RefusedError("none of it can be upgraded", hint="nothing was changed")
        said = "; ".join(f"{leg.order}: {leg.refused}" for leg in refused)
        return RefusedError(said, hint="nothing was changed; the others go without it")

    # doing it

    def _carry_out(self, legs: Sequence[_Leg]) -> list[_Leg]:
        """A person who stops it stops all that has not begun. What is the same is waited for all the same."""
        ended: list[_Leg] = []
        with cancellable() as cancel:
            for leg in legs:
                if leg.plan is None or leg.refused:
                    ended.append(leg)
                    continue
                if not leg.is_same:
                    say(_named(leg), sys.stderr)
                try:
                    ended.append(replace(self._apply(leg, cancel), done=not leg.is_same))
                except CancelledError:
                    self._answer([*ended, *legs[len(ended) :]], "unfinished")
                    raise
                except KymatuiError as error:
                    ended.append(replace(leg, failed=str(error)))
        return ended

    def _apply(self, leg: _Leg, cancel: Any) -> _Leg:
        from kymatui.composition.modules.apply_plan import begin_plan
        from kymatui.engine.apply.applier import apply
        from kymatui.engine.jobs.run import RunLimits

        plan, seconds = leg.plan, self._args.timeout
        for attempt in range(_ATTEMPTS):
            assert plan is not None
            refuse_managed(self._place, plan.bundle.name, direct=True)  # others work on, too
            limits = RunLimits(ready=seconds, hooks=seconds, gone=seconds)
            run: Run
            try:
                with begin_plan(plan, self._place.cluster, cancel, ProgressPrinter(), limits) as run:
                    apply(plan, run, wait=self._args.wait, just_made=self._args.yes)
                return replace(leg, plan=plan)
            except OutdatedError as error:  # nothing was written: somebody else was faster
                if not self._args.yes or attempt == _ATTEMPTS - 1:
                    raise
                say(f"kymatui: {error}; it is planned anew", sys.stderr)
                plan = self._planned(leg.order)
                if plan.blockers:
                    raise
        raise AssertionError

    def _ended(self, legs: Sequence[_Leg]) -> int:
        done, failed = [leg for leg in legs if leg.done], [leg for leg in legs if leg.trouble]
        word = _DONE[self._verb]
        if not (done or failed):
            return self._answer(legs, "unchanged", _SAME)
        names = ", ".join(str(leg.order) for leg in done)
        outcome = "unfinished" if failed else "done"
        self._answer(legs, outcome, f"{len(done)} {word}: {names}" if done else f"nothing was {word}")
        if failed:
            said = "; ".join(f"{leg.order}: {leg.trouble}" for leg in failed)
            hint = "run it again to go on"
            missed = "ready" if all(leg.is_same for leg in failed) else word
            raise PartlyDoneError(f"{len(failed)} of {len(legs)} are not {missed}: {said}", hint=hint)
        return 0

    # telling it

    def _answer(self, legs: Sequence[_Leg], outcome: str, words: str = "") -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            say(plan_document(self._place.target, self._json(legs, outcome), form))
        elif words:
            say(words)
        elif outcome != "refused" or form == "md" or self._args.dry_run:
            say(self._text(legs, form))
        return 0

    def _json(self, legs: Sequence[_Leg], outcome: str) -> dict[str, Any]:
        def of(leg: _Leg) -> str:
            return "failed" if leg.trouble else "unchanged" if leg.is_same else outcome

        return {
            "cluster": self._place.cluster.name,
            "plans": [plan_json(leg.plan, of(leg)) for leg in legs if leg.plan is not None and not leg.refused],
            "failed": [{"name": str(leg.order), "reason": leg.trouble} for leg in legs if leg.trouble],
            "leftOut": [
                {"name": one.name, "namespace": one.namespace, "version": one.version or None, "reason": one.reason}
                for one in self._left_out
            ],
            "outcome": outcome,
        }

    def _text(self, legs: Sequence[_Leg], form: str) -> str:
        draw = markdown if form == "md" else table
        parts = [draw(("MODULE", "TO", "WHAT"), [_row(leg) for leg in legs])]
        parts += [
            f"{leg.order}:\n\n{changes_text(leg.plan, form)}"
            for leg in legs
            if leg.plan is not None and not leg.refused and not leg.is_same
        ]
        return plan_text(self._place.target, "\n\n".join(parts), form)


def _named(leg: _Leg) -> str:
    version = leg.plan.bundle.version if leg.plan is not None else ""
    return f"{leg.order} {version}".rstrip()


def _adopts(leg: _Leg) -> bool:
    return leg.plan is not None and leg.plan.intent.adopt


def _row(leg: _Leg) -> list[str]:
    if leg.plan is None or leg.refused:
        return [str(leg.order), "", f"refused: {leg.refused}"]
    return [str(leg.order), leg.plan.bundle.version, counts(leg.plan.steps)]
