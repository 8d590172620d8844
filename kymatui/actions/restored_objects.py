"""The objects of backups are created again: planned, and then created; what exists stays as it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectKey, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.ownership import LABEL_PART_OF
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds, install_waves, is_definition
from kymatui.engine.cluster.ports import NAMESPACE, Cluster
from kymatui.engine.cluster.request_scope import note_permission, note_write, optional_requests
from kymatui.engine.jobs.job_progress import CREATION_WORDS, JobProgress
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.run import USER_ACTION_SECONDS
from kymatui.errors import CancelledError, ClusterError, ConflictError, ForbiddenError, InvalidError, NotFoundError

if TYPE_CHECKING:
    from kymatui.engine.plans.plan import FieldDiff

Object = dict[str, Any]
_LOOK = 0.5  # seconds between two looks for a kind that is not served yet, and for what is still being deleted
_LEAVING = "being terminated"  # of a namespace, as the server says it
_GOING = "it is still being deleted"


class RestoreVerdict(StrEnum):
    """What will become of one object."""

    CREATE = "create"
    THERE = "there"
    BLOCKED = "blocked"


class RestoreStep(Struct, frozen=True):
    """One object of a backup; `changes` are its fields, of what is there those that are not as the backup has them.

    What is blocked and not `is_going`, by a deletion that ends on its own, only a person can unblock.
    """

    ref: ObjectRef
    fate: RestoreVerdict
    reason: str = ""
    changes: tuple[FieldDiff, ...] = ()
    is_going: bool = False


class RestoreResult(Struct, frozen=True):
    """What came of a restoration; `failed` has the reasons."""

    created: tuple[ObjectRef, ...] = ()
    existing: tuple[ObjectRef, ...] = ()
    failed: tuple[tuple[ObjectRef, str], ...] = ()

    @property
    def summary(self) -> str:
        """Return how many objects are created, exist already, and failed."""
        existing = f", {len(self.existing)} already existed" if self.existing else ""
        return f"{len(self.created)} created{existing}" + (f", {len(self.failed)} failed" if self.failed else "")


# owners: a reference has the uid of an owner, and a restored owner has another one; the garbage collector deletes an
# object at once whose owners do not exist under their uids


class Owners(Struct, frozen=True):
    """The owner references of the objects of a backup, by the object that is owned."""

    of: dict[ObjectRef, tuple[Object, ...]]
    saved: frozenset[ObjectRef]

    def lost(self, ref: ObjectRef, cluster: Cluster) -> tuple[str, ...]:
        """Return the owners that are neither in the backup nor in the cluster."""
        return tuple(
            _name(owner)
            for owner in self.of.get(ref, ())
            if not self.saved.intersection(_places(owner, ref)) and _uid(owner, ref, cluster) is None
        )

    def attach(self, ref: ObjectRef, body: Object, cluster: Cluster) -> tuple[Object, tuple[str, ...]]:
        """Return an object with the owners that exist now, and the names of those that do not."""
        owners = [(owner, _uid(owner, ref, cluster)) for owner in self.of.get(ref, ())]
        alive = [{**owner, "uid": uid} for owner, uid in owners if uid is not None]
        lost = tuple(_name(owner) for owner, uid in owners if uid is None)
        return {**body, "metadata": {**body["metadata"], "ownerReferences": alive}} if alive else body, lost

    def first(self, waves: Iterable[Sequence[Object]]) -> Iterator[tuple[Object, ...]]:
        """Yield the waves, with objects behind their owners; owners that own each other are yielded last."""
        done: set[ObjectRef] = set()
        waiting: list[Object] = []
        for wave in waves:
            ready = [body for body in wave if not self._waits(read_ref(body), done)]
            waiting += [body for body in wave if self._waits(read_ref(body), done)]
            done |= {read_ref(body) for body in ready}
            yield tuple(ready)
        while waiting:
            ready = [body for body in waiting if not self._waits(read_ref(body), done)] or waiting
            done |= {read_ref(body) for body in ready}
            waiting = [body for body in waiting if read_ref(body) not in done]
            yield tuple(ready)

    def _waits(self, ref: ObjectRef, done: set[ObjectRef]) -> bool:
        owners = {owner_ref for owner in self.of.get(ref, ()) for owner_ref in _places(owner, ref)}
        return bool(owners & self.saved - done)


def detach_owners(objects: Iterable[Object]) -> tuple[list[Object], Owners]:
    """Return objects without owners and finalizers, and the owners.

    Each controller sets its finalizers again; those of a controller that is gone would block the next deletion.
    """
    some = list(objects)
    owners = {read_ref(body): tuple((body.get("metadata") or {}).get("ownerReferences") or ()) for body in some}
    freed = [
        {
            **body,
            "metadata": {
                name: value
                for name, value in (body.get("metadata") or {}).items()
                if name not in ("ownerReferences", "finalizers")
            },
        }
        for body in some
    ]
    return freed, Owners(owners, frozenset(owners))


def _places(owner: Object, ref: ObjectRef) -> tuple[ObjectRef, ObjectRef]:
    """Return the owner as an object of the cluster, and of the namespace of what it owns."""
    kind = GroupVersionKind.of(str(owner.get("apiVersion") or ""), str(owner.get("kind") or ""))
    owner_ref = ObjectRef(kind, "", str(owner.get("name") or ""))
    return owner_ref, replace(owner_ref, namespace=ref.namespace)


def _uid(owner: Object, ref: ObjectRef, cluster: Cluster) -> str | None:
    """Return the owner's uid now; None where it does not exist, is being deleted, or cannot be read."""
    everywhere, inside = _places(owner, ref)
    served = cluster.kind(everywhere.kind)
    if served is None:
        return None
    try:
        with optional_requests():
            live = cluster.get(inside if served.namespaced else everywhere)
    except ForbiddenError:
        return None
    if live is None or live["metadata"].get("deletionTimestamp"):
        return None
    return uid_of(live) or None


