"""Where a test works: one cluster over HTTP, a namespace, a group of custom kinds, and faults."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import NotFoundError
from kymatui.sandbox.fault_client import FaultClient

Json = dict[str, Any]


def eventually(holds: Callable[[], bool], what: str = "", timeout: float = 60.0) -> None:
    """Waits until something that another process or thread does has happened."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"it never happened: {what}"
        time.sleep(0.01)


class Place:
    """`cluster` is the port under test; `raw` another client, to look and to meddle."""

    def __init__(self, kubeconfig: Path, name: str, folder: Path) -> None:
        self.kubeconfig, self.name, self.folder = kubeconfig, name, folder
        self.namespace, self.group = name, f"{name}.example.org"
        self.cluster = self.connect()
        self.raw = self.connect()
        self.faults = FaultClient.for_kubeconfig(kubeconfig, "")

    def connect(self, *, read_only: bool = False, token: str = "") -> KubeCluster:
        path = self.kubeconfig
        if token:
            document = yaml.safe_load(path.read_text())
            for user in document["users"]:
                user["user"] = {"token": token}
            path = self.folder / f"kubeconfig-{token[-16:]}"
            path.write_text(yaml.safe_dump(document))
        return KubeCluster(Client(Transport(connect(str(path), "", ""), read_only=read_only)))

    def fault(self, word: str, **given: Any) -> None:
        self.faults.send(word, given)

    def kubectl(self, body: Json, manager: str = "kubectl-edit") -> Json:
        """Somebody else applies something by force."""
        return self.raw.apply(body, manager=manager, force=True)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json | None:
        where = self.namespace if namespace is None else namespace
        return self.raw.get(ObjectRef(GroupVersionKind.of(api_version, kind), where, name))

    def release(self, ref: ObjectRef) -> None:
        """Remove an object's finalizers, as a controller does that has finished its work."""
        self.raw.patch(ref, {"metadata": {"finalizers": []}}, PatchKind.MERGE)

    def make_namespace(self) -> None:
        self.kubectl({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})

    def close(self) -> None:
        self.faults.send("clear", {})
        self.raw.forget_kinds()
        for kind in ("Manifest", "Kyma"):
            self._delete_all("operator.kyma-project.io", kind)
        for plural in ("ClusterRole", "ClusterRoleBinding"):
            self._sweep(GroupVersionKind("rbac.authorization.k8s.io", "v1", plural))
        self._sweep(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
        with contextlib.suppress(NotFoundError):
            self.raw.delete(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", self.namespace))
        for cluster in (self.raw, self.cluster):
            cluster.client.transport.close()

    def _delete_all(self, group: str, kind: str) -> None:
        """Delete what the controllers of later tests would work on, as they work on the whole cluster."""
        for served in self.raw.kinds(group, kind)[:1]:
            for item in self.raw.list(served.gvk, self.namespace):
                ref = ObjectRef(served.gvk, self.namespace, item["metadata"]["name"])
                with contextlib.suppress(NotFoundError):
                    self.release(ref)
                    self.raw.delete(ref)

    def _sweep(self, gvk: GroupVersionKind) -> None:
        for item in self.raw.list(gvk):
            name = item["metadata"]["name"]
            if name.startswith(f"{self.name}-") or name.endswith(f".{self.group}"):
                with contextlib.suppress(NotFoundError):
                    self.raw.delete(ObjectRef(gvk, "", name))
