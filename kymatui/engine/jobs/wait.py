"""Waits for readiness and for deletion, with messages about the awaited objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import Readiness, check_readiness
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Object
from kymatui.engine.jobs.run import Progress, Run
from kymatui.errors import KymatuiError

_INSTANT: Final = frozenset(
    {
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("", "PersistentVolume"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "Ingress"),
        ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
        ("coordination.k8s.io", "Lease"),
        ("batch", "CronJob"),
        ("autoscaling", "HorizontalPodAutoscaler"),
    }
)
_INSTANT_GROUPS: Final = frozenset({"rbac.authorization.k8s.io", "admissionregistration.k8s.io"})
_WORTH_A_LIST: Final = 3  # from this number of objects, one list is cheaper than single reads
_REPAIR: Final = "see its events and logs; run the command again after the repair"
_AGAIN: Final = "run the command again to create it"
_FINAL: Final = frozenset({("batch", "Job"), ("", "Pod")})


class NotReadyError(KymatuiError):
    """An object failed permanently or was not ready in time; `waiting` has the reasons."""

    def __init__(self, message: str, waiting: Sequence[Readiness], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.waiting = tuple(waiting)


def has_readiness(ref: ObjectRef) -> bool:
    """Return whether readiness applies; an object that only holds data is ready when it exists."""
    return ref.kind.group not in _INSTANT_GROUPS and (ref.kind.group, ref.kind.kind) not in _INSTANT


def is_deleted_when_done(body: Object) -> bool:
    """Return whether a Job deletes itself after it has run, so that its absence means success."""
    ref = read_ref(body)
    is_job = (ref.kind.group, ref.kind.kind) == ("batch", "Job")
    return is_job and (body.get("spec") or {}).get("ttlSecondsAfterFinished") is not None


def wait_ready(
    run: Run, refs: Iterable[ObjectRef], seconds: float, vanishing: Collection[ObjectRef] = (), labels: str = ""
) -> None:
    """Wait until all objects are ready. Raises NotReadyError after a permanent failure or the time limit.

    What is in error for `run.limits.broken` seconds needs a person, which ends the wait, too.

    Those of `vanishing` (see `is_deleted_when_done`) are also ready when they are gone; others that are missing for
    `run.limits.absent` seconds count as deleted, which ends the wait. `labels` that select all of them, and few
    others, allow one list request for many.
    """
    pending = {ref: Readiness(State.PROCESSING, "not checked yet", ref) for ref in refs if has_readiness(ref)}
    if not pending:
        return
    total = len(pending)
    absent: dict[ObjectRef, float] = {}
    broken: dict[ObjectRef, float] = {}

    def consider(ref: ObjectRef, live: Object | None) -> None:
        readiness = _ready(live, ref, run.clock.now(), ref in vanishing)
        if readiness.ready:
            pending.pop(ref, None)
            return
        if pending.get(ref) != readiness:
            what = f"{ref}: {readiness.message}"
            run.report(Progress(f"waiting for {what}", ref, total - len(pending), total, Actor.NOBODY, what))
        pending[ref] = readiness
        if readiness.state is State.ERROR and (ref.kind.group, ref.kind.kind) in _FINAL:
            raise NotReadyError(f"{ref} {readiness.message}", [readiness])
        if readiness.state is not State.ERROR:
            broken.pop(ref, None)
        elif run.clock.now() - broken.setdefault(ref, run.clock.now()) >= run.limits.broken:
            raise NotReadyError(f"action needed: {ref} is not ready: {readiness.message}", [readiness], hint=_REPAIR)
        if live is not None:
            absent.pop(ref, None)
        elif run.clock.now() - absent.setdefault(ref, run.clock.now()) >= run.limits.absent:
            raise NotReadyError(f"{ref} is missing: another client has deleted it", [readiness], hint=_AGAIN)

    if not _follow(run, pending, consider, seconds, labels):
        waiting = list(pending.values())
        description = "; ".join(f"{ref} is not ready: {readiness.message}" for ref, readiness in pending.items())
        raise NotReadyError(f"after {seconds:.0f} s {description}", waiting, hint="see its events and logs")


CLUSTER_FINALIZERS: Final = frozenset(
    {"foregroundDeletion", "customresourcecleanup.apiextensions.k8s.io", "kubernetes.io/pvc-protection"}
)
"""Kubernetes' own finalizers. Its garbage collector knows a new kind only about 30 s after the CRD."""


