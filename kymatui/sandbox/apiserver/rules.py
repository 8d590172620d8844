"""What some kinds do of their own when they are created or deleted."""

from __future__ import annotations

import itertools
from typing import Any

from kymatui.sandbox.apiserver.admission import IMMORTAL
from kymatui.sandbox.apiserver.definitions import DEFINITIONS, begin_deletion
from kymatui.sandbox.apiserver.exchange import User
from kymatui.sandbox.apiserver.options import DeleteOptions
from kymatui.sandbox.apiserver.resources import Object, Resource
from kymatui.sandbox.apiserver.statuses import forbidden, invalid
from kymatui.sandbox.clock import Clock, timestamp
from kymatui.sandbox.storage import Store

_CLUSTER_NETWORK = "10.0.0."
_NODE_PORTS = range(30_000, 32_768)


class KindRules:
    """Namespaces end in two steps, definitions clean up, services get addresses."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._hosts = itertools.count(1)

    # -- deletion

    def before_delete(self, resource: Resource, obj: Object, options: DeleteOptions, user: User) -> Object | None:
        """See `deleting.DeletionRules`."""
        del user
        if resource.full_name == "namespaces":
            return self._end_namespace(resource, obj, options)
        if resource.full_name == DEFINITIONS:
            return self._end_definition(resource, obj, options)
        return None

    def _end_namespace(self, resource: Resource, obj: Object, options: DeleteOptions) -> Object | None:
        name = obj["metadata"]["name"]
        if name in IMMORTAL:
            raise forbidden("namespaces", name, "this namespace may not be deleted")
        if obj["metadata"].get("deletionTimestamp"):
            return obj if (obj.get("spec") or {}).get("finalizers") else None
        obj["metadata"]["deletionTimestamp"] = timestamp(self._clock.now())
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self._kept(resource, obj, options)

    def _end_definition(self, resource: Resource, obj: Object, options: DeleteOptions) -> Object | None:
        if not obj["metadata"].get("deletionTimestamp"):
            begin_deletion(obj, self._clock.now())
            return self._kept(resource, obj, options)
        return obj if obj["metadata"].get("finalizers") else None

    def _kept(self, resource: Resource, obj: Object, options: DeleteOptions) -> Object:
        if not options.dry_run:
            self._store.put(resource.full_name, obj)
        return obj

    # -- services

    def allocate(self, resource: Resource, obj: Object) -> None:
        """Gives a service its addresses and node ports; raises StatusError 422 where one is taken."""
        if resource.full_name != "services":
            return
        spec: dict[str, Any] = obj["spec"]
        kind = spec.get("type", "ClusterIP")
        if kind == "ExternalName":
            _without_addresses(spec)
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self._free_address()
        elif spec["clusterIP"] != "None":
            self._check_address(obj, spec["clusterIP"])
        spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if kind in ("NodePort", "LoadBalancer"):
            self._give_node_ports(spec)

    def _services(self, but: str = "") -> list[dict[str, Any]]:
        return [stored.body()["spec"] for stored in self._store.walk("services") if stored.uid != but]

    def _free_address(self) -> str:
        taken = {address for spec in self._services() for address in spec.get("clusterIPs") or ()}
        for _ in range(253):
            address = f"{_CLUSTER_NETWORK}{next(self._hosts) % 253 + 1}"
            if address not in taken:
                return address
        # more services than the first network holds: the next ones, as far as they are needed
        number = len(taken)
        return f"10.{number // 65536 % 255}.{number // 256 % 256}.{number % 254 + 1}"

    def _check_address(self, obj: Object, address: str) -> None:
        for spec in self._services(obj["metadata"].get("uid", "")):
            if address in (spec.get("clusterIPs") or ()):
                text = f"failed to allocate IP {address}: provided IP is already allocated"
                message = f'Invalid value: ["{address}"]: {text}'
                cause = {"reason": "FieldValueInvalid", "message": message, "field": "spec.clusterIPs"}
                raise invalid("Service", obj["metadata"]["name"], [cause])

    def _give_node_ports(self, spec: dict[str, Any]) -> None:
        taken = {port.get("nodePort") for other in self._services() for port in other.get("ports") or ()}
        free = (number for number in _NODE_PORTS if number not in taken)
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = next(free)


def _without_addresses(service: dict[str, Any]) -> None:
    """A service that is only a name has neither addresses nor ports on nodes."""
    for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
        service.pop(name, None)
    for port in service.get("ports") or ():
        port.pop("nodePort", None)
