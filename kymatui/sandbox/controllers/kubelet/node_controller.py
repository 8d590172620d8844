"""The single node, its heartbeat, and the default storage class."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.clock import micro_timestamp
from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import Condition, condition
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.kubelet.volume_binder import CLASSES, DEFAULT_CLASS, PROVISIONER
from kymatui.sandbox.controllers.workloads.pod_claims import seconds_of

LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
HEARTBEAT_SECONDS = 300.0
RENEW_SECONDS = 30.0
STORAGE_CLASS = "standard"
NOT_READY = "node.kubernetes.io/not-ready"
CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "250", "ephemeral-storage": "200Gi"}


class Nodes:
    """Registers the node and keeps it ready; the key is the node's."""

    name = "nodes"

    def __init__(self, context: ControllerContext, version: str) -> None:
        self._context = context
        self._version = version

    def watch(self, queue: ControllerQueue) -> None:
        queue.add(("", self._context.node))

    def reconcile(self, key: Key) -> float | None:
        self._ensure_class()
        node = self._context.observer.get("nodes", key) or self._register(key[1])
        beat = ((node.get("status") or {}).get("conditions") or [{}])[0].get("lastHeartbeatTime", "")
        if not beat or self._age(beat) >= HEARTBEAT_SECONDS:
            self._beat(node)
        self._open(key)
        self._renew(node)
        return RENEW_SECONDS

    def _open(self, key: Key) -> None:
        """Remove the taint `not-ready`, which every new node has."""
        node = self._context.observer.get("nodes", key)
        taints = ((node or {}).get("spec") or {}).get("taints") or []
        remaining = [taint for taint in taints if taint.get("key") != NOT_READY]
        if node is not None and len(remaining) < len(taints):
            self._context.client.patch("nodes", key[1], {"spec": {"taints": remaining or None}})

    def _age(self, beat: str) -> float:
        return self._context.now - seconds_of(beat)

    def _register(self, name: str) -> Obj:
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": "sandbox.large",
            "topology.kubernetes.io/region": "eu-central-1",
            "topology.kubernetes.io/zone": "eu-central-1a",
            "worker.gardener.cloud/pool": "default",
        }
        node = {"metadata": {"name": name, "labels": labels}, "spec": {"podCIDR": "10.96.0.0/16"}}
        created: Obj = self._context.client.create("nodes", node)
        self._context.recorder.event(
            created,
            "Node",
            "v1",
            "RegisteredNode",
            f"Node {name} event: Registered Node {name} in Controller",
            source="node-controller",
        )
        return created

    def _beat(self, node: Obj) -> None:
        known = {c["type"]: c for c in (node.get("status") or {}).get("conditions") or []}
        conditions: list[Condition] = []
        for new_condition in _conditions():
            before = known.get(new_condition["type"], {})
            same = before.get("status") == new_condition["status"]
            times = {
                "lastHeartbeatTime": self._context.stamp,
                "lastTransitionTime": before["lastTransitionTime"] if same else self._context.stamp,
            }
            conditions.append({**new_condition, **times})
        name = node["metadata"]["name"]
        status = {
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.250.0.2"}, {"type": "Hostname", "address": name}],
            "nodeInfo": self._info(node),
        }
        self._context.write_status("nodes", node, {**(node.get("status") or {}), **status})

    def _info(self, node: Obj) -> Obj:
        uid = node["metadata"].get("uid", "")
        return {
            "machineID": uid.replace("-", ""),
            "systemUUID": uid,
            "bootID": uid,
            "kernelVersion": "6.12.0",
            "osImage": "Sandbox Linux",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kubeletVersion": self._version,
            "kubeProxyVersion": self._version,
            "operatingSystem": "linux",
            "architecture": "amd64",
        }

    def _renew(self, node: Obj) -> None:
        name = node["metadata"]["name"]
        if self._context.observer.get("namespaces", ("", LEASE_NAMESPACE)) is None:
            return
        stamp = micro_timestamp(self._context.now)
        lease = self._context.observer.get(LEASES, (LEASE_NAMESPACE, name))
        if lease is not None:
            self._context.client.update(LEASES, {**lease, "spec": {**lease["spec"], "renewTime": stamp}})
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        lease_body = {
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": stamp},
        }
        self._context.client.create(LEASES, lease_body, namespace=LEASE_NAMESPACE)

    def _ensure_class(self) -> None:
        if self._context.observer.get(CLASSES, ("", STORAGE_CLASS)) is not None:
            return
        storage_class = {
            "metadata": {"name": STORAGE_CLASS, "annotations": {DEFAULT_CLASS: "true"}},
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
        }
        try:
            self._context.client.create(CLASSES, storage_class)
        except (LookupError, StatusError):
            return


def _conditions() -> list[Condition]:
    return [
        condition("MemoryPressure", False, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        condition("DiskPressure", False, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", False, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", True, "KubeletReady", "kubelet is posting ready status"),
    ]