def _name(owner: Object) -> str:
    return f"{owner.get('kind')} {owner.get('name')}"


# seeing


def plan_restore(objects: Sequence[Object], cluster: Cluster) -> tuple[RestoreStep, ...]:
    """Return what would become of each, in the order of installation; asks the server without writing anything."""
    freed, owners = detach_owners(objects)
    inside = [body for wave in owners.first(install_waves(freed)) for body in wave]
    kinds = frozenset(defined_kinds(body for body in inside if is_definition(read_ref(body))))
    names = frozenset(ref.name for ref in map(read_ref, inside) if ref.kind == NAMESPACE)
    namespaces = sorted({ref.namespace for ref in map(read_ref, inside)} - {""})
    stop = threading.Event()
    presence = run_for_each(
        [ObjectRef(NAMESPACE, "", name) for name in namespaces], lambda ref: _is_there(ref, cluster), stop
    )
    missing = frozenset(name for name, is_present in zip(namespaces, presence, strict=True) if not is_present)
    preview = _Sight(cluster, kinds, names, missing, owners)
    return tuple(run_for_each(inside, preview.of, stop))


def restore_refusal(plan: Sequence[RestoreStep]) -> str:
    """Return why nothing of a backup can be created, "" if something can be, or if all of it already exists.

    An object that is still being deleted is waited for.
    """
    blocked = [step for step in plan if step.fate is RestoreVerdict.BLOCKED]
    if not blocked or any(step.is_going or step.fate is RestoreVerdict.CREATE for step in plan):
        return ""
    reasons = "; ".join(list(dict.fromkeys(step.reason for step in blocked))[:3])
    return f"no object of the backup can be created now: {reasons}"


def _is_there(ref: ObjectRef, cluster: Cluster) -> bool:
    """Return whether an object exists; True if the user may not read it."""
    try:
        with optional_requests():
            return cluster.get(ref) is not None
    except ForbiddenError:  # creating it reports the missing permission, or that it exists
        return True


