"""The plan of an installation or upgrade of the operator: Kyma's CRDs first, then the operator's own objects.

Both are installations of their own, so that deleting the operator keeps the CRDs with the Kymas.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kymatui import __version__
from kymatui.actions.modules.install import InstallItem, install_item
from kymatui.crds import read_crds
from kymatui.domain.inventories import OPERATOR, Inventory, Origin
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import DEPLOYMENT, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.ownership import read_owner
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.engine.apply import planner
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.deletion.operator_deletion import CRDS_RELEASE, OPERATOR_RELEASE
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.plans.plan import Action, BundlePart, Intent, Plan
from kymatui.errors import CancelledError, KymatuiError, RefusedError
from kymatui.operator.framework.foreign_manager_guard import require_no_lifecycle_manager, require_own_kymas
from kymatui.operator.installation.deployment import (
    METRICS_PORT,
    MONITORING,
    NAMESPACE_NAME,
    DeploymentOptions,
    operator_objects,
)
from kymatui.operator.manifests.manifest_marks import MANIFEST_ACCOUNT
from kymatui.operator.program import CONTROL_PLANE_NAMESPACE

CRD_NOTE: Final = "the operator's CRDs stay when the operator is deleted; a CRD that another tool owns is not changed"


def plan_operator(
    cluster: Cluster,
    options: DeploymentOptions,
    crds: Sequence[Object],
    version: str,
    *,
    force: bool = False,
    namespaces: Iterable[str] = (),
) -> tuple[InstallItem, ...]:
    """Plan CRDs and operator; what cannot be planned is refused. Nothing is written.

    `namespaces` are those in which a lifecycle-manager may run. Raise RefusedError if one does.
    """
    refuse_other_operator(cluster, options, namespaces)
    refuse_missing_monitoring(cluster, options)
    first = _planned(cluster, _crd_bundle(cluster, options.namespace, crds, version), force=force)
    second = _planned(cluster, _operator_bundle(options, version), force=force)
    if first.plan is not None and second.plan is not None and _makes_namespace(first.plan):
        steps = tuple(step for step in second.plan.steps if step.part is not BundlePart.NAMESPACE)
        second = install_item(second.name, replace(second.plan, steps=steps))
    return (first, second)


def _makes_namespace(plan: Plan) -> bool:
    return any(step.part is BundlePart.NAMESPACE and step.action is Action.CREATE for step in plan.steps)


def refuse_missing_monitoring(cluster: Cluster, options: DeploymentOptions) -> None:
    """Raise RefusedError for objects of a Prometheus Operator in a cluster without its CRDs."""
    for kind, option, is_requested in (
        ("ServiceMonitor", "--service-monitor", options.monitor),
        ("PrometheusRule", "--prometheus-rule", options.alerts),
    ):
        if is_requested and cluster.kind(GroupVersionKind.of(MONITORING, kind)) is None:
            raise RefusedError(
                f"{cluster.name} does not serve {kind} of {MONITORING}",
                hint=f"install the Prometheus Operator first, or leave out {option}",
                unchanged=True,
            )


def refuse_other_operator(cluster: Cluster, options: DeploymentOptions, namespaces: Iterable[str]) -> None:
    """Raise RefusedError if lifecycle-manager works in the cluster, or a control plane manages its Kymas."""
    cancel = threading.Event()
    require_no_lifecycle_manager(cluster, (options.namespace, *namespaces), SystemClock().now(), cancel)
    if options.single_cluster:
        require_own_kymas(cluster, options.namespace, cancel)


def _operator_bundle(options: DeploymentOptions, version: str) -> Bundle:
    objects = tuple(operator_objects(options))
    return Bundle(OPERATOR_RELEASE, options.namespace, Origin(OPERATOR, options.image), version, objects)


def _crd_bundle(cluster: Cluster, namespace: str, crds: Sequence[Object], version: str) -> Bundle:
    """Return the CRDs to create or to upgrade, and apart from them those of another tool, which stay as they are."""
    bundle = Bundle(CRDS_RELEASE, namespace, Origin(OPERATOR, "CRDs of Kyma"), version, notes=(CRD_NOTE,))
    mine = bundle_owner(bundle)
    own: list[Object] = []
    others: list[Object] = []
    for body in crds:
        live = cluster.get(read_ref(body))
        (own if live is None or read_owner(live) == mine else others).append(body)
    return Bundle(bundle.name, namespace, bundle.origin, version, tuple(own), crds=tuple(others), notes=bundle.notes)


def _planned(cluster: Cluster, bundle: Bundle, *, force: bool) -> InstallItem:
    try:
        return install_item(bundle.name, planner.plan(Intent(bundle, force=force), cluster, SystemClock()))
    except CancelledError:
        raise
    except KymatuiError as error:
        return InstallItem(bundle.name, refusal=error)


def kyma_crds(namespace: str) -> list[dict[str, Any]]:
    """Return the namespace of Kymas and the five CRDs, in the order in which they are applied."""
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, *read_crds()]


def plan_own_operator(cluster: Cluster, options: DeploymentOptions, *, force: bool) -> tuple[InstallItem, ...]:
    """Plan CRDs and operator of this version of kymatui. Raise RefusedError if a lifecycle-manager works there."""
    namespaces = (CONTROL_PLANE_NAMESPACE, KYMA_NAMESPACE)
    return plan_operator(cluster, options, read_crds(), __version__, force=force, namespaces=namespaces)


# The options of an operator that is installed, read from its objects, so that an upgrade keeps them.


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
