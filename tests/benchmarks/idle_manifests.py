"""Many Manifests of which nothing changes: how many requests they cost, and how much memory the operator takes.

    python -m tests.benchmarks.idle_manifests [COUNT ...] [--window SECONDS] [--large KIB]

The operator is a process of its own; what it asks is read in the sandbox's own log. With `--large` every layer has that
much of ConfigMaps besides, all layers of content of their own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.oci.registry import Registry
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import RunningSandbox, start_sandbox
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine import objects as make

KIND = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
SPACE = "modules"
_CHUNK = 64 * 1024


def memory(pid: int, line: str) -> int:
    """MiB of a process: VmRSS now, VmHWM at most."""
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith(line):
            return int(row.split()[1]) // 1024
    return 0


def put(cluster: KubeCluster, sandbox: RunningSandbox, number: int, large: int) -> None:
    name = f"m-{number}"
    objects = [make.config_map(name, SPACE, v="1"), make.service_account(name, SPACE)]
    for part in range(large * 1024 // _CHUNK):
        objects.append(make.config_map(f"{name}-{part}", SPACE, v=f"{number}-{part} " * (_CHUNK // 8)))
    content = "---\n".join(map(yaml.safe_dump, objects)).encode()
    host = sandbox.registry
    layer = Registry(insecure=True).push_blob(f"{host}/component-descriptors/{name}", content, "application/yaml")
    source = {"repo": f"http://{host}", "name": name, "ref": layer.digest, "type": "oci-ref"}
    spec = {"remote": False, "install": {"name": "raw-manifest", "source": source}}
    metadata = {"name": name, "namespace": SPACE}
    cluster.apply({"apiVersion": KIND.api_version, "kind": "Manifest", "metadata": metadata, "spec": spec})


def ready(cluster: KubeCluster) -> int:
    return sum((body.get("status") or {}).get("state") == "Ready" for body in cluster.list(KIND, SPACE))


def measure(count: int, window: float, large: int) -> None:
    with tempfile.TemporaryDirectory() as folder, start_sandbox(clusters=("idle",), empty=True) as sandbox:
        cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
        cluster.apply(make.namespace(SPACE))
        for body in read_crds():
            cluster.apply(body)
        while cluster.kind(KIND) is None:
            cluster.forget_kinds()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: put(cluster, sandbox, number, large), range(count)))
        places = {"HOME": folder, "XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder}
        environment = {**os.environ, **places, "KUBECONFIG": str(sandbox.kubeconfig)}
        command = [sys.executable, "-m", "kymatui", "operator", "--insecure-registry", sandbox.registry]
        faults, began = FaultClient.for_kubeconfig(sandbox.kubeconfig), time.monotonic()
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as operator:
            try:
                while ready(cluster) < count:
                    time.sleep(1)
                settled = time.monotonic() - began
                asked = -1
                while asked != (now := _of_manifests(faults)):  # until nothing of it is under way any more
                    asked = now
                    time.sleep(2)
                faults.requests(forget=True)
                time.sleep(window)
                told = faults.requests()["requests"]
                kinds = Counter(f"{one['method']} {one['path'].rpartition('/')[2]}" for one in told)
                about = [one for one in told if "m-" in one["path"]]
                print(
                    f"{count:5} Manifests of {large} KiB more: installed in {settled:.0f} s, then in {window:.0f} s "
                    f"{len(about)} requests about them, {len(told)} in all {dict(kinds)}; operator "
                    f"{memory(operator.pid, 'VmRSS')} MiB, at most {memory(operator.pid, 'VmHWM')} MiB",
                    flush=True,
                )
            finally:
                operator.terminate()


def _of_manifests(faults: FaultClient) -> int:
    return sum("m-" in one["path"] for one in faults.requests()["requests"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("counts", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--window", type=float, default=30.0)
    parser.add_argument("--large", type=int, default=0)
    given = parser.parse_args()
    for count in given.counts:
        measure(count, given.window, given.large)


if __name__ == "__main__":
    main()
