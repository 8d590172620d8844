"""What a Kyma with modules costs on the control plane, and in reads of its runtime."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

from kymatui.domain.kubernetes.refs import ObjectRef
from tests.benchmarks.operator_fleet import (
    HOME,
    KYMA,
    FleetWorld,
    environment,
    fleet_world,
    module_names,
    put,
    stub_requests,
)
from tests.engine.places import eventually

MODULES = 3


def is_ready(world: FleetWorld) -> bool:
    status: dict[str, Any] = (world.cluster.get(ObjectRef(KYMA, HOME, "a")) or {}).get("status") or {}
    states = [one.get("state") for one in status.get("modules") or []]
    return status.get("state") == "Ready" and states == ["Ready"] * MODULES


def test_a_module_that_is_ready_at_once_costs_two_writes_and_few_reads() -> None:
    with fleet_world(module_names(MODULES)) as world:
        command = [sys.executable, "-m", "kymatui", "operator", "run", "--registry", f"http://{world.registry}"]
        home = {**environment(world.folder), "KUBECONFIG": str(world.kubeconfig)}
        with subprocess.Popen(command, env=home, cwd=world.folder) as process:
            try:
                put(world.cluster, "a", world.server, module_names(MODULES))
                eventually(lambda: is_ready(world), "the Kyma is ready")
                found = world.faults.requests()["requests"]
                reads = stub_requests(world.server)["GET"]
            finally:
                process.terminate()
                process.wait(60)
    written = [one["path"] for one in found if "/manifests/" in one["path"] and one["method"] != "GET"]
    counts = Counter("status" if path.endswith("/status") else "object" for path in written)
    # created with finalizers and layer, then what was applied and the state in one
    assert counts["object"] == MODULES
    assert MODULES <= counts["status"] <= 2 * MODULES  # once more where a busy machine reads the layer for a second
    # created on the runtime, modules, ready; and modules that become ready one after the other
    assert sum(one["method"] == "POST" and one["path"].endswith("/events") for one in found) <= 2 + MODULES
    # whose runtime it is, by each worker at most; the Kyma before and after its creation; two lists of the catalog
    assert reads <= 1 + 4 + 2 + 2
