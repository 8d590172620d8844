"""Deleting what a module's manager looks after, while the manager is still there to let it go.

What is left is counted anew after every round, for users may make more of it while the rest goes. Nothing is remembered
between two calls: whoever calls again, from whatever machine, goes on with what the cluster says then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kymatui.domain.refs import ObjectRef
from kymatui.engine.awaiting import THE_CLUSTERS, wait_gone
from kymatui.engine.concurrency import each
from kymatui.engine.finalizers import held_by
from kymatui.engine.ports import Object
from kymatui.engine.remaining import Instance, Instances
from kymatui.engine.running import Progress, Run
from kymatui.errors import ConflictError, NotFoundError, PartlyDoneError, RefusedError

_ROUNDS: Final = 3
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person agreed to.

    cascade         what the module's users made, and its manager looks after, is deleted
    accept_unknown  kinds that may not be listed are taken for empty
    """

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
            f"{name} still manages {len(remaining.theirs)} object(s): {listed(remaining.theirs)}",
            hint="delete them first, or ask for it with cascade",
        )


def listed(instances: Sequence[Instance]) -> str:
    """The first few by name, and how many more."""
    shown = ", ".join(f"{one.ref}{one.held}" for one in instances[:_SHOWN])
    return shown + (f" and {len(instances) - _SHOWN} more" if len(instances) > _SHOWN else "")


def clear(
    run: Run, name: str, count: Callable[[], Instances], consent: Consent, gone: list[ObjectRef], *, own: bool = True
) -> None:
    """Deletes the users' objects, then (with `own`) those that came with the module, and waits until all are gone.

    What went is added to `gone`. Objects of Kubernetes' own kinds are left alone: nobody can tell which are the
    module's. Raises RefusedError before anything is deleted, PartlyDoneError with who has to act.
    """
    for _ in range(_ROUNDS):
        remaining = count()
        refuse_unless_agreed(remaining, name, consent)
        groups = [[one for one in remaining.theirs if not one.shared], [*remaining.ours] if own else []]
        if not any(groups):
            return
        for some in filter(None, groups):
            _remove(run, some, gone)
    left = [one for one in count().instances if not one.shared and (own or not one.ours)]
    if left:
        raise PartlyDoneError(f"somebody makes more of what {name} manages: {listed(left)}")


def _remove(run: Run, some: Sequence[Instance], gone: list[ObjectRef]) -> None:
    each(some, lambda one: _delete(run, one), run.cancel, run.limits.width)
    wait_until_gone(run, {one.ref: one.uid for one in some}, "which its manager looks after", gone)


def _delete(run: Run, one: Instance) -> None:
    """Only the object that was counted: another one of its name is counted again, and asked about."""
    if one.deleted_at is None:
        with run.step("delete", one.ref):
            try:
                run.cluster.delete(one.ref, uid=one.uid, propagation="Foreground")
            except (NotFoundError, ConflictError):
                return
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
