"""The backup of objects that an upgrade deletes, saved before any write, and again if they changed."""

from __future__ import annotations

from collections.abc import Iterable

from kymatui.engine.apply.prune import CascadeLoss, CascadeLosses
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Object
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.plans.plan import Action, Plan, Step


def count_deletions(steps: Iterable[Step]) -> int:
    """Return the number of objects that a plan deletes, with all dependents."""
    return sum(1 + len([uid for uid in step.takes if uid]) for step in steps if step.action is Action.DELETE)


def count_saved(plan: Plan) -> int:
    """Return the number of objects that are saved before the plan deletes them."""
    return count_deletions(plan.steps) if plan.intent.backup else 0


def describe_backup(plan: Plan) -> str:
    """Return the plan's note about the backup, "" if it deletes nothing."""
    number = count_deletions(plan.steps)
    what = "saved first" if plan.intent.backup else "not saved"
    if number < 2:
        return f"the object that this deletes is {what}" if number else ""
    return f"the {number} objects that this deletes are {what}"


def save_deletions(run: Run, steps: Iterable[Step], losses: CascadeLosses) -> None:
    """Save the objects that the steps delete. Raises ConfigurationError if the backup cannot be written."""
    refs = [step.ref for step in steps if step.action is Action.DELETE]
    if run.backup is None or not refs:
        return
    found = [live for live in run_for_each(refs, run.cluster.get, run.cancel, run.limits.width) if live is not None]
    for live in found:
        save(run, live, losses.of(live))
    if found:
        run.tell(Progress(run.backup.words))


def save(run: Run, live: Object, loss: CascadeLoss) -> None:
    """Save an object and its dependents unless the backup already has their current state."""
    if run.backup is None:
        return
    for body in (live, *run_for_each(loss.refs, run.cluster.get, run.cancel, run.limits.width)):
        if body is not None and not run.backup.holds(uid_of(body), str(body["metadata"].get("resourceVersion") or "")):
            run.backup.save(body)
