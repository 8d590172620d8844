"""CronJobs: create Jobs on schedule and delete old ones."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
from kymatui.sandbox.controllers.workloads.job_controllers import RESOURCE as JOBS
from kymatui.sandbox.controllers.workloads.job_controllers import finish_time
from kymatui.schemas.values.field_sets import copy_json
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


_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WORDS = {name: index + 1 for index, name in enumerate(_MONTHS)} | {name: index for index, name in enumerate(_DAYS)}
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every (?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_MOST_DAYS = 366 * 5


class Schedule:
    """A valid schedule; `zone` is a time zone name, UTC by default."""

    def __init__(self, text: str, zone: str = "") -> None:
        every = _EVERY.match(text)
        self._period = _seconds(every) if every else 0
        self._zone = _zone(zone)
        fields = _MACROS.get(text, text if not every else "* * * * *").split()
        sets = [_values(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)]
        self._minutes, self._hours, self._days, self._months, self._weekdays = sets
        self._any_day = fields[2][0] in "*?" or fields[4][0] in "*?"

    def after(self, moment: float) -> float | None:
        """Return the next time after `moment` (Unix seconds), None if there is none for years."""
        if self._period:
            return moment + self._period
        at = datetime.fromtimestamp(moment, self._zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for _ in range(_MOST_DAYS):
            if at.month in self._months and self._is_day(at):
                time = self._in_day(at)
                if time is not None:
                    return time.timestamp()
            at = at.replace(hour=0, minute=0) + timedelta(days=1)
        return None

    def _is_day(self, at: datetime) -> bool:
        """Return whether the day matches; if day and weekday are both restricted, either is enough."""
        by_date, by_weekday = at.day in self._days, at.isoweekday() % 7 in self._weekdays
        return (by_date and by_weekday) if self._any_day else (by_date or by_weekday)

    def _in_day(self, at: datetime) -> datetime | None:
        for hour in range(at.hour, 24):
            if hour in self._hours:
                first = at.minute if hour == at.hour else 0
                minute = next((minute for minute in range(first, 60) if minute in self._minutes), None)
                if minute is not None:
                    return at.replace(hour=hour, minute=minute)
        return None


def _seconds(every: re.Match[str]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in every.groups())
    return max(1, hours * 3600 + minutes * 60 + seconds)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _values(field: str, low: int, high: int) -> frozenset[int]:
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        else:
            ends = [_WORDS[end.lower()] if end.lower() in _WORDS else int(end) for end in span.split("-")]
            first, last = ends[0], ends[-1] if len(ends) > 1 or not step else high
        values.update(range(first, last + 1, int(step or 1)))
    return frozenset(values)
