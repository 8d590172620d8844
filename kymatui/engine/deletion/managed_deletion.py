"""Deletion of a module's managed resources, while its manager can still remove their finalizers.

Every round counts again: an object that users create meanwhile was in no plan, and stops the deletion. Nothing is
stored between two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of, format_count
from kymatui.domain.ownership import ObjectOwnership, describe_objects, resource_policy
from kymatui.domain.plans.backups import AcceptedObjects, summarize_names
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import deletion_blocker
from kymatui.engine.cluster.ports import Object
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.engine.jobs.object_deletion import ObjectDeletion, delete_object
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.jobs.wait import CLUSTER_FINALIZERS, wait_until_deleted
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError

_ROUNDS: Final = 3  # managers may create more objects while theirs are deleted
_SHOWN: Final = 10  # objects that a message names; the others are counted


class DeletionConsent(Struct, frozen=True):
    """The user's consent.

    accepted        the displayed objects; no others are deleted
    cascade         delete the users' objects that the manager handles
    accept_unknown  treat kinds that cannot be listed as empty
    """

    accepted: AcceptedObjects
    cascade: bool = False
    accept_unknown: bool = False


def require_consent(remaining: ManagedObjects, name: str, consent: DeletionConsent) -> None:
    """Raise RefusedError if an object or an unlisted kind lacks consent; "forbidden" is not "none"."""
    require_known(remaining, name, consent)
    require_cascade(remaining.theirs, name, consent)
    refuse_unplanned(remaining, name, consent.accepted)


def require_known(remaining: ManagedObjects, name: str, consent: DeletionConsent) -> None:
    """Raise RefusedError for kinds that cannot be listed, unless a person takes them for empty."""
    if remaining.unknown and not consent.accept_unknown:
        kinds = ", ".join(f"{kind} ({reason})" for kind, reason in remaining.unknown)
        raise RefusedError(
            f"it is unknown whether {name} still manages objects of: {kinds}",
            hint="get the right to list them, or accept that they are not counted (--accept-unknown)",
        )


def require_cascade(blocking: Sequence[ManagedObject], name: str, consent: DeletionConsent) -> None:
    """Raise RefusedError that says whose objects block the deletion, unless a person agreed to delete them."""
    if blocking and not consent.cascade:
        raise RefusedError(
            f"{name} still manages {_counted(blocking)}: {format_resources(blocking)}",
            hint="delete them first, or delete them with the module (--cascade)",
        )


def _counted(blocking: Sequence[ManagedObject]) -> str:
    """Return the number of objects, with whose they are where they are not all users'."""
    number = format_count(len(blocking), "object")
    if all(
        managed_object.ownership is not ObjectOwnership.DEFAULT_CR and not managed_object.owner
        for managed_object in blocking
    ):
        return number
    return f"{number} ({describe_objects(managed_object.owned for managed_object in blocking)})"


def refuse_unplanned(remaining: ManagedObjects, name: str, accepted: AcceptedObjects) -> None:
    """Raise RefusedError that names the objects that the plan did not display."""
    if unseen := unplanned_resources(remaining.instances, accepted):
        raise RefusedError(
            f"{name}: not deleted: {summarize_names(instance.ref for instance in unseen)}, "
            "created after the plan was displayed",
            hint="run the command again to review the new plan",
        )


def unplanned_resources(instances: Iterable[ManagedObject], accepted: AcceptedObjects) -> tuple[ManagedObject, ...]:
    """Return the objects that the plan did not display, without those that stay anyway."""
    return tuple(instance for instance in instances if not (instance.stays or accepted.has(instance.ref, instance.uid)))


def format_resources(instances: Sequence[ManagedObject]) -> str:
    """Return the first few objects and the number of the rest."""
    return first_of((f"{instance.ref}{instance.held}" for instance in instances), _SHOWN)


