"""The permissions that requests of kymatui needed, by a sandbox's log, and those that roles grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apiserver.requests.request_info import request_info


class UsedPermission(NamedTuple):
    """A verb on a resource ("kymas/status") in a namespace; "" is the whole cluster."""

    namespace: str
    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        where = self.namespace or "cluster"
        return f"{where}: {self.verb} {f'{self.resource}.{self.group}' if self.group else self.resource}"

    def is_granted(self, granted: Iterable[UsedPermission]) -> bool:
        """Return whether it is among what roles grant; one for the whole cluster is for each namespace."""
        return any(one[1:] == self[1:] and one.namespace in ("", self.namespace) for one in granted)

    def is_used(self, used: Iterable[UsedPermission]) -> bool:
        """Return whether a request needed it; one for the whole cluster by a request to any namespace."""
        return any(one[1:] == self[1:] and self.namespace in ("", one.namespace) for one in used)


def used_permissions(log: Mapping[str, Any]) -> set[UsedPermission]:
    """Return what kymatui's own requests of a log needed, without those as a user whom it impersonates.

    What was forbidden was no need; an apply that created has two.
    """
    found: set[UsedPermission] = set()
    for one in log["requests"]:
        if one["agent"].startswith("kymatui") and not one["impersonated"] and one["status"] not in (401, 403):
            query = {"watch": ["true"]} if one["watch"] else {}
            info = request_info(ServerRequest(one["method"], one["path"], query=query))
            if not info.resource:
                continue
            resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
            verbs = [info.verb, *(["create"] if info.verb == "patch" and one["status"] == 201 else [])]
            found |= {UsedPermission(info.namespace, info.group, resource, verb) for verb in verbs}
    return found


def granted_permissions(objects: Iterable[Mapping[str, Any]]) -> Iterator[UsedPermission]:
    """Yield what the roles among the objects grant."""
    for body in objects:
        for rule in body.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield UsedPermission(body["metadata"].get("namespace", ""), group, resource, verb)
