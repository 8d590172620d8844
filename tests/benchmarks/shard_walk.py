"""Replicas of a sharded operator while everything goes wrong; the server's own log says who wrote what, and when.

    python -m tests.benchmarks.shard_walk [SECONDS] [replicas:N] [shards:N] [kymas:N] [active:N] [skew:S] [seed:N]
        [only:MISHAP]

Each replica is a process behind a proxy of its own, with a wall clock that jumps. One after the other, replicas are
killed, stopped for a while (SIGSTOP), ended, cut off by a proxy that swallows everything or sends it late; sometimes
the server is away for all, and has forgotten its watches. Meanwhile another client changes status and labels
of Kymas and Manifests. A write is wrong if its replica did not hold the Lease of the object's shard at the server
when it was carried out. Ends with 1 if one is wrong, or the end state is. With `only`, one mishap (kill, stop, end,
swallow, late) after the other, and the server stays. Of the Kymas beyond `active`, each has five or six Manifests, and
both have the label that the operator skips: every replica watches them, and shares them by shard.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANDATORY
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import KymatuiError
from kymatui.operator.sharding.shard_holder import shard_of
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.benchmarks.idle_manifests import memory
from tests.benchmarks.operator_fleet import put_skipped

GROUP = "operator.kyma-project.io"
KYMA, MANIFEST = (GroupVersionKind(GROUP, "v1beta2", kind) for kind in ("Kyma", "Manifest"))
HOME = "kcp-system"
_PATIENCE = 300.0
_AGENT = "kymatui replica "
_SHARD = re.compile(r"kymatui\.operator-(\d+)")
_OBJECT = re.compile(r"/(kymas|manifests)/(?:m-)?(kyma-\d+)")
_ACTIVE = {"walked": "true"}
Json = dict[str, Any]


class Proxy:
    """A TCP proxy in front of the server: passes on, swallows, sends late, or is away."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._mode = "pass"
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, mode: str) -> None:
        """Set "pass", "swallow" (lost for good), "late" (kept until it passes again) or "away" (connections break)."""
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode == "away":
            for one in list(self._open):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            if self._mode == "away":
                client.close()
                continue
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            lost = threading.Event()
            self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink, lost), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._mode == "swallow":
                    lost.set()  # a stream with a hole cannot go on
                with self._changed:
                    self._changed.wait_for(lambda: self._mode != "late")
                if not lost.is_set():
                    sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            self._open.discard(one)


class Replica:
    """One operator process behind its proxy; each process has a name of its own."""

    def __init__(self, folder: Path, config: Json, number: int, start: list[str], skew: float) -> None:
        url = config["clusters"][0]["cluster"]["server"]
        host, _, port = url.rpartition("://")[2].partition(":")
        self.proxy = Proxy((host, int(port)))
        self.number, self._folder, self._start, self._skew = number, folder, start, skew
        self._kubeconfig = folder / f"replica-{number}.yaml"
        clusters = [
            {**one, "cluster": {**one["cluster"], "server": f"https://127.0.0.1:{self.proxy.port}"}}
            for one in config["clusters"]
        ]
        self._kubeconfig.write_text(yaml.safe_dump({**config, "clusters": clusters}))
        self.generation = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"{self.number}.{self.generation}"

    def start(self) -> None:
        self.generation += 1
        command = [sys.executable, "-m", "tests.benchmarks.sharded_operator", self.name, str(self._skew)]
        places = {"HOME": str(self._folder), "XDG_CACHE_HOME": str(self._folder)}
        with (self._folder / f"{self.number}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self._start, "--kubeconfig", str(self._kubeconfig)],
                env={**os.environ, **places},
                stderr=log,
                stdout=log,
            )

    def restart_ended(self) -> None:
        """Start a replica again that ended by itself, such as one without a server at its start."""
        if self.process is not None and self.process.poll() is not None:
            self.start()

    def memory(self) -> int:
        """Return how many MiB the process has used at most, 0 if it has ended."""
        return memory(self.process.pid, "VmHWM") if self.process is not None and self.process.poll() is None else 0

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.send(number)
            self.process.wait(60)


