"""Scheduler and kubelet of the single node: binds, starts, restarts, finishes and stops pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import find_condition, pod_condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.kubelet import container_status
from kymatui.sandbox.controllers.kubelet.container_status import ContainerFate, fate_of
from kymatui.sandbox.controllers.kubelet.pod_prerequisites import MissingPrerequisite, missing_for, unschedulable
from kymatui.sandbox.controllers.workloads.pod_claims import is_finished, seconds_of

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
                container_status.waiting(c, "PodInitializing" if inits else "ContainerCreating")
                for c in spec["containers"]
            ],
        }
        if inits:
            status["initContainerStatuses"] = [container_status.waiting(c, "PodInitializing") for c in inits]
        conditions = container_status.pod_conditions(
            scheduled=False,
            initialized=not inits,
            ready=False,
            unready=names,
            uninitialized=[c["name"] for c in inits],
        )
        self._write(pod, status, conditions)
        return self._context.pace.start

    def _wait_for(self, pod: Obj, missing: MissingPrerequisite) -> float:
        status = dict(pod["status"])
        if missing.container:
            status["containerStatuses"] = [
                container_status.waiting(c, missing.reason, missing.message) if c["name"] == missing.container else s
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
                shown.append(container_status.waiting(container, "PodInitializing"))
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
                shown.append(container_status.waiting(container, "PodInitializing"))
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
                    return container_status.running(container, uid, since), pace.start + pace.job - age
                self._started(pod, container)
                end = since if init else timestamp(began + pace.job)
                return container_status.terminated(container, uid, since, end, code=0), None
            case _:
                self._started(pod, container)
                return container_status.running(container, uid, since), None

    def _no_image(self, pod: Obj, container: Obj, age: float) -> tuple[Obj, float | None]:
        """Report the failed pull, then the back-off, which never ends without an image."""
        image = container["image"]
        field = f"spec.containers{{{container['name']}}}"
        known = (_status_of(pod, container["name"]).get("state") or {}).get("waiting", {}).get("reason")
        failed, failure = container_status.pull_failure(image, 1)
        if known not in ("ErrImagePull", "ImagePullBackOff"):
            self._event(pod, "Pulling", f'Pulling image "{image}"', field=field)
            self._event(pod, "Failed", f'Failed to pull image "{image}": {failure}', type="Warning", field=field)
            self._event(pod, "Failed", f"Error: {failed}", type="Warning", field=field)
        remaining = 2 * self._context.pace.start - age
        if remaining > 0 and known != "ImagePullBackOff":
            return container_status.waiting(container, failed, failure), remaining
        reason, message = container_status.pull_failure(image, 2)
        if known != reason:
            self._event(pod, "BackOff", f'Back-off pulling image "{image}"', field=field)
            self._event(pod, "Failed", f"Error: {reason}", type="Warning", field=field)
        return container_status.waiting(container, reason, message), None

    def _crashing(self, pod: Obj, container: Obj, age: float, since: str) -> tuple[Obj, float | None]:
        pace = self._context.pace
        if pod["spec"].get("restartPolicy", "Always") == "Never":
            if age < pace.start + pace.job:
                self._started(pod, container)
                return container_status.running(container, pod["metadata"]["uid"], since), pace.start + pace.job - age
            end = self._context.stamp
            return container_status.terminated(container, pod["metadata"]["uid"], since, end, code=1), None
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
        return container_status.crash_loop(container, pod, since, self._context.stamp, restarts, pause), wait

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
        conditions = container_status.pod_conditions(
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
