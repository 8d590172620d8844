"""Readiness of objects with a reason, and lifecycle-manager's coarser state.

The rules follow `kubectl rollout status` and the controllers' conditions. An object without any status counts as
starting for `ROLLOUT_GRACE` seconds, and as broken after that.

Why the Pods of a workload do not run: the cause behind a rollout that is stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.label_selectors import LabelSelector, read_selector
from kymatui.domain.kubernetes.object_meta import (
    Condition,
    ObjectMeta,
    find_condition,
    read_conditions,
    read_meta,
    read_ref,
)
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.snapshots import Object

_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_CONFIGURATION: Final = "CreateContainerConfigError"  # a Secret or ConfigMap of the container is missing
_CRASH: Final = "CrashLoopBackOff"
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_VOLUME_EVENTS: Final = frozenset({"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"})
_MISSING: Final = ("not found", "notfound", "manifest unknown")
_DENIED: Final = ("unauthorized", "forbidden", "denied", "authentication required")
_LONGEST: Final = 300  # characters of a server's message


class PodFailure(Struct, frozen=True):
    """Why a Pod does not run, and who has to act; `crashed` is the container whose log says more, "" for none."""

    pod: ObjectRef
    message: str
    actor: Actor
    crashed: str = ""


def pods_of(workload: Object, pods: Iterable[Object]) -> list[Object]:
    """Return the Pods that a workload's selector matches, the newest first."""
    selector = read_selector(JsonReader(workload).child("spec").child("selector").raw)
    if not isinstance(selector, LabelSelector) or selector.empty:
        return []
    namespace = read_ref(workload).namespace
    metas = [(read_meta(JsonReader(raw)), raw) for raw in pods]
    matching = [(meta, raw) for meta, raw in metas if meta.namespace == namespace and selector.matches(meta.labels)]
    return [raw for _, raw in sorted(matching, key=lambda pair: (-(pair[0].created or 0.0), pair[0].name))]


def find_pod_failure(workload: Object, pods: Iterable[Object], events: Iterable[Object] = ()) -> PodFailure | None:
    """Return what keeps the newest failing Pod of a workload from running, None if no Pod says so."""
    listed = tuple(events)
    failures = (_failure(raw, listed) for raw in pods_of(workload, pods) if not read_meta(JsonReader(raw)).deleting)
    return next(filter(None, failures), None)