def _who_lets_go(live: Object) -> Actor:
    held = set(live["metadata"].get("finalizers") or ()) - CLUSTER_FINALIZERS
    return Actor.MANAGER if held else Actor.NOBODY


def wait_until_deleted(
    run: Run, refs: Iterable[ObjectRef], seconds: float, words: Callable[[Object], str], uids: dict[ObjectRef, str]
) -> dict[ObjectRef, Object]:
    """Wait for deletions; return the remaining objects. `words` tells who has to act.

    An object with another uid than in `uids` is new, and the old one is deleted.
    """
    pending: dict[ObjectRef, Object | None] = dict.fromkeys(refs)
    total = len(pending)

    def consider(ref: ObjectRef, live: Object | None) -> None:
        if live is None or uids.get(ref) not in ("", None, live["metadata"].get("uid")):
            pending.pop(ref, None)
            return
        if pending.get(ref) is None or words(live) != words(pending[ref] or {}):
            message = f"waiting for the deletion of {ref}{words(live)}"
            what = f"{ref}: not deleted yet{words(live)}"
            run.report(Progress(message, ref, total - len(pending), total, _who_lets_go(live), what))
        pending[ref] = live

    if not pending or _follow(run, pending, consider, seconds):
        return {}
    return {ref: live for ref, live in pending.items() if live is not None}


def _follow(
    run: Run,
    pending: dict[ObjectRef, Readiness] | dict[ObjectRef, Object | None],
    consider: Callable[[ObjectRef, Object | None], None],
    seconds: float,
    labels: str = "",
) -> bool:
    """Read all objects, and then the changed ones, until none is pending; False after the time limit."""
    deadline = run.clock.now() + seconds

    def check(refs: Sequence[ObjectRef]) -> bool:
        for ref, live in _read(run, refs, labels).items():
            consider(ref, live)
        return not pending

    if check(list(pending)):
        return True
    with run.cluster.follow(_places(pending)) as changes:
        todo = list(pending)  # read all again: changes before the watch was open were missed
        while not check(todo):
            seconds_left = deadline - run.clock.now()
            if seconds_left <= 0:
                return False
            touched = changes.wait(min(seconds_left, run.limits.poll), run.cancel)
            todo = [ref for ref in pending if ref in touched] if touched else list(pending)
    return True


def _places(refs: Iterable[ObjectRef]) -> set[tuple[GroupVersionKind, str]]:
    """Return what to watch: a kind in many namespaces is watched once, in all of them."""
    kinds = {(ref.kind, ref.namespace) for ref in refs}
    counts = Counter(kind for kind, _ in kinds)
    return {(kind, namespace if counts[kind] <= _WORTH_A_LIST else "") for kind, namespace in kinds}


def _read(run: Run, refs: Sequence[ObjectRef], labels: str) -> dict[ObjectRef, Object | None]:
    """Return the objects, with one list request where labels select many in one namespace."""
    by_kind: dict[tuple[GroupVersionKind, str], list[ObjectRef]] = {}
    for ref in refs:
        by_kind.setdefault((ref.kind, ref.namespace), []).append(ref)
    bodies: dict[ObjectRef, Object | None] = {}
    for (kind, namespace), some in by_kind.items():
        if labels and len(some) >= _WORTH_A_LIST:
            listed = run.cluster.list(kind, namespace, labels=labels)
            by_name = {str(body["metadata"]["name"]): body for body in listed}
            bodies |= {ref: by_name[ref.name] for ref in some if ref.name in by_name}
    missing = [ref for ref in refs if ref not in bodies]
    return bodies | dict(
        zip(missing, run_for_each(missing, run.cluster.get, run.cancel, run.limits.width), strict=True)
    )


def _ready(live: Object | None, ref: ObjectRef, now: float, vanishing: bool) -> Readiness:
    if live is not None:
        return check_readiness(live, now)
    if vanishing:
        return Readiness(State.READY, "completed and deleted", ref)
    return Readiness(State.PROCESSING, "missing", ref)
