"""Cells of workload kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.tables.human_durations import age, human_duration, seconds_of
from kymatui.sandbox.tables.shared_cells import NONE, Cells, age_of, format_labels, format_selector, images, named
from kymatui.schemas.types.schema_node import Object


def _deployment(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return named(
        obj,
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(obj, now),
        *images(spec),
        format_selector(spec.get("selector")),
    )


def _replica_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return named(obj, *counts, age_of(obj, now), *images(spec), format_selector(spec.get("selector")))


def _stateful_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return named(obj, ready, age_of(obj, now), *images(spec))


_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    nodes = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector")
    counts = [status.get(name, 0) for name in _DAEMON_COUNTS]
    selector = format_selector(spec.get("selector"))
    return named(obj, *counts, format_labels(nodes), age_of(obj, now), *images(spec), selector)


def _controller_revision(obj: Object, now: float) -> list[Any]:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    group = owner["apiVersion"].rpartition("/")[0] if owner else ""
    name = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return named(obj, name, obj.get("revision", 0), age_of(obj, now))


def _job(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallel = spec.get("parallelism") or 0
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    start, end = seconds_of(status.get("startTime")), seconds_of(status.get("completionTime"))
    duration = "" if start is None else human_duration(int((end if end is not None else now) - start))
    return named(
        obj,
        _job_status(obj),
        completions,
        duration,
        age_of(obj, now),
        *images(spec),
        format_selector(spec.get("selector")),
    )


def _job_status(obj: Object) -> str:
    true = {c["type"] for c in (obj.get("status") or {}).get("conditions") or () if c.get("status") == "True"}
    for word in ("Complete", "Failed"):
        if word in true:
            return word
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition, word in (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget")):
        if condition in true:
            return word
    return "SuccessCriteriaMet" if "SuccessCriteriaMet" in true else "Running"


def _cron_job(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    last = status.get("lastScheduleTime")
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    return named(
        obj,
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age_of(obj, now),
        *images(job),
        format_selector(job.get("selector")),
    )


WORKLOADS: dict[str, Cells] = {
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ControllerRevision": _controller_revision,
    "Job": _job,
    "CronJob": _cron_job,
}
