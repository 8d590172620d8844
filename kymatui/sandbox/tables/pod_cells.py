"""Cells of a pod: ready containers, reason, restarts."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.tables.human_durations import age, seconds_of
from kymatui.schemas.types.schema_node import Object


def pod_cells(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    containers = spec.get("containers") or []
    statuses = status.get("containerStatuses") or []
    restarts = sum(entry.get("restartCount") or 0 for entry in statuses)
    ready = sum(1 for entry in statuses if entry.get("ready") and (entry.get("state") or {}).get("running"))
    last = _last_restart(statuses)
    gates = spec.get("readinessGates") or []
    return [
        obj["metadata"]["name"],
        f"{ready}/{len(containers)}",
        _reason(obj, statuses),
        f"{restarts} ({age(last, now)} ago)" if restarts and last else f"{restarts}",
        age(obj["metadata"].get("creationTimestamp"), now),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(gates, status) if gates else "<none>",
    ]


def _gates(gates: list[Object], status: Object) -> str:
    true = {c["type"] for c in status.get("conditions") or () if c.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


def _last_restart(statuses: list[Object]) -> str | None:
    ends: list[str] = []
    for entry in statuses:
        end = ((entry.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if isinstance(end, str) and seconds_of(end) is not None:
            ends.append(end)
    return max(ends, default=None)


def _reason(obj: Object, statuses: list[Object]) -> str:
    status = obj.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    initial = _initial_reason(obj)
    if initial:
        reason = initial
    else:
        running = False
        for entry in reversed(statuses):
            state = entry.get("state") or {}
            waiting, ended = state.get("waiting") or {}, state.get("terminated")
            if waiting.get("reason"):
                reason = waiting["reason"]
            elif ended is not None:
                reason = ended.get("reason") or _exit(ended)
            elif entry.get("ready") and state.get("running") is not None:
                running = True
        if reason == "Completed" and running:
            reason = "Running" if _is_ready(status) else "NotReady"
    if obj["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _is_ready(status: Object) -> bool:
    return any(c["type"] == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ())


def _exit(ended: Object) -> str:
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _initial_reason(obj: Object) -> str:
    """Return the reason of the first unfinished init container, "" if all are finished."""
    total = len((obj.get("spec") or {}).get("initContainers") or ())
    for index, entry in enumerate((obj.get("status") or {}).get("initContainerStatuses") or ()):
        state = entry.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if ended is not None and not ended.get("exitCode"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else f"Init:{index}/{total}"
    return ""
