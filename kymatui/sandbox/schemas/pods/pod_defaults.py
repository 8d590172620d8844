"""Defaults of pods and pod templates (k8s.io/kubernetes/pkg/apis/core/v1)."""

from __future__ import annotations

from typing import Any

from kymatui.schemas.types.schema_node import Object

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
