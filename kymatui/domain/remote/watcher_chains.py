"""Watcher chains: whether changes in a runtime reach the control plane, link by link.

A Watcher has a VirtualService of the same name, which routes `/v2/<manager>/event` at the hosts of the selected
Gateways to a Service. In the runtime, the ValidatingWebhookConfiguration `skr-webhook` has a webhook for it that
calls the Deployment `skr-webhook`. Its failure policy is Ignore, so a broken webhook blocks nothing and stays
unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject, find_condition
from kymatui.domain.kyma.kyma_keeper import find_keeper, with_keeper
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.watchers import Watcher, read_watcher
from kymatui.domain.remote.watcher_routes import (
    OPERATIONS,
    TLS_SECRET,
    WEBHOOK,
    InvalidRoute,
    event_path,
    gateway_hosts,
    qualified_name,
    select_gateways,
    service_host,
    watched_resource,
    webhook_path,
)
from kymatui.domain.snapshot.snapshots import Object


class LinkHealth(StrEnum):
    """The health of a link."""

    HEALTHY = "healthy"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class ChainLink(Struct, frozen=True):
    """One link: its kind, the object, and the fault if it is not whole."""

    what: str
    object: str
    health: LinkHealth
    why: str = ""


class WatcherChain(Struct, frozen=True):
    """All links of one Watcher; `watcher` is "" for a webhook without a Watcher."""

    watcher: str
    watches: str
    links: tuple[ChainLink, ...]

    @property
    def health(self) -> LinkHealth:
        """Return the worst health of the links."""
        healths = {link.health for link in self.links}
        return next(
            (health for health in (LinkHealth.BROKEN, LinkHealth.UNKNOWN) if health in healths), LinkHealth.HEALTHY
        )


class ControlPlaneObjects(Struct, frozen=True):
    """The control plane's objects; None if unreadable or not served, with the reason by kind in `why`."""

    watchers: Sequence[Object]
    gateways: Sequence[Object] | None
    virtual_services: Sequence[Object] | None
    services: Sequence[Object] | None
    why: Mapping[str, str]


class RuntimeObjects(Struct, frozen=True):
    """The runtime's objects: webhook configuration, Deployment, and whether the Secret exists.

    `why` has the reason for each unreadable object; None without a reason means that the object does not exist.
    """

    configuration: Object | None
    deployment: Object | None
    secret: bool
    why: Mapping[str, str]


def build_chains(control: ControlPlaneObjects, runtime: RuntimeObjects | None) -> tuple[WatcherChain, ...]:
    """Return one chain for each Watcher; without `runtime`, only the links in the control plane."""
    read = [read_watcher(raw) for raw in control.watchers]
    chains = [_chain(watcher, control, runtime) for watcher in read if isinstance(watcher, Watcher)]
    chains += [
        WatcherChain(str(bad.ref), "", (ChainLink("Watcher", str(bad.ref), LinkHealth.BROKEN, bad.reason),))
        for bad in read
        if isinstance(bad, MalformedObject)
    ]
    if runtime is not None:
        chains += _strays([watcher for watcher in read if isinstance(watcher, Watcher)], runtime)
    keeper = find_keeper((*control.watchers, *(control.virtual_services or ())))
    return tuple(_with_keeper(chain, keeper) for chain in chains) if keeper is Actor.OPERATOR else tuple(chains)


def _with_keeper(chain: WatcherChain, keeper: Actor) -> WatcherChain:
    return replace(chain, links=tuple(replace(link, why=with_keeper(link.why, keeper)) for link in chain.links))


def _chain(watcher: Watcher, control: ControlPlaneObjects, runtime: RuntimeObjects | None) -> WatcherChain:
    kind = f"{watcher.resource}.{watcher.group}" if watcher.group else watcher.resource
    links = [_watcher_link(watcher), *_control_links(watcher, control)]
    if runtime is not None:
        links += _runtime_links(watcher, runtime)
    name = f"{watcher.meta.namespace}/{watcher.meta.name}"
    return WatcherChain(name, f"{watcher.field or 'spec'} of {kind}", tuple(links))


def _link(what: str, name: str, faults: Sequence[str]) -> ChainLink:
    return ChainLink(what, name, LinkHealth.BROKEN if faults else LinkHealth.HEALTHY, "; ".join(faults))


