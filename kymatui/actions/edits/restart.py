"""The restart of a module's workloads: their Pods are replaced as after a change of the Pod template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from kymatui.actions.batch import BatchJob, Work
from kymatui.actions.edits.object_edit import ObjectEdit, ObjectEditing, ObjectItem, editable_fields, plan_object
from kymatui.domain.gitops import GitChanges
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.objects.description import find_owners
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.run import Progress, Run, begin
from kymatui.engine.jobs.wait import NotReadyError, wait_ready, wait_until_deleted
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError, NotFoundError, RefusedError

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""The annotation of a Pod template that `kubectl rollout restart` sets."""
_ROLLOUTS: Final = frozenset({("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")})


class Restart(ObjectEdit, frozen=True):
    """The restart of a workload, by an edit, or of one Pod, by its deletion.

    pods         how many Pods are replaced, all at once if it `stops_first`
    controller   what creates the Pod again; None for a workload
    """

    pods: int = 1
    stops_first: bool = False
    controller: ObjectRef | None = None

    @property
    def git(self) -> GitChanges:
        """Return (): no repository has the annotation or the Pod, so whoever applies the workload leaves it."""
        return ()

    @property
    def verb(self) -> str:
        return "change" if self.controller is None else "delete"

    @property
    def consequence(self) -> str:
        """Return what happens to its Pods."""
        if self.controller is not None:
            return f"deleted; its {self.controller.kind.kind} creates a new one"
        pods = format_count(self.pods, "Pod")
        return f"{pods} stopped before new ones start (Recreate)" if self.stops_first else f"{pods} replaced"


def restartable(refs: Iterable[ObjectRef]) -> tuple[ObjectRef, ...]:
    """Return the workloads whose Pods a rollout replaces: Deployments, StatefulSets, DaemonSets."""
    return tuple(ref for ref in refs if (ref.kind.group, ref.kind.kind) in _ROLLOUTS)


