"""A description as lines of text, problems first; never with values of environment variables or of Secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, parse_time
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.objects.description import Description, find_owners, is_bad
from kymatui.domain.objects.references import ReferenceState, ResolvedReference
from kymatui.domain.snapshot.snapshots import Object
from kymatui.moments import format_duration

_LABEL = 18  # cells of the label's column
_LONGEST = 400  # characters of one value
_EVENTS = 50  # events of one object that are displayed


def describe_lines(description: Description, now: float) -> list[str]:
    """Return the lines; times are relative to `now`, in seconds of the Unix clock."""
    return [sanitize(line) for line in _lines(description, now)]


def _lines(description: Description, now: float) -> Iterator[str]:
    ref, meta = description.ref, description.meta
    yield from _section("Problems", _problems(description))
    yield _fact("Name", ref.name)
    if ref.namespace:
        yield _fact("Namespace", ref.namespace)
    yield _fact("Kind", f"{ref.kind.kind} ({ref.kind.api_version})")
    readiness = check_readiness(description.raw, now)
    yield _fact(
        "State", f"{readiness.state.value}: {readiness.message}" if readiness.message else readiness.state.value
    )
    if meta.created is not None:
        yield _fact("Created", f"{format_duration(now - meta.created)} ago")
    if meta.deleted is not None:
        yield _fact("Deletion", f"requested {format_duration(now - meta.deleted)} ago")
    yield _fact("Finalizers", ", ".join(meta.finalizers) or "none")
    yield from _pairs("Labels", meta.labels.items())
    yield from _pairs("Annotations", ((key, value) for key, value in meta.annotations.items() if key != LAST_APPLIED))
    yield from _section("Owners", _owners(description))
    yield from _section("Field managers", _writers(description, now))
    yield from _section("Conditions", _conditions(description, now))
    yield from _section(
        "Containers",
        (line for container_report in container_reports(description.raw) for line in _container(container_report, now)),
    )
    yield from _section("References", _references(description))
    yield from _events(description, now)


def _fact(name: str, value: str) -> str:
    return f"{name + ':':<{_LABEL}}{_short(value)}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text)} characters)"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    entries = list(lines)
    if entries:
        yield f"{title}:"
        yield from (f"  {line}" for line in entries)


def _pairs(title: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from _section(title, (f"{key}: {_short(value)}" for key, value in sorted(pairs)))


def _problems(description: Description) -> Iterator[str]:
    for reference in description.references:
        if reference.is_broken:
            yield f"{reference.reference.ref} {_resolution_words(reference)} ({reference.reference.where})"
    for container in container_reports(description.raw):
        is_done = container.is_init and container.state.startswith("Completed")
        if container.state and container.state != "Running" and not is_done:
            why = f": {_short(container.message)}" if container.message else ""
            yield f"container {container.name} is {container.state}{why}"
    for condition in description.conditions:
        if is_bad(condition):
            why = ": ".join(part for part in (condition.reason, _short(condition.message)) if part)
            yield f"{condition.type} is {condition.status}" + (f": {why}" if why else "")


def _owners(description: Description) -> Iterator[str]:
    for owner in find_owners(description.raw):
        role = "applied from this Manifest" if owner.is_manifest else "controller" if owner.is_controller else "owner"
        yield f"{owner.ref} ({role})"


def _writers(description: Description, now: float) -> Iterator[str]:
    for writer in sorted(description.writers, key=lambda writer: -(writer.at or 0.0)):
        when = f"{format_duration(now - writer.at)} ago" if writer.at is not None else "time unknown"
        part = f" of {writer.subresource}" if writer.subresource else ""
        count = f", {format_count(len(writer.fields), 'field')}" if writer.fields else ""
        yield f"{writer.manager or 'unknown'} ({writer.operation}{part}, {when}{count})"


def _conditions(description: Description, now: float) -> Iterator[str]:
    for condition in description.conditions:
        since = f" for {format_duration(now - condition.since)}" if condition.since is not None else ""
        why = ": ".join(part for part in (condition.reason, _short(condition.message)) if part)
        yield f"{condition.type}: {condition.status}{since}" + (f" ({why})" if why else "")


def _container(report: ContainerReport, now: float) -> Iterator[str]:
    yield f"{report.name}{' (init)' if report.is_init else ''}: {report.image}"
    since = (
        f" for {format_duration(now - report.since)}" if report.since is not None and report.state == "Running" else ""
    )
    if report.state:
        yield f"  {report.state}{since}, {format_count(report.restarts, 'restart')}"
    if report.last:
        yield f"  before: {_short(report.last)}"


_WORDS = {
    ReferenceState.FOUND: "found",
    ReferenceState.MISSING: "does not exist",
    ReferenceState.FORBIDDEN: "unknown: you may not get it",
    ReferenceState.UNKNOWN: "unknown",
}


def _resolution_words(reference: ResolvedReference) -> str:
    if reference.resolution is ReferenceState.NO_KEY:
        return f"has no key {reference.reference.key}"
    words = _WORDS[reference.resolution]
    return (
        f"{words}: {reference.message}"
        if reference.resolution is ReferenceState.UNKNOWN and reference.message
        else words
    )


def _references(description: Description) -> Iterator[str]:
    for reference in description.references:
        optional = ", optional" if reference.reference.optional else ""
        key = f" key {reference.reference.key}" if reference.reference.key else ""
        yield f"{reference.reference.ref}{key}: {_resolution_words(reference)} ({reference.reference.where}{optional})"
    if description.left_out:
        yield f"{format_count(description.left_out, 'more object')} not checked"


def _events(description: Description, now: float) -> Iterator[str]:
    if description.events_unknown:
        yield _fact("Events", description.events_unknown)
        return
    if not description.events:
        yield _fact("Events", "none (Kubernetes keeps events for one hour by default)")
        return
    yield "Events:"
    for event in description.events[:_EVENTS]:
        age = format_duration(now - event.last_seen) if event.last_seen else "?"
        many = f" ×{event.count}" if event.count > 1 else ""
        yield f"  {age:>4} {event.type} {event.reason}{many}: {_short(event.message)}"


# The containers of a Pod, or of a Pod template, with what is reported of them.


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
        states = {entry.text("name"): entry for entry in status.children(reported)}
        for container in spec.children(field):
            name, image = container.text("name"), container.text("image")
            container_status = states.get(name)
            if container_status is None:
                yield ContainerReport(name, image, field == "initContainers")
                continue
            state, message, since = _state(container_status.child("state"))
            last, why, _ = _state(container_status.child("lastState"))
            yield ContainerReport(
                name,
                image,
                field == "initContainers",
                state,
                message,
                since,
                container_status.integer("restartCount"),
                f"{last}: {why}" if why else last,
            )


def _state(state: JsonReader) -> tuple[str, str, float | None]:
    """Return the word, the message and the time of a container's state."""
    if state.has("running"):
        return "Running", "", parse_time(state.child("running").text("startedAt"))
    if state.has("waiting"):
        waiting = state.child("waiting")
        return waiting.text("reason") or "Waiting", waiting.text("message"), None
    if state.has("terminated"):
        terminated = state.child("terminated")
        code = terminated.integer("exitCode")
        signal = f", signal {terminated.integer('signal')}" if terminated.has("signal") else ""
        word = f"{terminated.text('reason') or 'Terminated'} (exit code {code}{signal})"
        return word, terminated.text("message"), parse_time(terminated.text("finishedAt"))
    return "", "", None
