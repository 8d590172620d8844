"""Deleting what a module's manager looks after, while the manager is still there to let it go.

What is left is counted again before every round: what users create meanwhile was accepted in no plan, and stops the
deletion. Nothing is remembered between two calls: the next, from any machine, starts from what the cluster says then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kymatui.domain.deletion import AcceptedObjects, named
from kymatui.domain.refs import ObjectRef
from kymatui.domain.texts import counted
from kymatui.engine.awaiting import THE_CLUSTERS, wait_gone
from kymatui.engine.concurrency import each
from kymatui.engine.deletion import delete_object
from kymatui.engine.finalizers import held_by
from kymatui.engine.ports import Object
from kymatui.engine.remaining import Instance, Instances
from kymatui.engine.running import Progress, Run
from kymatui.errors import PartlyDoneError, RefusedError

_ROUNDS: Final = 3
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person accepted.

    accepted        the objects that the plan displayed: no other is deleted
    cascade         what the module's users made, and its manager looks after, is deleted
    accept_unknown  kinds that may not be listed are taken for empty
    """

    accepted: AcceptedObjects
    cascade: bool = False
    accept_unknown: bool = False


def refuse_unless_agreed(remaining: Instances, name: str, consent: Consent) -> None:
    """Raises RefusedError where something is left of which nobody said that it may go; "forbidden" is not "none"."""
    if remaining.unknown and not consent.accept_unknown:
        said = ", ".join(f"{kind} ({reason})" for kind, reason in remaining.unknown)
        raise RefusedError(
            f"nobody knows whether {name} still manages something: {said}",
            hint="get the right to list them, or accept that they are not counted",
        )
    if remaining.theirs and not consent.cascade:
        raise RefusedError(
            f"{name} still manages {counted(len(remaining.theirs), 'object')}: {listed(remaining.theirs)}",
            hint="delete them first, or ask for it with cascade",
        )
    refuse_unseen(remaining, name, consent.accepted)


def refuse_unseen(remaining: Instances, name: str, accepted: AcceptedObjects) -> None:
    """Raise RefusedError that names what the plan did not display, and what the deletion would destroy or block."""
    if unseen := unseen_in(remaining.instances, accepted):
        raise RefusedError(
            f"{name}: {named(one.ref for one in unseen)} was created after the plan was displayed, and is not deleted",
            hint="run it again to review the new plan",
        )


def unseen_in(instances: Iterable[Instance], accepted: AcceptedObjects) -> tuple[Instance, ...]:
    """Return what the plan did not display; objects of Kubernetes' own kinds stay in any case."""
    return tuple(one for one in instances if not (one.shared or accepted.has(one.ref, one.uid)))


def listed(instances: Sequence[Instance]) -> str:
    """The first few by name, and how many more."""
    shown = ", ".join(f"{one.ref}{one.held}" for one in instances[:_SHOWN])
    return shown + (f" and {len(instances) - _SHOWN} more" if len(instances) > _SHOWN else "")


def clear(
    run: Run, name: str, count: Callable[[], Instances], consent: Consent, gone: list[ObjectRef], *, own: bool = True
) -> None:
    """Deletes the users' objects, then (with `own`) those that came with the module, and waits until all are gone.

    What went is added to `gone`. Objects of Kubernetes' own kinds are left alone: nobody can tell which are the
    module's. Raises RefusedError where something is left that was not accepted, PartlyDoneError with who has to act.
    """
    for _ in range(_ROUNDS):
        remaining = count()
        refuse_unless_agreed(remaining, name, consent)
        theirs = [one for one in remaining.theirs if not one.shared]
        some = theirs or [one for one in remaining.ours if own and not one.applied]
        if not some:
            return
        _remove(run, some, gone)
    left = [one for one in count().instances if not one.shared and not one.applied and (own or not one.ours)]
    if left:
        raise PartlyDoneError(f"somebody makes more of what {name} manages: {listed(left)}")


def _remove(run: Run, some: Sequence[Instance], gone: list[ObjectRef]) -> None:
    each(some, lambda one: _delete(run, one), run.cancel, run.limits.width)
    wait_until_gone(run, {one.ref: one.uid for one in some}, "which its manager looks after", gone)


def _delete(run: Run, one: Instance) -> None:
    """Delete only the object that was counted: another one of its name is counted again, and was not accepted."""
    if one.deleted_at is None:
        with run.step("delete", one.ref):
            was_there = delete_object(run, one.ref, one.uid, one.resource_version, propagation="Foreground")
        if was_there:
            run.tell(Progress(f"deleting {one.ref}", one.ref))


def wait_until_gone(run: Run, uids: dict[ObjectRef, str], why: str, gone: list[ObjectRef]) -> None:
    """Raises PartlyDoneError that names who has to act, where something is left when the time is over."""
    left = wait_gone(run, uids, run.limits.gone, held_by, uids)
    gone += [ref for ref in uids if ref not in left]
    if left:
        shown = sorted(left.items(), key=lambda pair: not _is_stuck(pair[1]))[:_SHOWN]
        said = "; ".join(f"{ref}{held_by(live)}" for ref, live in shown)
        more = f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        raise PartlyDoneError(f"{said}{more}, {why}", hint=who_acts(left.values()))


def _is_stuck(live: Object) -> bool:
    """Whether somebody other than the cluster itself holds it: such are named first."""
    return bool(set(live["metadata"].get("finalizers") or ()) - THE_CLUSTERS)


def who_acts(left: Iterable[Object]) -> str:
    """What a person can do about objects that do not go."""
    held = {name for live in left for name in live["metadata"].get("finalizers") or ()}
    if held and held <= THE_CLUSTERS:
        return "the cluster's own controllers take it away, which may take half a minute; run it again to go on waiting"
    return (
        "whoever set the finalizers has to remove them: see whether that controller runs, then run it again"
        if held
        else "run it again to go on waiting"
    )
