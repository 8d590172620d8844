"""The author's loop: look at a module's files, and run a cycle after each save.

Files are looked at instead of watched: editors replace them, tools write them in parts, and not every file system sends
events. What costs time is done only after a save.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from kymatui.actions.logs import LogFeed, LogSink
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogOptions
from kymatui.domain.logs.log_sources import LogSource, choose_sources, containers_of
from kymatui.domain.modules.readiness import check_readiness
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.jobs.wait import has_readiness
from kymatui.errors import KymatuiError
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.module_build import LARGEST_CONFIG, beside, security_path
from kymatui.publishing.module_config import is_address, read_config

LOOK_SECONDS: Final = 0.5
"""The time between two looks; files have to be the same at two of them before they are read."""
RETRIES: Final = Backoff(2.0, 60.0)
"""Seconds until a failed cycle is tried again without a save."""

FileStamp = tuple[int, int, int]
Stamps = tuple[tuple[str, FileStamp | None], ...]


class CycleEnd(Enum):
    """How a cycle ended: it waits for the next save, or is tried again because a server did not answer."""

    WAIT = "wait"
    RETRY = "retry"


class ModuleFiles:
    """A module config and the files that it names; of an unreadable config, those that it named last."""

    def __init__(self, config: str, sources: DiskSources) -> None:
        self._config = config
        self._sources = sources
        self._read_at: FileStamp | None = None
        self._named: tuple[str, ...] = ()

    def stamps(self) -> Stamps:
        """Return each file with its stamp, None for a file that is missing."""
        stamp = self._sources.stamp(self._config)
        if stamp != self._read_at:
            self._read_at = stamp
            self._named = self._names() or self._named
        return tuple((path, self._sources.stamp(path)) for path in (self._config, *self._named))

    def _names(self) -> tuple[str, ...]:
        try:
            content = self._sources.read(self._config, "module config", LARGEST_CONFIG)
            config, _ = read_config(content, self._config)
        except KymatuiError:  # the cycle reads the config itself and reports the error
            return ()
        paths = [beside(self._config, path) for path in (config.manifest, config.default_cr) if path]
        if config.security:
            paths.append(security_path(self._config, config.security, self._sources))
        return tuple(dict.fromkeys(path for path in paths if not is_address(path)))


def run_dev_loop(
    files: ModuleFiles,
    cycle: Callable[[], CycleEnd],
    idle: Callable[[], None],
    retrying: Callable[[float], None],
    wait: Callable[[float], bool],
) -> None:
    """Run a cycle now and after each save, until `wait` (seconds) returns true.

    A cycle begins once two looks find the same files, so that it never reads half of a save. A save during a cycle
    starts the next one. `retrying` is called with the seconds until a failed cycle is tried again without a save.
    """
    done: Stamps | None = None
    before: Stamps | None = None
    failures, due = 0, float("inf")
    while True:
        stamps = files.stamps()
        is_saved = stamps != done and (done is None or stamps == before)
        if is_saved or due <= 0:
            done, due = stamps, float("inf")
            failures = 0 if is_saved else failures
            if cycle() is CycleEnd.RETRY:
                due = RETRIES.delay(failures)
                retrying(due)
                failures += 1
            else:
                failures = 0
        before = stamps
        idle()
        if wait(LOOK_SECONDS):
            return
        due -= LOOK_SECONDS


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
