"""A description as lines of text, problems first; never with values of environment variables or of Secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, parse_time
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.objects.description import Description, find_owners, is_bad
from kymatui.domain.objects.references import ReferenceState, ResolvedReference
from kymatui.domain.snapshot.snapshots import Object

_LABEL = 18  # cells of the label's column
_LONGEST = 400  # characters of one value
_EVENTS = 50  # events of one object that are displayed


def describe_lines(found: Description, now: float) -> list[str]:
    """Return the lines; times are relative to `now`, in seconds of the Unix clock."""
    return [sanitize(line) for line in _lines(found, now)]


def _lines(found: Description, now: float) -> Iterator[str]:
    ref, meta = found.ref, found.meta
    yield from _section("Problems", _problems(found))
    yield _fact("Name", ref.name)
    if ref.namespace:
        yield _fact("Namespace", ref.namespace)
    yield _fact("Kind", f"{ref.kind.kind} ({ref.kind.api_version})")
    readiness = check_readiness(found.raw, now)
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
    yield from _section("Owners", _owners(found))
    yield from _section("Field managers", _writers(found, now))
    yield from _section("Conditions", _conditions(found, now))
    yield from _section("Containers", (line for one in container_reports(found.raw) for line in _container(one, now)))
    yield from _section("References", _references(found))
    yield from _events(found, now)


def _fact(name: str, value: str) -> str:
    return f"{name + ':':<{_LABEL}}{_short(value)}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text)} characters)"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"{title}:"
        yield from (f"  {line}" for line in found)


def _pairs(title: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from _section(title, (f"{key}: {_short(value)}" for key, value in sorted(pairs)))


def _problems(found: Description) -> Iterator[str]:
    for one in found.references:
        if one.is_broken:
            yield f"{one.reference.ref} {_resolution_words(one)} ({one.reference.where})"
    for container in container_reports(found.raw):
        is_done = container.is_init and container.state.startswith("Completed")
        if container.state and container.state != "Running" and not is_done:
            why = f": {_short(container.message)}" if container.message else ""
            yield f"container {container.name} is {container.state}{why}"
    for condition in found.conditions:
        if is_bad(condition):
            why = ": ".join(part for part in (condition.reason, _short(condition.message)) if part)
            yield f"{condition.type} is {condition.status}" + (f": {why}" if why else "")


def _owners(found: Description) -> Iterator[str]:
    for one in find_owners(found.raw):
        role = "applied from this Manifest" if one.is_manifest else "controller" if one.is_controller else "owner"
        yield f"{one.ref} ({role})"


def _writers(found: Description, now: float) -> Iterator[str]:
    for one in sorted(found.writers, key=lambda writer: -(writer.at or 0.0)):
        when = f"{format_duration(now - one.at)} ago" if one.at is not None else "time unknown"
        part = f" of {one.subresource}" if one.subresource else ""
        count = f", {format_count(len(one.fields), 'field')}" if one.fields else ""
        yield f"{one.manager or 'unknown'} ({one.operation}{part}, {when}{count})"


def _conditions(found: Description, now: float) -> Iterator[str]:
    for one in found.conditions:
        since = f" for {format_duration(now - one.since)}" if one.since is not None else ""
        why = ": ".join(part for part in (one.reason, _short(one.message)) if part)
        yield f"{one.type}: {one.status}{since}" + (f" ({why})" if why else "")


def _container(one: ContainerReport, now: float) -> Iterator[str]:
    yield f"{one.name}{' (init)' if one.is_init else ''}: {one.image}"
    since = f" for {format_duration(now - one.since)}" if one.since is not None and one.state == "Running" else ""
    if one.state:
        yield f"  {one.state}{since}, {format_count(one.restarts, 'restart')}"
    if one.last:
        yield f"  before: {_short(one.last)}"


_WORDS = {
    ReferenceState.FOUND: "found",
    ReferenceState.MISSING: "does not exist",
    ReferenceState.FORBIDDEN: "unknown: you may not get it",
    ReferenceState.UNKNOWN: "unknown",
}


def _resolution_words(one: ResolvedReference) -> str:
    if one.resolution is ReferenceState.NO_KEY:
        return f"has no key {one.reference.key}"
    words = _WORDS[one.resolution]
    return f"{words}: {one.message}" if one.resolution is ReferenceState.UNKNOWN and one.message else words


def _references(found: Description) -> Iterator[str]:
    for one in found.references:
        optional = ", optional" if one.reference.optional else ""
        key = f" key {one.reference.key}" if one.reference.key else ""
        yield f"{one.reference.ref}{key}: {_resolution_words(one)} ({one.reference.where}{optional})"
    if found.left_out:
        yield f"{format_count(found.left_out, 'more object')} not checked"


def _events(found: Description, now: float) -> Iterator[str]:
    if found.events_unknown:
        yield _fact("Events", found.events_unknown)
        return
    if not found.events:
        yield _fact("Events", "none (Kubernetes keeps events for one hour by default)")
        return
    yield "Events:"
    for event in found.events[:_EVENTS]:
        age = format_duration(now - event.seen) if event.seen else "?"
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
