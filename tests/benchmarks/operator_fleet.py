"""The operator with a whole fleet: memory, requests for each module, requests at rest, and how fast it acts.

    python -m tests.benchmarks.operator_fleet [KYMAS] [modules:N] [active:N] [probes:N] [rest:SECONDS] [shards:N]

The control plane is the sandbox; runtimes are a stub that stores what it is sent (`stub_runtimes`), so that thousands
fit on a machine. A probe changes a label of one Kyma, and measures until the operator has read that Kyma. Of the Kymas
beyond `active`, each has five or six Manifests, and both have the label that the operator skips: it watches and reads
them, but does not work on them, which would take half an hour for 5,000.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_SKIP
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sandbox.world.story.sample_fleet import PER_KYMA, Draw, runtime
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.benchmarks.idle_manifests import memory

GROUP = "operator.kyma-project.io"
KYMA, MANIFEST = (GroupVersionKind(GROUP, "v1beta2", kind) for kind in ("Kyma", "Manifest"))
HOME = "kcp-system"
Json = dict[str, Any]


@dataclass(frozen=True)
class FleetWorld:
    """A control plane with modules in its registry, and the address of the stub of all runtimes."""

    cluster: KubeCluster
    kubeconfig: Path
    registry: str
    server: str
    folder: Path

    @cached_property
    def faults(self) -> FaultClient:
        return FaultClient.for_kubeconfig(self.kubeconfig)


@contextlib.contextmanager
def fleet_world(modules: Sequence[str]) -> Iterator[FleetWorld]:
    command = [sys.executable, "-m", "tests.benchmarks.stub_runtimes"]
    with (
        tempfile.TemporaryDirectory() as place,
        start_sandbox(clusters=("kcp",), empty=True) as sandbox,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub,
    ):
        assert stub.stdout is not None
        server, folder = stub.stdout.readline().strip(), Path(place)
        try:
            cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
            for body in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, *read_crds()):
                cluster.apply(body)
            while cluster.kind(KYMA) is None or cluster.kind(MANIFEST) is None:
                cluster.forget_kinds()
            publish(folder, sandbox.registry, cluster, modules)
            yield FleetWorld(cluster, sandbox.kubeconfig, sandbox.registry, server, folder)
        finally:
            stub.terminate()


def stub_requests(server: str) -> Counter[str]:
    """Return how many requests the runtimes have answered, by method; watches are WATCH."""
    with urllib.request.urlopen(f"{server}/requests") as answer:
        return Counter(msgspec.json.decode(answer.read()))


def module_names(count: int) -> list[str]:
    return [f"module-{letter * 3}" for letter in string.ascii_lowercase[:count]]


def publish(folder: Path, registry: str, cluster: KubeCluster, modules: Sequence[str]) -> None:
    """Push each module, and write its template and release meta."""
    for name in modules:
        place = folder / name
        place.mkdir()
        config = {"name": f"example.org/module/{name}", "version": "1.0.0", "team": "kyma/blue"}
        links = {"repository": "https://git.example.org/x", "documentation": "https://git.example.org/x/README.md"}
        icons = {"icons": {"module-icon": "https://git.example.org/x.svg"}, "manifest": "manifest.yaml"}
        (place / "module-config.yaml").write_text(yaml.safe_dump({**config, **links, **icons}))
        objects = [
            {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"{name}-{number}", "namespace": "kyma-system"}}
            for kind in ("ConfigMap", "ServiceAccount")
            for number in range(4)
        ]
        (place / "manifest.yaml").write_text(yaml.safe_dump_all(objects))
        subprocess.run(["git", "init", "-q", "."], cwd=place, check=True)
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "module"], cwd=place, check=True)
        command = [sys.executable, "-m", "kymatui", "bundle", "create", "-c", "module-config.yaml", "-o", "out.yaml"]
        command += ["--channel", "regular", "--first-release"]
        command += ["--registry", registry, "--insecure-registry", registry]
        subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL, env=environment(folder))
        for body in yaml.safe_load_all((place / "out.yaml").read_text()):
            body["metadata"]["namespace"] = HOME
            cluster.apply(body, force=True)


def environment(folder: Path) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": root}


def put_skipped(cluster: KubeCluster, number: int) -> None:
    """Write a Kyma and its Manifests, of the usual size, that the operator skips."""
    name, labels = f"kyma-{number:05}", {LABEL_SKIP: "true"}
    many = PER_KYMA + (number % 25 >= 23)
    kyma, manifests = runtime(Draw("fleet"), name, time.time(), "registry.example", many)
    kinds = [(KYMA, {**kyma, "metadata": {"name": name}}), *((MANIFEST, one) for one in manifests)]
    for kind, body in kinds:
        more = {LABEL_KYMA_NAME: name} if kind == MANIFEST else {}
        metadata: Json = {"name": body["metadata"]["name"], "namespace": HOME, "labels": {**labels, **more}}
        made = cluster.create(
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": body["spec"]}
        )
        cluster.update({**made, "status": body["status"]}, subresource="status")


def put(cluster: KubeCluster, name: str, server: str, modules: list[str]) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "r",
        "contexts": [{"name": "r", "context": {"cluster": "r", "user": "r"}}],
        "clusters": [{"name": "r", "cluster": {"server": f"{server}/runtimes/{name}"}}],
        "users": [{"name": "r", "user": {"token": "t"}}],
    }
    data = {"config": base64.b64encode(yaml.safe_dump(config).encode()).decode()}
    metadata: Json = {"name": f"kubeconfig-{name}", "namespace": HOME, "labels": {LABEL_KYMA_NAME: name}}
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    metadata = {"name": name, "namespace": HOME, "annotations": {"skr-domain": "skr.example.org"}}
    spec = {"channel": "regular", "modules": [{"name": one, "managed": True} for one in modules]}
    cluster.create({"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": spec})


class Fleet:
    """A control plane, its runtimes and an operator."""

    def __init__(self, cluster: KubeCluster, faults: FaultClient, server: str, operator: int, count: int) -> None:
        self.cluster, self.faults, self._server, self.operator, self._count = cluster, faults, server, operator, count
        self.home: Counter[str] = Counter()
        self.written: Counter[str] = Counter()

    def read(self) -> list[Json]:
        """Return what the operator has asked the control plane since the last call, and count it."""
        found = [one for one in self.faults.requests(forget=True)["requests"] if "kymatui" in one["agent"]]
        for one in found:
            self.home["WATCH" if one["watch"] else "Lease" if "/leases" in one["path"] else one["method"]] += 1
        return found

    def runtimes(self) -> Counter[str]:
        return stub_requests(self._server)

    def ready(self) -> int:
        resource = self.cluster.client.resource(KYMA)
        pages = self.cluster.client.pages(resource, HOME, limit=500)
        found = (one for page in pages for one in page.items if LABEL_SKIP not in (one["metadata"].get("labels") or {}))
        return sum((one.get("status") or {}).get("state") == "Ready" for one in found)

    def settle(self, least: float = 10.0) -> float:
        """Wait until all Kymas are ready and nothing is asked for some seconds; return the seconds until then."""
        began, quiet = time.monotonic(), time.monotonic()
        peak = 0
        while time.monotonic() - quiet < least:
            time.sleep(2)
            busy = [one for one in self.read() if not one["watch"] and "/leases" not in one["path"]]
            if len(busy) > 4:
                quiet = time.monotonic()
            if (now := time.monotonic() - began) // 60 > peak:
                peak = int(now // 60)
                print(f"  after {now:.0f} s: {memory(self.operator, 'VmRSS')} MiB", flush=True)
        return time.monotonic() - began - least

    def probe(self, name: str) -> float:
        """Return the seconds until the operator reads a changed label of an idle Kyma.

        During a reconciliation, the answer to the operator's own write would have the change, and nothing be read.
        """
        while any(not one["watch"] and "/leases" not in one["path"] for one in self.read()):
            time.sleep(1)
        began = time.time()
        patch = {"metadata": {"labels": {"probe": f"{time.time_ns()}"}}}
        self.cluster.patch(ObjectRef(KYMA, HOME, name), patch, PatchKind.MERGE, manager="probe")
        while time.time() - began < 60:
            time.sleep(0.02)
            seen = [
                one["at"]
                for one in self.read()
                if one["path"].endswith(f"/kymas/{name}") and one["method"] == "GET" and one["at"] >= began
            ]
            if seen:
                return float(min(seen)) - began
        return 60.0


def main(words: list[str]) -> int:
    given = dict(word.split(":") for word in words if ":" in word)
    count = next((int(word) for word in words if ":" not in word), 500)
    modules = module_names(int(given.get("modules", 5)))
    rest, probes = float(given.get("rest", 60)), int(given.get("probes", 40))
    active = min(count, int(given.get("active", count)))
    names = [f"kyma-{number:05}" for number in range(active)]
    with fleet_world(modules) as world:
        cluster, server, faults = world.cluster, world.server, world.faults
        began = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: put(cluster, name, server, modules), names))
            list(pool.map(lambda number: put_skipped(cluster, number), range(active, count)))
        skipped = len(cluster.client.list(cluster.client.resource(KYMA), HOME, decode=MetadataOnly).items) - active
        spent = time.monotonic() - began
        print(
            f"{active} Kymas with {len(modules)} modules, {skipped} skipped ones: created in {spent:.0f} s", flush=True
        )
        faults.requests(forget=True)
        command = [sys.executable, "-m", "kymatui", "operator", "run", "--registry", f"http://{world.registry}"]
        command += ["--kubeconfig", str(world.kubeconfig), "--shards", given.get("shards", "1")]
        command += ["--kyma-requeue-success-interval", "1h", "--manifest-requeue-success-interval", "1h"]
        command += ["--mandatory-module-requeue-success-interval", given.get("mandatory", "1h")]
        with (world.folder / "log").open("wb") as log:
            operator = subprocess.Popen(command, env=environment(world.folder), stderr=log, stdout=log)
        try:
            fleet = Fleet(cluster, faults, server, operator.pid, count)
            seconds = fleet.settle()
            installed, far = Counter(fleet.home), fleet.runtimes()
            print(f"{fleet.ready()} of {active} ready after {seconds:.0f} s; peak {memory(operator.pid, 'VmHWM')} MiB")
            each = max(1, active * len(modules) or active)
            print(f"control plane: {dict(installed)}: {installed.total() / each:.1f} for each module")
            print(f"runtimes: {dict(far)}: {far.total() / each:.1f} for each module", flush=True)
            fleet.read()  # the list of the line before
            fleet.home.clear()
            time.sleep(rest)
            fleet.read()
            idle = fleet.runtimes() - far
            print(f"at rest for {rest:.0f} s: control plane {dict(fleet.home)}, runtimes {dict(idle)}")
            print(f"memory at rest {memory(operator.pid, 'VmRSS')} MiB, threads {threads(operator.pid)}", flush=True)
            chance = random.Random(1)
            waits = sorted(fleet.probe(chance.choice(names)) for _ in range(probes))
            print(f"a change is acted on after {statistics.median(waits):.2f} s (median), at most {waits[-1]:.2f} s")
            print(f"memory at last {memory(operator.pid, 'VmRSS')} MiB, at most {memory(operator.pid, 'VmHWM')} MiB")
        finally:
            operator.terminate()
            operator.wait(60)
            text = (world.folder / "log").read_text()
            print(f"log: {text.count(' failed: ')} failures; last lines:", *text.splitlines()[-3:], sep="\n  ")
    return 0


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
