"""Hooks of single kinds for create, update and delete."""

from __future__ import annotations

import ipaddress
import itertools
from typing import Any

from kymatui.sandbox.apimachinery.clock import SandboxClock, timestamp
from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError, forbidden, invalid
from kymatui.sandbox.apiserver.requests.request_options import DeleteOptions
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource
from kymatui.sandbox.apiserver.writes.admission_plugins import IMMORTAL
from kymatui.sandbox.apiserver.writes.crd_lifecycle import DEFINITIONS, begin_deletion

_CLUSTER_NETWORK = "10.0.0."
_NODE_PORTS = range(30_000, 32_768)


class KindRules:
    """Deletes namespaces in two steps, cleans up after CRDs, allocates addresses of services."""

    def __init__(self, store: ObjectStore, clock: SandboxClock) -> None:
        self._store = store
        self._clock = clock
        self._hosts = itertools.count(1)

    # -- deletion

    def before_delete(
        self, resource: ServedResource, obj: Object, options: DeleteOptions, user: RequestUser
    ) -> Object | None:
        """Return an object to answer with if the kind handles its deletion itself.

        Raise StatusError to refuse the deletion.
        """
        del user
        if resource.full_name == "namespaces":
            return self._end_namespace(resource, obj, options)
        if resource.full_name == DEFINITIONS:
            return self._end_definition(resource, obj, options)
        return None

    def _end_namespace(self, resource: ServedResource, obj: Object, options: DeleteOptions) -> Object | None:
        name = obj["metadata"]["name"]
        if name in IMMORTAL:
            raise forbidden("namespaces", name, "this namespace may not be deleted")
        if obj["metadata"].get("deletionTimestamp"):
            return obj if (obj.get("spec") or {}).get("finalizers") else None
        obj["metadata"]["deletionTimestamp"] = timestamp(self._clock.now())
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self._kept(resource, obj, options)

    def _end_definition(self, resource: ServedResource, obj: Object, options: DeleteOptions) -> Object | None:
        if not obj["metadata"].get("deletionTimestamp"):
            begin_deletion(obj, self._clock.now())
            return self._kept(resource, obj, options)
        return obj if obj["metadata"].get("finalizers") else None

    def _kept(self, resource: ServedResource, obj: Object, options: DeleteOptions) -> Object:
        if not options.dry_run:
            self._store.put(resource.full_name, obj)
        return obj

    # -- services

    def allocate(self, resource: ServedResource, obj: Object, live: Object | None = None) -> None:
        """Allocate a service's addresses and node ports, or keep those of `live`. Raise StatusError 422."""
        if resource.full_name != "services":
            return
        if live is not None:
            follow_type(obj["spec"], live["spec"])
            if live["spec"].get("type") == "LoadBalancer" != obj["spec"].get("type"):
                obj["status"] = {"loadBalancer": {}}
        spec: dict[str, Any] = obj["spec"]
        kind = spec.get("type", "ClusterIP")
        if kind == "ExternalName":
            _without_addresses(spec)
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self._free_address()
        elif spec["clusterIP"] != "None" and (live is None or live["spec"].get("clusterIP") != spec["clusterIP"]):
            self._check_address(obj, spec["clusterIP"])
        spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        if spec["clusterIP"] == "None" and not spec.get("selector"):
            spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
            spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if live is None or live["spec"].get("ipFamilyPolicy") != spec["ipFamilyPolicy"]:
            _check_families(obj)
        if kind in ("NodePort", "LoadBalancer"):
            self._give_node_ports(obj, live)
        if kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
            self._give_health_port(spec)

    def _give_health_port(self, spec: dict[str, Any]) -> None:
        if not spec.get("healthCheckNodePort"):
            taken = {port.get("nodePort") for other in self._services() for port in other.get("ports") or ()}
            taken |= {other.get("healthCheckNodePort") for other in self._services()}
            taken |= {port.get("nodePort") for port in spec.get("ports") or ()}
            spec["healthCheckNodePort"] = next(number for number in _NODE_PORTS if number not in taken)

    def _services(self, but: str = "") -> list[dict[str, Any]]:
        return [stored.body()["spec"] for stored in self._store.walk("services") if stored.uid != but]

    def _free_address(self) -> str:
        taken = {address for spec in self._services() for address in spec.get("clusterIPs") or ()}
        for _ in range(253):
            address = f"{_CLUSTER_NETWORK}{next(self._hosts) % 253 + 1}"
            if address not in taken:
                return address
        # The first network is full: continue with the next one.
        number = len(taken)
        return f"10.{number // 65536 % 255}.{number // 256 % 256}.{number % 254 + 1}"

    def _check_address(self, obj: Object, address: str) -> None:
        if not address.startswith(_CLUSTER_NETWORK) and _is_address(address):
            text = f"failed to allocate IP {address}: the provided network does not match the current range"
            raise _taken(obj, "spec.clusterIPs", f'["{address}"]', text)
        for spec in self._services(obj["metadata"].get("uid", "")):
            if address in (spec.get("clusterIPs") or ()):
                text = f"failed to allocate IP {address}: provided IP is already allocated"
                raise _taken(obj, "spec.clusterIPs", f'["{address}"]', text)

    def _give_node_ports(self, obj: Object, live: Object | None) -> None:
        spec = obj["spec"]
        others = self._services((live or obj)["metadata"].get("uid", ""))
        taken = {port.get("nodePort") for other in others for port in other.get("ports") or ()}
        for index, port in enumerate(spec.get("ports") or ()):
            number = port.get("nodePort")
            if number and number not in _NODE_PORTS:
                text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
                raise _taken(obj, f"spec.ports[{index}].nodePort", str(number), text)
            if number and number in taken:
                raise _taken(obj, f"spec.ports[{index}].nodePort", str(number), "provided port is already allocated")
        taken |= {port.get("nodePort") for port in spec.get("ports") or ()}
        free = (number for number in _NODE_PORTS if number not in taken)
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = next(free)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _taken(obj: Object, field: str, shown: str, text: str) -> StatusError:
    cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: {shown}: {text}", "field": field}
    return invalid("Service", obj["metadata"]["name"], [cause])