def _watcher_link(watcher: Watcher) -> ChainLink:
    faults = []
    if not watcher.manager:
        faults.append("no manager is set, and the label managed-by is missing")
    if not (watcher.service and watcher.service_namespace and 0 < watcher.port < 65536):
        faults.append("serviceInfo is incomplete")
    condition = find_condition(watcher.conditions, "VirtualService")
    if condition is not None and condition.status != "True":
        faults.append(f"condition VirtualService is {condition.status}: {condition.message}")
    if watcher.state not in ("", "Ready"):
        faults.append(f"state is {watcher.state}")
    return _link("Watcher", f"{watcher.meta.namespace}/{watcher.meta.name}", faults)


# in the control plane


def _control_links(watcher: Watcher, control: ControlPlaneObjects) -> Iterator[ChainLink]:
    gateways = select_gateways(watcher, control.gateways or ())
    if isinstance(gateways, InvalidRoute):
        yield ChainLink("Gateway", "", LinkHealth.BROKEN, gateways.reason)
    elif control.gateways is None:
        yield _unknown("Gateway", control.why)
    else:
        names = ", ".join(qualified_name(gateway) for gateway in gateways)
        none = "no Gateway matches the Watcher's selector"
        without = [f"{qualified_name(gateway)} has no host" for gateway in gateways if not gateway_hosts(gateway)]
        yield _link("Gateway", names, without if gateways else [none])
    known = None if control.gateways is None or isinstance(gateways, InvalidRoute) else gateways
    yield _virtual_service(watcher, control, known)
    yield _service(watcher, control)


def _unknown(what: str, why: Mapping[str, str], name: str = "") -> ChainLink:
    return ChainLink(what, name, LinkHealth.UNKNOWN, why.get(what, "cannot be read"))


def _virtual_service(watcher: Watcher, control: ControlPlaneObjects, gateways: list[Object] | None) -> ChainLink:
    name = f"{watcher.meta.namespace}/{watcher.meta.name}"
    if control.virtual_services is None:
        return _unknown("VirtualService", control.why, name)
    virtual_service = next((raw for raw in control.virtual_services if qualified_name(raw) == name), None)
    if virtual_service is None:
        return ChainLink("VirtualService", name, LinkHealth.BROKEN, "not found; lifecycle-manager creates it")
    return _link("VirtualService", name, list(_route_faults(watcher, virtual_service, gateways)))


def _route_faults(watcher: Watcher, raw: Object, gateways: list[Object] | None) -> Iterator[str]:
    spec = JsonReader(raw).child("spec")
    if gateways is not None:
        names = {qualified_name(gateway) for gateway in gateways}
        hosts = {host for gateway in gateways for host in gateway_hosts(gateway)}
        if set(spec.texts("gateways")) != names:
            yield f"gateways are {_listed(spec.texts('gateways'))}, expected {_listed(sorted(names))}"
        if set(spec.texts("hosts")) != hosts:
            yield f"hosts are {_listed(spec.texts('hosts'))}, expected {_listed(sorted(hosts))}"
    prefix = event_path(watcher.manager)
    routes = [
        route
        for route in spec.children("http")
        if any(match.child("uri").text("prefix") == prefix for match in route.children("match"))
    ]
    if not routes:
        yield f"no route for {prefix}"
        return
    wanted_target = f"{service_host(watcher)}:{watcher.port}"
    rules = [rule.child("destination") for route in routes for rule in route.children("route")]
    targets = [f"{rule.text('host')}:{rule.child('port').integer('number')}" for rule in rules]
    if wanted_target not in targets:
        yield f"the route for {prefix} leads to {_listed(targets)}, expected {wanted_target}"
    owners = JsonReader(raw).child("metadata").children("ownerReferences")
    if not any((owner.text("kind"), owner.text("name")) == ("Watcher", watcher.meta.name) for owner in owners):
        yield "ownerReference to the Watcher is missing; the VirtualService stays when the Watcher is deleted"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "none"


def _service(watcher: Watcher, control: ControlPlaneObjects) -> ChainLink:
    name = f"{watcher.service_namespace}/{watcher.service}"
    if control.services is None:
        return _unknown("Service", control.why, name)
    service = next((raw for raw in control.services if qualified_name(raw) == name), None)
    if service is None:
        return ChainLink("Service", name, LinkHealth.BROKEN, "not found: events from runtimes are lost")
    ports = [port.integer("port") for port in JsonReader(service).child("spec").children("ports")]
    problem = f"no port {watcher.port}; ports: {_listed([str(port) for port in ports])}"
    return _link("Service", name, [] if watcher.port in ports else [problem])


# in the runtime


