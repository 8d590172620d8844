"""Cells of RBAC, network, policy and storage kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.tables.shared_cells import NONE, Cells, age_of, format_selector, named
from kymatui.schemas.types.schema_node import Object


def _role_binding(obj: Object, now: float) -> list[Any]:
    subjects: list[Object] = obj.get("subjects") or []
    ref = obj.get("roleRef") or {}

    def names(kind: str) -> str:
        return ", ".join(subject["name"] for subject in subjects if subject.get("kind") == kind)

    accounts = [f"{s.get('namespace', '')}/{s['name']}" for s in subjects if s.get("kind") == "ServiceAccount"]
    role = f"{ref.get('kind')}/{ref.get('name')}"
    return named(obj, role, age_of(obj, now), names("User"), names("Group"), ", ".join(accounts))


def _ingress(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "")
    balancer = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(entry.get("ip") or entry.get("hostname") or "" for entry in balancer)
    ports = "80, 443" if spec.get("tls") else "80"
    return named(obj, spec.get("ingressClassName") or NONE, shown or "*", address, ports, age_of(obj, now))


def _ingress_class(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    reference = spec.get("parameters") or {}
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    parameters = f"{reference.get('kind')}{group}/{reference.get('name')}" if reference else NONE
    return named(obj, spec.get("controller", ""), parameters, age_of(obj, now))


def _network_policy(obj: Object, now: float) -> list[Any]:
    return named(obj, format_selector((obj.get("spec") or {}).get("podSelector")), age_of(obj, now))


def _budget(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return named(
        obj,
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        status.get("disruptionsAllowed", 0),
        age_of(obj, now),
    )


def _autoscaler(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ref = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return named(
        obj,
        f"{ref.get('kind')}/{ref.get('name')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        "<unset>" if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(obj, now),
    )


def _targets(metrics: list[Object], current: list[Any]) -> str:
    shown: list[str] = []
    for index, metric in enumerate(metrics[:2]):
        resource = metric.get("resource") or {}
        target = resource.get("target") or {}
        now = ((current[index] or {}).get("resource") or {}).get("current") or {} if index < len(current) else {}
        if target.get("averageUtilization") is not None:
            have = now.get("averageUtilization")
            text = f"{'<unknown>' if have is None else f'{have}%'}/{target['averageUtilization']}%"
        else:
            text = f"{now.get('averageValue') or '<unknown>'}/{target.get('averageValue') or '<auto>'}"
        shown.append(f"{resource.get('name')}: {text}" if resource else text)
    return (", ".join(shown) + (f" + {len(metrics) - 2} more..." if len(metrics) > 2 else "")) or NONE


def _lease(obj: Object, now: float) -> list[Any]:
    return named(obj, (obj.get("spec") or {}).get("holderIdentity") or "", age_of(obj, now))


def _priority_class(obj: Object, now: float) -> list[Any]:
    policy = obj.get("preemptionPolicy", "")
    return named(obj, obj.get("value", 0), bool(obj.get("globalDefault")), age_of(obj, now), policy)


def _storage_class(obj: Object, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    name = obj["metadata"]["name"]
    if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
        name += " (default)"
    policy, mode = obj.get("reclaimPolicy", ""), obj.get("volumeBindingMode", "")
    return [name, obj.get("provisioner", ""), policy, mode, bool(obj.get("allowVolumeExpansion")), age_of(obj, now)]


def _webhooks(obj: Object, now: float) -> list[Any]:
    return named(obj, len(obj.get("webhooks") or ()), age_of(obj, now))


def _endpoint_slice(obj: Object, now: float) -> list[Any]:
    ports = ",".join(str(port["port"]) if port.get("port") else "*" for port in obj.get("ports") or ())
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    text = ",".join(addresses[:3]) + (f" + {len(addresses) - 3} more..." if len(addresses) > 3 else "")
    return named(obj, obj.get("addressType", ""), ports or "<unset>", text or "<unset>", age_of(obj, now))


def _volume_attachment(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool((obj.get("status") or {}).get("attached"))
    return named(obj, spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age_of(obj, now))


def _csi_driver(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    audiences = ",".join(request.get("audience", "") for request in spec.get("tokenRequests") or ())
    return named(
        obj,
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        audiences if spec.get("tokenRequests") else "<unset>",
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(obj, now),
    )


def _csi_node(obj: Object, now: float) -> list[Any]:
    return named(obj, len((obj.get("spec") or {}).get("drivers") or ()), age_of(obj, now))


def _policy(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else "<unset>"
    return named(obj, len(spec.get("validations") or ()), shown, age_of(obj, now))


def _policy_binding(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    ref = spec.get("paramRef")
    shown = f"{ref.get('namespace') or '*'}/{ref.get('name', '')}" if ref else "<unset>"
    return named(obj, spec.get("policyName", ""), shown, age_of(obj, now))


def _api_service(obj: Object, now: float) -> list[Any]:
    service = (obj.get("spec") or {}).get("service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    condition = next(
        (c for c in (obj.get("status") or {}).get("conditions") or () if c.get("type") == "Available"), None
    )
    available = "Unknown"
    if condition is not None:
        available = condition.get("status", "")
        if available != "True" and condition.get("reason"):
            available += f" ({condition['reason']})"
    return named(obj, where, available, age_of(obj, now))


POLICIES: dict[str, Cells] = {
    "RoleBinding": _role_binding,
    "ClusterRoleBinding": _role_binding,
    "Ingress": _ingress,
    "IngressClass": _ingress_class,
    "NetworkPolicy": _network_policy,
    "PodDisruptionBudget": _budget,
    "HorizontalPodAutoscaler": _autoscaler,
    "Lease": _lease,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingWebhookConfiguration": _webhooks,
    "EndpointSlice": _endpoint_slice,
    "VolumeAttachment": _volume_attachment,
    "CSIDriver": _csi_driver,
    "CSINode": _csi_node,
    "VolumeAttributesClass": lambda obj, now: named(obj, obj.get("driverName", ""), age_of(obj, now)),
    "ValidatingAdmissionPolicy": _policy,
    "ValidatingAdmissionPolicyBinding": _policy_binding,
    "RuntimeClass": lambda obj, now: named(obj, obj.get("handler", ""), age_of(obj, now)),
    "APIService": _api_service,
}
