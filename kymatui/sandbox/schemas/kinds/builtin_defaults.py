"""Defaults of built-in kinds, set before validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.schemas.types.schema_node import GVK, Object

_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")


def default_pod(obj: Object) -> None:
    """Set a pod's defaults: requests default to limits, and service links are enabled."""
    spec: Object = obj["spec"]
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources: Object = container.get("resources") or {}
        for name, amount in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, amount)
        container["resources"] = resources
    if spec.get("hostNetwork"):
        _host_ports(spec)


def default_template(template: Object) -> None:
    """Set the defaults of a workload's pod template."""
    default_pod_spec(template["spec"])


def _host_ports(spec: Object) -> None:
    for container in _containers(spec):
        for port in container.get("ports") or ():
            port.setdefault("hostPort", port["containerPort"])


def _containers(spec: Object) -> list[Object]:
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def default_pod_spec(spec: Object) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("dnsPolicy", "ClusterFirst")
    _service_account(spec)
    if not spec.get("securityContext"):
        spec["securityContext"] = {}
    spec.setdefault("schedulerName", "default-scheduler")
    for container in [*_containers(spec), *(spec.get("ephemeralContainers") or ())]:
        _default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def _service_account(spec: Object) -> None:
    """Set the deprecated and the current field of the service account to the same name."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_container(container: Object) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source: Object = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if "resourceFieldRef" in source:
            source["resourceFieldRef"].setdefault("divisor", "0")
    for name in _PROBES:
        if container.get(name) is not None:
            _default_probe(container[name])
    for name in _HOOKS:
        action = ((container.get("lifecycle") or {}).get(name) or {}).get("httpGet")
        if action is not None:
            _default_http(action)


def pull_policy(image: str) -> str:
    """Return Always for the tag latest, explicit or implied, else IfNotPresent."""
    if "@" in image:
        return "IfNotPresent"
    last = image.rpartition("/")[2]
    tag = last.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _default_probe(probe: Object) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    if probe.get("httpGet") is not None:
        _default_http(probe["httpGet"])
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _default_http(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def default_volume(volume: Object) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(name) is not None:
            volume[name].setdefault("defaultMode", _MODE)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    _default_fields(volume.get("downwardAPI"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_fields(source.get("downwardAPI"))
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    claim: Any = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is not None:
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _default_fields(source: Any) -> None:
    for item in (source or {}).get("items") or ():
        if item.get("fieldRef") is not None:
            item["fieldRef"].setdefault("apiVersion", "v1")
        if item.get("resourceFieldRef") is not None:
            item["resourceFieldRef"].setdefault("divisor", "0")


_RBAC = "rbac.authorization.k8s.io"


def default_builtin(gvk: GVK, obj: Object) -> None:
    """Set the defaults of a decoded object in place."""
    default = _DEFAULTS.get((gvk[0], gvk[2]))
    if default is not None:
        default(obj)


def _fill(target: Object, **values: Any) -> None:
    for name, value in values.items():
        if target.get(name) is None:
            target[name] = value


# -- core


def _namespace(obj: Object) -> None:
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {}).setdefault("kubernetes.io/metadata.name", name)


def _secret(obj: Object) -> None:
    _fill(obj, type="Opaque")


def _service(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        config: Object = spec.setdefault("sessionAffinityConfig", {})
        if not (config.get("clientIP") or {}).get("timeoutSeconds"):
            config["clientIP"] = {"timeoutSeconds": 10800}
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports") or ():
        _fill(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    external = spec["type"] in ("NodePort", "LoadBalancer")
    if external or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        _fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        _fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _fill(spec, allocateLoadBalancerNodePorts=True)


def _limit_range(obj: Object) -> None:
    """Set the default from the maximum, and the request from the default."""
    for limit in obj["spec"].get("limits") or ():
        if limit.get("type") != "Container":
            continue
        usual: Object = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        asked: Object = {**(limit.get("min") or {}), **usual, **(limit.get("defaultRequest") or {})}
        if usual:
            limit["default"] = usual
        if asked:
            limit["defaultRequest"] = asked


def _endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            _fill(port, protocol="TCP")


def _claim(obj: Object) -> None:
    _fill(obj["status"], phase="Pending")
    _fill(obj["spec"], volumeMode="Filesystem")


def _volume(obj: Object) -> None:
    _fill(obj["status"], phase="Pending")
    _fill(obj["spec"], persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    if obj["spec"].get("hostPath") is not None:
        obj["spec"]["hostPath"].setdefault("type", "")


def _node(obj: Object) -> None:
    spec: Object = obj["spec"]
    if spec.get("podCIDR"):
        _fill(spec, podCIDRs=[spec["podCIDR"]])
    status: Object = obj["status"]
    if status.get("allocatable") is None and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _replication_controller(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, replicas=1)
    template: Object | None = spec.get("template")
    if template is None:
        return
    default_template(template)
    labels: Object = (template.get("metadata") or {}).get("labels") or {}
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


# -- apps and batch


def _deployment(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy: Object = spec["strategy"]
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
    default_template(spec["template"])


def _replica_set(obj: Object) -> None:
    _fill(obj["spec"], replicas=1)
    default_template(obj["spec"]["template"])


def _stateful_set(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy: Object = spec["updateStrategy"]
    if not strategy.get("type"):
        _fill(strategy, rollingUpdate={})
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _fill(strategy["rollingUpdate"], partition=0)
    _fill(spec, persistentVolumeClaimRetentionPolicy={})
    _fill(spec["persistentVolumeClaimRetentionPolicy"], whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        _fill(claim, kind="PersistentVolumeClaim", apiVersion="v1")
        _claim(claim)
    default_template(spec["template"])


def _daemon_set(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, revisionHistoryLimit=10)
    strategy: Object = spec["updateStrategy"]
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    default_template(spec["template"])


def _csi_driver(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, attachRequired=True, podInfoOnMount=False, storageCapacity=False)
    _fill(spec, fsGroupPolicy="ReadWriteOnceWithFSType", requiresRepublish=False, seLinuxMount=False)
    _fill(spec, volumeLifecycleModes=["Persistent"])


def _job(obj: Object) -> None:
    spec: Object = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(spec, parallelism=1)
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1
    _job_spec(spec)
    _fill(spec, manualSelector=False)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _job_spec(spec: Object) -> None:
    _fill(spec, completionMode="NonIndexed", suspend=False)
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    default_template(spec["template"])


def _cron_job(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    default_template(spec["jobTemplate"]["spec"]["template"])


# -- other groups


def _binding(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = _RBAC
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC


def _network_policy(obj: Object) -> None:
    spec: Object = obj["spec"]
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            _fill(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress"] + (["Egress"] if spec.get("egress") else [])


def _autoscaler(obj: Object) -> None:
    spec: Object = obj["spec"]
    _fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior: Object = spec.get("behavior") or {}
    if behavior:
        _scaling(behavior, "scaleUp", 0, [("Pods", 4), ("Percent", 100)])
        _scaling(behavior, "scaleDown", None, [("Percent", 100)])


def _scaling(behavior: Object, name: str, window: int | None, policies: list[tuple[str, int]]) -> None:
    rules: Object = behavior.setdefault(name, {})
    _fill(rules, selectPolicy="Max")
    if window is not None:
        _fill(rules, stabilizationWindowSeconds=window)
    if not rules.get("policies"):
        rules["policies"] = [{"type": kind, "value": value, "periodSeconds": 15} for kind, value in policies]


def _priority_class(obj: Object) -> None:
    _fill(obj, preemptionPolicy="PreemptLowerPriority")


def _storage_class(obj: Object) -> None:
    _fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _webhooks(obj: Object) -> None:
    for webhook in obj.get("webhooks") or ():
        _fill(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
        _fill(webhook, namespaceSelector={}, objectSelector={})
        if obj.get("kind") == "MutatingWebhookConfiguration":
            _fill(webhook, reinvocationPolicy="Never")
        _service_port(webhook.get("clientConfig"))
        for rule in webhook.get("rules") or ():
            _fill(rule, scope="*")


def _policy(obj: Object) -> None:
    _fill(obj["spec"], failurePolicy="Fail")
    _match_resources(obj["spec"].get("matchConstraints"))


def _policy_binding(obj: Object) -> None:
    _match_resources(obj["spec"].get("matchResources"))


def _match_resources(match: Object | None) -> None:
    if match is None:
        return
    _fill(match, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})
    for rule in [*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())]:
        _fill(rule, scope="*")


def _service_port(config: Any) -> None:
    service = (config or {}).get("service")
    if service is not None:
        _fill(service, port=443)


def _definition(obj: Object) -> None:
    spec: Object = obj["spec"]
    names: Object = spec["names"]
    kind = names.get("kind") or ""
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    _fill(spec, conversion={"strategy": "None"})
    webhook: Object = spec["conversion"].get("webhook") or {}
    _service_port(webhook.get("clientConfig"))


def _api_service(obj: Object) -> None:
    service = obj["spec"].get("service")
    if service is not None:
        _fill(service, port=443)


def _endpoint_slice(obj: Object) -> None:
    for port in obj.get("ports") or ():
        _fill(port, name="", protocol="TCP")


_DEFAULTS: dict[tuple[str, str], Callable[[Object], None]] = {
    ("", "Namespace"): _namespace,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("", "Endpoints"): _endpoints,
    ("", "LimitRange"): _limit_range,
    ("", "Pod"): default_pod,
    ("", "Node"): _node,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "PodTemplate"): lambda obj: default_template(obj["template"]),
    ("", "ReplicationController"): _replication_controller,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    (_RBAC, "RoleBinding"): _binding,
    (_RBAC, "ClusterRoleBinding"): _binding,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _policy_binding,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _policy_binding,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
}
