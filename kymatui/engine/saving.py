"""The backup of what an upgrade deletes: saved before anything is written, and again where it changed since."""

from __future__ import annotations

from collections.abc import Iterable

from kymatui.engine.concurrency import each
from kymatui.engine.deletion import uid_of
from kymatui.engine.plans import Action, Step
from kymatui.engine.ports import Object
from kymatui.engine.pruning import Loss, Losses
from kymatui.engine.running import Progress, Run


def saving(steps: Iterable[Step]) -> int:
    """Return how many objects a plan deletes, with all that goes with them: so many are saved first."""
    return sum(1 + len([uid for uid in step.takes if uid]) for step in steps if step.action is Action.DELETE)


def saving_words(steps: Iterable[Step]) -> str:
    """Return what a plan says of the backup, "" where it deletes nothing."""
    number = saving(steps)
    if number < 2:
        return "the object that this deletes is saved first" if number else ""
    return f"the {number} objects that this deletes are saved first"


def save_deletions(run: Run, steps: Iterable[Step], losses: Losses) -> None:
    """Save what the steps delete. Raises ConfigurationError where that cannot be written."""
    refs = [step.ref for step in steps if step.action is Action.DELETE]
    if run.backup is None or not refs:
        return
    found = [live for live in each(refs, run.cluster.get, run.cancel, run.limits.width) if live is not None]
    for live in found:
        save(run, live, losses.of(live))
    if found:
        run.tell(Progress(run.backup.words))


def save(run: Run, live: Object, loss: Loss) -> None:
    """Save an object and what goes with it, where the backup does not hold it as it is."""
    if run.backup is None:
        return
    for body in (live, *each(loss.refs, run.cluster.get, run.cancel, run.limits.width)):
        if body is not None and not run.backup.holds(uid_of(body), str(body["metadata"].get("resourceVersion") or "")):
            run.backup.save(body)
