"""Runtimes that do not answer hold back no other, and runtimes with nothing to do cost nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import cast

import pytest

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.circuit_breaker import CircuitState
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import SystemClock
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache, SingleCluster
from kymatui.operator.manifests.module_pass import ModuleContext, ModulePass
from kymatui.operator.manifests.resource_rendering import LayerReader, ModuleRenderer
from kymatui.operator.program import OperatorOptions
from kymatui.sandbox.fault_client import FaultClient
from tests.engine.places import eventually
from tests.integration.operators import HOME, KYMA, ControlPlane, RunningOperator, running_operator, silent_server
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("many-runtimes")
HANGING = 12
SPEC = {"remote": True, "install": {"name": "raw-manifest", "source": {}}}
CHANNELS = [{"channel": "regular", "version": "1.0.0"}]
SELDOM = {name: RequeueIntervals.every(3600.0) for name in ("kyma", "mandatory", "manifest", "watcher")}


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ready_sandbox("kcp", "skr") as sandbox:
        yield ControlPlane(sandbox.kubeconfig)


def ready(plane: ControlPlane, kyma: str) -> bool:
    return plane.status(kyma).get("state") == "Ready"


def kymas_of(operator: RunningOperator) -> int:
    """Return how many reconciliations of Kymas have ended."""
    return sum(one.ref.kind == KYMA for one in operator.finished)


def wait_settled(operator: RunningOperator, plane: ControlPlane) -> None:
    """Wait until nothing follows the operator's own last write: its queues are empty, and it requests nothing new."""
    counts: list[object] = [None, ()]
    deadline = time.monotonic() + 120
    while counts[-1] != counts[-2] or any(operator.group.waiting().values()):
        assert time.monotonic() < deadline, operator.group.waiting()
        time.sleep(2)
        counts.append((kymas_of(operator), [len(asked_of(faults)) for faults in plane.faults.values()]))


def asked_of(faults: FaultClient) -> list[str]:
    """Return the requests of the operator, without its watches and its Lease."""
    return [
        f"{one['method']} {one['path']}"
        for one in faults.requests()["requests"]
        if one["agent"].startswith("kymatui") and not one["watch"] and "/leases/" not in one["path"]
    ]


def test_a_runtime_with_nothing_to_do_costs_no_request_and_no_connection(plane: ControlPlane) -> None:
    plane.access("good")
    plane.put("good")
    meta = {"metadata": {"name": "module", "namespace": HOME}, "spec": {"moduleName": "module", "channels": CHANNELS}}
    plane.kcp.apply({"apiVersion": KYMA.api_version, "kind": "ModuleReleaseMeta", **meta}, manager="test", force=True)
    intervals = {**SELDOM, "mandatory": RequeueIntervals.every(1.0)}  # release metas are looked at again and again
    with running_operator(plane, OperatorOptions(intervals=intervals, workers=2)) as operator:
        eventually(lambda: ready(plane, "good"), f"it is ready: {operator.told}")
        wait_settled(operator, plane)
        for faults in plane.faults.values():
            faults.requests(forget=True)
        time.sleep(8)
        asked = [
            f"{name} {one['method']} {one['path']}"
            for name, faults in plane.faults.items()
            for one in faults.requests()["requests"]
            if one["agent"].startswith("kymatui") and not one["watch"]
        ]
        assert [line for line in asked if "/leases/" not in line] == []
        assert asked, "the operator keeps its Lease"
        used = [one.client.transport for _, one in operator.context.clients._clusters.values()]
        for transport in used:
            transport.used -= 3600.0
        eventually(lambda: all(one._pool is None for one in used), "idle connections are closed", 30)
        patch = {"spec": {"channel": "fast"}}
        before = kymas_of(operator)
        plane.skr.patch(ObjectRef(KYMA, "kyma-system", "default"), patch, PatchKind.MERGE)
        eventually(lambda: kymas_of(operator) > before, "and the watch of the runtime's Kyma is still there", 30)


