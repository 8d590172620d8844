"""Validation of built-in kinds: the table of their rules."""

from __future__ import annotations

from collections.abc import Callable

from kymatui.sandbox.schemas.kinds import (
    cluster_rules,
    config_rules,
    node_rules,
    quota_rules,
    rbac_rules,
    storage_rules,
)
from kymatui.sandbox.schemas.pods import workload_rules
from kymatui.sandbox.schemas.pods.pod_rules import validate_pod, validate_pod_update
from kymatui.schemas.customresources import crd_rules
from kymatui.schemas.objects.object_meta_rules import NameRule, one_of, validate_metadata, validate_metadata_update
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, required, unsupported
from kymatui.schemas.values.name_rules import dns_label, dns_subdomain, path_segment

# Validation of admission policies and bindings; the expressions are not evaluated.


_ACTIONS = ("Audit", "Deny", "Warn")
_NOTHING = "validations or auditAnnotations must contain at least one item"


def validate_policy(obj: Object) -> Errors:
    """Return the errors of a ValidatingAdmissionPolicy."""
    spec: Object = obj["spec"]
    errors = one_of(spec, "failurePolicy", ("Fail", "Ignore"), "spec")
    if spec.get("matchConstraints") is None:
        errors.append(required("spec.matchConstraints"))
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        errors += [required(f"spec.{name}", _NOTHING) for name in ("validations", "auditAnnotations")]
    for index, validation in enumerate(spec.get("validations") or ()):
        if not (validation.get("expression") or "").strip():
            errors.append(required(f"spec.validations[{index}].expression", "expression is not specified"))
    return errors


def validate_policy_binding(obj: Object) -> Errors:
    """Return the errors of a ValidatingAdmissionPolicyBinding."""
    spec: Object = obj["spec"]
    errors = [] if spec.get("policyName") else [required("spec.policyName")]
    actions: list[str] = spec.get("validationActions") or []
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    return errors + [
        unsupported(f"spec.validationActions[{index}]", action, _ACTIONS)
        for index, action in enumerate(actions)
        if action not in _ACTIONS
    ]


Errors = list[ApiFieldError]
Kind = tuple[str, str]
"""(group, kind)."""

_RBAC = "rbac.authorization.k8s.io"
_HOOKS = "admissionregistration.k8s.io"


def _single_label(text: str) -> list[str]:
    """Return the errors of a DNS label; a name with dots is no single label."""
    return ["must not contain dots"] if "." in text else dns_label(text)