def _check_families(service: Object) -> None:
    """Check IP families: the cluster is single-stack; headless services without selector need no check."""
    spec = service["spec"]
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        return
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        raise _taken(service, "spec.ipFamilyPolicy", '"RequireDualStack"', text)
    for index, family in enumerate(spec["ipFamilies"]):
        if family == "IPv6":
            raise _taken(service, f"spec.ipFamilies[{index}]", '"IPv6"', "not configured on this cluster")


_ADDRESSED = ("ClusterIP", "NodePort", "LoadBalancer")
_ON_NODES = ("NodePort", "LoadBalancer")


def follow_type(spec: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep allocated fields that the update leaves out, and drop those the new type lacks."""
    kind, before = spec.get("type"), old.get("type")
    if before in _ADDRESSED and kind in _ADDRESSED:
        if not spec.get("clusterIP"):
            for name in ("clusterIP", "clusterIPs"):
                if name in old:
                    spec[name] = old[name]
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in old:
                spec.setdefault(name, old[name])
    if before in _ON_NODES:
        _follow_node_ports(spec, old)
    if before == "LoadBalancer" and kind != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"):
            if spec.get(name) == old.get(name):
                spec.pop(name, None)
    outside = kind in _ON_NODES or bool(spec.get("externalIPs"))
    if not outside and spec.get("externalTrafficPolicy") == old.get("externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)


def _follow_node_ports(spec: dict[str, Any], old: dict[str, Any]) -> None:
    known = {(port.get("port"), port.get("protocol")): port.get("nodePort") for port in old.get("ports") or ()}
    node_ports = [port.get("nodePort") for port in spec.get("ports") or ()]
    if spec.get("type") in _ON_NODES:
        for port in spec.get("ports") or ():
            number = known.get((port.get("port"), port.get("protocol")))
            if number and not port.get("nodePort") and number not in node_ports:
                port["nodePort"] = number
    elif node_ports == [port.get("nodePort") for port in old.get("ports") or ()]:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)


def _without_addresses(service: dict[str, Any]) -> None:
    """Remove addresses and node ports, which an ExternalName service has not."""
    for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
        service.pop(name, None)
    for port in service.get("ports") or ():
        port.pop("nodePort", None)
