"""Why the Pods of a workload do not run: the cause behind a rollout that is stuck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.label_selectors import LabelSelector, read_selector
from kymatui.domain.kubernetes.object_meta import find_condition, read_conditions, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
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
