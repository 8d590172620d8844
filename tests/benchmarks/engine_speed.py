"""How long the engine takes for a module of a hundred objects, and kubectl for the same objects in the same run.

python -m tests.benchmarks.engine_speed [KUBECONFIG]     # the sandbox, or the cluster of a kubeconfig
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kymatui.domain.inventories import Origin
from kymatui.engine import check, install, uninstall
from kymatui.engine.bundles.bundle import Bundle
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine import objects as make

ROUNDS = 9
PAUSE = 0.5


def objects(namespace: str) -> tuple[dict[str, Any], ...]:
    """A hundred objects of the kinds that modules have; the deployments are scaled to zero."""
    return (
        *(make.service_account(f"sa-{number}", namespace) for number in range(10)),
        *(make.cluster_role(f"{namespace}-role-{number}", make.rule("pods", "get")) for number in range(10)),
        *(make.config_map(f"config-{number}", namespace, text="x" * 2000) for number in range(40)),
        *(make.secret(f"secret-{number}", namespace, text="x" * 200) for number in range(20)),
        *(make.deployment(f"manager-{number}", namespace, replicas=0) for number in range(20)),
    )


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def kubectl(kubeconfig: Path, file: Path, manager: str) -> None:
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "apply", "--server-side", "--validate=false"]
    environment = {**os.environ, "HOME": str(file.parent)}
    command += ["--field-manager", manager, "-f", str(file)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def command(kubeconfig: Path, file: Path, namespace: str, verb: str, *more: str) -> None:
    """A `kymatui` of its own."""
    words = [sys.executable, "-m", "kymatui", verb, "bench", "--file", str(file), "-n", namespace, *more]
    folders = {"HOME": str(file.parent), "XDG_STATE_HOME": str(file.parent), "XDG_CACHE_HOME": str(file.parent)}
    environment = {**os.environ, **folders, "KUBECONFIG": str(kubeconfig)}
    subprocess.run([*words, "--kubeconfig", str(kubeconfig)], check=True, capture_output=True, env=environment)


def measure(kubeconfig: Path, folder: Path) -> None:
    cluster = open_cluster(SessionOptions(kubeconfig=str(kubeconfig)))
    figures: dict[str, list[float]] = {}
    for number in range(ROUNDS + 1):
        for who in ("kubectl", "library", "ready", "command"):
            namespace = f"bench-{who}-{os.getpid()}-{number}"
            given = objects(namespace)
            bundle = Bundle("bench", namespace, Origin("raw", "bench"), objects=given)
            file = folder / f"{namespace}.json"
            items = [make.namespace(namespace), *given] if who == "kubectl" else given
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            every: dict[str, dict[str, Callable[[], object]]] = {
                "library": {
                    "plan and apply": partial(install, bundle, cluster, wait=False),
                    "check": partial(check, bundle, cluster),
                },
                "ready": {"plan and apply": partial(install, bundle, cluster)},
                "command": {
                    "install": partial(command, kubeconfig, file, namespace, "install", "--no-wait", "--yes"),
                    "check": partial(command, kubeconfig, file, namespace, "check"),
                },
                "kubectl": dict.fromkeys(("apply", "apply again"), partial(kubectl, kubeconfig, file, "kubectl")),
            }
            for name, call in every[who].items():
                time.sleep(PAUSE)  # what the cluster's controllers do of the last one counts for none
                seconds = timed(call)
                if number:  # the first round warms caches up, for all
                    figures.setdefault(f"{who}: {name}", []).append(seconds)
            if who == "kubectl":
                delete = ["kubectl", "--kubeconfig", str(kubeconfig), "delete", "--wait=false", "-f", str(file)]
                subprocess.run(delete, check=False, capture_output=True)
            else:
                uninstall("bench", namespace, cluster)
    for name, found in figures.items():
        print(f"{name:26} median {statistics.median(found):6.3f} s  best {min(found):6.3f} s  of {len(found)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            measure(Path(sys.argv[1]), Path(folder))
            return
        with start_sandbox(clusters=("bench",), empty=True) as sandbox:
            measure(sandbox.kubeconfig, Path(folder))


if __name__ == "__main__":
    main()
