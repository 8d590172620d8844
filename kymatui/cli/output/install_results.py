"""Installations in words and as documents: one has its own form, several have a table of all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from kymatui.cli.output.plan_changes import changes_text, plan_json, plan_summary
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.modules.install import InstallLeg
    from kymatui.actions.modules.upgrade import SkippedUpgrade
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.engine.plans.plan import Plan, Step

_SAME = "no changes"
_MOST_KEPT = 3  # objects that the last line names; the others are counted
_DONE = {"install": "installed", "upgrade": "upgraded", "adopt": "adopted"}


class InstallResults(Protocol):
    """How a batch is shown; what has an exit status returns it."""

    def refuse(self, legs: Sequence[InstallLeg]) -> KymatuiError:
        """Show what is refused, and return the error that says why."""
        ...

    def show(self, legs: Sequence[InstallLeg], outcome: str) -> int: ...

    def text(self, legs: Sequence[InstallLeg], form: str) -> str: ...

    def action(self, todo: Sequence[InstallLeg]) -> str:
        """Return what a person is asked for."""
        ...

    def begin(self, leg: InstallLeg) -> None: ...

    def stop(self, legs: Sequence[InstallLeg]) -> None:
        """Print that a person stopped it."""
        ...

    def end(self, legs: Sequence[InstallLeg]) -> int:
        """Raise what kept a leg from its end."""
        ...


def show_plan(target: ClusterTarget, plan: Plan, form: str, outcome: str) -> int:
    """Print one plan; its exit status."""
    if form in ("json", "yaml"):
        print_text(plan_document(target, plan_json(plan, outcome), form))
    elif outcome == "unchanged":
        print_line(f"{plan.bundle.name}: {_SAME} ({plan_summary([plan])})")
    else:
        print_text(plan_text(target, plan_summary([plan]), changes_text(plan, form), form))
    return 0


class OneInstall(Struct, frozen=True):
    """The one leg of a batch."""

    target: ClusterTarget
    args: argparse.Namespace

    def refuse(self, legs: Sequence[InstallLeg]) -> KymatuiError:
        from kymatui.engine.apply.plan_refusals import group_reasons, missing_rights_error, plan_title

        (leg,) = legs
        if leg.plan is None:
            assert leg.error is not None
            return leg.error
        self.show(legs, "refused")
        if not leg.plan.blockers:
            return missing_rights_error(f"{plan_title(leg.plan)} cannot be installed", leg.plan.missing)
        said = "; ".join(group_reasons(leg.plan.blockers))
        return RefusedError(f"{plan_title(leg.plan)} cannot be installed: {said}", hint=_way_out(leg.plan))

    def show(self, legs: Sequence[InstallLeg], outcome: str) -> int:
        return show_plan(self.target, _plan(legs[0]), self.args.output, outcome)

    def text(self, legs: Sequence[InstallLeg], form: str) -> str:
        plan = _plan(legs[0])
        return plan_text(self.target, plan_summary([plan]), changes_text(plan, form), form)

    def action(self, todo: Sequence[InstallLeg]) -> str:
        plan = _plan(todo[0])
        return f"{plan.user_verb.capitalize()} {plan.bundle.name} {plan.bundle.version}".rstrip()

    def begin(self, leg: InstallLeg) -> None:
        """Print the plan before it is carried out."""

    def stop(self, legs: Sequence[InstallLeg]) -> None:
        if self.args.output != "table":
            self.show(legs, "unfinished")

    def end(self, legs: Sequence[InstallLeg]) -> int:
        from kymatui.engine.jobs.wait import NotReadyError
        from kymatui.engine.plans.plan import Action

        (leg,) = legs
        if leg.error is not None:
            self.stop(legs)
            if leg.is_same and isinstance(leg.error, NotReadyError):
                raise PartlyDoneError(f"no changes to apply; {leg.error}", hint=leg.error.hint) from leg.error
            raise leg.error
        if leg.is_same:
            return self.show(legs, "unchanged")
        if self.args.output != "table":
            return self.show(legs, "done")
        plan, outcome = _plan(leg), leg.outcome
        assert outcome is not None
        counted = {
            "applied": len(outcome.written),
            "deleted": len(outcome.deleted),
            "unchanged": len(plan.of(Action.SAME)),
        }
        done = ", ".join(f"{number} {word}" for word, number in counted.items() if number)
        print_line(f"{plan.bundle.name} {plan.bundle.version}".rstrip() + f": {done}{_not_deleted(outcome.kept)}")
        if notes := plan.bundle.displayed_notes:
            print_text("")
            print_text(notes)
        return 0


def _not_deleted(kept: Sequence[Step]) -> str:
    """Return which objects of the earlier version stay, each with the reason; "" for none."""
    named = ", ".join(f"{step.ref} ({step.reason})" for step in kept[:_MOST_KEPT])
    more = f" and {len(kept) - _MOST_KEPT} more" if len(kept) > _MOST_KEPT else ""
    return f"; not deleted: {named}{more}" if kept else ""


def _plan(leg: InstallLeg) -> Plan:
    assert leg.plan is not None
    return leg.plan


def _way_out(plan: Plan) -> str:
    """Return what can be done where others own fields: nothing was changed so far."""
    owners = dict.fromkeys(conflict.manager for step in plan.blockers for conflict in step.conflicts)
    if not owners:
        return "no changes made"
    return f"no changes made; use --force to become the owner of the fields of {', '.join(owners)}"


class SeveralInstalls(Struct, frozen=True):
    """All legs of a batch; see `carry_out_installs`."""

    target: ClusterTarget
    args: argparse.Namespace
    cluster: str
    verb: str
    everything: bool
    left_out: Sequence[SkippedUpgrade]

    def refuse(self, legs: Sequence[InstallLeg]) -> KymatuiError:
        self._answer(legs, "refused")
        if self.everything:
            return RefusedError("no module can be upgraded", hint="no changes made")
        said = "; ".join(f"{leg.name}: {_trouble(leg)}" for leg in legs if leg.is_refused)
        return RefusedError(said, hint="no changes made; run the command again without the refused modules")

    def show(self, legs: Sequence[InstallLeg], outcome: str) -> int:
        return self._answer(legs, outcome, _SAME if outcome == "unchanged" else "")

    def text(self, legs: Sequence[InstallLeg], form: str) -> str:
        draw = markdown if form == "md" else table
        parts = [draw(("MODULE", "VERSION", "CHANGES"), [_row(leg) for leg in legs])]
        parts += [f"{leg.name}:\n\n{changes_text(_plan(leg), form)}" for leg in legs if leg.is_pending]
        return plan_text(self.target, _summary(legs), "\n\n".join(parts), form)

    def action(self, todo: Sequence[InstallLeg]) -> str:
        adopted = [leg.name for leg in todo if self.verb == "upgrade" and _plan(leg).intent.adopt]
        words = f"{self.verb.capitalize()} {', '.join(map(_named, todo))}"
        return f"{words} and adopt {', '.join(adopted)}" if adopted else words

    def begin(self, leg: InstallLeg) -> None:
        print_text(_named(leg), sys.stderr)

    def stop(self, legs: Sequence[InstallLeg]) -> None:
        self._answer(legs, "unfinished")

    def end(self, legs: Sequence[InstallLeg]) -> int:
        done = [leg for leg in legs if leg.outcome is not None and not leg.is_same]
        failed, word = [leg for leg in legs if _trouble(leg)], _DONE[self.verb]
        if not (done or failed):
            return self.show(legs, "unchanged")
        names = ", ".join(leg.name for leg in done)
        outcome = "unfinished" if failed else "done"
        self._answer(legs, outcome, f"{len(done)} {word}: {names}" if done else f"no module {word}")
        if failed:
            said = "; ".join(f"{leg.name}: {_trouble(leg)}" for leg in failed)
            missed = "ready" if all(leg.is_same for leg in failed) else word
            words = f"{len(failed)} of {format_count(len(legs), 'module')} not {missed}: {said}"
            raise PartlyDoneError(words, hint="run the command again to continue; completed modules are skipped")
        return 0

    def _answer(self, legs: Sequence[InstallLeg], outcome: str, words: str = "") -> int:
        form = self.args.output
        if form in ("json", "yaml"):
            print_text(plan_document(self.target, self._json(legs, outcome), form))
        elif words:
            print_line(words)
        elif outcome != "refused" or form == "md" or self.args.dry_run:
            print_text(self.text(legs, form))
        return 0

    def _json(self, legs: Sequence[InstallLeg], outcome: str) -> dict[str, Any]:
        def of(leg: InstallLeg) -> str:
            return "failed" if _trouble(leg) else "unchanged" if leg.is_same else outcome

        return {
            "cluster": self.cluster,
            "plans": [plan_json(_plan(leg), of(leg)) for leg in legs if not leg.is_refused],
            "failed": [{"name": leg.name, "reason": why} for leg in legs if (why := _trouble(leg))],
            "leftOut": [
                {"name": one.name, "namespace": one.namespace, "version": one.version or None, "reason": one.reason}
                for one in self.left_out
            ],
            "outcome": outcome,
        }


def _trouble(leg: InstallLeg) -> str:
    """Return why there is no plan that can be carried out, or why it did not come to its end; "" for neither."""
    if leg.plan is None and leg.error is not None:
        return f"{leg.error} ({leg.error.hint})" if leg.error.hint else str(leg.error)
    if leg.error is not None:
        return str(leg.error)
    plan = _plan(leg)
    if plan.missing and not plan.blockers:
        return f"you may not {', '.join(map(str, plan.missing[:3]))}"
    return "; ".join(f"{step.ref}: {step.reason}" for step in plan.blockers[:3])


def _named(leg: InstallLeg) -> str:
    return f"{leg.name} {leg.plan.bundle.version if leg.plan is not None else ''}".rstrip()


def _row(leg: InstallLeg) -> list[str]:
    if leg.is_refused:
        return [leg.name, "", f"refused: {_trouble(leg)}"]
    return [leg.name, _plan(leg).bundle.version, plan_summary([_plan(leg)])]


def _summary(legs: Sequence[InstallLeg]) -> str:
    """Return the summary of all plans, and how many modules are refused."""
    refused = sum(leg.is_refused for leg in legs)
    planned = plan_summary(_plan(leg) for leg in legs if not leg.is_refused)
    return planned + (f"; {format_count(refused, 'module')} refused" if refused else "")
