"""How far the application of a plan came when it was stopped: what is applied, not ready yet, and not applied."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.modules.readiness import check_readiness
from kymatui.engine.jobs.job_progress import APPLY_WORDS, DELETION_WORDS, JobProgress, read_at_stop
from kymatui.engine.jobs.run import Run
from kymatui.engine.jobs.wait import has_readiness
from kymatui.engine.plans.plan import Action, Plan


def apply_progress(
    plan: Plan, run: Run, written: Sequence[ObjectRef], deleted: Sequence[ObjectRef]
) -> tuple[JobProgress, ...]:
    """Return what is done and left of a plan, by object."""
    left = [step for step in plan.writes if step.ref not in {*written, *deleted}]
    starting = _starting(plan, run)
    name = plan.bundle.name
    undo = f"`kymatui delete {name}`" if plan.first and written else ""
    not_ready = {subject for subject, _ in starting}
    applied = tuple(subject for subject in map(str, written) if subject not in not_ready)
    not_applied = tuple(str(step.ref) for step in left if step.action is not Action.DELETE)
    not_deleted = tuple(str(step.ref) for step in left if step.action is Action.DELETE)
    return (
        JobProgress(APPLY_WORDS, applied, starting, not_applied, undo=undo),
        JobProgress(DELETION_WORDS, tuple(map(str, deleted)), left=not_deleted),
    )


def _starting(plan: Plan, run: Run) -> tuple[tuple[str, str], ...]:
    """Return the applied objects that are not ready, each with what it waits for."""
    refs = [ref for ref in map(read_ref, plan.bundle.objects) if has_readiness(ref)]
    bodies = read_at_stop(refs, lambda _: run.outside)
    found = zip(refs, bodies, strict=True) if bodies is not None else ()
    ready = ((ref, check_readiness(body, run.clock.now())) for ref, body in found if body is not None)
    return tuple((str(ref), one.message) for ref, one in ready if not one.ready)
