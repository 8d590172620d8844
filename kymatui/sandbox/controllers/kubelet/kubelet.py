"""Scheduler and kubelet of the single node: binds, starts, restarts, finishes and stops pods."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import (
    Condition,
    find_condition,
    pod_condition,
    with_condition,
)
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader, is_terminating, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import is_finished, seconds_of
from kymatui.schemas.objects.object_meta_rules import selects

LONGEST_BACK_OFF = 300.0
RETRY_MISSING = 60.0


class Kubelet:
    """Reconciles pods."""

    name = "kubelet"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._addresses = 0
        self._queue: ControllerQueue | None = None
        # Times in objects are whole seconds; start and stop need finer ones.
        self._begun: dict[tuple[str, str], float] = {}

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        queue.follow("pods")
        queue.on_change("pods", self._forget)
        for resource in ("secrets", "configmaps", "persistentvolumeclaims"):
            queue.on_change(resource, self._something_came)
        queue.on_change("nodes", self._node_changed)

    def _forget(self, change: StoreChange) -> None:
        if change.kind == "DELETED":
            for what in ("start", "stop"):
                self._begun.pop((change.current.uid, what), None)

    def _age(self, pod: Obj, what: str, otherwise: float) -> float:
        """Return the seconds since the pod started (or stopped), counted from `otherwise` if unrecorded."""
        return self._context.now - self._begun.get((pod["metadata"]["uid"], what), otherwise)

    def _something_came(self, change: StoreChange) -> None:
        """Enqueue the pending pods of a namespace, since a prerequisite may exist now."""
        if change.kind != "DELETED":
            self._ask_pending(change.current.namespace)

    def _node_changed(self, change: StoreChange) -> None:
        """Enqueue all pending pods if a taint or cordon may be gone."""
        before = change.previous.data if change.previous else b""
        if change.kind == "ADDED" or b'"taints"' in before or b'"unschedulable"' in before:
            self._ask_pending(None)

    def _ask_pending(self, namespace: str | None) -> None:
        for stored in list(self._context.observer.store.walk("pods", namespace)):
            if b'"phase":"Pending"' in stored.data and self._queue is not None:
                self._queue.add(stored.key)

    # -- one pod

    def reconcile(self, key: Key) -> float | None:
        pod = self._context.observer.get("pods", key)
        if pod is None:
            return None
        if is_terminating(pod):
            return self._stop(pod)
        if is_finished(pod):
            return None
        if not pod["spec"].get("nodeName"):
            return self._schedule(pod)
        if pod["spec"]["nodeName"] != self._context.node:
            return None
        return self._advance(pod)

    # -- scheduling

    def _schedule(self, pod: Obj) -> float | None:
        if pod["spec"].get("schedulingGates"):
            return None
        node = self._context.observer.get("nodes", ("", self._context.node))
        why = unschedulable(pod, node, self._context.observer)
        if why:
            return self._cannot_schedule(pod, why)
        status = dict(pod.get("status") or {})
        status["conditions"] = with_condition(
            status.get("conditions"), pod_condition("PodScheduled", True), self._context.stamp
        )
        # Use the binding subresource: an update cannot set nodeName, and binding leaves no managedFields entry.
        bound = {**pod, "spec": {**pod["spec"], "nodeName": self._context.node}, "status": status}
        self._context.observer.store.put("pods", bound)
        namespace, name = key_of(pod)
        self._event(
            pod,
            "Scheduled",
            f"Successfully assigned {namespace}/{name} to {self._context.node}",
            source="default-scheduler",
        )
        return None

    def _cannot_schedule(self, pod: Obj, why: str) -> float:
        status = dict(pod.get("status") or {"phase": "Pending"})
        known = find_condition(status.get("conditions"), "PodScheduled") or {}
        if known.get("message") != why:
            refused = pod_condition("PodScheduled", False, "Unschedulable", why)
            status["conditions"] = with_condition(status.get("conditions"), refused, self._context.stamp)
            self._context.write_status("pods", pod, status)
            self._event(pod, "FailedScheduling", why, type="Warning", source="default-scheduler")
        return RETRY_MISSING

    # -- starting and running

    def _advance(self, pod: Obj) -> float | None:
        status = pod.get("status") or {}
        if not status.get("startTime"):
            return self._accept(pod)
        missing = missing_for(pod, self._context.observer)
        if missing is not None and status.get("phase") == "Pending":
            return self._wait_for(pod, missing)
        age = self._age(pod, "start", seconds_of(status["startTime"]))
        needed = self._context.pace.start
        if status.get("phase") == "Pending" and age < needed:
            return needed - age
        return self._settle(pod, age)

    def _accept(self, pod: Obj) -> float:
        """Write the first status of the pod: its address, and containers being created."""
        spec = pod["spec"]
        self._begun[pod["metadata"]["uid"], "start"] = self._context.now
        names = [c["name"] for c in spec["containers"]]
        inits = spec.get("initContainers") or []
        status: Obj = {
            "phase": "Pending",
            "hostIP": "10.250.0.2",
            "hostIPs": [{"ip": "10.250.0.2"}],
            "startTime": self._context.stamp,
            "qosClass": (pod.get("status") or {}).get("qosClass") or quality_of_service(spec),
            "containerStatuses": [
                waiting(c, "PodInitializing" if inits else "ContainerCreating") for c in spec["containers"]
            ],
        }
        if inits:
            status["initContainerStatuses"] = [waiting(c, "PodInitializing") for c in inits]
        conditions = pod_conditions(
            scheduled=False, initialized=not inits, ready=False, unready=names, uninitialized=[c["name"] for c in inits]
        )
        self._write(pod, status, conditions)
        return self._context.pace.start

    def _wait_for(self, pod: Obj, missing: MissingPrerequisite) -> float:
        status = dict(pod["status"])
        if missing.container:
            status["containerStatuses"] = [
                waiting(c, missing.reason, missing.message) if c["name"] == missing.container else s
                for c, s in zip(pod["spec"]["containers"], status.get("containerStatuses") or [], strict=False)
            ]
            self._context.write_status("pods", pod, status)
            self._event(pod, "Failed", f"Error: {missing.message}", type="Warning")
        else:
            self._event(pod, missing.reason, missing.message, type="Warning")
        return RETRY_MISSING

    def _settle(self, pod: Obj, age: float) -> float | None:
        """Write the containers' current states; return the seconds until one of them changes."""
        spec = pod["spec"]
        inits = spec.get("initContainers") or []
        stuck = next(
            (c for c in inits if fate_of(c, spec, init=True) in (ContainerFate.NO_IMAGE, ContainerFate.CRASHES)), None
        )
        shown: list[Obj] = []
        again: list[float] = []
        for container in spec["containers"]:
            if stuck is not None:
                shown.append(waiting(container, "PodInitializing"))
                continue
            state, wait = self._container(pod, container, age)
            shown.append(state)
            again += [] if wait is None else [wait]
        status = {**pod["status"], "containerStatuses": shown}
        if inits:
            init_statuses, wait = self._inits(pod, inits, stuck, age)
            status["initContainerStatuses"] = init_statuses
            again += [] if wait is None else [wait]
        self._publish(pod, status, stuck)
        return min(again) if again else None

    def _inits(self, pod: Obj, inits: list[Obj], stuck: Obj | None, age: float) -> tuple[list[Obj], float | None]:
        shown: list[Obj] = []
        wait: float | None = None
        for position, container in enumerate(inits):
            if stuck is not None and position > inits.index(stuck):
                shown.append(waiting(container, "PodInitializing"))
                continue
            state, later = self._container(pod, container, age, init=True)
            if state["state"].get("terminated", {}).get("exitCode") == 0:
                state["ready"] = True
            shown.append(state)
            wait = later if container is stuck else wait
        return shown, wait

    def _container(self, pod: Obj, container: Obj, age: float, *, init: bool = False) -> tuple[Obj, float | None]:
        pace = self._context.pace
        uid = pod["metadata"]["uid"]
        began = seconds_of(pod["status"]["startTime"]) + pace.start
        since = timestamp(began)
        match fate_of(container, pod["spec"], init=init):
            case ContainerFate.NO_IMAGE:
                return self._no_image(pod, container, age)
            case ContainerFate.CRASHES:
                return self._crashing(pod, container, age, since)
            case ContainerFate.ENDS:
                if not init and age < pace.start + pace.job:
                    self._started(pod, container)
                    return running(container, uid, since), pace.start + pace.job - age
                self._started(pod, container)
                end = since if init else timestamp(began + pace.job)
                return terminated(container, uid, since, end, code=0), None
            case _:
                self._started(pod, container)
                return running(container, uid, since), None

    def _no_image(self, pod: Obj, container: Obj, age: float) -> tuple[Obj, float | None]:
        """Report the failed pull, then the back-off, which never ends without an image."""
        image = container["image"]
        field = f"spec.containers{{{container['name']}}}"
        known = (_status_of(pod, container["name"]).get("state") or {}).get("waiting", {}).get("reason")
        failed, failure = pull_failure(image, 1)
        if known not in ("ErrImagePull", "ImagePullBackOff"):
            self._event(pod, "Pulling", f'Pulling image "{image}"', field=field)
            self._event(pod, "Failed", f'Failed to pull image "{image}": {failure}', type="Warning", field=field)
            self._event(pod, "Failed", f"Error: {failed}", type="Warning", field=field)
        remaining = 2 * self._context.pace.start - age
        if remaining > 0 and known != "ImagePullBackOff":
            return waiting(container, failed, failure), remaining
        reason, message = pull_failure(image, 2)
        if known != reason:
            self._event(pod, "BackOff", f'Back-off pulling image "{image}"', field=field)
            self._event(pod, "Failed", f"Error: {reason}", type="Warning", field=field)
        return waiting(container, reason, message), None

    def _crashing(self, pod: Obj, container: Obj, age: float, since: str) -> tuple[Obj, float | None]:
        pace = self._context.pace
        if pod["spec"].get("restartPolicy", "Always") == "Never":
            if age < pace.start + pace.job:
                self._started(pod, container)
                return running(container, pod["metadata"]["uid"], since), pace.start + pace.job - age
            end = self._context.stamp
            return terminated(container, pod["metadata"]["uid"], since, end, code=1), None
        restarts, wait = attempts(age - pace.start, pace.back_off)
        pause = min(pace.back_off * 2 ** max(restarts - 1, 0), LONGEST_BACK_OFF)
        field = f"spec.containers{{{container['name']}}}"
        self._started(pod, container)
        if restarts > _status_of(pod, container["name"]).get("restartCount", 0):
            metadata = pod["metadata"]
            message = (
                f"Back-off restarting failed container {container['name']} in pod "
                f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
            )
            self._event(pod, "BackOff", message, type="Warning", field=field)
        return crash_loop(container, pod, since, self._context.stamp, restarts, pause), wait

    def _started(self, pod: Obj, container: Obj) -> None:
        """Record Pulled, Created and Started, once per container."""
        known = _status_of(pod, container["name"])
        if known.get("containerID") or known.get("restartCount"):
            return
        image, name = container.get("image", ""), container["name"]
        field = f"spec.containers{{{name}}}"
        self._event(pod, "Pulled", f'Container image "{image}" already present on machine', field=field)
        self._event(pod, "Created", f"Created container: {name}", field=field)
        self._event(pod, "Started", f"Started container {name}", field=field)

    def _publish(self, pod: Obj, status: Obj, stuck: Obj | None) -> None:
        shown = status["containerStatuses"]
        unready = [s["name"] for s in shown if not s["ready"]]
        phase = phase_of(status, pod["spec"], initialized=stuck is None)
        status["phase"] = phase
        if not status.get("podIP"):
            status["podIP"] = self._address()
            status["podIPs"] = [{"ip": status["podIP"]}]
        conditions = pod_conditions(
            initialized=stuck is None,
            ready=not unready,
            unready=unready,
            uninitialized=[stuck["name"]] if stuck else [],
        )
        if phase == "Succeeded":
            for name in ("Initialized", "Ready", "ContainersReady"):
                new_condition = next(c for c in conditions if c["type"] == name)
                new_condition["reason"] = "PodCompleted"
                new_condition.pop("message", None)
        self._write(pod, status, conditions)

    def _write(self, pod: Obj, status: Obj, new_conditions: list[Obj]) -> None:
        conditions = (pod.get("status") or {}).get("conditions") or []
        for new in new_conditions:
            conditions = with_condition(conditions, new, self._context.stamp)
        generation = pod["metadata"].get("generation")
        if generation:
            status = {**status, "observedGeneration": generation}
        self._context.write_status("pods", pod, {**status, "conditions": conditions})

    def _address(self) -> str:
        self._addresses += 1
        return f"10.96.{self._addresses // 250 % 250}.{self._addresses % 250 + 2}"

    # -- stopping

    def _stop(self, pod: Obj) -> float | None:
        """Give the containers a moment to stop, then delete the pod unless finalizers block."""
        metadata = pod["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        if metadata.get("finalizers") and grace == 0:
            return None
        self._begun.setdefault((metadata["uid"], "stop"), self._context.now)
        pause = min(self._context.pace.stop, grace) if pod["spec"].get("nodeName") else 0.0
        remaining = pause - self._age(pod, "stop", self._context.now)
        if remaining > 0:
            for container in pod["spec"]["containers"]:
                field = f"spec.containers{{{container['name']}}}"
                self._event(pod, "Killing", f"Stopping container {container['name']}", field=field)
            return remaining
        namespace, name = key_of(pod)
        try:
            self._context.client.delete("pods", name, namespace=namespace, grace_seconds=0, uid=metadata["uid"])
        except StatusError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise
        return None

    def _event(
        self, pod: Obj, reason: str, message: str, *, type: Any = "Normal", source: str = "kubelet", field: str = ""
    ) -> None:
        host = self._context.node if source == "kubelet" else ""
        self._context.recorder.event(
            pod, "Pod", "v1", reason, message, type=type, source=source, field=field, host=host
        )


def attempts(age: float, first_pause: float) -> tuple[int, float]:
    """Return the number of attempts after some seconds, and the seconds to the next (the pause doubles)."""
    count, pause, end = 1, first_pause, first_pause
    while age >= end:
        count += 1
        pause = min(pause * 2, LONGEST_BACK_OFF)
        end += pause
    return count, end - age


def phase_of(status: Mapping[str, Any], spec: Mapping[str, Any], *, initialized: bool) -> str:
    """Return the phase that the container states imply (kubelet's getPhase)."""
    states = [s["state"] for s in status["containerStatuses"]]
    if not initialized:
        return "Pending"
    ended = [s["terminated"]["exitCode"] for s in states if "terminated" in s]
    if len(ended) == len(states) and spec.get("restartPolicy", "Always") != "Always":
        return "Failed" if any(ended) else "Succeeded"
    never_started = any(
        "waiting" in s and not c.get("lastState") for s, c in zip(states, status["containerStatuses"], strict=True)
    )
    return "Pending" if never_started else "Running"


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Return Guaranteed, Burstable or BestEffort from the requests and limits of all containers."""
    resources = [c.get("resources") or {} for c in spec.get("containers") or []]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    for resource_list in resources:
        limits, requests = resource_list.get("limits") or {}, resource_list.get("requests") or {}
        if any(name not in limits or requests.get(name, limits[name]) != limits[name] for name in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def _status_of(pod: Mapping[str, Any], container: str) -> Obj:
    status = pod.get("status") or {}
    for status_entry in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        if status_entry["name"] == container:
            known: Obj = status_entry
            return known
    return {}


# Container statuses; a word in the image name decides what happens.
#
# The sandbox has no images. `broken`: the image cannot be pulled. `crashing`: the container exits with code 1 after
# every start. `failing`: the same, meant for jobs. Every other container runs, or exits with 0 in a pod that is never
# restarted.


class ContainerFate(StrEnum):
    """The simulated behaviour of a container."""

    RUNS = "runs"
    ENDS = "ends"
    CRASHES = "crashes"
    NO_IMAGE = "no image"


def fate_of(container: Mapping[str, Any], pod_spec: Mapping[str, Any], *, init: bool = False) -> ContainerFate:
    image = container.get("image", "")
    if "broken" in image:
        return ContainerFate.NO_IMAGE
    if "crashing" in image or "failing" in image:
        return ContainerFate.CRASHES
    if init:
        return ContainerFate.RUNS if container.get("restartPolicy") == "Always" else ContainerFate.ENDS
    return ContainerFate.RUNS if pod_spec.get("restartPolicy", "Always") == "Always" else ContainerFate.ENDS


def image_id(image: str) -> str:
    """Return a digest as a container runtime would report it, derived from the name."""
    repository = image.partition("@")[0]
    head, colon, tail = repository.rpartition(":")
    repository = head if colon and "/" not in tail else repository
    return f"{repository}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def container_id(pod_uid: str, name: str, restarts: int) -> str:
    return "containerd://" + hashlib.sha256(f"{pod_uid}/{name}/{restarts}".encode()).hexdigest()


def waiting(container: Mapping[str, Any], reason: str, message: str = "", restarts: int = 0) -> Obj:
    state: Obj = {"reason": reason, **({"message": message} if message else {})}
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "state": {"waiting": state},
        "lastState": {},
    }


def running(container: Mapping[str, Any], pod_uid: str, started_at: str) -> Obj:
    image = container.get("image", "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "containerID": container_id(pod_uid, container["name"], 0),
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": started_at}},
        "lastState": {},
    }


def terminated(
    container: Mapping[str, Any], pod_uid: str, started_at: str, finished_at: str, *, code: int, restarts: int = 0
) -> Obj:
    image = container.get("image", "")
    identity = container_id(pod_uid, container["name"], restarts)
    state = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": started_at,
        "finishedAt": finished_at,
        "containerID": identity,
    }
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "containerID": identity,
        "ready": code == 0 and container.get("init", False),
        "started": False,
        "restartCount": restarts,
        "state": {"terminated": state},
        "lastState": {},
    }


def crash_loop(container: Mapping[str, Any], pod: Obj, started_at: str, now: str, restarts: int, pause: float) -> Obj:
    """Return the status of a container in back-off, with its last termination."""
    metadata = pod["metadata"]
    container_path = f"{metadata['name']}_{metadata.get('namespace', '')}({metadata['uid']})"
    message = f"back-off {_duration(pause)} restarting failed container={container['name']} pod={container_path}"
    state = waiting(container, "CrashLoopBackOff", message, restarts)
    last = terminated(container, metadata["uid"], started_at, now, code=1, restarts=restarts - 1)
    return {**state, "imageID": last["imageID"], "containerID": last["containerID"], "lastState": last["state"]}


def pull_failure(image: str, attempt: int) -> tuple[str, str]:
    """Return reason and message of an image pull failure; odd attempts have just failed."""
    error = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
    if attempt % 2:
        return "ErrImagePull", f"rpc error: code = NotFound desc = {error}"
    return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {error}'


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def pod_conditions(
    *, scheduled: bool = True, initialized: bool, ready: bool, unready: list[str], uninitialized: list[str]
) -> list[Condition]:
    """Return the five pod conditions; the message of a false one names the containers."""
    not_ready = _containers_condition(unready, "ContainersNotReady", "containers with unready status")
    return [
        pod_condition("PodReadyToStartContainers", scheduled),
        pod_condition("Initialized", True)
        if initialized
        else pod_condition(
            "Initialized",
            False,
            "ContainersNotInitialized",
            f"containers with incomplete status: [{' '.join(uninitialized)}]",
        ),
        pod_condition("Ready", True) if ready else pod_condition("Ready", False, *not_ready),
        pod_condition("ContainersReady", True) if ready else pod_condition("ContainersReady", False, *not_ready),
        pod_condition("PodScheduled", True),
    ]


def _containers_condition(names: list[str], reason: str, words: str) -> tuple[str, str]:
    return reason, f"{words}: [{' '.join(names)}]"


# Prerequisites of a pod's start: a matching node, bound claims, existing ConfigMaps and Secrets.


class MissingPrerequisite(Struct, frozen=True, dict=True):
    """A missing prerequisite with the kubelet's `reason` and `message`; `container` is "" for a volume."""

    reason: str
    message: str
    container: str = ""


def unschedulable(pod: Obj, node: Obj | None, observer: StoreReader) -> str:
    """Return the scheduler's message for why no node fits the pod, "" if the node fits."""
    if node is None:
        return "no nodes available to schedule pods"
    spec = pod["spec"]
    labels = node["metadata"].get("labels") or {}
    wrong = "0/1 nodes are available: 1 "
    end = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    if node.get("spec", {}).get("unschedulable"):
        return f"{wrong}node(s) were unschedulable.{end}"
    if not selects({"matchLabels": spec.get("nodeSelector") or {}}, labels):
        return f"{wrong}node(s) didn't match Pod's node affinity/selector.{end}"
    for taint in node.get("spec", {}).get("taints") or []:
        if taint.get("effect") != "PreferNoSchedule" and not _tolerates(spec, taint):
            return f"{wrong}node(s) had untolerated taint(s).{end}"
    for claim in _claims(spec):
        volume_claim = observer.get("persistentvolumeclaims", (pod["metadata"]["namespace"], claim))
        if volume_claim is None:
            return f'0/1 nodes are available: persistentvolumeclaim "{claim}" not found.{end}'
        if (volume_claim.get("status") or {}).get("phase") == "Pending" and not volume_claim["spec"].get(
            "storageClassName"
        ):
            return f"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.{end}"
    return ""


def _tolerates(spec: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    for toleration in spec.get("tolerations") or []:
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        if not toleration.get("key") and toleration.get("operator") == "Exists":
            return True
        if toleration.get("key") == taint.get("key") and (
            toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
        ):
            return True
    return False


def _claims(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]


def missing_for(pod: Obj, observer: StoreReader) -> MissingPrerequisite | None:
    """Return the first missing prerequisite: a volume blocks the whole pod, an environment one container."""
    namespace = pod["metadata"]["namespace"]
    spec = pod["spec"]
    for volume in spec.get("volumes") or []:
        for resource, name, kind in _sources(volume):
            if observer.get(resource, (namespace, name)) is None:
                message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {kind} "{name}" not found'
                return MissingPrerequisite("FailedMount", message)
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        for resource, name, key in _references(container):
            obj = observer.get(resource, (namespace, name))
            kind = resource.removesuffix("s")
            if obj is None:
                return MissingPrerequisite(
                    "CreateContainerConfigError", f'{kind} "{name}" not found', container["name"]
                )
            if key and key not in (obj.get("data") or {}):
                message = (
                    f"couldn't find key {key} in {'Secret' if kind == 'secret' else 'ConfigMap'} {namespace}/{name}"
                )
                return MissingPrerequisite("CreateContainerConfigError", message, container["name"])
    return None


def _sources(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    secret, config = volume.get("secret"), volume.get("configMap")
    if secret and not secret.get("optional"):
        yield "secrets", secret.get("secretName", ""), "secret"
    if config and not config.get("optional"):
        yield "configmaps", config.get("name", ""), "configmap"


def _references(container: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (resource, name, key) of the environment's sources; the key is "" for a whole object."""
    for source in container.get("envFrom") or []:
        for field, resource in (("secretRef", "secrets"), ("configMapRef", "configmaps")):
            reference = source.get(field)
            if reference and not reference.get("optional"):
                yield resource, reference.get("name", ""), ""
    for variable in container.get("env") or []:
        origin = variable.get("valueFrom") or {}
        for field, resource in (("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")):
            reference = origin.get(field)
            if reference and not reference.get("optional"):
                yield resource, reference.get("name", ""), reference.get("key", "")
