"""A plan in most situations, for tests of what is shown of it."""

from __future__ import annotations

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.domain.rights import RequiredPermission

DIFF = ("  data:", "-   maxSize: 10Gi", "+   maxSize: 20Gi", "    mode: internal")

LINES = (
    PreviewLine(PlannedChange.CREATE, "Namespace docker-registry"),
    PreviewLine(PlannedChange.SAME, "CustomResourceDefinition dockerregistries.operator.kyma-project.io"),
    PreviewLine(PlannedChange.CHANGE, "ConfigMap docker-registry/docker-registry", diff=DIFF),
    PreviewLine(PlannedChange.CONFLICT, "Deployment docker-registry/dr-manager", "owned by kubectl-client-side-apply"),
    PreviewLine(PlannedChange.SAME, "Service docker-registry/dr-metrics"),
    PreviewLine(PlannedChange.DELETE, "ConfigMap docker-registry/dashboards", "not in this version"),
)

PREVIEW = Preview(
    "upgrade docker-registry 0.11.0 → 0.14.0",
    LINES,
    management="Not managed. kymatui installs docker-registry directly",
    warnings=("the storage of the registry grows and cannot be reduced later",),
    missing=(RequiredPermission("create", GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole")),),
    role="`kymatui rights upgrade docker-registry` prints the Role that allows it",
    grants=("ClusterRole dr-manager grants dr-manager in the whole cluster: read all Secrets",),
    consents=(
        Consent("force", "become the owner of spec.replicas (owner: kubectl-client-side-apply)"),
        Consent("prune", "delete ConfigMap docker-registry/dashboards", typed="docker-registry"),
    ),
    question="Upgrade docker-registry?",
    document=b"{}",
    file_name="docker-registry.plan.json",
    editable=True,
)