class _Sight(Struct, frozen=True):
    """What comes with the backup, and which namespaces are missing now."""

    cluster: Cluster
    kinds: frozenset[GroupVersionKind]
    namespaces: frozenset[str]
    missing: frozenset[str]
    owners: Owners

    def of(self, body: Object) -> RestoreStep:
        from kymatui.engine.plans.plan import diff_objects

        ref = read_ref(body)
        try:
            with optional_requests():
                live = self.cluster.get(ref)
        except ForbiddenError as error:
            return RestoreStep(ref, RestoreVerdict.CREATE, f"not checked: {error}", diff_objects(None, body))
        if live is not None and (live.get("metadata") or {}).get("deletionTimestamp"):
            return RestoreStep(ref, RestoreVerdict.BLOCKED, f"{_GOING}; kymatui waits for that", is_going=True)
        if live is not None:
            note_permission("get", ref.kind, ref.namespace, ref.name)
            apart = tuple(difference for difference in diff_objects(live, body) if difference.after is not None)
            reason = "already exists, differs from the backup; not changed" if apart else "already exists; not changed"
            return RestoreStep(ref, RestoreVerdict.THERE, reason, apart)
        fate, reason = self._of_missing(ref, body)
        if fate is RestoreVerdict.CREATE:
            note_write("create", ref, body)
            if ref.kind == NAMESPACE:  # the administrator who grants rights in it creates it
                note_permission("get", ref.kind, "", ref.name)
        if fate is RestoreVerdict.CREATE and (lost := self.owners.lost(ref, self.cluster)):
            reason = "; ".join(filter(None, (reason, without_owners(lost))))
        return RestoreStep(ref, fate, reason, diff_objects(None, body))

    def _of_missing(self, ref: ObjectRef, body: Object) -> tuple[RestoreVerdict, str]:
        served = self.cluster.kind(ref.kind)
        if served is None:
            if ref.kind in self.kinds:
                return RestoreVerdict.CREATE, "its CRD is created first"
            return RestoreVerdict.BLOCKED, f"the cluster does not serve {ref.kind}: install the module first"
        if served.namespaced and not ref.namespace:
            return RestoreVerdict.BLOCKED, f"the backup names no namespace for this {ref.kind.kind}: add it to the file"
        if ref.namespace in self.missing:
            if ref.namespace in self.namespaces:
                return RestoreVerdict.CREATE, f"namespace {ref.namespace} is created first"
            return RestoreVerdict.BLOCKED, f"namespace {ref.namespace} does not exist"
        empty = "without its data: a backup holds no values of Secrets" if _is_secret(body) else ""
        return (RestoreVerdict.CREATE, empty) if self.cluster.read_only else self._tried(body, empty)

    def _tried(self, body: Object, note: str) -> tuple[RestoreVerdict, str]:
        try:
            self.cluster.create(body, dry_run=True)
        except ConflictError:  # created after it was read as missing
            return RestoreVerdict.THERE, "another client has just created it"
        except (NotFoundError, ForbiddenError, InvalidError) as error:
            return RestoreVerdict.BLOCKED, str(error)
        return RestoreVerdict.CREATE, note


def without_owners(lost: Sequence[str]) -> str:
    """Return that an object is created without these owners."""
    return f"without its owner {', '.join(lost)}, which does not exist"


def _is_secret(body: Object) -> bool:
    return body.get("kind") == "Secret" and body.get("apiVersion") == "v1"


# doing


def restore(
    objects: Sequence[Object],
    cluster: Cluster,
    plan: Sequence[RestoreStep],
    *,
    report: Callable[[str], None] = lambda words: None,
    wait: Callable[[str], None] = lambda words: None,
    cancel: threading.Event | None = None,
    timeout: float = 0.0,
    journal: Journal = NO_JOURNAL,
) -> RestoreResult:
    """Create what the plan displayed as missing, in the order of installation, and leaves what is there as it is.

    What cannot be created keeps nothing else from it. A kind or a namespace that is not there yet, and an object that
    is still being deleted, is waited for, all in all `timeout` seconds, and `USER_ACTION_SECONDS` where only a person
    can bring it; `wait` is told so. Raises CancelledError, which
    says how far it came; a second run goes on there.
    """
    began = time.monotonic()
    yours = frozenset(step.ref for step in plan if step.fate is RestoreVerdict.BLOCKED and not step.is_going)
    until = began + min(timeout, USER_ACTION_SECONDS)
    run = _Run(cluster, cancel or threading.Event(), began + timeout, wait, yours, until)
    stays = frozenset(step.ref for step in plan if step.fate is RestoreVerdict.THERE)
    restored: list[ObjectRef] = []
    existing: list[ObjectRef] = []
    failed: list[tuple[ObjectRef, str]] = run.failed
    lost_kinds: set[GroupVersionKind] = set()
    freed, owners = detach_owners(objects)
    for wave in owners.first(install_waves(freed)):
        for body in wave:
            if run.stop.is_set():
                raise _stopped(restored, plan)
            ref = read_ref(body)
            if ref.kind in lost_kinds:
                failed.append((ref, "its CRD was not created"))
                continue
            lost: tuple[str, ...] = ()
            if ref not in stays:
                body, lost = owners.attach(ref, body, cluster)
            try:
                is_new = run.stays(ref) if ref in stays else run.create(ref, body, journal)
            except (NotFoundError, InvalidError, ForbiddenError, ConflictError) as error:
                if run.stop.is_set():  # it was still waited for
                    raise _stopped(restored, plan) from error
                failed.append((ref, str(error)))
                lost_kinds.update(defined_kinds([body] if is_definition(ref) else []))
            else:
                (restored if is_new else existing).append(ref)
                created = f"created {without_owners(lost)}" if lost else "created"
                report(f"{ref} {created if is_new else 'already exists'}")
        cluster.forget_kinds()
    return RestoreResult(tuple(restored), tuple(existing), tuple(failed))


