"""The operator on two clusters, and the recordings of what the real lifecycle-manager did there.

The recordings and the program that plays them are reference data (../shared/klm), which not every checkout has.
"""

from __future__ import annotations

import contextlib
import fnmatch
import http.client
import importlib.util
import json
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from kymatui.crds import read_crds
from kymatui.operator.installation.deployment import DeploymentOptions, operator_objects
from kymatui.sandbox.fault_client import FaultClient
from tests.integration.used_permissions import UsedPermission, used_permissions
from tests.sandboxes.starting import ready_sandbox

ROOT = Path(__file__).resolve().parents[2]
KLM = next((one / "shared" / "klm" for one in ROOT.parents if (one / "shared" / "klm" / "replay.py").is_file()), None)
PATIENCE = 40.0
_LOG_LINES = 60
ACCESS = {
    "ServiceAccount": "/api/v1/namespaces/{0}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{0}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{0}/rolebindings",
}
HOME = "kcp-system"


def load() -> ModuleType:
    """Return the program that plays recordings."""
    assert KLM is not None
    if "klm_replay" not in sys.modules:
        spec = importlib.util.spec_from_file_location("klm_replay", KLM / "replay.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["klm_replay"] = module
        spec.loader.exec_module(module)
    return sys.modules["klm_replay"]


class EventOrder:
    """Follow some kinds on both clusters, and when their objects were marked for deletion and gone.

    In the place of `replay.Events`, which takes the order in which its threads read the events. A rule names the events
    that come first (objects and event), and those that follow.
    """

    def __init__(self, kinds: dict[str, list[tuple[str, str]]], clusters: list[Any], rules: list[list[str]]) -> None:
        self._kinds = kinds
        self._clusters = {cluster.name: cluster for cluster in clusters}
        self._across = [rule for rule in rules if _cluster_of(rule[0]) != _cluster_of(rule[2])]
        self._missing: dict[str, set[str]] = {}
        """By rule across clusters, the objects whose event had not come when the first of those that follow had."""
        self._seen: dict[tuple[str, str], int] = {}
        """The resource versions by object and event."""
        self._changed = threading.Condition()
        self._closed = False
        self._connections: list[http.client.HTTPConnection] = []
        for cluster in clusters:
            for version, kind in kinds[cluster.name]:
                if path := cluster.path(version, kind):
                    listed = _list(cluster, path)
                    if listed is None:  # its CRD went a moment ago
                        continue
                    for item in listed["items"]:
                        self._note(cluster.name, kind, "ADDED", item)
                    follow = (cluster, path, kind, listed["metadata"]["resourceVersion"])
                    threading.Thread(target=self._follow, args=follow, daemon=True).start()

    def _follow(self, cluster: Any, path: str, kind: str, version: str) -> None:
        """Watch from a known version on, so that no event is lost before the watch is open."""
        while not self._closed:
            connection = cluster.connect(timeout=60)
            self._connections.append(connection)
            try:
                query = f"?watch=1&timeoutSeconds=50&resourceVersion={version}"
                connection.request("GET", cluster.base.path.rstrip("/") + path + query, headers=cluster.headers)
                answer = connection.getresponse()
                if answer.status != 200:  # the kind is no longer served
                    return
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    self._note(cluster.name, kind, event["type"], event["object"])
                    version = event["object"]["metadata"]["resourceVersion"]
            except (OSError, ValueError, AttributeError, http.client.HTTPException):  # also after `close`
                time.sleep(0.2)
            finally:
                connection.close()

    def _note(self, cluster: str, kind: str, event: str, item: dict[str, Any]) -> None:
        metadata = item["metadata"]
        key = "/".join((cluster, kind, metadata.get("namespace") or "-", metadata["name"]))
        found = ["deleting"] if metadata.get("deletionTimestamp") or event == "DELETED" else []
        found += ["gone"] if event == "DELETED" else []
        for rule in self._across:
            if rule[3] in found and fnmatch.fnmatchcase(key, rule[2]) and str(rule) not in self._missing:
                self._missing[str(rule)] = self._without(rule[0], rule[1])
        with self._changed:
            for what in found:
                self._seen.setdefault((key, what), int(metadata["resourceVersion"]))
            self._changed.notify_all()

    def _without(self, pattern: str, event: str) -> set[str]:
        """Ask the server now which objects of a pattern had no such event yet: its watch may be read later."""
        name, kind, *_ = pattern.split("/")
        cluster = self._clusters[name]
        path = cluster.path(next(version for version, one in self._kinds[name] if one == kind), kind)
        items = ((_list(cluster, path) if path else None) or {}).get("items", [])
        left = [one["metadata"] for one in items if event == "gone" or not one["metadata"].get("deletionTimestamp")]
        keys = {"/".join((name, kind, one.get("namespace") or "-", one["name"])) for one in left}
        return {key for key in keys if fnmatch.fnmatchcase(key, pattern)}

    def check(self, rule: list[str]) -> str | None:
        """Return why not every event of the first kind came before the first one of the second, None if all did.

        Wait until both are known. One cluster numbers its events; of two clusters, one was asked when the other's came.
        """
        first, before, second, after = rule
        with self._changed:
            self._changed.wait_for(lambda: self._events(first, before) and self._events(second, after), PATIENCE)
            earlier, later = self._events(first, before), self._events(second, after)
        if not earlier or not later:
            return f"no event {before if not earlier else after!r} of {first if not earlier else second}"
        if rule in self._across:
            ordered = not any((key, before) in self._seen for key in self._missing[str(rule)])
        else:
            ordered = max(earlier) <= min(later)
        return None if ordered else f"{second} {after} before {first} {before}"

    def _events(self, pattern: str, event: str) -> list[int]:
        return [at for (key, what), at in self._seen.items() if what == event and fnmatch.fnmatchcase(key, pattern)]

    def close(self) -> None:
        self._closed = True
        for connection in self._connections:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)


