"""The options of an operator that is installed, read from its objects, so that an upgrade keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kymatui.domain.inventories import Inventory
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.operator_deletion import OPERATOR_RELEASE
from kymatui.errors import RefusedError
from kymatui.operator.installation.deployment import METRICS_PORT, MONITORING, NAMESPACE_NAME, DeploymentOptions
from kymatui.operator.manifests.manifest_marks import MANIFEST_ACCOUNT

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
NETWORK_POLICY = GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy")
_READ = (
    "--controllers",
    "--manifest-namespaces",
    "--manifest-service-account",
    "--listener-gateways",
    "--watcher-image",
    "--watcher-address",
)
_FOLLOWING = ("--metrics", "--log-format", "--namespace", "--listener", "--single-cluster")
"""Arguments that follow from the other options."""


def deployed_options(cluster: Cluster, inventory: Inventory) -> DeploymentOptions:
    """Return the options of the operator with this inventory. Raise RefusedError if its Deployment is missing."""
    ref = ObjectRef(DEPLOYMENT, inventory.namespace, OPERATOR_RELEASE)
    live = cluster.get(ref)
    if live is None:
        raise RefusedError(
            f"{ref} does not exist, so the options of the operator are unknown",
            hint="run `kymatui operator install` with all options",
        )
    kinds = {item.ref.kind.kind for item in inventory.items if item.ref.kind.api_version == MONITORING}
    policy = cluster.get(ObjectRef(NETWORK_POLICY, inventory.namespace, OPERATOR_RELEASE))
    return read_options(live, policy, monitor="ServiceMonitor" in kinds, alerts="PrometheusRule" in kinds)


def read_options(
    deployment: Mapping[str, Any],
    policy: Mapping[str, Any] | None = None,
    *,
    monitor: bool = False,
    alerts: bool = False,
) -> DeploymentOptions:
    """Return the options from which a Deployment and its NetworkPolicy were made."""
    reader = JsonReader(deployment)
    spec = reader.child("spec")
    containers = spec.child("template").child("spec").children("containers")
    container = next(iter(containers), JsonReader({}))
    arguments = [argument for argument in container.texts("args") if argument.startswith("--")]
    known, rest = _split(arguments)
    image, address = known.get("--watcher-image", ""), known.get("--watcher-address", "")
    return DeploymentOptions(
        image=container.text("image"),
        namespace=reader.child("metadata").text("namespace"),
        replicas=spec.integer("replicas"),
        controllers=tuple(filter(None, known.get("--controllers", "").split(","))),
        tenants=tuple(filter(None, known.get("--manifest-namespaces", "").split(","))),
        account=known.get("--manifest-service-account", MANIFEST_ACCOUNT),
        gateways=known.get("--listener-gateways", ""),
        scrapers=tuple(_scrapers(policy or {})),
        single_cluster="--single-cluster" in arguments,
        agent=AgentOptions(image, address) if image else None,
        arguments=tuple(rest),
        monitor=monitor,
        alerts=alerts,
    )


def _scrapers(policy: Mapping[str, Any]) -> Iterator[str]:
    """Yield the namespaces and networks that a NetworkPolicy lets read metrics."""
    for rule in JsonReader(policy).child("spec").children("ingress"):
        if any(port.integer("port") == METRICS_PORT for port in rule.children("ports")):
            for source in rule.children("from"):
                selected = source.child("namespaceSelector").labels("matchLabels")
                if name := source.child("ipBlock").text("cidr") or selected.get(NAMESPACE_NAME):
                    yield name


def _split(arguments: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the arguments that options stand for, and those that were passed through."""
    known: dict[str, str] = {}
    rest: list[str] = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name in _READ:
            known[name] = value
        elif name not in _FOLLOWING:
            rest.append(argument)
    return known, rest
