"""A cluster without sockets whose time the test moves: an API server with its controllers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kymatui.sandbox.apimachinery.clock import ManualClock
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apiserver.server.api_server import ApiServer
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.controllers.controller_manager import ControllerManager

Obj = dict[str, Any]


@dataclass
class Living:
    """Bring it forward with `advance`; nothing happens in between."""

    clock: ManualClock = field(default_factory=ManualClock)
    server: ApiServer = field(init=False)
    controllers: ControllerManager = field(init=False)

    def __post_init__(self) -> None:
        self.server = ApiServer(self.clock, standard_semantics(self.clock), admin_token="admin")
        self.server.bootstrap()
        self.controllers = ControllerManager(self.server.client, self.server.store, root_ca="a certificate")
        self.controllers.start()
        self.clock.advance(1)

    @property
    def client(self) -> LocalClient:
        return self.server.client

    def advance(self, seconds: float = 1.0) -> None:
        """Moves time in small steps, as a clock does."""
        for _ in range(max(1, round(seconds * 10))):
            self.clock.advance(0.1)

    def create(self, resource: str, obj: Obj, namespace: str = "default") -> Obj:
        return self.client.create(resource, obj, namespace=namespace)

    def get(self, resource: str, name: str, namespace: str = "default") -> Obj:
        return self.client.get(resource, name, namespace=namespace)

    def status(self, resource: str, name: str, namespace: str = "default") -> Obj:
        found: Obj = self.get(resource, name, namespace).get("status") or {}
        return found

    def names(self, resource: str, namespace: str = "default", labels: str = "") -> list[str]:
        return [o["metadata"]["name"] for o in self.client.list(resource, namespace=namespace, labels=labels)]

    def events(self, kind: str, name: str = "", namespace: str = "default") -> list[tuple[str, str]]:
        """(reason, message) of the events about an object, or about all of a kind."""
        found = self.client.list("events", namespace=namespace)
        return [
            (e["reason"], e["message"])
            for e in found
            if e["involvedObject"]["kind"] == kind and name in ("", e["involvedObject"]["name"])
        ]


def reasons(status: Obj) -> dict[str, tuple[str, str]]:
    """(status, reason) of each condition, by type."""
    return {c["type"]: (c["status"], c.get("reason", "")) for c in status.get("conditions") or []}


def workload(name: str, image: str = "registry.example/app:1.0.0", **spec: Any) -> Obj:
    """A Deployment, StatefulSet or DaemonSet, but for its kind."""
    pod = {"containers": [{"name": "manager", "image": image}], **spec.pop("pod", {})}
    return {
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
            **spec,
        },
    }