class Judge:
    """Reads the server's log in its order: who holds which shard, and who writes what."""

    def __init__(self, faults: FaultClient, shards: int) -> None:
        self._faults, self._shards = faults, shards
        self._holders: dict[int, str] = {}
        self._since: dict[int, float] = {}
        self.writes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.taken: list[tuple[float, str, str]] = []  # when, from whom, by whom
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        self._read()

    def _run(self) -> None:
        while not self._ended.wait(1.0):
            self._read()

    def _read(self) -> None:
        for one in self._faults.requests(forget=True)["requests"]:
            if one["status"] < 300 and one["method"] != "GET" and one["agent"].startswith(_AGENT):
                self._judge(one, one["agent"].removeprefix(_AGENT))

    def _judge(self, one: Json, replica: str) -> None:
        if "/leases" in one["path"]:
            if lease := _SHARD.fullmatch(one["path"].rpartition("/")[2] if one["method"] != "POST" else one["name"]):
                shard = int(lease[1])
                before = self._holders.pop(shard, "")
                if one["method"] != "DELETE":
                    self._holders[shard] = replica
                    if before != replica:
                        self.taken.append((one["at"], before, replica))
            return
        if found := _OBJECT.search(one["path"]):
            self.writes[replica] += 1
            holder = self._holders.get(shard_of(found[2], self._shards), "nobody")
            if holder != replica:
                self.wrong.append(f"{replica} wrote {one['method']} {one['path']} while {holder} held its shard")


class ShardWalk:
    """The walk: mishaps of replicas, one after the other, some at the same time."""

    def __init__(self, replicas: list[Replica], faults: FaultClient, chance: random.Random, only: str) -> None:
        self._replicas, self._faults, self._chance, self._only = replicas, faults, chance, only
        self.met: Counter[str] = Counter()
        self.killed: list[tuple[float, str]] = []

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._only and time.monotonic() < end:
            self._meet(getattr(self, f"_{self._only}"), self._chance.choice(self._replicas), set())
            time.sleep(20.0)
        threads: list[threading.Thread] = []
        busy: set[int] = set()
        while time.monotonic() < end:
            free = [one for one in self._replicas if one.number not in busy]
            for one in free:
                one.restart_ended()
            if len(free) > 1:
                one = self._chance.choice(free)
                mishap = self._chance.choice((self._kill, self._stop, self._end, self._swallow, self._late))
                busy.add(one.number)
                threads.append(threading.Thread(target=self._meet, args=(mishap, one, busy)))
                threads[-1].start()
            if self._chance.random() < 0.1:
                self._restart_server()
            time.sleep(self._chance.uniform(2.0, 8.0))
        for thread in threads:
            thread.join()

    def _meet(self, mishap: Callable[[Replica], None], one: Replica, busy: set[int]) -> None:
        self.met[mishap.__name__.strip("_")] += 1
        try:
            mishap(one)
        finally:
            busy.discard(one.number)

    def _kill(self, one: Replica) -> None:
        self.killed.append((time.time(), one.name))
        one.end(signal.SIGKILL)
        time.sleep(self._chance.uniform(0.0, 20.0))
        one.start()

    def _stop(self, one: Replica) -> None:
        one.send(signal.SIGSTOP)
        time.sleep(self._chance.uniform(2.0, 30.0))
        one.send(signal.SIGCONT)

    def _end(self, one: Replica) -> None:
        one.end(signal.SIGTERM)
        time.sleep(self._chance.uniform(0.0, 5.0))
        one.start()

    def _swallow(self, one: Replica) -> None:
        one.proxy.set("swallow")
        time.sleep(self._chance.uniform(2.0, 30.0))
        one.proxy.set("pass")

    def _late(self, one: Replica) -> None:
        one.proxy.set("late")
        time.sleep(self._chance.uniform(2.0, 30.0))
        one.proxy.set("pass")

    def _restart_server(self) -> None:
        self.met["server away"] += 1
        for one in self._replicas:
            one.proxy.set("away")
        time.sleep(self._chance.uniform(1.0, 6.0))
        self._faults.send("expire-watches", {})
        for one in self._replicas:
            one.proxy.set("pass")


@contextlib.contextmanager
def meddler(cluster: KubeCluster, kymas: list[str], chance: random.Random) -> Iterator[Counter[str]]:
    """Change status and labels of Kymas and Manifests, which the operator then puts right."""
    ended, done = threading.Event(), Counter[str]()

    def run() -> None:
        while not ended.wait(0.1):
            name = chance.choice(kymas)
            ref = chance.choice((ObjectRef(KYMA, HOME, name), ObjectRef(MANIFEST, HOME, f"m-{name}")))
            done["changes"] += 1
            with contextlib.suppress(KymatuiError):
                state = {"status": {"state": "Warning"}}
                cluster.patch(ref, state, PatchKind.MERGE, subresource="status", manager="meddler")
                label = {"metadata": {"labels": {"meddled": str(done["changes"])}}}
                cluster.patch(ref, label, PatchKind.MERGE, manager="meddler")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        ended.set()
        thread.join()


