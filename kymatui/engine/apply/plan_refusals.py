"""The reasons why a plan cannot be applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.engine.cluster.cluster_identity import cluster_identity, refuse_another_cluster
from kymatui.engine.jobs.run import Run
from kymatui.engine.plans.plan import Action, Plan, RequiredPermission, Step
from kymatui.errors import RefusedError


def refuse_blocked_plan(plan: Plan, run: Run) -> None:
    """Raise RefusedError if the plan is for another cluster, has blockers, or needs missing permissions."""
    refuse_foreign_plan(plan, run)
    if plan.blockers:
        said = "; ".join(group_reasons(plan.blockers))
        conflicts = any(step.action is Action.CONFLICT for step in plan.blockers)
        hint = "use --force to take over the fields" if conflicts else "no changes made"
        raise RefusedError(f"{plan_title(plan)} cannot be installed: {said}", hint=hint)
    if plan.missing:
        raise missing_rights_error(f"{plan_title(plan)} cannot be installed", plan.missing)


def missing_rights_error(refused: str, missing: Iterable[RequiredPermission]) -> RefusedError:
    """Return the refusal of what needs permissions that the user lacks."""
    rights = ", ".join(map(str, missing))
    return RefusedError(f"{refused}: you may not {rights}", hint="ask for these rights; no changes made")


def plan_title(plan: Plan) -> str:
    """Return name and source of the bundle."""
    name, address = plan.bundle.name, plan.bundle.origin.address
    return f"{name} from {address}" if address else name


def refuse_foreign_plan(plan: Plan, run: Run) -> None:
    """Raise RefusedError if the plan was made for another cluster, also for one of the same name."""
    refuse_another_cluster(plan.cluster, run.cluster)
    found = cluster_identity(run.cluster) if plan.identity else ""
    if found and found != plan.identity:
        message = f"the plan is for another cluster that is also called {plan.cluster}"
        raise RefusedError(message, hint="plan again; no changes made")


def group_reasons(steps: Iterable[Step]) -> Iterator[str]:
    """Yield each reason once, with the objects that it concerns."""
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(_because(step), []).append(str(step.ref))
    for reason, names in found.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield f"{', '.join(names[:5])}{more}: {reason}"


def _because(step: Step) -> str:
    if step.action is not Action.CONFLICT:
        return step.reason
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in step.conflicts)
