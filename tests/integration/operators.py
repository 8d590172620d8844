"""Operators in threads on a control plane of the sandbox, Kymas with access Secrets, and a server without answers."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.circuit_breaker import CircuitState
from kymatui.errors import KymatuiError
from kymatui.operator.framework.controller import GroupReports, Reconciliation
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.program import OperatorOptions, operator_context, operator_group
from kymatui.operator.program_ports import ListenerOptions, ListenerPort
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.fetching import FetchOptions
from tests.engine.places import eventually

KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
HOME = "kcp-system"
Json = dict[str, Any]


class ControlPlane:
    """An empty cluster `kcp` with the CRDs of Kyma, and its runtime `skr`."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.kcp, self.skr = (open_cluster(SessionOptions(str(kubeconfig), name)) for name in ("kcp", "skr"))
        self.faults = {name: FaultClient.for_kubeconfig(kubeconfig, name) for name in ("kcp", "skr")}
        self.kcp.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, force=True)
        for body in read_crds():
            self.kcp.apply(body, force=True)
        eventually(self._is_served, "Kymas are served")

    def _is_served(self) -> bool:
        self.kcp.forget_kinds()
        return self.kcp.kind(KYMA) is not None

    def access(self, kyma: str, server: str = "") -> None:
        """Write the access Secret of a Kyma: for `skr`, or for another server."""
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["current-context"] = "skr"
        if server:
            for cluster in config["clusters"]:
                cluster["cluster"] = {"server": server, "insecure-skip-tls-verify": True}
        data = {"config": base64.b64encode(yaml.safe_dump(config).encode()).decode()}
        metadata = {"name": f"access-{kyma}", "namespace": HOME, "labels": {LABEL_KYMA_NAME: kyma}}
        self.kcp.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, force=True)

    def put(self, kyma: str, **labels: str) -> ObjectRef:
        metadata = {"name": kyma, "namespace": HOME, "labels": labels}
        body = {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}}
        self.kcp.apply(body, manager="test", force=True)
        return ObjectRef(KYMA, HOME, kyma)

    def status(self, kyma: str) -> Json:
        found: Json = (self.kcp.get(ObjectRef(KYMA, HOME, kyma)) or {}).get("status") or {}
        return found

    def operation(self, kyma: str) -> str:
        return str((self.status(kyma).get("lastOperation") or {}).get("operation", ""))


@dataclass
class RunningOperator:
    """An operator in a thread, as `kymatui operator run` builds it."""

    plane: ControlPlane
    options: OperatorOptions
    events: ListenerOptions | None = None
    finished: list[Reconciliation] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    circuits: dict[str, list[CircuitState]] = field(default_factory=dict)
    raised: list[BaseException] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        reports = GroupReports(self._failed, lambda news, text: self.told.append(text), self.finished.append)
        session = SessionOptions(str(self.plane.kubeconfig), "kcp")
        self.context = operator_context(self.options, reports, session, FetchOptions())
        self.context.guards.changed = lambda kyma, state: self.circuits.setdefault(kyma, []).append(state)
        registry = self._registry = MetricRegistry(METRICS)
        self.listener = ListenerPort(self.events, self.context, registry) if self.events is not None else None
        services = [self.listener] if self.listener is not None else []
        self.group = operator_group(self.context, services=services, registry=registry)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _failed(self, ref: ObjectRef, error: KymatuiError, seconds: float | None) -> None:
        self.told.append(f"{ref}: {error}")

    def _run(self) -> None:
        try:
            self.group.run(self.stopped)
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            self.raised.append(error)

    def metrics(self) -> str:
        return self._registry.text()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(60)

    @property
    def home(self) -> KubeCluster:
        assert isinstance(self.context.standalone.home, KubeCluster)
        return self.context.standalone.home


@contextlib.contextmanager
def running_operator(
    plane: ControlPlane, options: OperatorOptions, events: ListenerOptions | None = None
) -> Iterator[RunningOperator]:
    found = RunningOperator(plane, options, events)
    try:
        yield found
        assert found.raised == []
    finally:
        found.stop()


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """Yield the address of a server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        taken: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for one in taken:
                one.close()
