"""The plan of an installation or upgrade of the operator: Kyma's CRDs first, then the operator's own objects.

Both are installations of their own, so that deleting the operator keeps the CRDs with the Kymas.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kymatui import __version__
from kymatui.actions.modules.install import InstallItem, install_item
from kymatui.crds import read_crds
from kymatui.domain.inventories import OPERATOR, Origin
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.ownership import read_owner
from kymatui.engine.apply import planner
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.deletion.operator_deletion import CRDS_RELEASE, OPERATOR_RELEASE
from kymatui.engine.inventory.ownership_marks import bundle_owner
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.plans.plan import Action, BundlePart, Intent, Plan
from kymatui.errors import CancelledError, KymatuiError, RefusedError
from kymatui.operator.framework.foreign_manager_guard import require_no_lifecycle_manager, require_own_kymas
from kymatui.operator.installation.deployment import MONITORING, DeploymentOptions, operator_objects
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
                hint=f"install the Prometheus Operator first, or leave out {option}; no changes made",
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