def delete_managed_resources(
    run: Run,
    name: str,
    count: Callable[[], ManagedObjects],
    consent: DeletionConsent,
    gone: list[ObjectRef],
    *,
    own: bool = True,
) -> None:
    """Delete the users' objects, then (with `own`) those of the module, and wait until all are gone.

    Deleted objects are added to `gone`. What is shared, kept or another installation's stays. Raises RefusedError for
    objects without consent, PartlyDoneError with who has to act.
    """

    def goes(managed_object: ManagedObject) -> bool:
        return not managed_object.stays and consent.accepted.may_delete(managed_object.ref, managed_object.uid)

    for _ in range(_ROUNDS):
        remaining = count()
        require_consent(remaining, name, consent)
        theirs = [managed_object for managed_object in remaining.theirs if goes(managed_object)]
        some = theirs or [
            managed_object
            for managed_object in remaining.ours
            if own and not managed_object.applied and goes(managed_object)
        ]
        if not some:
            return
        _remove(run, some, gone)
    staying = [
        instance
        for instance in count().instances
        if goes(instance) and not instance.applied and (own or not instance.ours)
    ]
    if staying:
        raise PartlyDoneError(f"another client keeps creating objects that {name} manages: {format_resources(staying)}")


def _remove(run: Run, some: Sequence[ManagedObject], gone: list[ObjectRef]) -> None:
    sent: list[ObjectRef] = []
    try:
        ended = run_for_each(
            some, lambda managed_object: _delete(run, managed_object, sent), run.cancel, run.limits.width
        )
    except KymatuiError:
        gone += sent  # nothing brings back what the server accepted before another request failed
        raise
    going = {
        managed_object.ref: managed_object.uid
        for managed_object, end in zip(some, ended, strict=True)
        if end is not ObjectDeletion.KEPT
    }
    require_deleted(run, going, "managed objects", gone)


def _delete(run: Run, managed_object: ManagedObject, sent: list[ObjectRef]) -> ObjectDeletion:
    """Delete only the counted object; a recreated one is counted again and was not accepted."""
    if managed_object.deleted_at is not None:
        return ObjectDeletion.STARTED
    with run.step("delete", managed_object.ref):
        ended = delete_object(
            run,
            managed_object.ref,
            managed_object.uid,
            managed_object.resource_version,
            propagation="Foreground",
            keeps=resource_policy,
        )
    if ended in (ObjectDeletion.STARTED, ObjectDeletion.GONE):
        sent.append(managed_object.ref)
        run.report(Progress(f"deleting {managed_object.ref}", managed_object.ref))
    return ended


def require_deleted(run: Run, uids: dict[ObjectRef, str], what: str, gone: list[ObjectRef]) -> None:
    """Wait for the deletions. Raises PartlyDoneError that names who has to act after the time limit."""
    remaining = wait_until_deleted(run, uids, run.limits.gone, deletion_blocker, uids)
    gone += [ref for ref in uids if ref not in remaining]
    if remaining:
        finalizers = {ref: set(live["metadata"].get("finalizers") or ()) for ref, live in remaining.items()}
        shown = sorted(remaining.items(), key=lambda pair: finalizers[pair[0]] <= CLUSTER_FINALIZERS)
        description = first_of((f"{ref}{deletion_blocker(live)}" for ref, live in shown), _SHOWN, "; ")
        raise PartlyDoneError(f"{what} not deleted yet: {description}", hint=blocked_deletion_hint(remaining.values()))


def blocked_deletion_hint(bodies: Iterable[Object]) -> str:
    """Return the hint for objects whose deletion is blocked."""
    held = {name for live in bodies for name in live["metadata"].get("finalizers") or ()}
    if held and held <= CLUSTER_FINALIZERS:
        return "Kubernetes deletes it within about half a minute; run the command again to keep waiting"
    return (
        "check that the controller that set the finalizers is running, then run the command again"
        if held
        else "run the command again to keep waiting"
    )
