"""Services: Endpoints and EndpointSlices of the selected pods, and load balancer addresses."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import is_finished, is_ready
from kymatui.schemas.objects.object_meta_rules import selects

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SLICE_MANAGER = "endpointslice-controller.k8s.io"


class Services:
    name = "services"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._served: dict[str, bool] = {}

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow("services")

        def pod_changed(change: StoreChange) -> None:
            labels = [s.labels for s in (change.current, change.previous) if s is not None]
            for service in self._context.observer.all("services", change.current.namespace):
                selector = service["spec"].get("selector")
                if selector and any(selects({"matchLabels": selector}, pod_labels) for pod_labels in labels):
                    queue.add(key_of(service))

        queue.on_change("pods", pod_changed)

    def reconcile(self, key: Key) -> float | None:
        service = self._context.observer.get("services", key)
        if service is None:
            self._drop_endpoints(key)
            return None
        if is_terminating(service):
            return None
        self._give_address(service)
        if service["spec"].get("selector") and service["spec"].get("type") != "ExternalName":
            pods = self._pods(service)
            self._write_endpoints(service, pods)
            self._write_slice(service, pods)
        return None

    def _pods(self, service: Obj) -> list[Obj]:
        selector = {"matchLabels": service["spec"]["selector"]}
        pods = self._context.observer.selected("pods", key_of(service)[0], selector)
        return [p for p in pods if (p.get("status") or {}).get("podIP") and not is_finished(p)]

    def _give_address(self, service: Obj) -> None:
        """Assign a load balancer address from the documentation range, so that its waiters finish."""
        if service["spec"].get("type") != "LoadBalancer":
            return
        status = service.get("status") or {}
        if (status.get("loadBalancer") or {}).get("ingress"):
            return
        number = sum(ord(char) for char in "/".join(key_of(service))) % 250 + 2
        balancer = {"ingress": [{"ip": f"198.51.100.{number}", "ipMode": "VIP"}]}
        self._context.write_status("services", service, {**status, "loadBalancer": balancer})
        self._context.recorder.event(
            service, "Service", "v1", "EnsuredLoadBalancer", "Ensured load balancer", source="service-controller"
        )

    # -- Endpoints

    def _write_endpoints(self, service: Obj, pods: list[Obj]) -> None:
        subsets = self._subsets(service, pods)
        key = key_of(service)
        known = self._context.observer.get("endpoints", key)
        if known is None:
            labels = {
                **(service["metadata"].get("labels") or {}),
                "endpoints.kubernetes.io/managed-by": "endpoint-controller",
            }
            endpoints: Obj = {"metadata": {"name": key[1], "labels": labels}}
            if subsets:
                endpoints["subsets"] = subsets
            self._create("endpoints", endpoints, key[0])
        elif (known.get("subsets") or []) != subsets:
            self._context.client.update("endpoints", {**known, "subsets": subsets})

    @staticmethod
    def _subsets(service: Obj, pods: list[Obj]) -> list[Obj]:
        publish = service["spec"].get("publishNotReadyAddresses")
        here = [p for p in pods if not is_terminating(p) or publish]
        ready = [_address(p) for p in here if is_ready(p) or publish]
        waiting = [_address(p) for p in here if not (is_ready(p) or publish)]
        if not ready and not waiting:
            return []
        subset: Obj = {"addresses": ready} if ready else {}
        if waiting:
            subset["notReadyAddresses"] = waiting
        ports = _ports(service, here)
        return [{**subset, "ports": ports} if ports else subset]

    def _drop_endpoints(self, key: Key) -> None:
        known = self._context.observer.get("endpoints", key)
        if known is not None and "endpoints.kubernetes.io/managed-by" in (known["metadata"].get("labels") or {}):
            self._context.delete("endpoints", known)

    # -- EndpointSlices

    def _write_slice(self, service: Obj, pods: list[Obj]) -> None:
        namespace, name = key_of(service)
        endpoints = [_endpoint(p) for p in pods]
        ports = _ports(service, pods)
        selector = {"matchLabels": {SERVICE_NAME: name, MANAGED_BY: SLICE_MANAGER}}
        known = self._context.observer.selected(SLICES, namespace, selector)
        if known:
            slice_ = known[0]
            if (slice_.get("endpoints") or []) != endpoints or (slice_.get("ports") or []) != ports:
                self._context.client.update(SLICES, {**slice_, "endpoints": endpoints, "ports": ports})
            return
        endpoint_slice = {
            "metadata": {
                "generateName": f"{name}-",
                "labels": {**(service["metadata"].get("labels") or {}), SERVICE_NAME: name, MANAGED_BY: SLICE_MANAGER},
                "ownerReferences": [owner_reference("v1", "Service", service)],
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": ports,
        }
        self._create(SLICES, endpoint_slice, namespace)

    def _create(self, resource: str, obj: Obj, namespace: str) -> None:
        """Create an object if the API serves the resource."""
        if self._served.get(resource) is False:
            return
        try:
            self._context.client.create(resource, obj, namespace=namespace)
        except LookupError:
            self._served[resource] = False
        except StatusError as error:
            if error.reason != "AlreadyExists" and "being terminated" not in str(error):
                raise


def _address(pod: Obj) -> Obj:
    address: Obj = {"ip": pod["status"]["podIP"]}
    if pod["spec"].get("nodeName"):
        address["nodeName"] = pod["spec"]["nodeName"]
    return {**address, "targetRef": _target(pod)}


def _target(pod: Obj) -> Obj:
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}


def _endpoint(pod: Obj) -> Obj:
    ready = is_ready(pod)
    terminating = is_terminating(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready and not terminating, "serving": ready, "terminating": terminating},
        "nodeName": pod["spec"].get("nodeName", ""),
        "targetRef": _target(pod),
    }


def _ports(service: Obj, pods: list[Obj]) -> list[Obj]:
    ports: list[Obj] = []
    for port in service["spec"].get("ports") or []:
        number = _target_port(port, pods)
        if number is None:
            continue
        entry: Obj = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
        if port.get("appProtocol"):
            entry["appProtocol"] = port["appProtocol"]
        ports.append({k: v for k, v in entry.items() if v})
    return ports


def _target_port(port: Obj, pods: list[Obj]) -> Any:
    """Return the port number, or that of the named container port in the first pod that has it."""
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target or port["port"]
    for pod in pods:
        for container in pod["spec"]["containers"]:
            for candidate in container.get("ports") or []:
                if candidate.get("name") == target:
                    return candidate["containerPort"]
    return None
