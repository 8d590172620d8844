"""Jobs: run pods to completion, and replace failed ones up to the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import Condition, find_condition
from kymatui.sandbox.controllers.framework.store_reader import (
    Obj,
    is_controlled_by,
    is_terminating,
    key_of,
    owner_reference,
)
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import is_active, is_ready, pod_from, seconds_of

RESOURCE = "jobs.batch"
SOURCE = "job-controller"
INDEX = "batch.kubernetes.io/job-completion-index"
LONGEST_BACK_OFF = 360.0


class JobController:
    name = "jobs"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)
        queue.follow_owner("pods", "Job")

    def reconcile(self, key: Key) -> float | None:
        job = self._context.observer.get(RESOURCE, key)
        if job is None or is_terminating(job):
            return None
        finished = finish_time(job)
        if finished is not None:
            return self._expire(job, finished)
        pods = self._pods(job)
        verdict = self._verdict(job, pods)
        if verdict is not None:
            return self._finish(job, pods, *verdict)
        wait = self._run(job, pods)
        self._write_status(job, self._conditions_of_suspension(job))
        return wait

    def _pods(self, job: Obj) -> list[Obj]:
        namespace, uid = job["metadata"]["namespace"], job["metadata"]["uid"]
        return [p for p in self._context.observer.all("pods", namespace) if is_controlled_by(p, uid)]

    # -- running

    def _run(self, job: Obj, pods: Sequence[Obj]) -> float | None:
        spec = job["spec"]
        active = [p for p in pods if is_active(p)]
        if spec.get("suspend"):
            for pod in active:
                self._delete(job, pod)
            return None
        failed, succeeded = _count(pods, "Failed"), _count(pods, "Succeeded")
        pause = self._back_off(pods) if failed else 0.0
        desired = self._desired_pods(spec, succeeded)
        for pod in active[desired:]:
            self._delete(job, pod)
        if len(active) < desired and pause <= 0:
            indexes = self._free_indexes(spec, pods)
            for position in range(desired - len(active)):
                self._create(job, indexes[position] if position < len(indexes) else None)
        waits = [pause] if pause > 0 and len(active) < desired else []
        if spec.get("activeDeadlineSeconds"):
            started = seconds_of((job.get("status") or {}).get("startTime")) or self._context.now
            waits.append(max(started + spec["activeDeadlineSeconds"] - self._context.now, 0.0) + 0.05)
        return min(waits) if waits else None

    @staticmethod
    def _desired_pods(spec: Obj, succeeded: int) -> int:
        parallel: int = spec.get("parallelism", 1)
        completions = spec.get("completions")
        if completions is None:
            return 0 if succeeded else parallel
        return min(parallel, max(int(completions) - succeeded, 0))

    def _back_off(self, pods: Sequence[Obj]) -> float:
        """Return the seconds until the next pod: 10, 20, 40 … after consecutive failures."""
        ends = sorted(_end_of(p) for p in pods if (p.get("status") or {}).get("phase") == "Failed")
        pause = min(self._context.pace.back_off * 2.0 ** (len(ends) - 1), LONGEST_BACK_OFF)
        return ends[-1] + pause - self._context.now

    @staticmethod
    def _free_indexes(spec: Obj, pods: Sequence[Obj]) -> list[int]:
        if spec.get("completionMode") != "Indexed":
            return []
        taken = {
            (p["metadata"].get("annotations") or {}).get(INDEX)
            for p in pods
            if is_active(p) or (p.get("status") or {}).get("phase") == "Succeeded"
        }
        return [i for i in range(spec.get("completions", 1)) if str(i) not in taken]

    def _create(self, job: Obj, index: int | None) -> None:
        namespace, name = key_of(job)
        generate = f"{name}-" if index is None else f"{name}-{index}-"
        pod = pod_from(job["spec"]["template"], owner_reference("batch/v1", "Job", job), generate_name=generate)
        uid = job["metadata"]["uid"]
        identity = {"controller-uid": uid, "job-name": name}
        labels = pod["metadata"].setdefault("labels", {})
        labels.update(identity)
        labels.update({f"batch.kubernetes.io/{k}": v for k, v in identity.items()})
        if index is not None:
            pod["metadata"].setdefault("annotations", {})[INDEX] = str(index)
            labels[INDEX] = str(index)
        try:
            created = self._context.client.create("pods", pod, namespace=namespace)
        except StatusError as error:
            if "being terminated" not in str(error):
                self._event(job, "FailedCreate", f"Error creating: {error}", type="Warning")
            raise
        self._event(job, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def _delete(self, job: Obj, pod: Obj) -> None:
        if self._context.delete("pods", pod):
            self._event(job, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    # -- ending

    def _verdict(self, job: Obj, pods: Sequence[Obj]) -> tuple[str, str, str] | None:
        """Return (Complete or Failed, reason, message), None while the job runs."""
        spec = job["spec"]
        succeeded = _count(pods, "Succeeded")
        completions = spec.get("completions")
        if completions is not None and succeeded >= completions:
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        if completions is None and succeeded and not any(is_active(p) for p in pods):
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        started = seconds_of((job.get("status") or {}).get("startTime"))
        deadline = spec.get("activeDeadlineSeconds")
        if started and deadline and self._context.now - started >= deadline:
            return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        attempts = _count(pods, "Failed") + sum(_restarts(p) for p in pods if _restarts_in_place(spec))
        if attempts > spec.get("backoffLimit", 6):
            return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        return None

    def _finish(self, job: Obj, pods: Sequence[Obj], kind: str, reason: str, message: str) -> float | None:
        """Announce the end, delete the running pods, then report the end."""
        for pod in pods:
            if is_active(pod):
                self._delete(job, pod)
        now = self._context.stamp
        target = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        conditions: list[Condition] = [
            {
                "type": name,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastProbeTime": now,
                "lastTransitionTime": now,
            }
            for name in (target, kind)
        ]
        suspension = self._conditions_of_suspension(job)
        if any(p["metadata"].get("deletionTimestamp") or is_active(p) for p in self._pods(job)):
            self._write_status(job, [*suspension, *conditions[:1]])
            return None
        conditions = [*suspension, *conditions]
        self._write_status(job, conditions, completed=kind == "Complete")
        if kind == "Complete":
            self._event(job, "Completed", "Job completed")
        else:
            self._event(job, reason, message, type="Warning")
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        return None if ttl is None else float(ttl)

    def _expire(self, job: Obj, finished: float) -> float | None:
        """Delete the job after ttlSecondsAfterFinished; return the seconds left."""
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        if ttl is None:
            return None
        remaining = finished + ttl - self._context.now
        if remaining > 0:
            return float(remaining)
        self._context.delete(RESOURCE, job)
        return None

    def _conditions_of_suspension(self, job: Obj) -> list[Condition]:
        known = find_condition((job.get("status") or {}).get("conditions"), "Suspended")
        suspended = bool(job["spec"].get("suspend"))
        if known is None and not suspended:
            return []
        if known is not None and (known["status"] == "True") == suspended:
            return [known]
        now = self._context.stamp
        word, reason, message = (
            ("True", "JobSuspended", "Job suspended") if suspended else ("False", "JobResumed", "Job resumed")
        )
        times = {"lastProbeTime": now, "lastTransitionTime": now}
        return [{"type": "Suspended", "status": word, "reason": reason, "message": message, **times}]

    def _write_status(self, job: Obj, conditions: list[Condition], *, completed: bool = False) -> None:
        latest = self._context.observer.get(RESOURCE, key_of(job))
        if latest is None or latest["metadata"]["uid"] != job["metadata"]["uid"]:
            return
        pods = self._pods(job)
        active = [p for p in pods if is_active(p)]
        known = latest.get("status") or {}
        status: Obj = {"active": len(active), "succeeded": _count(pods, "Succeeded"), "failed": _count(pods, "Failed")}
        status = {k: v for k, v in status.items() if v}
        status["ready"] = sum(is_ready(p) for p in active)
        status["terminating"] = sum(is_terminating(p) for p in pods)
        status["uncountedTerminatedPods"] = {}
        if known.get("startTime") or not job["spec"].get("suspend"):
            status["startTime"] = known.get("startTime") or self._context.stamp
        if completed:
            status["completionTime"] = self._context.stamp
        if conditions:
            status["conditions"] = conditions
        if job["spec"].get("completionMode") == "Indexed" and status.get("succeeded"):
            status["completedIndexes"] = _indexes(pods)
        self._context.write_status(RESOURCE, latest, status)

    def _event(self, job: Obj, reason: str, message: str, *, type: Any = "Normal") -> None:
        self._context.recorder.event(job, "Job", "batch/v1", reason, message, type=type, source=SOURCE)


def finish_time(job: Obj) -> float | None:
    """Return the time when the job became Complete or Failed, or None."""
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return seconds_of(condition["lastTransitionTime"])
    return None


def _count(pods: Sequence[Obj], phase: str) -> int:
    return sum((p.get("status") or {}).get("phase") == phase for p in pods)


def _restarts(pod: Obj) -> int:
    return sum(s.get("restartCount", 0) for s in (pod.get("status") or {}).get("containerStatuses") or [])


def _restarts_in_place(spec: Obj) -> bool:
    return bool(spec["template"]["spec"].get("restartPolicy") == "OnFailure")


def _end_of(pod: Obj) -> float:
    ends = [
        seconds_of(s["state"]["terminated"].get("finishedAt"))
        for s in (pod.get("status") or {}).get("containerStatuses") or []
        if "terminated" in s.get("state", {})
    ]
    return max(ends, default=seconds_of(pod["metadata"].get("creationTimestamp")))


def _indexes(pods: Sequence[Obj]) -> str:
    """Return the finished indexes as batch/v1 writes them: "0-2,4"."""
    done = sorted(
        int((p["metadata"].get("annotations") or {}).get(INDEX, "-1"))
        for p in pods
        if (p.get("status") or {}).get("phase") == "Succeeded"
    )
    ranges: list[list[int]] = []
    for index in done:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in ranges)
