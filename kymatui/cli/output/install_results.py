"""Installations in words and as documents."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from kymatui.actions.batch import Work
from kymatui.actions.modules.install import InstallItem
from kymatui.actions.modules.upgrade import SkippedUpgrade
from kymatui.cli.output.batch_view import BatchQuestion, BatchView
from kymatui.cli.output.plan_changes import (
    change_counts,
    changes_text,
    plan_document,
    plan_json,
    plan_summary,
    plan_text,
)
from kymatui.cli.output.printing import print_text
from kymatui.domain.kubernetes.terminal_text import first_of, format_count, sanitize
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.engine.apply.applier import ApplyOutcome
from kymatui.engine.jobs.wait import NotReadyError
from kymatui.engine.plans.plan import Action, Plan, Step
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError

_MOST_KEPT = 3  # objects that the last line names; the others are counted
_DONE = {"install": "installed", "upgrade": "upgraded", "adopt": "adopted"}


def print_plan(target: ClusterTarget, plan: Plan, form: str) -> None:
    """Print one plan that is not applied now."""
    if form in ("json", "yaml"):
        print_text(plan_document(target, plan_json(plan, "planned"), form))
    else:
        print_text(plan_text(target, plan_summary([plan]), changes_text(plan, form), form))


class InstallView(BatchView["Plan", "ApplyOutcome"]):
    """Installations, upgrades or adoptions; `left_out` are modules that `--all` does not upgrade."""

    def __init__(
        self,
        target: ClusterTarget,
        args: argparse.Namespace,
        cluster: str,
        verb: str,
        left_out: Sequence[SkippedUpgrade] = (),
        *,
        kind: str = "",
        is_list: bool,
    ) -> None:
        super().__init__(target, args, cluster, is_list=is_list)
        self.kind, self._verb, self.undone = kind or verb, verb, f"not {_DONE[verb]}"
        self.further_fields = {"leftOut": left_out_json(left_out)}

    def summary(self, items: Sequence[InstallItem]) -> str:
        """Return the summary of all plans, and how many modules are refused."""
        refused = sum(item.refusal is not None for item in items) if self.is_list else 0
        planned = plan_summary(item.plan for item in items if item.plan and not (refused and item.refusal))
        return planned + (f"; {format_count(refused, 'module')} refused" if refused else "")

    def item_text(self, item: InstallItem, form: str) -> str:
        text = changes_text(item.required_plan, form)
        return f"{item.name}:\n\n{text}" if self.is_list else text

    def row(self, item: InstallItem) -> list[str]:
        if item.refusal is not None:
            return [item.name, "", f"refused: {self.trouble(item)}"]
        return [item.name, item.required_plan.bundle.version, plan_summary([item.required_plan])]

    def unchanged(self, items: Sequence[InstallItem]) -> str:
        if self.is_list:
            return "no changes"
        plan = items[0].required_plan
        return sanitize(f"{plan.bundle.name}: no changes ({plan_summary([plan])})")

    def item_document(self, item: InstallItem, outcome: str) -> dict[str, Any]:
        return plan_json(item.required_plan, outcome)

    def item_outcome(self, item: InstallItem, outcome: str) -> str:
        return "failed" if item.error or item.refusal else outcome if item.is_pending else "unchanged"

    def question(self, items: Sequence[InstallItem]) -> BatchQuestion:
        plans = [item.required_plan for item in items]
        adopted = [item.name for item in items if self._verb == "upgrade" and item.required_plan.intent.adopt]
        verb = self._verb if self.is_list else plans[0].user_verb
        action = f"{verb.capitalize()} {', '.join(map(_named, items))}"
        if self.is_list and adopted:
            action = f"{action} and adopt {', '.join(adopted)}"
        modules = tuple(plan.bundle.name for plan in plans)
        return BatchQuestion(action, change_counts(plans), modules, self._options(items))

    def _options(self, items: Sequence[InstallItem]) -> dict[str, str]:
        """Return the version that the accepted plan has, so that what continues it installs no other one."""
        is_file = any(getattr(self.args, name, "") for name in ("file", "kustomize", "component", "plan", "image"))
        if self.is_list or is_file:
            return {}
        bundle = items[0].required_plan.bundle
        namespace = {"namespace": bundle.namespace} if bundle.release is not None else {}
        return {"version": bundle.version, **namespace} if bundle.version else namespace

    def started(self, item: InstallItem) -> str:
        return _named(item)

    def outcome(self, items: Sequence[InstallItem]) -> str:
        return "done" if any(item.is_pending for item in items) else "unchanged"

    def lines(self, items: Sequence[InstallItem]) -> str:
        done = [item for item in items if item.result is not None and item.is_pending]
        if self.is_list:
            word = _DONE[self._verb]
            return f"{len(done)} {word}: {', '.join(item.name for item in done)}" if done else f"no module {word}"
        return "\n".join(_result_line(item.required_plan, item.result) for item in done if item.result is not None)

    def refusal(self, items: Sequence[InstallItem]) -> KymatuiError:
        if getattr(self.args, "all", False):
            return RefusedError("no module can be upgraded", unchanged=True)
        return super().refusal(items)

    def failure(self, items: Sequence[InstallItem]) -> KymatuiError:
        if all(item.work is Work.WAIT for item in items if item.error is not None or item.refusal is not None):
            self.undone = "not ready"
        error = super().failure(items)
        if isinstance(error, NotReadyError) and items[0].work is Work.WAIT:
            return PartlyDoneError(f"no changes to apply; {error}", hint=error.hint)
        return error


def left_out_json(left_out: Sequence[SkippedUpgrade]) -> list[dict[str, str | None]]:
    return [
        {
            "name": upgrade.name,
            "namespace": upgrade.namespace,
            "version": upgrade.version or None,
            "reason": upgrade.reason,
        }
        for upgrade in left_out
    ]


def _result_line(plan: Plan, outcome: ApplyOutcome) -> str:
    """Return what was done, with the notes of a chart below it."""
    counted = {"applied": len(outcome.written), "deleted": len(outcome.deleted), "unchanged": len(plan.of(Action.SAME))}
    done = ", ".join(f"{number} {word}" for word, number in counted.items() if number)
    name = f"{plan.bundle.name} {plan.bundle.version}".rstrip()
    line = sanitize(f"{name}: {done}{_not_deleted(outcome.kept)}")
    return "\n\n".join(filter(None, (line, plan.bundle.displayed_notes)))


def _not_deleted(kept: Sequence[Step]) -> str:
    """Return which objects of the earlier version stay, each with the reason; "" for none."""
    named = first_of((f"{step.ref} ({step.reason})" for step in kept), _MOST_KEPT)
    return f"; not deleted: {named}" if kept else ""


def _named(item: InstallItem) -> str:
    return f"{item.name} {item.required_plan.bundle.version}".rstrip()
