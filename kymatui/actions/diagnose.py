"""Gather what a ticket needs about modules: objects, events, logs, rights, versions; redacted before it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.logs import read_logs
from kymatui.actions.session import Session
from kymatui.domain.catalog.module_events import Event, event_objects, events_about, module_objects
from kymatui.domain.catalog.object_tree import build_tree
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CRD, DEPLOYMENT, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_lines import format_line
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import ContainerRole, LogSource, PodContainer, find_logs, log_roots
from kymatui.domain.objects.redaction import Redactor
from kymatui.domain.snapshot.object_index import ObjectIndex, index_objects
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, FeedState, ReadCache, Snapshot
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import KymatuiError, NotFoundError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import documents

MOST_OBJECTS: Final = 400  # objects that are read, each with a request; the others are reported as unread
LOG_LINES: Final = 2000  # of each container
LOG_BYTES: Final = 2 * 1024 * 1024  # the end of a container's log that is saved, however long its lines are
MOST_LOGS: Final = 60  # logs that are read, each with a request; the others are reported as unread
VERBS: Final = ("get", "list", "watch", "patch", "delete")
_OPERATOR = "operator.kyma-project.io"
_KINDS = (
    *(GroupVersionKind(_OPERATOR, "v1beta2", kind) for kind in ("Kyma", "ModuleTemplate", "ModuleReleaseMeta")),
    GroupVersionKind(_OPERATOR, "v1beta2", "Manifest"),
    DEPLOYMENT,
    GroupVersionKind("", "v1", "Pod"),
    GroupVersionKind("", "v1", "Event"),
    SECRET,
    CRD,
)


class Diagnosis(Struct):
    """What was gathered, redacted; `unread` says what could not be read, and why.

    `objects` are by reference, `logs` by the name of their file, `rights` by kind and verb (None if unknown).
    `unreachable` says why the runtime could not be read at all, "" where it could or where there is none.
    """

    objects: dict[ObjectRef, dict[str, Any]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    rights: dict[str, dict[str, bool | None]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    unreachable: str = ""


def yaml_documents(text: str) -> list[Any] | None:
    """Return the documents of a text, None if it is no YAML within the limits."""
    try:
        return list(documents(text.encode("utf-8", "replace"), keeps_integers=True))
    except YamlError:
        return None


def diagnose(
    session: Session, rows: Sequence[ModuleRow], redactor: Redactor, timeout: float, *, deep: bool
) -> Diagnosis:
    """Gather what is known of some modules; `deep` includes everything that they installed and all their Pods.

    What cannot be read does not stop the rest. Of a runtime that cannot be reached, what its control plane knows is
    gathered.
    """
    gathering = _Gathering(session, rows, redactor, deep=deep)
    gathering.follow(timeout)
    return gathering.run()


class _Gathering:
    """One run over a session whose lists are followed."""

    def __init__(self, session: Session, rows: Sequence[ModuleRow], redactor: Redactor, *, deep: bool) -> None:
        self._session = session
        self._rows = rows
        self._redactor = redactor
        self._deep = deep
        self._found = Diagnosis()

    def follow(self, timeout: float) -> None:
        """List the Pods and events of the modules."""
        _, locations = self._now()
        owned = [ref for row in self._rows for ref in self._roots(row, locations)]
        self._session.follow_owned(dict.fromkeys(owned))
        self._session.follow_events(dict.fromkeys(ref for row in self._rows for ref in module_objects(row)))
        try:
            is_whole = self._session.wait_complete(timeout)
        except KymatuiError as error:  # a report without the runtime still helps
            self._lose_runtime(str(error))
            return
        if not is_whole:
            self._found.unread.append(f"some lists were not complete within {timeout:g} s")

    def _lose_runtime(self, why: str) -> None:
        """Note that only the control plane can be read."""
        self._found.unreachable = self._redactor.text(why) or "no answer"
        self._found.unread.append(f"runtime {self._session.name}: {self._found.unreachable}")

    def _now(self) -> tuple[Snapshot, ObjectIndex]:
        snapshot = self._session.snapshot()
        return snapshot, index_objects(snapshot, ReadCache())

    def _roots(self, row: ModuleRow, locations: ObjectIndex) -> tuple[ObjectRef, ...]:
        return log_roots(row, locations, all_objects=True) if self._deep else module_objects(row)

    def run(self) -> Diagnosis:
        snapshot, locations = self._now()
        connection = snapshot.feeds.get(RUNTIME_FEED)
        if connection is not None and connection.state is not FeedState.LIVE and not self._found.unreachable:
            self._lose_runtime(connection.message)
        for name, feed in sorted(snapshot.feeds.items()):
            if name == RUNTIME_FEED and self._found.unreachable:
                continue
            if feed.message and feed.state is not FeedState.ABSENT:
                self._found.unread.append(f"list of {name}: {feed.state.value}: {self._redactor.text(feed.message)}")
        self._objects(snapshot, locations)
        self._events(snapshot, locations)
        self._logs(snapshot, locations)
        self._rights(snapshot)
        self._versions()
        return self._found

    # objects

    def _objects(self, snapshot: Snapshot, locations: ObjectIndex) -> None:
        refs = list(dict.fromkeys(self._refs(snapshot, locations)))
        for ref in refs[:MOST_OBJECTS]:
            try:
                raw = self._session.read(ref)
            except NotFoundError:
                self._found.unread.append(f"{ref}: does not exist")
            except KymatuiError as error:
                self._found.unread.append(f"{ref}: {self._redactor.text(str(error))}")
            else:
                is_secret = (ref.kind.group, ref.kind.kind) == (SECRET.group, SECRET.kind)
                self._found.objects[ref] = self._redactor.secret(raw) if is_secret else self._redactor.value(raw)
        if len(refs) > MOST_OBJECTS:
            self._found.unread.append(f"{len(refs) - MOST_OBJECTS} objects: more than {MOST_OBJECTS} are not read")

    def _refs(self, snapshot: Snapshot, locations: ObjectIndex) -> Iterator[ObjectRef]:
        yield from map(read_ref, snapshot.kymas)
        for row in self._rows:
            if row.template is not None and row.template.namespace:  # not of a catalog outside of the cluster
                yield row.template
            if self._deep:
                tree = build_tree(row, locations, 0.0)
                yield from (node.ref for root in tree.roots for node in root.walk())
            yield from event_objects(row, locations)

    # events and logs

    def _events(self, snapshot: Snapshot, locations: ObjectIndex) -> None:
        refs = [ref for row in self._rows for ref in event_objects(row, locations)]
        for event, _ in events_about(snapshot, dict.fromkeys(refs)):
            self._found.events.append(replace(event, message=self._redactor.text(event.message)))

    def _logs(self, snapshot: Snapshot, locations: ObjectIndex) -> None:
        roots = tuple(
            dict.fromkeys(ref for row in self._rows for ref in log_roots(row, locations, all_objects=self._deep))
        )
        logs = find_logs(roots, snapshot, locations)
        if logs.gap is not None:
            self._found.unread.append(f"Pods: {logs.gap}")
        chosen = [candidate for candidate in logs.containers if candidate.role is ContainerRole.MAIN]
        for container in chosen[:MOST_LOGS]:
            self._log(container, previous=False)
            if container.restarts:
                self._log(container, previous=True)
        if len(chosen) > MOST_LOGS:
            self._found.unread.append(f"{len(chosen) - MOST_LOGS} logs: more than {MOST_LOGS} are not read")

    def _log(self, container: PodContainer, *, previous: bool) -> None:
        failures: dict[LogSource, KymatuiError] = {}
        source = container.source
        options = LogOptions(previous=previous, tail=LOG_LINES)
        try:
            lines = read_logs(self._session.cluster, [source], options, failures)
            text = "\n".join(format_line(line, timestamps=True) for line in lines)
        except KymatuiError as error:
            failures[source], text = error, ""
        name = f"{source.namespace}_{source.pod}_{source.container}{'.previous' if previous else ''}.log"
        if text:
            self._found.logs[name] = self._redactor.text(text[-LOG_BYTES:]) + "\n"
        if source in failures:
            self._found.unread.append(f"log {name}: {self._redactor.text(str(failures[source]))}")

    # the user and the servers

    def _rights(self, snapshot: Snapshot) -> None:
        kinds = dict.fromkeys((*_KINDS, *(ref.kind for row in self._rows for ref in module_objects(row))))
        for kind in kinds:
            self._found.rights[str(kind)] = {verb: self._allowed(verb, kind) for verb in VERBS}

    def _allowed(self, verb: str, kind: GroupVersionKind) -> bool | None:
        try:
            side = self._session.home if kind.group == _OPERATOR and kind.kind == "Manifest" else self._session.cluster
            return side.allowed(verb, kind)
        except KymatuiError:  # such as a kind that the cluster does not serve
            return None

    def _versions(self) -> None:
        for name, connect in _sides(self._session):
            try:
                self._found.versions[name] = connect().version()
            except KymatuiError as error:
                self._found.unread.append(f"version of the {name}: {self._redactor.text(str(error))}")


def _sides(session: Session) -> Iterable[tuple[str, Callable[[], Cluster]]]:
    if not session.target.has_control_plane:
        return [("cluster", lambda: session.cluster)]
    return [("runtime", lambda: session.cluster), ("control plane", lambda: session.home)]