def _runtime_links(watcher: Watcher, runtime: RuntimeObjects) -> Iterator[ChainLink]:
    name = watcher.webhook
    if runtime.configuration is None:
        if "webhook" in runtime.why:
            yield _unknown("webhook", runtime.why, name)
        else:
            why = f"ValidatingWebhookConfiguration {WEBHOOK} not found"
            yield ChainLink("webhook", name, LinkHealth.BROKEN, why)
    else:
        hook = next((webhook for webhook in _webhooks(runtime.configuration) if webhook.text("name") == name), None)
        absent = f"not found in ValidatingWebhookConfiguration {WEBHOOK}"
        yield _link("webhook", name, [absent] if hook is None else list(_hook_faults(watcher, hook)))
    yield _deployment(runtime)
    yield _secret(runtime)


def _webhooks(raw: Object) -> Sequence[JsonReader]:
    return JsonReader(raw).children("webhooks")


def _hook_faults(watcher: Watcher, hook: JsonReader) -> Iterator[str]:
    client = hook.child("clientConfig")
    service = client.child("service")
    actual = (service.text("namespace"), service.text("name"), service.text("path"))
    expected = (KYMA_NAMESPACE, WEBHOOK, webhook_path(watcher.manager))
    if actual != expected:
        yield f"the webhook calls {_place(actual)}, expected {_place(expected)}"
    if not client.text("caBundle"):
        yield "caBundle is missing: every call fails"
    labels = hook.child("objectSelector").labels("matchLabels")
    if labels != dict(watcher.labels_to_watch):
        yield f"objectSelector is {_pairs(labels)}, expected {_pairs(watcher.labels_to_watch)}"
    resource = watched_resource(watcher)
    if not any(_covers(rule, watcher, resource) for rule in hook.children("rules")):
        yield f"no rule for {_listed(OPERATIONS)} of {resource} in {watcher.group}/{watcher.version}"
    if hook.text("failurePolicy") != "Ignore":
        policy = hook.text("failurePolicy") or "Fail"
        yield f"failurePolicy is {policy}: while the webhook is down, the API server rejects changes of watched objects"


def _place(location: tuple[str, str, str]) -> str:
    return f"{location[0]}/{location[1]}{location[2]}"


def _pairs(labels: Mapping[str, str]) -> str:
    return _listed([f"{key}={value}" for key, value in sorted(labels.items())])


def _covers(rule: JsonReader, watcher: Watcher, resource: str) -> bool:
    def has(field: str, expected: str) -> bool:
        return bool({expected, "*"} & set(rule.texts(field)))

    operations = set(rule.texts("operations"))
    return (
        has("apiGroups", watcher.group)
        and has("apiVersions", watcher.version)
        and resource in rule.texts("resources")
        and ("*" in operations or operations >= set(OPERATIONS))
    )


def _deployment(runtime: RuntimeObjects) -> ChainLink:
    name = f"{KYMA_NAMESPACE}/{WEBHOOK}"
    if runtime.deployment is None:
        if "Deployment" in runtime.why:
            return _unknown("Deployment", runtime.why, name)
        return ChainLink(
            "Deployment", name, LinkHealth.BROKEN, "not found: changes are not forwarded to the control plane"
        )
    status, spec = JsonReader(runtime.deployment).child("status"), JsonReader(runtime.deployment).child("spec")
    ready, desired = status.integer("availableReplicas"), spec.integer("replicas", 1)
    return _link("Deployment", name, [] if ready else [f"{ready} of {desired} replicas are available"])


def _secret(runtime: RuntimeObjects) -> ChainLink:
    name = f"{KYMA_NAMESPACE}/{TLS_SECRET}"
    if "Secret" in runtime.why:
        return _unknown("Secret", runtime.why, name)
    return _link("Secret", name, [] if runtime.secret else ["not found: the webhook has no certificate"])


def _strays(watchers: Sequence[Watcher], runtime: RuntimeObjects) -> list[WatcherChain]:
    """Return the webhooks whose Watchers no longer exist."""
    if runtime.configuration is None:
        return []
    known = {watcher.webhook for watcher in watchers}
    names = [hook.text("name") for hook in _webhooks(runtime.configuration)]
    why = "no Watcher for this webhook; lifecycle-manager deletes it at its next reconciliation"
    return [
        WatcherChain("", "", (ChainLink("webhook", name, LinkHealth.BROKEN, why),))
        for name in names
        if name and name not in known
    ]


def chain_json(chain: WatcherChain) -> dict[str, Any]:
    """Return the documented JSON of a chain."""
    return {
        "watcher": chain.watcher or None,
        "watches": chain.watches or None,
        "health": chain.health.value,
        "links": [
            {"link": link.what, "object": link.object or None, "health": link.health.value, "why": link.why or None}
            for link in chain.links
        ],
    }
