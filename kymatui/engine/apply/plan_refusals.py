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
    refusal = plan_refusal(plan)
    if refusal is not None:
        raise refusal


def plan_refusal(plan: Plan) -> RefusedError | None:
    """Return why the plan cannot be applied: blockers or missing permissions; None if it can."""
    refused = f"{plan_title(plan)} cannot be installed"
    if plan.blockers:
        owners = dict.fromkeys(conflict.manager for step in plan.blockers for conflict in step.conflicts)
        force = f"; use --force to become the owner of the fields of {', '.join(owners)}" if owners else ""
        return RefusedError(f"{refused}: {'; '.join(group_reasons(plan.blockers))}", hint=f"no changes made{force}")
    return missing_rights_error(refused, plan.missing) if plan.missing else None


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
    identity = cluster_identity(run.cluster) if plan.identity else ""
    if identity and identity != plan.identity:
        message = f"the plan is for another cluster that is also called {plan.cluster}"
        raise RefusedError(message, hint="plan again; no changes made")


def group_reasons(steps: Iterable[Step]) -> Iterator[str]:
    """Yield each reason once, with the objects that it concerns."""
    groups: dict[str, list[str]] = {}
    for step in steps:
        groups.setdefault(_because(step), []).append(str(step.ref))
    for reason, names in groups.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield f"{', '.join(names[:5])}{more}: {reason}"


def _because(step: Step) -> str:
    if step.action is not Action.CONFLICT:
        return step.reason
    return ", ".join(f"{conflict.path} is owned by {conflict.manager}" for conflict in step.conflicts)