def _failure(pod: Object, events: Iterable[Object]) -> PodFailure | None:
    ref, status = read_ref(pod), JsonReader(pod).child("status")
    scheduled = find_condition(read_conditions(status), "PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return PodFailure(ref, f"cannot be scheduled: {_line(scheduled.message)}", Actor.CLUSTER)
    for container in _containers(status):
        failure = _of_container(ref, container)
        if failure is not None:
            return failure
    if status.text("phase") == "Failed":
        reason = ": ".join(filter(None, (status.text("reason"), status.text("message"))))
        return PodFailure(ref, f"has failed: {_line(reason) or 'no reason'}", Actor.CLUSTER)
    return (
        _of_events(ref, events)
        if any(_is_starting(container_status) for container_status in _containers(status))
        else None
    )


def _containers(status: JsonReader) -> Iterator[JsonReader]:
    yield from status.children("initContainerStatuses")
    yield from status.children("containerStatuses")


def _is_starting(container: JsonReader) -> bool:
    state = container.child("state")
    return state.has("waiting") and state.child("waiting").text("reason") in _STARTING


def _of_container(ref: ObjectRef, container: JsonReader) -> PodFailure | None:
    name, state = container.text("name"), container.child("state")
    waiting, ended = state.child("waiting"), state.child("terminated")
    reason, message = waiting.text("reason"), waiting.text("message")
    if reason in _IMAGE:
        return _of_image(ref, container.text("image"), message)
    if reason == _CRASH:
        return _crash(ref, name, container.child("lastState").child("terminated"))
    if reason == _CONFIGURATION:
        return PodFailure(ref, f"cannot start: {_line(message)}", Actor.YOU)
    if reason not in _STARTING:
        words = f"{reason}, {_line(message)}" if message else reason
        return PodFailure(ref, f"cannot start container {name}: {words}", Actor.CLUSTER)
    if state.has("terminated") and ended.integer("exitCode"):
        return _crash(ref, name, ended)
    return None


def _of_image(ref: ObjectRef, image: str, message: str) -> PodFailure:
    lower = message.lower()
    if any(word in lower for word in _DENIED):
        return PodFailure(ref, f"cannot start: the registry refuses to hand out image {image}", Actor.CLUSTER)
    if any(word in lower for word in _MISSING):
        return PodFailure(ref, f"cannot start: image {image} is not in the registry", Actor.CATALOG)
    detail = f": {_line(message)}" if message else ""
    return PodFailure(ref, f"cannot start: image {image} cannot be pulled{detail}", Actor.CLUSTER)


def _crash(ref: ObjectRef, name: str, ended: JsonReader) -> PodFailure:
    """Return a crash with the last line that the container wrote, if its Pod has it."""
    if ended.text("reason") == "OOMKilled":
        return PodFailure(ref, f"crashes: container {name} needs more memory than its limit", Actor.YOU, name)
    status = f" with exit status {ended.integer('exitCode')}" if ended.has("exitCode") else ""
    last = next((line.strip() for line in reversed(ended.text("message").splitlines()) if line.strip()), "")
    return PodFailure(
        ref, f"crashes: container {name} ends{status}{f': {_line(last)}' if last else ''}", Actor.YOU, name
    )


def _of_events(ref: ObjectRef, events: Iterable[Object]) -> PodFailure | None:
    """Return why a volume or the network of a Pod cannot be set up: only events say so."""
    for raw in events:
        reader = JsonReader(raw)
        about = reader.child("involvedObject")
        if (about.text("kind"), about.text("namespace"), about.text("name")) != ("Pod", ref.namespace, ref.name):
            continue
        if reader.text("reason") in _VOLUME_EVENTS:
            message = reader.text("message")
            is_missing = any(word in message.lower() for word in _MISSING)
            actor = Actor.YOU if is_missing else Actor.CLUSTER
            return PodFailure(ref, f"cannot start: {_line(message)}", actor)
    return None


def _line(message: str) -> str:
    """Return a server's message in one line without a full stop."""
    return " ".join(message.split())[:_LONGEST].removesuffix(".")


LABEL_MODULE = "kyma-project.io/module"
"""The label of a module's objects by the modules' authors."""
ROLLOUT_GRACE = 300.0  # seconds in which a rollout counts as starting, and not as broken


class Readiness(Struct, frozen=True):
    """The readiness of an object.

    `rolling` means that old and new pods coexist; `flaws` are the unreadable fields.
    """

    state: State
    message: str
    ref: ObjectRef | None = None
    rolling: bool = False
    scaled_to_zero: bool = False
    flaws: tuple[Flaw, ...] = ()

    @property
    def ready(self) -> bool:
        return self.state is State.READY


class _Seen(Struct, frozen=True):
    """The parsed parts of one object; `patient` is true while it may still be starting."""

    meta: ObjectMeta
    spec: JsonReader
    status: JsonReader
    conditions: tuple[Condition, ...]
    now: float

    @property
    def patient(self) -> bool:
        return self.meta.created is None or self.now - self.meta.created < ROLLOUT_GRACE

    @property
    def unseen(self) -> bool:
        """Return whether the controller has not observed the newest generation."""
        return self.status.integer("observedGeneration", self.meta.generation) < self.meta.generation

    def condition(self, kind: str) -> Condition | None:
        return find_condition(self.conditions, kind)

    def is_true(self, kind: str, status: str = "True") -> bool:
        condition = self.condition(kind)
        return condition is not None and condition.status == status

    def not_yet(self, words: str, *, rolling: bool = False) -> Readiness:
        """Return Processing while the object may be starting, Error afterwards."""
        return Readiness(State.PROCESSING if self.patient else State.ERROR, words, rolling=rolling)


def _because(condition: Condition | None) -> str:
    if condition is None:
        return ""
    text = ": ".join(part for part in (condition.reason, condition.message) if part)
    return f" ({text})" if text else ""


def _deployment(observed: _Seen) -> Readiness:
    if observed.unseen:
        return Readiness(State.PROCESSING, "rollout starting", rolling=True)
    progressing, available = observed.condition("Progressing"), observed.condition("Available")
    desired = observed.spec.integer("replicas", 1)
    updated, total = observed.status.integer("updatedReplicas"), observed.status.integer("replicas")
    availability = observed.status.integer("availableReplicas")
    if observed.is_true("ReplicaFailure"):
        return Readiness(State.ERROR, f"pods cannot be created{_because(observed.condition('ReplicaFailure'))}")
    if progressing is not None and progressing.reason == "ProgressDeadlineExceeded":
        return Readiness(State.ERROR, f"the rollout is stuck{_because(progressing)}", rolling=total > updated)
    if desired == 0 and total == 0:
        return Readiness(State.READY, "scaled to zero", scaled_to_zero=True)
    paused = ", paused" if observed.spec.flag("paused") else ""
    if updated < desired and (observed.conditions or observed.status.raw):
        return _rolling_deployment(observed, f"{updated} of {desired} pods updated{paused}", available)
    if total > updated:
        old = format_count(total - updated, "old pod")
        lacking = observed.status.integer("unavailableReplicas")
        if lacking and updated:  # old pods stay until the new ones are available
            words = f"{format_count(lacking, 'new pod')} not available yet, {old} still running{paused}"
            return Readiness(State.PROCESSING, words, rolling=True)
        return Readiness(State.PROCESSING, f"{old} still running{paused}", rolling=True)
    if availability < desired:
        return _unavailable(observed, f"{availability} of {desired} pods available{paused}", available)
    return Readiness(State.READY, f"{availability} of {desired} pods available{paused}")


def _rolling_deployment(observed: _Seen, words: str, available: Condition | None) -> Readiness:
    if available is None and not observed.conditions:
        return observed.not_yet(f"{words}; no status yet", rolling=True)
    return Readiness(State.PROCESSING, words, rolling=True)


def _unavailable(observed: _Seen, words: str, available: Condition | None) -> Readiness:
    if available is None:
        return observed.not_yet(words if observed.status.raw else "starting: no status yet")
    if available.status == "True":
        return Readiness(State.PROCESSING, words)
    since = available.since
    if since is not None and observed.now - since >= ROLLOUT_GRACE:
        return Readiness(State.ERROR, f"{words} for {int((observed.now - since) // 60)} minutes{_because(available)}")
    return Readiness(State.PROCESSING, f"{words}{_because(available)}")


def _stateful_set(observed: _Seen) -> Readiness:
    if observed.unseen:
        return Readiness(State.PROCESSING, "rollout starting", rolling=True)
    desired, ready = observed.spec.integer("replicas", 1), observed.status.integer("readyReplicas")
    if desired == 0:
        return Readiness(State.READY, "scaled to zero", scaled_to_zero=True)
    current, update = observed.status.text("currentRevision"), observed.status.text("updateRevision")
    updated = observed.status.integer("updatedReplicas")
    strategy = observed.spec.child("updateStrategy").text("type", "RollingUpdate")
    if strategy == "RollingUpdate" and update and current != update and updated < desired:
        return Readiness(State.PROCESSING, f"{updated} of {desired} pods updated", rolling=True)
    return _pods_ready(observed, ready, desired)


def _daemon_set(observed: _Seen) -> Readiness:
    if observed.unseen:
        return Readiness(State.PROCESSING, "rollout starting", rolling=True)
    # The server gives a new DaemonSet a status of zeros; only observedGeneration shows that its controller acted.
    if not observed.status.raw or (observed.meta.generation and not observed.status.has("observedGeneration")):
        return observed.not_yet("starting: no status yet")
    desired, ready = observed.status.integer("desiredNumberScheduled"), observed.status.integer("numberReady")
    updated = observed.status.integer("updatedNumberScheduled")
    on_delete = observed.spec.child("updateStrategy").text("type") == "OnDelete"
    if updated < desired and not on_delete:
        return Readiness(State.PROCESSING, f"{updated} of {desired} pods updated", rolling=True)
    return _pods_ready(observed, ready, desired)


def _replica_set(observed: _Seen) -> Readiness:
    return _pods_ready(observed, observed.status.integer("readyReplicas"), observed.spec.integer("replicas", 1))


def _pods_ready(observed: _Seen, ready: int, desired: int) -> Readiness:
    words = f"{ready} of {desired} pods ready"
    return Readiness(State.READY, words) if ready >= desired else observed.not_yet(words)


def _definition(observed: _Seen) -> Readiness:
    if observed.is_true("Terminating"):
        return Readiness(State.DELETING, f"deleting its objects{_because(observed.condition('Terminating'))}")
    if observed.is_true("NamesAccepted", "False"):
        return Readiness(State.ERROR, f"name conflict{_because(observed.condition('NamesAccepted'))}")
    if observed.is_true("Established"):
        return Readiness(State.READY, "established")
    return observed.not_yet("not established yet")


def _job(observed: _Seen) -> Readiness:
    if observed.is_true("Failed"):
        return Readiness(State.ERROR, f"failed{_because(observed.condition('Failed'))}")
    if observed.is_true("Complete"):
        return Readiness(State.READY, "complete")
    if observed.spec.flag("suspend"):
        return Readiness(State.PROCESSING, "suspended")
    done, completions = observed.status.integer("succeeded"), observed.spec.integer("completions", 1)
    return Readiness(
        State.PROCESSING, f"{done} of {completions} completions, {observed.status.integer('active')} running"
    )


def _claim(observed: _Seen) -> Readiness:
    phase = observed.status.text("phase", "Pending")
    if phase == "Bound":
        return Readiness(State.READY, "bound")
    if phase == "Lost":
        return Readiness(State.ERROR, "volume lost")
    return Readiness(State.PROCESSING, "waiting for a volume")


def _service(observed: _Seen) -> Readiness:
    if observed.spec.text("type", "ClusterIP") != "LoadBalancer":
        return Readiness(State.READY, "no load balancer needed")
    if observed.status.child("loadBalancer").items("ingress") or observed.spec.items("externalIPs"):
        return Readiness(State.READY, "load balancer has an address")
    return Readiness(State.PROCESSING, "waiting for the load balancer's address")


def _namespace(observed: _Seen) -> Readiness:
    if observed.status.text("phase", "Active") == "Terminating":
        blocking = next((c for c in observed.conditions if c.status == "True"), None)
        return Readiness(State.DELETING, f"terminating{_because(blocking)}")
    return Readiness(State.READY, "active")


def _pod(observed: _Seen) -> Readiness:
    phase = observed.status.text("phase", "Pending")
    if phase == "Succeeded":
        return Readiness(State.READY, "succeeded")
    if phase == "Failed":
        return Readiness(State.ERROR, observed.status.text("message") or observed.status.text("reason") or "failed")
    if observed.is_true("Ready"):
        return Readiness(State.READY, "ready")
    for container in observed.status.children("containerStatuses"):
        waiting = container.child("state").child("waiting")
        reason = waiting.text("reason")
        if reason and reason not in ("ContainerCreating", "PodInitializing"):
            name, message = container.text("name"), waiting.text("message")
            return Readiness(State.ERROR, f"container {name}: {reason}{f', {message}' if message else ''}")
    return observed.not_yet(
        f"{phase.lower()}{_because(next((c for c in observed.conditions if c.status == 'False'), None))}"
    )


def _by_conditions(observed: _Seen) -> Readiness:
    """Return the readiness of any other kind by its well-known conditions."""
    for kind in ("Stalled", "Failed", "Degraded"):
        if observed.is_true(kind):
            return Readiness(State.ERROR, f"{kind}{_because(observed.condition(kind))}")
    if observed.unseen:
        return Readiness(State.PROCESSING, "not processed by its controller yet")
    for kind in ("Ready", "Available", "Established", "Succeeded"):
        condition = observed.condition(kind)
        if condition is not None and condition.status == "True":
            return Readiness(State.READY, f"{kind}")
        if condition is not None:
            return Readiness(State.PROCESSING, f"not {kind}{_because(condition)}")
    return Readiness(State.READY, "exists")


_BY_KIND: dict[tuple[str, str], Callable[[_Seen], Readiness]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("", "Namespace"): _namespace,
    ("", "Pod"): _pod,
}


def check_readiness(raw: object, now: float) -> Readiness:
    """Return the readiness of an object; `now` is in seconds of the Unix clock. A deletion comes first."""
    reader = JsonReader(raw)
    status = reader.child("status")
    observed = _Seen(read_meta(reader), reader.child("spec"), status, read_conditions(status), now)
    ref = read_ref(raw)
    readiness = _BY_KIND.get((ref.kind.group, ref.kind.kind), _by_conditions)(observed)
    if observed.meta.deleting and readiness.state is not State.DELETING:
        held = f" (finalizers: {', '.join(observed.meta.finalizers)})" if observed.meta.finalizers else ""
        readiness = Readiness(State.DELETING, f"being deleted{held}")
    return replace(readiness, ref=ref, flaws=tuple(dict.fromkeys(reader.flaws)))


def unready_managers(workloads: Iterable[object], templates: Iterable[object], now: float) -> tuple[ObjectRef, ...]:
    """Return the workloads that templates or labels name as managers and that are not ready: their Pods say why."""
    declared = (JsonReader(raw).child("spec").child("manager") for raw in templates)
    names = {(manager.text("kind"), manager.text("name")) for manager in declared if manager.raw}
    unready = []
    for raw in workloads:
        ref = read_ref(raw)
        is_manager = (ref.kind.kind, ref.name) in names or LABEL_MODULE in read_meta(JsonReader(raw)).labels
        if is_manager and not check_readiness(raw, now).ready:
            unready.append(ref)
    return tuple(unready)


_ROLLING_REASONS = frozenset({"FoundNewReplicaSet", "NewReplicaSetCreated", "ReplicaSetUpdated"})
_ROLLED_OUT = "NewReplicaSetAvailable"


def klm_deployment_state(raw: object) -> State:
    """Return current lifecycle-manager's state for a manager Deployment; without conditions it is Error."""
    conditions = read_conditions(JsonReader(raw).child("status"))
    progressing, available = find_condition(conditions, "Progressing"), find_condition(conditions, "Available")
    if progressing is None or progressing.status != "True":
        return State.ERROR
    if available is not None and available.status == "True":
        if progressing.reason == _ROLLED_OUT:
            return State.READY
        return State.PROCESSING if progressing.reason in _ROLLING_REASONS else State.ERROR
    return State.PROCESSING if progressing.reason in _ROLLING_REASONS | {_ROLLED_OUT} else State.ERROR


def klm_stateful_set_state(raw: object, pods: Iterable[object] = ()) -> State:
    """Return current lifecycle-manager's state for a StatefulSet, by the first container with a status."""
    reader = JsonReader(raw)
    spec, status = reader.child("spec"), reader.child("status")
    if spec.has("replicas") and spec.integer("replicas") == status.integer("readyReplicas"):
        return State.READY
    for pod in pods:
        for container in JsonReader(pod).child("status").children("containerStatuses"):
            if not container.flag("started"):
                return State.ERROR
            return State.READY if container.flag("ready") else State.PROCESSING
    return State.ERROR


def klm_manager_state(resources: Iterable[Mapping[str, Any]], pods: Iterable[object] = ()) -> State:
    """Return current lifecycle-manager's Manifest state: that of the first workload, Ready without one."""
    for raw in resources:
        kind = read_ref(raw).kind
        if (kind.group, kind.kind) == ("apps", "Deployment"):
            return klm_deployment_state(raw)
        if (kind.group, kind.kind) == ("apps", "StatefulSet"):
            return klm_stateful_set_state(raw, pods)
    return State.READY


def is_gate_open(raw: object) -> bool:
    """Return whether lifecycle-manager's former gate is open and the rules apply.

    A Deployment must be Available or have all replicas ready.
    """
    reader = JsonReader(raw)
    if read_ref(raw).kind.kind != "Deployment":
        return True
    status, spec = reader.child("status"), reader.child("spec")
    available = find_condition(read_conditions(status), "Available")
    if available is not None and available.status == "True":
        return True
    return spec.has("replicas") and spec.integer("replicas") == status.integer("readyReplicas")
