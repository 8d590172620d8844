"""Validation of built-in kinds: which rules a kind has."""

from __future__ import annotations

from collections.abc import Callable

from kymatui.sandbox.schemas.fielderrors import FieldError
from kymatui.sandbox.schemas.kinds import (
    accessrules,
    clusterrules,
    configrules,
    definitionrules,
    noderules,
    policyrules,
    quotarules,
    storagerules,
    templaterules,
    workloadrules,
)
from kymatui.sandbox.schemas.kinds.metadata import (
    NameRule,
    validate_metadata,
    validate_metadata_update,
)
from kymatui.sandbox.schemas.kinds.names import dns_label, dns_subdomain, path_segment
from kymatui.sandbox.schemas.kinds.podrules import validate_pod
from kymatui.sandbox.schemas.kinds.podupdates import validate_pod_update
from kymatui.sandbox.schemas.nodes import Object

Errors = list[FieldError]
Kind = tuple[str, str]
"""(group, kind)."""

_RBAC = "rbac.authorization.k8s.io"
_HOOKS = "admissionregistration.k8s.io"


def _single_label(text: str) -> list[str]:
    """One part of a name in DNS, where a dot would part it."""
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
    ("", "ConfigMap"): configrules.validate_config_map,
    ("", "Secret"): configrules.validate_secret,
    ("", "Service"): configrules.validate_service,
    ("", "Pod"): validate_pod,
    ("", "PersistentVolumeClaim"): clusterrules.validate_claim,
    ("", "Event"): clusterrules.validate_event,
    ("", "Endpoints"): clusterrules.validate_endpoints,
    ("", "Node"): noderules.validate_node,
    ("", "PersistentVolume"): storagerules.validate_volume,
    ("", "ResourceQuota"): quotarules.validate_quota,
    ("", "LimitRange"): quotarules.validate_range,
    ("", "PodTemplate"): templaterules.validate_pod_template,
    ("", "ReplicationController"): templaterules.validate_replication_controller,
    ("apps", "ControllerRevision"): templaterules.validate_revision,
    ("apps", "Deployment"): workloadrules.validate_deployment,
    ("apps", "ReplicaSet"): workloadrules.validate_replica_set,
    ("apps", "StatefulSet"): workloadrules.validate_stateful_set,
    ("apps", "DaemonSet"): workloadrules.validate_daemon_set,
    ("batch", "Job"): workloadrules.validate_job,
    ("batch", "CronJob"): workloadrules.validate_cron_job,
    (_RBAC, "Role"): accessrules.validate_role,
    (_RBAC, "ClusterRole"): accessrules.validate_role,
    (_RBAC, "RoleBinding"): accessrules.validate_role_binding,
    (_RBAC, "ClusterRoleBinding"): accessrules.validate_role_binding,
    ("networking.k8s.io", "Ingress"): clusterrules.validate_ingress,
    ("networking.k8s.io", "NetworkPolicy"): clusterrules.validate_network_policy,
    ("policy", "PodDisruptionBudget"): clusterrules.validate_budget,
    ("autoscaling", "HorizontalPodAutoscaler"): clusterrules.validate_autoscaler,
    ("coordination.k8s.io", "Lease"): clusterrules.validate_lease,
    ("apiregistration.k8s.io", "APIService"): clusterrules.validate_api_service,
    ("scheduling.k8s.io", "PriorityClass"): clusterrules.validate_priority_class,
    ("storage.k8s.io", "StorageClass"): clusterrules.validate_storage_class,
    ("storage.k8s.io", "CSIDriver"): storagerules.validate_driver,
    ("storage.k8s.io", "CSINode"): storagerules.validate_node_drivers,
    ("storage.k8s.io", "VolumeAttachment"): storagerules.validate_attachment,
    ("networking.k8s.io", "IngressClass"): noderules.validate_ingress_class,
    ("discovery.k8s.io", "EndpointSlice"): noderules.validate_slice,
    ("node.k8s.io", "RuntimeClass"): noderules.validate_runtime,
    (_HOOKS, "ValidatingAdmissionPolicy"): policyrules.validate_policy,
    (_HOOKS, "ValidatingAdmissionPolicyBinding"): policyrules.validate_policy_binding,
    (_HOOKS, "ValidatingWebhookConfiguration"): clusterrules.validate_webhooks,
    (_HOOKS, "MutatingWebhookConfiguration"): clusterrules.validate_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definitionrules.validate_definition,
}
_UPDATE: dict[Kind, Callable[[Object, Object], Errors]] = {
    ("", "ConfigMap"): configrules.validate_config_map_update,
    ("", "Secret"): configrules.validate_secret_update,
    ("", "Service"): configrules.validate_service_update,
    ("", "Pod"): validate_pod_update,
    ("", "PersistentVolumeClaim"): clusterrules.validate_claim_update,
    ("", "PersistentVolume"): storagerules.validate_volume_update,
    ("", "ResourceQuota"): quotarules.validate_quota_update,
    ("apps", "ControllerRevision"): templaterules.validate_revision_update,
    ("storage.k8s.io", "CSIDriver"): storagerules.validate_driver_update,
    ("storage.k8s.io", "VolumeAttachment"): storagerules.validate_attachment_update,
    ("networking.k8s.io", "IngressClass"): noderules.validate_ingress_class_update,
    ("discovery.k8s.io", "EndpointSlice"): noderules.validate_slice_update,
    ("node.k8s.io", "RuntimeClass"): noderules.validate_runtime_update,
    ("apps", "Deployment"): workloadrules.validate_selector_update,
    ("apps", "ReplicaSet"): workloadrules.validate_selector_update,
    ("apps", "DaemonSet"): workloadrules.validate_selector_update,
    ("apps", "StatefulSet"): workloadrules.validate_stateful_set_update,
    ("batch", "Job"): workloadrules.validate_job_update,
    (_RBAC, "RoleBinding"): accessrules.validate_role_ref_update,
    (_RBAC, "ClusterRoleBinding"): accessrules.validate_role_ref_update,
    ("scheduling.k8s.io", "PriorityClass"): clusterrules.validate_priority_class_update,
    ("storage.k8s.io", "StorageClass"): clusterrules.validate_storage_class_update,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definitionrules.validate_definition_update,
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
    """What is wrong with a new object of a built-in kind, in the server's order."""
    known = (group, kind)
    errors = validate_metadata(obj, namespaced=namespaced, name_rule=_NAMES.get(known, dns_subdomain))
    rules = _CREATE.get(known)
    return errors + (rules(obj) if rules is not None else [])


def validate_update(group: str, kind: str, new: Object, old: Object, subresource: str = "") -> Errors:
    """What is wrong with a change of a stored object."""
    known = (group, kind)
    errors = validate_metadata_update(new, old)
    if subresource:
        return errors + (configrules.validate_service_status(new) if known == ("", "Service") else [])
    rules = _CREATE.get(known) if known not in _ONLY_UPDATE_RULES else None
    changes = _UPDATE.get(known)
    found = changes(new, old) if changes is not None else []
    valid = rules(new) if rules is not None else []
    return errors + (valid + found if known in _RULES_FIRST else found + valid)


def validate_custom_metadata(obj: Object, old: Object | None, *, namespaced: bool) -> Errors:
    """Metadata of custom resources."""
    if old is not None:
        return validate_metadata_update(obj, old, custom=True)
    return validate_metadata(obj, namespaced=namespaced, name_rule=dns_subdomain, custom=True)