_NAMES: dict[Kind, NameRule] = {
    ("", "Namespace"): _single_label,
    ("", "Service"): _single_label,
    (_RBAC, "Role"): path_segment,
    (_RBAC, "ClusterRole"): path_segment,
    (_RBAC, "RoleBinding"): path_segment,
    (_RBAC, "ClusterRoleBinding"): path_segment,
}
_CREATE: dict[Kind, Callable[[Object], Errors]] = {
    ("", "ConfigMap"): config_rules.validate_config_map,
    ("", "Secret"): config_rules.validate_secret,
    ("", "Service"): config_rules.validate_service,
    ("", "Pod"): validate_pod,
    ("", "PersistentVolumeClaim"): cluster_rules.validate_claim,
    ("", "Event"): cluster_rules.validate_event,
    ("", "Endpoints"): cluster_rules.validate_endpoints,
    ("", "Node"): node_rules.validate_node,
    ("", "PersistentVolume"): storage_rules.validate_volume,
    ("", "ResourceQuota"): quota_rules.validate_quota,
    ("", "LimitRange"): quota_rules.validate_range,
    ("", "PodTemplate"): workload_rules.validate_pod_template,
    ("", "ReplicationController"): workload_rules.validate_replication_controller,
    ("apps", "ControllerRevision"): workload_rules.validate_revision,
    ("apps", "Deployment"): workload_rules.validate_deployment,
    ("apps", "ReplicaSet"): workload_rules.validate_replica_set,
    ("apps", "StatefulSet"): workload_rules.validate_stateful_set,
    ("apps", "DaemonSet"): workload_rules.validate_daemon_set,
    ("batch", "Job"): workload_rules.validate_job,
    ("batch", "CronJob"): workload_rules.validate_cron_job,
    (_RBAC, "Role"): rbac_rules.validate_role,
    (_RBAC, "ClusterRole"): rbac_rules.validate_role,
    (_RBAC, "RoleBinding"): rbac_rules.validate_role_binding,
    (_RBAC, "ClusterRoleBinding"): rbac_rules.validate_role_binding,
    ("networking.k8s.io", "Ingress"): cluster_rules.validate_ingress,
    ("networking.k8s.io", "NetworkPolicy"): cluster_rules.validate_network_policy,
    ("policy", "PodDisruptionBudget"): cluster_rules.validate_budget,
    ("autoscaling", "HorizontalPodAutoscaler"): cluster_rules.validate_autoscaler,
    ("coordination.k8s.io", "Lease"): cluster_rules.validate_lease,
    ("apiregistration.k8s.io", "APIService"): cluster_rules.validate_api_service,
    ("scheduling.k8s.io", "PriorityClass"): cluster_rules.validate_priority_class,
    ("storage.k8s.io", "StorageClass"): cluster_rules.validate_storage_class,
    ("storage.k8s.io", "CSIDriver"): storage_rules.validate_driver,
    ("storage.k8s.io", "CSINode"): storage_rules.validate_node_drivers,
    ("storage.k8s.io", "VolumeAttachment"): storage_rules.validate_attachment,
    ("networking.k8s.io", "IngressClass"): node_rules.validate_ingress_class,
    ("discovery.k8s.io", "EndpointSlice"): node_rules.validate_slice,
    ("node.k8s.io", "RuntimeClass"): node_rules.validate_runtime,
    (_HOOKS, "ValidatingAdmissionPolicy"): validate_policy,
    (_HOOKS, "ValidatingAdmissionPolicyBinding"): validate_policy_binding,
    (_HOOKS, "ValidatingWebhookConfiguration"): cluster_rules.validate_webhooks,
    (_HOOKS, "MutatingWebhookConfiguration"): cluster_rules.validate_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_rules.validate_definition,
}
_UPDATE: dict[Kind, Callable[[Object, Object], Errors]] = {
    ("", "ConfigMap"): config_rules.validate_config_map_update,
    ("", "Secret"): config_rules.validate_secret_update,
    ("", "Service"): config_rules.validate_service_update,
    ("", "Pod"): validate_pod_update,
    ("", "PersistentVolumeClaim"): cluster_rules.validate_claim_update,
    ("", "PersistentVolume"): storage_rules.validate_volume_update,
    ("", "ResourceQuota"): quota_rules.validate_quota_update,
    ("apps", "ControllerRevision"): workload_rules.validate_revision_update,
    ("storage.k8s.io", "CSIDriver"): storage_rules.validate_driver_update,
    ("storage.k8s.io", "VolumeAttachment"): storage_rules.validate_attachment_update,
    ("networking.k8s.io", "IngressClass"): node_rules.validate_ingress_class_update,
    ("discovery.k8s.io", "EndpointSlice"): node_rules.validate_slice_update,
    ("node.k8s.io", "RuntimeClass"): node_rules.validate_runtime_update,
    ("apps", "Deployment"): workload_rules.validate_selector_update,
    ("apps", "ReplicaSet"): workload_rules.validate_selector_update,
    ("apps", "DaemonSet"): workload_rules.validate_selector_update,
    ("apps", "StatefulSet"): workload_rules.validate_stateful_set_update,
    ("batch", "Job"): workload_rules.validate_job_update,
    (_RBAC, "RoleBinding"): rbac_rules.validate_role_ref_update,
    (_RBAC, "ClusterRoleBinding"): rbac_rules.validate_role_ref_update,
    ("scheduling.k8s.io", "PriorityClass"): cluster_rules.validate_priority_class_update,
    ("storage.k8s.io", "StorageClass"): cluster_rules.validate_storage_class_update,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_rules.validate_definition_update,
}
_RULES_FIRST = frozenset({("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "DaemonSet")})
"""Kinds whose unchangeable fields are looked at last."""
_ONLY_UPDATE_RULES = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("batch", "Job"),
        ("", "Event"),
        ("discovery.k8s.io", "EndpointSlice"),
    }
)


def validate_create(group: str, kind: str, obj: Object, *, namespaced: bool) -> Errors:
    """Return the errors of a new object of a built-in kind in the server's order."""
    known = (group, kind)
    errors = validate_metadata(obj, namespaced=namespaced, name_rule=_NAMES.get(known, dns_subdomain))
    rules = _CREATE.get(known)
    return errors + (rules(obj) if rules is not None else [])


def validate_update(group: str, kind: str, new: Object, old: Object, subresource: str = "") -> Errors:
    known = (group, kind)
    errors = validate_metadata_update(new, old)
    if subresource:
        return errors + (config_rules.validate_service_status(new) if known == ("", "Service") else [])
    rules = _CREATE.get(known) if known not in _ONLY_UPDATE_RULES else None
    changes = _UPDATE.get(known)
    problems = changes(new, old) if changes is not None else []
    valid = rules(new) if rules is not None else []
    return errors + (valid + problems if known in _RULES_FIRST else problems + valid)


def validate_custom_metadata(obj: Object, old: Object | None, *, namespaced: bool) -> Errors:
    """Return the errors of a custom resource's metadata."""
    if old is not None:
        return validate_metadata_update(obj, old, custom=True)
    return validate_metadata(obj, namespaced=namespaced, name_rule=dns_subdomain, custom=True)