def _cluster_of(pattern: str) -> str:
    return pattern.partition("/")[0]


def _list(cluster: Any, path: str) -> dict[str, Any] | None:
    """Return a list over a connection of its own, None if the kind is not served."""
    connection = cluster.connect(timeout=60)
    try:
        connection.request("GET", cluster.base.path.rstrip("/") + path, headers=cluster.headers)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status in (200, 404), data
        found: dict[str, Any] | None = json.loads(data) if answer.status == 200 else None
        return found
    finally:
        connection.close()


@dataclass(frozen=True)
class RecordedPair:
    """A control plane and a runtime without modules, and the operator with the permissions that are printed for it."""

    replay: ModuleType
    player: Any
    operator: Any
    scenarios: dict[str, Any]
    log: Path
    faults: FaultClient
    used: set[UsedPermission] = field(default_factory=set)
    played: set[str] = field(default_factory=set)

    def play(self, name: str, pause: int = 0, paused: Callable[[], None] = lambda: None) -> None:
        """Play a scenario; fail at the first step in which a cluster does not get into the recorded state.

        Before the step `pause`, the operator is stopped for `paused`.
        """
        self.player.scenario = self.scenarios[name]
        self.operator.stop()
        self.replay.reset(self.player.kcp, self.player.skr)
        self.faults.requests(forget=True)
        try:
            self.player.act({"do": "start"})
            for number, step in enumerate(self.player.scenario["steps"]):
                if pause and number == pause:
                    self.operator.stop()
                    paused()
                    self.faults.requests(forget=True)
                    self.player.act({"do": "start"})
                self._play(step)
        finally:
            self.operator.stop()
            self.used.update(used_permissions(self.faults.requests(forget=True)))
        self.played.add(name)

    def events(self) -> list[dict[str, Any]]:
        """Return the Events of the control plane about Kymas and Manifests."""
        _, answer = self.player.kcp.call("GET", f"/api/v1/namespaces/{HOME}/events")
        found: list[dict[str, Any]] = answer["items"]
        return [one for one in found if one["involvedObject"]["kind"] in ("Kyma", "Manifest")]

    def writers(self) -> dict[tuple[str, str], set[tuple[str, str, str]]]:
        """Return the field managers of both clusters by cluster and kind, each with operation and subresource.

        Without those of Kubernetes and of the scenario itself.
        """
        replay, player = self.replay, self.player
        versions = {
            "kcp": {kind: version for version, kind in replay.KCP_KINDS},
            "skr": {kind: version for version, kind in (*replay.SKR_GLOBAL, *replay.SKR_NAMESPACED)},
        }
        writers: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
        for key in player.state():
            where, kind, namespace, name = key.split("/", 3)
            if kind not in versions[where]:
                continue
            cluster = player.by[where]
            path = cluster.path(versions[where][kind], kind, namespace if namespace != "-" else None, name)
            _, raw = cluster.call("GET", path)
            for entry in raw["metadata"].get("managedFields") or []:
                if not entry["manager"].startswith(("kube-", "unknown")):
                    writer = (entry["manager"], entry["operation"], entry.get("subresource", ""))
                    writers.setdefault((where, kind), set()).add(writer)
        return writers

    def _operator_report(self) -> str:
        """Return whether the operator still runs, the end of its log, and what Kymas and Manifests report."""
        status = self.operator.p.poll()
        lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        for kind in ("kymas", "manifests"):
            _, answer = self.player.kcp.call("GET", f"/apis/operator.kyma-project.io/v1beta2/namespaces/{HOME}/{kind}")
            lines += [f"{one['metadata']}: {one.get('status')}" for one in answer["items"]]
        return "\n".join([f"the operator {'runs' if status is None else f'ended with {status}'}; its log:", *lines])

    def _play(self, step: dict[str, Any]) -> None:
        """Do a step's actions; wait until both clusters are in the recorded state, in the recorded order."""
        kinds, rules = self.replay.Events.KINDS, step.get("before") or []
        events = EventOrder(kinds, [self.player.kcp, self.player.skr], rules) if rules else None
        try:
            for action in step["do"]:
                self.player.act(action)
            end = time.monotonic() + PATIENCE
            while wrong := self.replay.compare(step["state"], self.player.state(), step.get("loose", []))[0]:
                assert time.monotonic() < end, f"{step['name']}: {wrong[:5]}\n{self._operator_report()}"
                time.sleep(0.15)
            if events is not None:
                late = [why for rule in rules if (why := events.check(rule))]
                assert late == [], step["name"]
        finally:
            if events is not None:
                events.close()


