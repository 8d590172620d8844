"""The containers whose logs can be read: of a module's manager, or of every Pod that belongs to the module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.object_tree import build_tree
from kymatui.domain.catalog.rows import CatalogOrigin, ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.missing_lists import UnknownFact, explain_gaps
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import EVENTS, Object, Snapshot, followed_kind

_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_DEEPEST = 5  # CronJob, Job, Pod need 3 levels; this limit stops a hostile chain of owners
_MOST_PODS = 500  # Pods of one module whose logs are offered


class ContainerRole(StrEnum):
    """The lists of a Pod that a container can be in."""

    MAIN = "container"
    INIT = "init container"
    EPHEMERAL = "ephemeral container"


class LogSource(Struct, frozen=True, order=True):
    """One container of one Pod."""

    namespace: str
    pod: str
    container: str

    def __str__(self) -> str:
        return f"{self.pod}/{self.container}"


class PodContainer(Struct, frozen=True):
    """A container with what its Pod reports; `is_default` is the one that kubectl reads without a name."""

    source: LogSource
    role: ContainerRole
    state: str
    restarts: int = 0
    is_default: bool = False


def pods_below(refs: Iterable[ObjectRef], locations: ObjectIndex) -> list[Object]:
    """Return the Pods among these objects and among what they own, each once, at most 500."""
    pods: dict[tuple[str, str], Object] = {}
    for raw in _walk(refs, locations, 0):
        ref = read_ref(raw)
        if (ref.kind.group, ref.kind.kind) == ("", "Pod") and len(pods) < _MOST_PODS:
            pods.setdefault((ref.namespace, ref.name), raw)
    return [pods[key] for key in sorted(pods)]


def _walk(refs: Iterable[ObjectRef], locations: ObjectIndex, depth: int) -> Iterator[Object]:
    for ref in refs:
        raw = locations.find(ref)
        if raw is not None:
            yield raw
            if depth < _DEEPEST:
                yield from _walk(map(read_ref, locations.owned_by(raw)), locations, depth + 1)


_LISTS = (
    (ContainerRole.MAIN, "containerStatuses", "containers"),
    (ContainerRole.INIT, "initContainerStatuses", "initContainers"),
    (ContainerRole.EPHEMERAL, "ephemeralContainerStatuses", "ephemeralContainers"),
)


def containers_of(pod: Object) -> list[PodContainer]:
    """Return the containers of a Pod, the main ones first; a Pod that no node has accepted has none yet.

    They are read from the status, and from the spec where a Pod is known in full.
    """
    reader, ref = JsonReader(pod), read_ref(pod)
    named = read_meta(reader).annotations.get(_DEFAULT_CONTAINER, "")
    containers: list[PodContainer] = []
    for role, statuses, specs in _LISTS:
        states = {entry.text("name"): entry for entry in reader.child("status").children(statuses)}
        names = [entry.text("name") for entry in reader.child("spec").children(specs)]
        for name in dict.fromkeys((*names, *states)):
            if name:
                status = states.get(name, JsonReader({}))
                source = LogSource(ref.namespace, ref.name, name)
                containers.append(PodContainer(source, role, _state(status), status.integer("restartCount")))
    return _with_default(containers, named)


def _with_default(containers: Sequence[PodContainer], named: str) -> list[PodContainer]:
    main = [container.source.container for container in containers if container.role is ContainerRole.MAIN]
    chosen = named if named in main else next(iter(main), "")
    return [
        PodContainer(
            container.source,
            container.role,
            container.state,
            container.restarts,
            is_default=container.source.container == chosen,
        )
        for container in containers
    ]


def _state(status: JsonReader) -> str:
    """Return `Running`, or the reason why the container does not run; "" if unknown."""
    state = status.child("state")
    if state.has("running"):
        return "Running"
    for name in ("waiting", "terminated"):
        if state.has(name):
            return state.child(name).text("reason") or name.capitalize()
    return ""


def choose_sources(
    containers: Iterable[PodContainer], container: str = "", *, all_containers: bool = False
) -> list[LogSource]:
    """Return the default container of each Pod, or the named one; with `all_containers` every container."""
    return [
        candidate.source
        for candidate in containers
        if all_containers or (candidate.source.container == container if container else candidate.is_default)
    ]


# The containers of a module: those of its manager's Pods, or of every Pod of its tree.


class ModuleLogs(Struct, frozen=True):
    """The containers, the Pods that have none yet, and why more Pods may exist (None if all are listed)."""

    containers: tuple[PodContainer, ...] = ()
    waiting: tuple[ObjectRef, ...] = ()
    gap: UnknownFact | None = None


def log_roots(row: ModuleRow, locations: ObjectIndex, *, all_objects: bool = False) -> tuple[ObjectRef, ...]:
    """Return the objects whose Pods have the logs: the manager, or with `all_objects` all objects of the tree.

    Of what no catalog offers, each workload is one.
    """
    if not all_objects and row.origin is CatalogOrigin.NONE:  # no template says which of its workloads is its manager
        return row.workloads
    if not all_objects:
        return (row.manager,) if row.manager is not None else ()
    tree = build_tree(row, locations, 0.0)
    return tuple(dict.fromkeys((*module_objects(row), *(node.ref for root in tree.roots for node in root.walk()))))


def find_logs(roots: tuple[ObjectRef, ...], snapshot: Snapshot, locations: ObjectIndex) -> ModuleLogs:
    """Return the containers of the Pods below these objects; the objects have to be followed."""
    pods = pods_below(roots, locations)
    pod_containers = [(read_ref(pod), containers_of(pod)) for pod in pods]
    feeds = [name for name in snapshot.feeds if followed_kind(name) not in ("", EVENTS)]
    return ModuleLogs(
        tuple(container for _, containers in pod_containers for container in containers),
        tuple(ref for ref, containers in pod_containers if not containers),
        next(iter(explain_gaps(snapshot.feeds, feeds)), None),
    )
