"""What an author sees of an installed module: the readiness of its objects, and the logs of its manager."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kymatui.actions.logs import LogFeed, LogSink
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, choose_sources, containers_of
from kymatui.domain.modules.readiness import check_readiness
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.jobs.wait import has_readiness
from kymatui.errors import KymatuiError

STARTING_SECONDS: Final = 1.0  # between two reads while objects are not ready yet
READY_SECONDS: Final = 5.0  # between two reads once all are ready, or the cluster does not answer
MOST_OBJECTS: Final = 50  # objects that are read every time, each with a request
_LINES: Final = 50  # of a log that is older than the loop
_POD: Final = GroupVersionKind("", "v1", "Pod")
_WORKLOADS: Final = frozenset({("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")})


class ModuleFollower:
    """Tells changes of readiness, and reads the logs of the manager's Pods, until `close`."""

    def __init__(self, cluster: Cluster, sink: LogSink, report: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._feed = LogFeed(cluster, LogOptions(follow=True, tail=_LINES), sink)
        self._report = report
        self._name = ""
        self._refs: tuple[ObjectRef, ...] = ()
        self._managers: tuple[tuple[str, str], ...] = ()
        self._states: dict[ObjectRef, str] = {}
        self._is_ready = False
        self._trouble = ""
        self._due = 0.0

    def follow(self, bundle: Bundle, manager: ObjectRef | None) -> None:
        """Follow what was installed; without a `manager`, the logs are those of all workloads."""
        bodies = [*bundle.objects, *bundle.defaults]
        self._name = f"{bundle.name} {bundle.version}"
        self._refs = tuple(ref for ref in map(read_ref, bodies) if has_readiness(ref))[:MOST_OBJECTS]
        workloads = [
            body for body in bodies if (ref := read_ref(body)) and (ref.kind.group, ref.kind.kind) in _WORKLOADS
        ]
        named = [workload for workload in workloads if manager is not None and read_ref(workload).key == manager.key]
        self._managers = tuple((read_ref(workload).namespace, _selector(workload)) for workload in named or workloads)
        self._states, self._is_ready, self._due = {}, False, 0.0

    def poll(self) -> None:
        """Ask the cluster if it is time to: every second until everything is ready, then every 5 seconds."""
        now = time.monotonic()
        if not self._refs or now < self._due:
            return
        try:
            self._look_at_states()
            self._feed.follow(self._sources())
            self._trouble = ""
        except KymatuiError as error:  # the author sees it once; the next look may find the cluster again
            if str(error) != self._trouble:
                self._report(f"states and logs are unknown: {error}")
            self._trouble = str(error)
        self._due = now + (READY_SECONDS if self._is_ready or self._trouble else STARTING_SECONDS)

    def close(self) -> None:
        self._feed.close()

    def _look_at_states(self) -> None:
        waiting = 0
        for ref in self._refs:
            live = self._cluster.get(ref)
            readiness = check_readiness(live, time.time()) if live is not None else None
            ready = readiness is not None and readiness.ready
            words = "ready" if ready else readiness.message if readiness is not None else "missing"
            waiting += not ready
            if self._states.get(ref) != words and not (ready and ref not in self._states):
                self._report(f"{ref}: {words}")
            self._states[ref] = words
        if not waiting and not self._is_ready:
            self._report(f"{self._name} is ready")
        self._is_ready = not waiting

    def _sources(self) -> Sequence[LogSource]:
        pods = [
            pod
            for namespace, selector in self._managers
            if selector
            for pod in self._cluster.list(_POD, namespace, labels=selector)
        ]
        return choose_sources(container for pod in pods for container in containers_of(pod))


def _selector(workload: Object) -> str:
    """Return the label selector of a workload's Pods, "" for one without labels to select by."""
    spec: dict[str, Any] = workload.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
