"""The route of events: from a runtime's webhook through the control plane's Gateways to the Watcher's Service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.kyma.watchers import Watcher
from kymatui.domain.snapshot.snapshots import Object

ISTIO = "networking.istio.io"
WEBHOOK = "skr-webhook"
TLS_SECRET = "skr-webhook-tls"  # noqa: S105 (a name)
OPERATIONS = ("CREATE", "UPDATE", "DELETE")
_LAST_PORT = 65535  # of TCP


class InvalidRoute(Struct, frozen=True):
    """A Watcher or Gateway from which no route can be built, with the reason."""

    reason: str


def event_path(manager: str) -> str:
    """Return the path at the control plane to which agents post events for a manager."""
    return f"/v2/{manager}/event"


def service_host(watcher: Watcher) -> str:
    return f"{watcher.service}.{watcher.service_namespace}.svc.cluster.local"


def watched_resource(watcher: Watcher) -> str:
    """Return the resource of the webhook's rule, with "/status" if only the status is watched."""
    return f"{watcher.resource}/status" if watcher.field == "status" else watcher.resource


def select_gateways(watcher: Watcher, gateways: Iterable[Object]) -> list[Object] | InvalidRoute:
    """Return the Gateways that match the Watcher's selector. An empty selector matches all."""
    selector = read_selector(watcher.gateway_selector or {})
    if isinstance(selector, InvalidSelector):
        return InvalidRoute(f"the Watcher's gateway selector is invalid: {selector.reason}")
    return [raw for raw in gateways if selector.matches(JsonReader(raw).child("metadata").labels("labels"))]


def gateway_hosts(gateway: Object) -> list[str]:
    servers = JsonReader(gateway).child("spec").children("servers")
    return [host for server in servers for host in server.texts("hosts")]


def route_spec(watcher: Watcher, gateways: Sequence[Object]) -> dict[str, Any] | InvalidRoute:
    """Return the spec of the Watcher's VirtualService; `gateways` are the selected ones."""
    if not gateways:
        return InvalidRoute("no Gateway matches the Watcher's selector")
    if reason := _incomplete(watcher):
        return InvalidRoute(reason)
    without = next((raw for raw in gateways if not gateway_hosts(raw)), None)
    if without is not None:
        return InvalidRoute(f"Gateway {qualified_name(without)} has no host")
    target = {"host": service_host(watcher), "port": {"number": watcher.port}}
    return {
        "gateways": [qualified_name(raw) for raw in gateways],
        "hosts": [host for raw in gateways for host in gateway_hosts(raw)],
        "http": [
            {
                "name": f"{watcher.meta.namespace}/{watcher.meta.name}",
                "match": [{"uri": {"prefix": event_path(watcher.manager)}}],
                "route": [{"destination": target}],
            }
        ],
    }


def qualified_name(raw: Object) -> str:
    ref = read_ref(raw)
    return f"{ref.namespace}/{ref.name}"


def _incomplete(watcher: Watcher) -> str:
    if not watcher.manager:
        return f"spec.manager and the label {LABEL_MANAGED_BY} are missing"
    if not watcher.service or not watcher.service_namespace:
        return "spec.serviceInfo has no name or no namespace"
    if not 0 < watcher.port <= _LAST_PORT:
        return f"spec.serviceInfo.port must be between 1 and {_LAST_PORT}, not {watcher.port}"
    return ""


def webhook_path(manager: str) -> str:
    """Return the path at the runtime's agent."""
    return f"/validate/{manager}"
