"""What the operator needs in a cluster: the CRDs of Kyma, and the operator itself."""

from __future__ import annotations

from typing import Any

from kymatui import __version__
from kymatui.actions.modules.install import InstallItem
from kymatui.crds import read_crds
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.installation.deployment import DeploymentOptions
from kymatui.operator.installation.install import plan_operator
from kymatui.operator.program import CONTROL_PLANE_NAMESPACE


def kyma_crds(namespace: str) -> list[dict[str, Any]]:
    """Return the namespace of Kymas and the five CRDs, in the order in which they are applied."""
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, *read_crds()]


def plan_own_operator(cluster: Cluster, options: DeploymentOptions, *, force: bool) -> tuple[InstallItem, ...]:
    """Plan CRDs and operator of this version of kymatui. Raise RefusedError if a lifecycle-manager works there."""
    namespaces = (CONTROL_PLANE_NAMESPACE, KYMA_NAMESPACE)
    return plan_operator(cluster, options, read_crds(), __version__, force=force, namespaces=namespaces)
