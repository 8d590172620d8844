"""CronJobs: create Jobs on schedule and delete old ones."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.event_recorder import EventType
from kymatui.sandbox.controllers.framework.store_reader import (
    Obj,
    controller_of,
    is_controlled_by,
    key_of,
    owner_reference,
)
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.cron_schedule import Schedule
from kymatui.sandbox.controllers.workloads.job_controllers import RESOURCE as JOBS
from kymatui.sandbox.controllers.workloads.job_controllers import finish_time
from kymatui.schemas.values.json_copy import copy_json
from kymatui.schemas.values.metav1_time import parse_time

RESOURCE = "cronjobs.batch"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobs:
    name = "cronjobs"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)

        def job_changed(change: StoreChange) -> None:
            owner = controller_of(change.current.body())
            if owner is not None and owner["kind"] == "CronJob":
                queue.add((change.current.namespace, owner["name"]))

        queue.on_change(JOBS, job_changed)

    def reconcile(self, key: Key) -> float | None:
        cron = self._context.observer.get(RESOURCE, key)
        if cron is None or cron["metadata"].get("deletionTimestamp"):
            return None
        self._clear(cron)
        due = self._due(cron)
        started: float | None = None
        if due is not None and due <= self._context.now and not cron["spec"].get("suspend"):
            started = due if self._start(cron, due) else None
        self._write_status(cron, started)
        if cron["spec"].get("suspend"):
            return None
        following = self._schedule(cron).after(self._context.now)
        return None if following is None else following - self._context.now

    # -- schedule

    @staticmethod
    def _schedule(cron: Obj) -> Schedule:
        return Schedule(cron["spec"]["schedule"], cron["spec"].get("timeZone") or "")

    def _due(self, cron: Obj) -> float | None:
        """Return the latest due time since the last start, else the next one."""
        status = cron.get("status") or {}
        since = parse_time(status.get("lastScheduleTime") or cron["metadata"]["creationTimestamp"]).timestamp()
        deadline = cron["spec"].get("startingDeadlineSeconds")
        if deadline is not None:
            since = max(since, self._context.now - deadline)
        schedule = self._schedule(cron)
        due = schedule.after(since)
        while due is not None and due <= self._context.now:
            following = schedule.after(due)
            if following is None or following > self._context.now:
                break
            due = following
        return due

    # -- jobs

    def _jobs(self, cron: Obj) -> list[Obj]:
        namespace, uid = cron["metadata"]["namespace"], cron["metadata"]["uid"]
        return [job for job in self._context.observer.all(JOBS, namespace) if is_controlled_by(job, uid)]

    def _start(self, cron: Obj, due: float) -> bool:
        """Create the Job of a due time; return False if the concurrency policy forbids it."""
        running = [job for job in self._jobs(cron) if finish_time(job) is None]
        policy = cron["spec"].get("concurrencyPolicy")
        if running and policy == "Forbid":
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._event(cron, "JobAlreadyActive", text)
            return False
        if policy == "Replace":
            for job in running:
                if self._context.delete(JOBS, job):
                    self._event(cron, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")
        namespace, name = key_of(cron)
        template = copy_json(cron["spec"]["jobTemplate"])
        metadata = template.setdefault("metadata", {})
        metadata["name"] = f"{name}-{int(due) // 60}"
        metadata.setdefault("annotations", {})[SCHEDULED_AT] = timestamp(due)
        metadata["ownerReferences"] = [owner_reference("batch/v1", "CronJob", cron)]
        try:
            self._context.client.create(JOBS, template, namespace=namespace)
        except StatusError as error:
            if error.reason == "AlreadyExists":
                return True
            self._event(cron, "FailedCreate", f"Error creating job: {error}", type="Warning")
            return False
        self._event(cron, "SuccessfulCreate", f"Created job {metadata['name']}")
        return True

    def _clear(self, cron: Obj) -> None:
        """Delete finished Jobs beyond the history limits, oldest first."""
        ended: dict[str, list[tuple[float, Obj]]] = {"Complete": [], "Failed": []}
        for job in self._jobs(cron):
            at = finish_time(job)
            kinds = [c["type"] for c in (job.get("status") or {}).get("conditions") or () if c["status"] == "True"]
            for kind, jobs in ended.items():
                if at is not None and kind in kinds:
                    jobs.append((at, job))
        limits = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
        for kind, jobs in ended.items():
            kept = cron["spec"].get(limits[kind])
            jobs.sort(key=lambda pair: pair[0], reverse=True)
            for _, job in jobs[kept:] if kept is not None else ():
                if self._context.delete(JOBS, job):
                    self._event(cron, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")

    # -- status and events

    def _write_status(self, cron: Obj, started: float | None) -> None:
        jobs = self._jobs(cron)
        status = {k: v for k, v in (cron.get("status") or {}).items() if k != "active"}
        active = [_reference(job) for job in jobs if finish_time(job) is None]
        if active:
            status["active"] = active
        if started is not None:
            status["lastScheduleTime"] = timestamp(started)
        ends = [(job.get("status") or {}).get("completionTime") for job in jobs]
        latest = max(filter(None, [*ends, status.get("lastSuccessfulTime")]), default=None)
        if latest:
            status["lastSuccessfulTime"] = latest
        self._context.write_status(RESOURCE, cron, status)

    def _event(self, cron: Obj, reason: str, message: str, *, type: EventType = "Normal") -> None:
        self._context.recorder.event(
            cron, "CronJob", "batch/v1", reason, message, type=type, source="cronjob-controller"
        )


def _reference(job: Obj) -> Obj:
    metadata = job["metadata"]
    return {
        "kind": "Job",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "batch/v1",
        "resourceVersion": metadata["resourceVersion"],
    }