def prepare(cluster: KubeCluster, registry: str, kymas: list[str]) -> None:
    from kymatui.adapters.oci.registry import Registry

    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    for body in read_crds():
        cluster.apply(body)
    while cluster.kind(MANIFEST) is None or cluster.kind(KYMA) is None:
        cluster.forget_kinds()
    for name in kymas:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": HOME}}
        content = yaml.safe_dump(config).encode()
        layer = Registry(insecure=True).push_blob(f"{registry}/component-descriptors/{name}", content, "text/yaml")
        source = {"repo": f"http://{registry}", "name": name, "ref": layer.digest, "type": "oci-ref"}
        spec = {"remote": False, "install": {"name": "raw-manifest", "source": source}}
        metadata: Json = {"name": name, "namespace": HOME, "labels": _ACTIVE}
        cluster.apply(
            {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}}
        )
        labels = {**_ACTIVE, LABEL_KYMA_NAME: name, LABEL_MANDATORY: "true"}
        metadata = {"name": f"m-{name}", "namespace": HOME, "labels": labels}
        cluster.apply({"apiVersion": MANIFEST.api_version, "kind": "Manifest", "metadata": metadata, "spec": spec})


def states(cluster: KubeCluster) -> Counter[str]:
    chosen = "walked=true"
    found = [*cluster.list(KYMA, HOME, labels=chosen), *cluster.list(MANIFEST, HOME, labels=chosen)]
    return Counter(f"{one['kind']} {(one.get('status') or {}).get('state', '')}" for one in found)


def wait_for(cluster: KubeCluster, count: int, seconds: float) -> Counter[str]:
    """Wait until all Kymas and Manifests are ready; return their states."""
    end = time.monotonic() + seconds
    while True:
        found = states(cluster)
        if found["Kyma Ready"] == found["Manifest Ready"] == count or time.monotonic() > end:
            return found
        time.sleep(1)


def takeovers(judge: Judge, killed: list[tuple[float, str]]) -> list[float]:
    """Return the seconds from each kill until the last of its shards had another replica."""
    found = []
    for at, name in killed:
        later = [when - at for when, before, _ in judge.taken if before == name and when >= at]
        if later:
            found.append(max(later))
    return found


def main(words: list[str]) -> int:
    given = dict(word.split(":") for word in words if ":" in word)
    seconds = next((float(word) for word in words if ":" not in word), 120.0)
    count, shards = int(given.get("kymas", 40)), int(given.get("shards", 8))
    chance = random.Random(int(given.get("seed", 1)))
    active = min(count, int(given.get("active", count)))
    kymas = [f"kyma-{number:05}" for number in range(active)]
    with tempfile.TemporaryDirectory() as place, start_sandbox(clusters=("kcp",), empty=True) as sandbox:
        folder = Path(place)
        cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
        prepare(cluster, sandbox.registry, kymas)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: put_skipped(cluster, number), range(active, count)))
        faults = FaultClient.for_kubeconfig(sandbox.kubeconfig)
        start = ["operator", "run", "--single-cluster", "--namespace", HOME, "--shards", str(shards)]
        start += ["--controllers", "kyma,manifest", "--insecure-registry", sandbox.registry]
        config, skew = yaml.safe_load(sandbox.kubeconfig.read_text()), float(given.get("skew", 3600))
        replicas = [Replica(folder, config, number, start, skew) for number in range(int(given.get("replicas", 4)))]
        judge, walk = Judge(faults, shards), ShardWalk(replicas, faults, chance, given.get("only", ""))
        try:
            for one in replicas:
                one.start()
            print(f"at first: {dict(wait_for(cluster, active, _PATIENCE))}", flush=True)
            with meddler(cluster, kymas, chance) as done:
                walk.run(seconds)
            found = wait_for(cluster, active, _PATIENCE)
            print(f"memory of the replicas, at most: {[one.memory() for one in replicas]} MiB")
            for one in replicas:
                one.end(signal.SIGTERM)
            left = [raw["metadata"]["name"] for raw in cluster.list(LEASES, "kube-system")]
        finally:
            for one in replicas:
                one.send(signal.SIGCONT)
                one.end(signal.SIGKILL)
            judge.stop()
        for log in sorted(folder.glob("*.log")):
            text = log.read_text()
            print(f"{log.name}: {text.splitlines()[-1:]}")
            if "Traceback" in text:
                print(f"{log.name}: {text[text.index('Traceback') :][:2000]}")
                judge.wrong.append(f"a traceback in {log.name}")
    print(f"{dict(walk.met)}; {done['changes']} changes by another client, {sum(judge.writes.values())} writes of")
    print(f"{len(judge.writes)} processes, {len(judge.taken)} times a shard was taken; Leases left: {left}")
    if late := takeovers(judge, walk.killed):
        print(f"shards of a killed replica: taken after {statistics.median(late):.1f} s, at most {max(late):.1f} s")
    print(f"end state: {dict(found)}; {len(judge.wrong)} wrong")
    for line in judge.wrong[:20]:
        print(f"wrong: {line}")
    right = found["Kyma Ready"] == active and found["Manifest Ready"] == active
    return 1 if judge.wrong or not right else 0


LEASES = GroupVersionKind("coordination.k8s.io", "v1", "Lease")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
