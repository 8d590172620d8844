"""The containers of a Pod, or of a Pod template, with what is reported of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.domain.snapshot.snapshots import Object


class ContainerReport(Struct, frozen=True):
    """One container; `state` and `last` are words of the kubelet, `since` is in seconds of the Unix clock."""

    name: str
    image: str
    is_init: bool
    state: str = ""
    message: str = ""
    since: float | None = None
    restarts: int = 0
    last: str = ""


def container_reports(raw: Object) -> tuple[ContainerReport, ...]:
    """Return the containers of a Pod or of a workload's template, init containers first."""
    reader = JsonReader(raw)
    spec, status = reader.child("spec"), reader.child("status")
    if spec.has("jobTemplate"):
        spec = spec.child("jobTemplate").child("spec")
    if spec.has("template"):
        spec = spec.child("template").child("spec")
    return tuple(_reports(spec, status))


def _reports(spec: JsonReader, status: JsonReader) -> Iterator[ContainerReport]:
    for field, reported in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        states = {one.text("name"): one for one in status.children(reported)}
        for container in spec.children(field):
            name, image = container.text("name"), container.text("image")
            found = states.get(name)
            if found is None:
                yield ContainerReport(name, image, field == "initContainers")
                continue
            state, message, since = _state(found.child("state"))
            last, why, _ = _state(found.child("lastState"))
            yield ContainerReport(
                name,
                image,
                field == "initContainers",
                state,
                message,
                since,
                found.integer("restartCount"),
                f"{last}: {why}" if why else last,
            )


def _state(state: JsonReader) -> tuple[str, str, float | None]:
    """Return the word, the message and the time of a container's state."""
    if state.has("running"):
        return "Running", "", parse_time(state.child("running").text("startedAt"))
    if state.has("waiting"):
        found = state.child("waiting")
        return found.text("reason") or "Waiting", found.text("message"), None
    if state.has("terminated"):
        found = state.child("terminated")
        code = found.integer("exitCode")
        signal = f", signal {found.integer('signal')}" if found.has("signal") else ""
        word = f"{found.text('reason') or 'Terminated'} (exit code {code}{signal})"
        return word, found.text("message"), parse_time(found.text("finishedAt"))
    return "", "", None