def is_pod(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == ("", "Pod")


def can_restart(ref: ObjectRef) -> bool:
    return is_pod(ref) or bool(restartable([ref]))


def plan_restarts(cluster: Cluster, workloads: Mapping[str, Sequence[ObjectRef]], now: float) -> list[ObjectItem]:
    """Return an item for each workload or Pod of modules, also of several, once; what cannot be restarted is refused.

    `now` is in seconds of the Unix clock.
    """
    items = list[ObjectItem]()
    modules = {ref: name for name, refs in reversed([*workloads.items()]) for ref in refs}
    for ref in dict.fromkeys(ref for refs in workloads.values() for ref in refs):
        module = modules[ref]
        try:
            edit = _plan(cluster, ref, now)
            has_work = edit.changes or edit.controller is not None
            items.append(ObjectItem(module, edit, Work.CHANGE if has_work else Work.NOTHING))
        except ForbiddenError as error:
            refusal = ForbiddenError(str(error), hint=role_hint("restart", module), status=403)
            items.append(ObjectItem(module, refusal=refusal))
        except (NotFoundError, RefusedError) as error:
            items.append(ObjectItem(module, refusal=error))
    return items


def _plan(cluster: Cluster, ref: ObjectRef, now: float) -> Restart:
    body = cluster.get(ref)
    if body is None:
        raise NotFoundError(f"{ref} no longer exists", status=404)
    if is_pod(ref):
        return _plan_pod(ref, body)
    spec, status = JsonReader(body).child("spec"), JsonReader(body).child("status")
    if spec.flag("paused"):
        raise RefusedError(f"{ref} is paused: nothing is restarted before its rollout is resumed", unchanged=True)
    if spec.child("updateStrategy").text("type") == "OnDelete":
        raise RefusedError(f"{ref} replaces a Pod only when it is deleted (OnDelete)", unchanged=True)
    if partition := spec.child("updateStrategy").child("rollingUpdate").integer("partition"):
        why = f"replaces only its Pods from number {partition} on (rollingUpdate.partition)"
        hint = "`kymatui restart MODULE --object Pod/NAME` replaces one of them"
        raise RefusedError(f"{ref} {why}", hint=hint, unchanged=True)
    is_daemon_set = ref.kind.kind == "DaemonSet"
    pods = status.integer("desiredNumberScheduled") if is_daemon_set else spec.integer("replicas", 1)
    if not pods:
        raise RefusedError(f"{ref} has no Pods to restart: it is scaled to zero", unchanged=True)
    own = editable_fields(body)
    edit = plan_object(cluster, body, own, _restarted(own, now))
    return Restart(
        **{name: getattr(edit, name) for name in ObjectEdit.__struct_fields__},
        pods=pods,
        stops_first=spec.child("strategy").text("type") == "Recreate",
    )


def _plan_pod(ref: ObjectRef, body: Mapping[str, Any]) -> Restart:
    controller = next((owner.ref for owner in find_owners(dict(body)) if owner.is_controller), None)
    if controller is None:
        raise RefusedError(f"{ref} has no controller that would create it again", unchanged=True)
    if JsonReader(body).child("status").text("phase") in ("Succeeded", "Failed"):
        raise RefusedError(f"{ref} has ended; its {controller.kind.kind} does not create it again", unchanged=True)
    return Restart(ref, body, {}, (), {}, controller=controller)


def _restarted(body: Mapping[str, Any], now: float) -> dict[str, Any]:
    template = body["spec"]["template"]
    metadata = template.get("metadata") or {}
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {**(metadata.get("annotations") or {}), RESTARTED_AT: stamp}
    changed = {**template, "metadata": {**metadata, "annotations": annotations}}
    return {**body, "spec": {**body["spec"], "template": changed}}


def require_restart_right(cluster: Cluster, restart: ObjectEdit, hint: str = "") -> None:
    """Raise ForbiddenError where the user may not patch the workload, or delete the Pod."""
    verb, ref = "delete" if is_pod(restart.ref) else "patch", restart.ref
    if not cluster.allowed(verb, ref.kind, ref.namespace, ref.name):
        raise ForbiddenError(f"you may not {verb} {ref} in {cluster.name}", hint=hint, status=403)


class Restarting(ObjectEditing):
    """The restarts, and the wait for the new Pods, of `seconds` for all; 0 does not wait."""

    def __init__(self, cluster: Cluster, seconds: float, report: Callable[[Progress], None]) -> None:
        super().__init__(cluster)
        self._seconds, self._report = seconds, report

    def run(self, item: ObjectItem, job: BatchJob) -> ObjectItem:
        restart = item.required_plan
        if not is_pod(restart.ref) or restart.before is None:
            return super().run(item, job)
        with job.journal.step(restart.verb, restart.ref), suppress(NotFoundError):
            self._cluster.delete(restart.ref, uid=restart.before["metadata"]["uid"], cancel=job.cancel)
        return replace(item, result={})

    def follow(self, items: list[ObjectItem], job: BatchJob) -> None:
        if not self._seconds:
            return
        with begin(self._cluster, cancel=job.cancel, journal=job.journal, progress=self._report) as run:
            deadline = run.clock.now() + self._seconds
            for number, item in enumerate(items):
                if item.result is None:
                    continue
                try:
                    _wait(run, item.required_plan, deadline)
                except CancelledError:
                    raise
                except KymatuiError as error:
                    items[number] = replace(item, error=error)


def _wait(run: Run, restart: ObjectEdit, deadline: float) -> None:
    awaited = restart.ref
    if isinstance(restart, Restart) and restart.controller is not None and restart.before is not None:
        uids = {restart.ref: str(restart.before["metadata"]["uid"])}
        seconds = max(deadline - run.clock.now(), 0.0)
        if wait_until_deleted(run, [restart.ref], seconds, lambda live: "", uids):
            raise NotReadyError(
                f"after {seconds:.0f} s {restart.ref} is not deleted yet", (), hint="see its finalizers"
            )
        awaited = restart.controller
    wait_ready(run, [awaited], max(deadline - run.clock.now(), 0.0))
