"""The backup of objects that an upgrade deletes, saved before any write, and again if they changed."""

from __future__ import annotations

from collections.abc import Iterable

from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Object
from kymatui.engine.deletion.cascade_contents import CascadeContents, ContainedObject
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.plans.plan import Action, Plan, Step


def describe_backup(plan: Plan) -> str:
    """Return the plan's note about the backup, "" if it deletes nothing."""
    number = plan.deletion_count
    what = "saved to a backup first" if plan.intent.backup else "not saved to a backup"
    if number < 2:
        return f"the object to delete is {what}" if number else ""
    return f"the {number} objects to delete are {what}"


def save_deletions(run: Run, steps: Iterable[Step], search: CascadeContents) -> None:
    """Save the objects that the steps delete. Raises ConfigurationError if the backup cannot be written."""
    refs = [step.ref for step in steps if step.action is Action.DELETE]
    if run.backup is None or not refs:
        return
    found = [live for live in run_for_each(refs, run.cluster.get, run.cancel, run.limits.width) if live is not None]
    for live in found:
        save(run, live, search.of(live))
    if found:
        run.report(Progress(run.backup.message))


def save(run: Run, live: Object, contents: Iterable[ContainedObject]) -> None:
    """Save an object and its dependents unless the backup already has their current state."""
    if run.backup is None:
        return
    refs = [one.ref for one in contents if one.ref is not None]
    for body in (live, *run_for_each(refs, run.cluster.get, run.cancel, run.limits.width)):
        if body is not None and not run.backup.holds(uid_of(body), str(body["metadata"].get("resourceVersion") or "")):
            run.backup.save(body)