@contextlib.contextmanager
def recorded_pair(folder: Path) -> Iterator[RecordedPair]:
    """Yield a pair of clusters; the runtime's kubeconfig is an administrator's, as in access Secrets."""
    assert KLM is not None
    replay = load()
    with ready_sandbox("kcp", "skr") as sandbox, (folder / "operator.log").open("ab") as log:
        config = yaml.safe_load(sandbox.kubeconfig.read_text())
        files = {name: folder / f"{name}.yaml" for name in ("kcp", "skr")}
        for name, path in files.items():
            path.write_text(yaml.safe_dump({**config, "current-context": name}))
        kcp, skr = (replay.Cluster(name, path) for name, path in files.items())
        fixtures = replay.load(KLM / "fixtures.json.gz")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # publish leaves its connection to the garbage collector
            replay.publish(sandbox.registry, fixtures)
        for body in read_crds():
            created(kcp, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
        replay.prepare(kcp, None)
        operators = folder / "operator.yaml"
        operators.write_text(yaml.safe_dump(as_operator(kcp, {**config, "current-context": "kcp"})))
        command = (
            f"exec {sys.executable} -m kymatui operator run --kubeconfig {{kcp}} --registry http://{{registry}} "
            "--restricted-modules {restricted} --maintenance-policy {policy} --interval 300ms"
        )
        names = {"kcp": str(operators), "skr": str(files["skr"]), "registry": sandbox.registry}
        operator = replay.Operator(command, names, log)
        player = replay.Player(kcp, skr, sandbox.registry, operator, fixtures)
        player.patience = PATIENCE
        scenarios = {one["name"]: one for one in replay.load(KLM / "recordings.json.gz")["scenarios"]}
        try:
            yield RecordedPair(
                replay,
                player,
                operator,
                scenarios,
                folder / "operator.log",
                FaultClient.for_kubeconfig(sandbox.kubeconfig, "kcp"),
            )
        finally:
            operator.stop()
            for cluster in (kcp, skr):
                cluster.local.con.close()


def as_operator(kcp: Any, config: dict[str, Any]) -> dict[str, Any]:
    """Create what `kymatui operator manifests` prints as access; return a kubeconfig with its token."""
    for body in operator_objects(DeploymentOptions("kymatui:1", HOME)):
        if body["kind"] in ACCESS:
            created(kcp, ACCESS[body["kind"]].format(body["metadata"].get("namespace")), body)
    path = f"{ACCESS['ServiceAccount'].format(HOME)}/kymatui-operator/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = created(kcp, path, asked)["status"]["token"]
    contexts = [
        {**one, "context": {**one["context"], "user": "operator"}} if one["name"] == "kcp" else one
        for one in config["contexts"]
    ]
    return {**config, "contexts": contexts, "users": [{"name": "operator", "user": {"token": token}}]}


def created(cluster: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = cluster.call("POST", path, body)
    assert status in (200, 201, 409), answer
    found: dict[str, Any] = answer
    return found
