"""Logs of pods: plausible lines derived from the pod, identical on every read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kymatui.sandbox.apimachinery.clock import SandboxClock, Timer, micro_timestamp
from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, invalid
from kymatui.sandbox.apiserver.requests.request_info import is_true
from kymatui.sandbox.apiserver.resources.resource import Object

_EVERY = 5.0  # seconds between two lines of a running container
_MOST_LINES = 2000
_BEFORE_LOOPS = 3  # lines of the start
_TEXT = "text/plain"

Line = tuple[float, str]


def _check_options(request: ServerRequest, name: str) -> None:
    """Raise StatusError 422 for invalid numbers."""
    causes: list[dict[str, str]] = []
    least = {"tailLines": (0, "must be greater than or equal to 0"), "limitBytes": (1, "must be greater than 0")}
    least["sinceSeconds"] = (1, "must be greater than 0")
    for option, (low, text) in least.items():
        value = request.first(option)
        if value.lstrip("-").isdigit() and int(value) < low:
            message = f"Invalid value: {value}: {text}"
            causes.append({"reason": "FieldValueInvalid", "message": message, "field": option})
    if request.first("sinceSeconds") and request.first("sinceTime"):
        text = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append({"reason": "FieldValueForbidden", "message": text, "field": ""})
    if causes:
        raise invalid("PodLogOptions", name, causes)


class PodLogs:
    """Answers GET of a pod's log, whole or followed."""

    def __init__(self, store: ObjectStore, clock: SandboxClock) -> None:
        self._store = store
        self._clock = clock

    def answer(self, request: ServerRequest, pod: Object) -> ServerResponse:
        """Return the log. Raise StatusError 400 for an unknown container or one that has not started."""
        _check_options(request, pod["metadata"]["name"])
        container = _container(pod, request.first("container"))
        status = _container_status(pod, container)
        if is_true(request.first("previous")):
            status = _previous(pod, status, container)
        started = _started(pod, status, container)
        lines = self._lines(pod, container, started, status)
        chosen = _chosen(lines, request, self._clock.now())
        stamped = is_true(request.first("timestamps"))
        body = "".join(_shown(line, stamped) for line in chosen)
        if is_true(request.first("follow")) and "running" in (status.get("state") or {}):
            return ServerResponse(
                200,
                content_type=_TEXT,
                stream=_Following(self._clock, self._store, pod, body, len(lines) - _BEFORE_LOOPS, stamped),
            )
        limit = request.first("limitBytes")
        data = body.encode()
        return ServerResponse(200, data[: int(limit)] if limit.isdigit() else data, _TEXT)

    def _lines(self, pod: Object, container: str, started: float, status: dict[str, Any]) -> list[Line]:
        image = status.get("image") or ""
        name = pod["metadata"]["name"]
        lines = [
            (started, f'level=info msg="starting" container={container} image={image}'),
            (started + 0.2, f'level=info msg="configuration loaded" pod={name}'),
            (started + 0.5, 'level=info msg="ready"'),
        ]
        ended = ((status.get("state") or {}).get("terminated") or {}).get("finishedAt")
        end = _seconds(ended) if ended else self._clock.now()
        count = min(_MOST_LINES, int(max(0.0, end - started) / _EVERY))
        lines += [(started + _EVERY * n, heartbeat(n)) for n in range(1, count + 1)]
        if ended:
            lines.append((end, 'level=info msg="finished"'))
        return lines


def heartbeat(number: int) -> str:
    return f'level=info msg="reconciled" loop={number}'


class _Following:
    """A followed log that grows until its pod is deleted."""

    def __init__(
        self, clock: SandboxClock, store: ObjectStore, pod: Object, body: str, number: int, stamped: bool
    ) -> None:
        self._clock = clock
        self._store = store
        self._pod = pod
        self._body = body
        self._stamped = stamped
        self._number = number
        self._timer: Timer | None = None
        self._send: Callable[[bytes], None] = lambda _: None
        self._finish: Callable[[], None] = lambda: None

    def start(self, send: Callable[[bytes], None], finish: Callable[[], None]) -> None:
        self._send, self._finish = send, finish
        if self._body:
            send(self._body.encode())
        self._timer = self._clock.call_later(_EVERY, self._again)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _again(self) -> None:
        metadata = self._pod["metadata"]
        stored = self._store.get("pods", metadata["namespace"], metadata["name"])
        if stored is None or stored.uid != metadata["uid"]:
            self._finish()
            return
        self._number += 1
        self._send(_shown((self._clock.now(), heartbeat(self._number)), self._stamped).encode())
        self._timer = self._clock.call_later(_EVERY, self._again)


def _shown(line: Line, stamped: bool) -> str:
    return f"{micro_timestamp(line[0])} {line[1]}\n" if stamped else f"{line[1]}\n"


def _chosen(lines: list[Line], request: ServerRequest, now: float) -> list[Line]:
    since = request.first("sinceSeconds")
    if since.isdigit():
        lines = [line for line in lines if line[0] >= now - int(since)]
    moment = request.first("sinceTime")
    if moment:
        lines = [line for line in lines if line[0] >= _seconds(moment)]
    tail = request.first("tailLines")
    if tail.isdigit():
        lines = lines[len(lines) - int(tail) :] if int(tail) < len(lines) else lines
    return lines


def _container(pod: Object, container_name: str) -> str:
    spec = pod.get("spec") or {}
    names = [container["name"] for container in spec.get("containers") or ()]
    others = [container["name"] for container in spec.get("initContainers") or ()]
    name = pod["metadata"]["name"]
    if container_name:
        if container_name in (*names, *others):
            return container_name
        raise bad_request(f"container {container_name} is not valid for pod {name}")
    if len(names) == 1:
        return str(names[0])
    listed = " ".join(names)
    inits = f" or one of the init containers: [{' '.join(others)}]" if others else ""
    raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{listed}]{inits}")


def _container_status(pod: Object, container: str) -> dict[str, Any]:
    status = pod.get("status") or {}
    known = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((entry for entry in known if entry["name"] == container), {})


def _previous(pod: Object, status: dict[str, Any], container: str) -> dict[str, Any]:
    """Return the status of the instance before the last restart. Raise StatusError 400 if there was none."""
    last = status.get("lastState") or {}
    if not last.get("terminated"):
        name = pod["metadata"]["name"]
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    return {**status, "state": last}


def _started(pod: Object, status: dict[str, Any], container: str) -> float:
    state = status.get("state") or {}
    moment = (state.get("running") or state.get("terminated") or {}).get("startedAt")
    if moment:
        return _seconds(moment)
    raise _not_started(pod, container, (state.get("waiting") or {}).get("reason") or "")


def _not_started(pod: Object, container: str, reason: str) -> StatusError:
    name = pod["metadata"]["name"]
    why = {
        "ImagePullBackOff": "trying and failing to pull image",
        "ErrImagePull": "image can't be pulled",
        "ContainerCreating": "ContainerCreating",
    }.get(reason, reason or "ContainerCreating")
    return bad_request(f'container "{container}" in pod "{name}" is waiting to start: {why}')


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise bad_request(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse') from None