def _stopped(created: Sequence[ObjectRef], plan: Sequence[RestoreStep]) -> CancelledError:
    remaining = (step.ref for step in plan if step.fate is not RestoreVerdict.THERE and step.ref not in created)
    progress = JobProgress(CREATION_WORDS, tuple(map(str, created)), remaining=tuple(map(str, remaining)))
    words = f"stopped: {len(created)} of {format_count(len(plan), 'object')} created; they stay"
    return CancelledError(words, hint="restore again to continue", progress=(progress,))


def was_installed_here(objects: Sequence[Object]) -> bool:
    """Return whether kymatui had installed some of it: what comes back from a file is nobody's until it is adopted."""
    labels = ((body.get("metadata") or {}).get("labels") or {} for body in objects)
    return any(LABEL_PART_OF in some for some in labels)


def _needed(ref: ObjectRef, body: Object) -> set[ObjectKey]:
    """Return what has to exist before an object: its namespace, and the role that it binds."""
    role = body.get("roleRef") or {}
    kind = replace(ref.kind, kind=str(role.get("kind") or ""))
    namespace = ref.namespace if kind.kind == "Role" else ""
    return {ObjectRef(NAMESPACE, "", ref.namespace).key, ObjectRef(kind, namespace, str(role.get("name") or "")).key}


class _Run(Struct):
    cluster: Cluster
    stop: threading.Event
    deadline: float
    wait: Callable[[str], None]
    yours: frozenset[ObjectRef]
    yours_until: float
    failed: list[tuple[ObjectRef, str]] = field(default_factory=list)
    told: set[ObjectRef] = field(default_factory=set)

    def stays(self, ref: ObjectRef) -> bool:
        """Return False for what the plan displayed as there. Raises NotFoundError where it was deleted since."""
        if not _is_there(ref, self.cluster):
            raise NotFoundError("deleted after the plan was displayed; restore again to create it", status=404)
        return False

    def create(self, ref: ObjectRef, body: Object, journal: Journal) -> bool:
        """Return whether it was created; False where it is there to stay."""
        while True:
            try:
                with journal.step("create", ref):
                    self.cluster.create(body)
            except ConflictError:
                if not self._is_going(ref):
                    return False
                self._patient(ref, ConflictError(f"{ref}: {_GOING}", hint="restore again after it is deleted"))
            except (NotFoundError, ForbiddenError) as error:
                if isinstance(error, ForbiddenError) and _LEAVING not in str(error):
                    raise
                if not _needed(ref, body).isdisjoint(failed.key for failed, _ in self.failed):
                    raise
                self._patient(ref, error)
                self.cluster.forget_kinds()
            else:
                return True

    def _is_going(self, ref: ObjectRef) -> bool:
        live = self.cluster.get(ref)
        return live is None or bool((live.get("metadata") or {}).get("deletionTimestamp"))

    def _patient(self, ref: ObjectRef, error: ClusterError) -> None:
        """Wait a moment, or raises the error where there is no time left."""
        if time.monotonic() >= (self.yours_until if ref in self.yours else self.deadline):
            raise error
        if ref not in self.told:
            self.told.add(ref)
            self.wait(f"{ref} is not created yet: {error}")
        if self.stop.wait(_LOOK):
            raise error