def test_a_new_manifest_says_that_it_is_processed_while_its_layer_is_read(plane: ControlPlane) -> None:
    metadata = {"name": "slow", "namespace": HOME}
    body = {"apiVersion": KYMA.api_version, "kind": "Manifest", "metadata": metadata, "spec": SPEC}
    manifest = read_manifest(plane.kcp.apply(body, manager="test"))
    assert isinstance(manifest, Manifest)
    layers = ModuleRenderer(cast("LayerReader", None))
    context = ModuleContext(
        plane.kcp, SystemClock(), RuntimeCache(SingleCluster(plane.kcp)), layers, RequeueIntervals()
    )

    def state() -> str:
        return str(((plane.kcp.get(manifest.ref) or {}).get("status") or {}).get("state", ""))

    for seconds, reads, seen in ((30.0, 0.0, ""), (0.1, 60.0, "Processing")):
        reconciliation = ModulePass(context, manifest, threading.Event())
        with reconciliation.visible_after(seconds):
            deadline = time.monotonic() + reads
            while not state() and time.monotonic() < deadline:
                time.sleep(0.05)
        assert state() == seen
    reconciliation.status.set_state(State.READY, "resources are ready")
    reconciliation.write_status()
    assert state() == "Ready"


def test_runtimes_that_hang_hold_back_no_other(plane: ControlPlane) -> None:
    names = [f"hanging-{number}" for number in range(HANGING)]
    with silent_server() as server:
        for name in names:
            plane.access(name, server)
            plane.put(name)
        plane.access("good")
        options = OperatorOptions(intervals={"kyma": RequeueIntervals.every(1.0)}, workers=2)
        with running_operator(plane, options) as operator:
            eventually(lambda: len(operator.circuits) >= 2, "workers are held", 60)
            plane.put("good")
            eventually(lambda: ready(plane, "good"), f"it does not wait for the others: {operator.told[-3:]}", 40)
            eventually(lambda: len(operator.circuits) == HANGING, "all circuits open", 120)
            assert all(states[0] is CircuitState.OPEN for states in operator.circuits.values())
            assert f"{HOME}/good" not in operator.circuits
            words = {plane.operation(name) for name in names}
            assert words == {"skr client context not found"}, "as the real one says it"
            versions = versions_of(plane, names)
            before = len(operator.finished)
            eventually(lambda: len(operator.finished) > before + 4 * HANGING, "they are tried again", 60)
            assert versions_of(plane, names) == versions, "a runtime that stays silent costs the control plane no write"


def versions_of(plane: ControlPlane, names: list[str]) -> list[str]:
    found = (plane.kcp.get(ObjectRef(KYMA, HOME, name)) or {} for name in names)
    return [one["metadata"]["resourceVersion"] for one in found]


def test_a_runtime_that_answers_again_is_worked_on_again(plane: ControlPlane) -> None:
    with silent_server() as server:
        plane.access("one", server)
        plane.put("one")
        options = OperatorOptions(intervals={"kyma": RequeueIntervals.every(1.0)}, workers=2)
        with running_operator(plane, options) as operator:
            eventually(lambda: f"{HOME}/one" in operator.circuits, "the circuit opens", 60)
            plane.access("one")
            eventually(lambda: ready(plane, "one"), f"another kubeconfig is tried at once: {operator.told[-3:]}", 60)
            assert operator.circuits[f"{HOME}/one"][-1] is CircuitState.CLOSED
            plane.faults["skr"].send("drop", {"count": 5})
            eventually(lambda: operator.circuits[f"{HOME}/one"][-1] is not CircuitState.CLOSED, "it opens again", 60)
            eventually(lambda: operator.circuits[f"{HOME}/one"][-1] is CircuitState.CLOSED, "a probe closes it", 60)
            eventually(lambda: ready(plane, "one"), f"{operator.told[-3:]}", 60)
