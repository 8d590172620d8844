"""A process that is killed at its N-th request, before it leaves or after its answer came; and what a cluster holds.

    python -m tests.engine.killing KUBECONFIG chart install 1 5 50%    # at these requests; "every:7" for every seventh

prints one line of JSON for each death: whether the run after it ended well, and what is not as in an undisturbed
cluster. Every attempt is a fork of that process, which has no threads of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kymatui.adapters.kube.client import Client
from kymatui.adapters.kube.clusters import KubeCluster
from kymatui.adapters.kube.connections import connect
from kymatui.adapters.kube.transport import Transport
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.hooks import ANNOTATION_RUN
from kymatui.errors import NotFoundError
from tests.engine import thirty
from tests.engine.places import Json

KILLED = -signal.SIGKILL


class MortalTransport(Transport):
    """Kills its own process at request `number` (from 1; 0 never), after the answer where `after`."""

    number = 0
    after = False
    sent = 0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._numbers = itertools.count(1)

    def _once(self, *given: Any, **named: Any) -> Any:
        mine = next(self._numbers)
        self.sent = mine
        if mine == self.number and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = super()._once(*given, **named)
        if mine == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def in_child(kubeconfig: Path, work: Callable[[KubeCluster], None], *, number: int = 0, after: bool = False) -> int:
    """Runs `work` in a process of its own; returns its exit status, KILLED where it was killed as asked."""
    sys.stdout.flush()
    sys.stderr.flush()
    assert threading.active_count() == 1, "a process with threads must not fork"
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    code = 1
    try:
        transport = MortalTransport(connect(str(kubeconfig), "", ""))
        transport.number, transport.after = number, after
        work(KubeCluster(Client(transport)))
        code = 0
    except BaseException:  # noqa: BLE001 (the child ends here, whatever happens)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def count_requests(kubeconfig: Path, work: Callable[[KubeCluster], None]) -> int:
    """How many requests the work sends when nobody kills it."""
    reader, writer = os.pipe()

    def counted(cluster: KubeCluster) -> None:
        work(cluster)
        transport = cluster.client.transport
        assert isinstance(transport, MortalTransport)
        os.write(writer, str(transport.sent).encode())

    assert in_child(kubeconfig, counted) == 0
    os.close(writer)
    found = int(os.read(reader, 100))
    os.close(reader)
    return found


def contents(cluster: KubeCluster, namespace: str, group: str) -> dict[str, Json]:
    """Everything of a test's place, without what is different in every run: ids, times, the place's own name."""
    found: dict[str, Json] = {}
    for kind in cluster.all_kinds():
        if "list" not in kind.verbs or kind.gvk.kind in ("Event", "Lease", "PodMetrics", "NodeMetrics"):
            continue
        for body in cluster.list(kind.gvk, namespace if kind.namespaced else ""):
            name = body["metadata"]["name"]
            mine = kind.namespaced or name.startswith(namespace) or name.endswith(f".{group}")
            if mine and not body["metadata"].get("ownerReferences"):
                plain = _plain({key: part for key, part in body.items() if key != "status"}, namespace)
                found[f"{kind.gvk.kind} {plain['metadata']['name']}"] = plain
    return found


_VOLATILE = frozenset(
    {
        "creationTimestamp",
        "lastProbeTime",
        "lastTransitionTime",
        "lastUpdateTime",
        "managedFields",
        "resourceVersion",
        "startTime",
        "completionTime",
        "modifiedAt",
        "uid",
        "clusterIP",
        "clusterIPs",
        "batch.kubernetes.io/controller-uid",
        "controller-uid",
    }
)


def _plain(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        kind = value.get("type")
        if ANNOTATION_RUN in value:  # a digest in which the place's name is, and the revision
            value = {**value, ANNOTATION_RUN: str(value[ANNOTATION_RUN]).rpartition("-")[2]}
        found = {
            str(key).replace(namespace, "PLACE"): _plain(part, namespace)
            for key, part in value.items()
            if key not in _VOLATILE
        }
        if kind == "helm.sh/release.v1":
            found["data"] = sorted(value["data"])
        if str(found.get("inventory", "")).startswith("{"):
            found["inventory"] = {**json.loads(found["inventory"]), "digest": "of what has the place's name in it"}
        if "applyset.kubernetes.io/id" in found or "applyset.kubernetes.io/part-of" in found:
            found = {key: part for key, part in found.items() if not key.startswith("applyset.")}
        return found
    if isinstance(value, list):
        return [_plain(part, namespace) for part in value]
    if isinstance(value, str):
        return value.replace(namespace, "PLACE")
    return value


SHAPES = {"chart": thirty.as_chart, "manifest": thirty.as_manifest}
Work = Callable[[KubeCluster], None]


class Walk:
    """One shape of module, and what is done with it while somebody kills: install, upgrade or uninstall."""

    def __init__(self, kubeconfig: Path, shape: str, verb: str) -> None:
        self._kubeconfig, self._shape, self._verb = kubeconfig, shape, verb
        self._looker = KubeCluster(Client(Transport(connect(str(kubeconfig), "", ""))))
        self._expected: dict[str, Json] = {}
        self.requests = 0

    def measure(self) -> None:
        """The undisturbed run."""
        place = f"calm-{self._shape}-{self._verb}"
        self._before(place)
        self.requests = count_requests(self._kubeconfig, self._work(place))
        self._expected = self._contents(place)

    def die(self, number: int, *, after: bool) -> Json:
        """Killed once, run again, and compared."""
        place = f"k{number}{'a' if after else 'b'}-{self._shape}-{self._verb}"
        self._before(place)
        killed = in_child(self._kubeconfig, self._work(place), number=number, after=after)
        status = in_child(self._kubeconfig, self._work(place))
        found, differing = self._compared(place)
        deadline = time.monotonic() + 5.0
        while differing and time.monotonic() < deadline:  # a namespace that is going, goes without us
            time.sleep(0.1)
            found, differing = self._compared(place)
        self._tidy(place)
        return {
            "number": number,
            "after": after,
            "killed": killed == KILLED,
            "ended_well": status == 0,
            "differing": {key: [self._expected.get(key), found.get(key)] for key in differing},
        }

    def _before(self, place: str) -> None:
        if self._verb != "install":
            bundle = SHAPES[self._shape](place, f"{place}.example.org", "1")
            assert in_child(self._kubeconfig, lambda cluster: thirty.install(cluster, bundle)) == 0

    def _work(self, place: str) -> Work:
        if self._verb == "uninstall":
            return lambda cluster: thirty.uninstall(cluster, "thirty", place)
        version = "1" if self._verb == "install" else "2"
        bundle = SHAPES[self._shape](place, f"{place}.example.org", version)
        return lambda cluster: thirty.install(cluster, bundle)

    def _contents(self, place: str) -> dict[str, Json]:
        self._looker.forget_kinds()
        return contents(self._looker, place, f"{place}.example.org")

    def _compared(self, place: str) -> tuple[dict[str, Json], list[str]]:
        found, expected = self._contents(place), self._expected
        return found, sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))

    def _tidy(self, place: str) -> None:
        """Everything of a place, without waiting."""
        for kind in ("CustomResourceDefinition", "ClusterRole", "Namespace"):
            gvk = GroupVersionKind(_GROUPS[kind], "v1", kind)
            for body in self._looker.list(gvk):
                name = body["metadata"]["name"]
                if name.startswith(place) or name.endswith(f".{place}.example.org"):
                    with contextlib.suppress(NotFoundError):
                        self._looker.delete(ObjectRef(gvk, "", name))


_GROUPS = {
    "CustomResourceDefinition": "apiextensions.k8s.io",
    "ClusterRole": "rbac.authorization.k8s.io",
    "Namespace": "",
}


def chosen(words: list[str], requests: int) -> Iterator[int]:
    for word in words:
        if word.startswith("every:"):
            yield from range(1, requests + 1, int(word.removeprefix("every:")))
        elif word.endswith("%"):
            yield max(1, requests * int(word.removesuffix("%")) // 100)
        elif int(word) <= requests:
            yield int(word)


def main(words: list[str]) -> None:
    kubeconfig, shape, verb, *numbers = words
    walk = Walk(Path(kubeconfig), shape, verb)
    walk.measure()
    print(json.dumps({"requests": walk.requests}), flush=True)
    for number in chosen(numbers, walk.requests):
        for after in (False, True):
            print(json.dumps(walk.die(number, after=after)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
