"""Validation of pods and pod templates (k8s.io/kubernetes/pkg/apis/core/validation)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kymatui.sandbox.schemas.pods.placement_rules import (
    named,
    validate_affinity,
    validate_aliases,
    validate_spread,
    validate_tolerations,
)
from kymatui.schemas.objects.object_meta_rules import not_negative, one_of, validate_labels
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, duplicate, forbidden, invalid_value, not_found, required
from kymatui.schemas.values.field_sets import copy_json
from kymatui.schemas.values.name_rules import (
    config_key,
    dns_label,
    dns_subdomain,
    environment_name,
    port_name,
    port_number,
    qualified_name,
)
from kymatui.schemas.values.quantity import amount

Errors = list[ApiFieldError]
PROTOCOLS = ("SCTP", "TCP", "UDP")
_FIELD_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SAME_PORT = "must match `containerPort` when `hostNetwork` is true"
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def validate_pod(obj: Object) -> Errors:
    """Return the errors of a pod: its spec, and checks that templates skip."""
    spec: Object = obj["spec"]
    errors = validate_pod_spec(spec, "spec")
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                text = "must not have leading or trailing whitespace"
                errors.append(invalid_value(f"spec.{field}[{index}].image", image, text))
    return errors


def validate_pod_spec(spec: Object, at: str, claimed: Iterable[str] = ()) -> Errors:
    """Return the errors of a pod spec; `claimed` are extra volumes from a StatefulSet's claim templates."""
    volumes, errors = _validate_volumes(spec.get("volumes") or [], f"{at}.volumes")
    volumes |= set(claimed)
    containers: list[Object] = spec.get("containers") or []
    if not containers:
        errors.append(required(f"{at}.containers"))
    names: set[str] = set()
    errors += _validate_containers(containers, volumes, names, f"{at}.containers")
    errors += _validate_containers(spec.get("initContainers") or [], volumes, names, f"{at}.initContainers")
    errors += one_of(spec, "restartPolicy", ("Always", "OnFailure", "Never"), at)
    errors += one_of(spec, "dnsPolicy", ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"), at)
    errors += validate_labels(spec.get("nodeSelector"), f"{at}.nodeSelector")
    if spec.get("hostNetwork"):
        errors += _validate_host_ports(containers, f"{at}.containers")
    errors += _validate_security(spec.get("securityContext") or {}, f"{at}.securityContext")
    errors += validate_affinity(spec.get("affinity") or {}, f"{at}.affinity")
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            errors += named(f"{at}.{field}", spec[field], dns_subdomain)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2147483647:
        errors.append(
            invalid_value(f"{at}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
        )
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += named(f"{at}.{field}", spec[field], dns_label)
    errors += validate_tolerations(spec.get("tolerations") or [], f"{at}.tolerations")
    errors += validate_aliases(spec.get("hostAliases") or [], f"{at}.hostAliases")
    return errors + validate_spread(spec.get("topologySpreadConstraints") or [], f"{at}.topologySpreadConstraints")


# -- volumes


def _validate_volumes(volumes: list[Object], at: str) -> tuple[set[str], Errors]:
    known: set[str] = set()
    errors: Errors = []
    for index, volume in enumerate(volumes):
        location = f"{at}[{index}]"
        name = volume.get("name") or ""
        errors_here: Errors = []
        if not name:
            errors_here.append(required(f"{location}.name"))
        else:
            errors_here += named(f"{location}.name", name, dns_label)
        errors_here = _validate_source(volume, location) + errors_here
        if name in known:
            errors_here.append(duplicate(f"{location}.name", name))
        if not errors_here or all(error.kind == "Duplicate" for error in errors_here):
            known.add(name)
        errors += errors_here
    return known, errors


_NEEDED = {
    "configMap": ("name",),
    "secret": ("secretName",),
    "hostPath": ("path",),
    "persistentVolumeClaim": ("claimName",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
}


def _validate_source(volume: Object, at: str) -> Errors:
    errors: Errors = []
    sources = [name for name in ("emptyDir", *(n for n in volume if n not in ("name", "emptyDir"))) if name in volume]
    for index, source in enumerate(sources):
        if index:
            errors.append(forbidden(f"{at}.{source}", "may not specify more than 1 volume type"))
            continue
        volume_source: Object = volume.get(source) or {}
        errors += [required(f"{at}.{source}.{name}") for name in _NEEDED.get(source, ()) if not volume_source.get(name)]
        errors += _validate_items(volume_source.get("items") or [], f"{at}.{source}.items")
    return errors


def _validate_items(items: list[Object], at: str) -> Errors:
    errors: Errors = []
    for index, item in enumerate(items):
        if "fieldRef" in item or "resourceFieldRef" in item:
            continue
        if not item.get("key"):
            errors.append(required(f"{at}[{index}].key"))
        if not item.get("path"):
            errors.append(required(f"{at}[{index}].path"))
    return errors


# -- containers


def _validate_containers(containers: list[Object], volumes: set[str], names: set[str], at: str) -> Errors:
    errors: Errors = []
    for index, container in enumerate(containers):
        location = f"{at}[{index}]"
        name = container.get("name") or ""
        if not name:
            errors.append(required(f"{location}.name"))
        else:
            errors += named(f"{location}.name", name, dns_label)
        if name and name in names:
            errors.append(duplicate(f"{location}.name", name))
        names.add(name)
        errors += _validate_container(container, volumes, location)
    return errors


def _validate_container(container: Object, volumes: set[str], at: str) -> Errors:
    errors: Errors = []
    image = container.get("image") or ""
    if not image:
        errors.append(required(f"{at}.image"))
    for hook, handler in (container.get("lifecycle") or {}).items():
        if hook in ("postStart", "preStop"):
            errors += _validate_handler(handler, f"{at}.lifecycle.{hook}")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(probe) is not None:
            errors += _validate_probe(container[probe], f"{at}.{probe}", once=probe != "readinessProbe")
    errors += one_of(container, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"), at)
    errors += _validate_ports(container.get("ports") or [], f"{at}.ports")
    errors += _validate_environment(container, at)
    errors += _validate_mounts(container.get("volumeMounts") or [], volumes, f"{at}.volumeMounts")
    errors += one_of(container, "imagePullPolicy", ("Always", "IfNotPresent", "Never"), at)
    errors += validate_resources(container.get("resources") or {}, f"{at}.resources")
    return errors + _validate_security(container.get("securityContext") or {}, f"{at}.securityContext")


def _validate_ports(ports: list[Object], at: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        location = f"{at}[{index}]"
        name = port.get("name") or ""
        if name:
            problems = port_name(name)
            errors += [invalid_value(f"{location}.name", name, problem) for problem in problems]
            if not problems and name in names:
                errors.append(duplicate(f"{location}.name", name))
            names.add(name)
        number = port.get("containerPort") or 0
        if not number:
            errors.append(required(f"{location}.containerPort"))
        else:
            errors += [invalid_value(f"{location}.containerPort", number, problem) for problem in port_number(number)]
        host = port.get("hostPort") or 0
        if host:
            errors += [invalid_value(f"{location}.hostPort", host, problem) for problem in port_number(host)]
        errors += one_of(port, "protocol", PROTOCOLS, location)
    return errors


def _validate_host_ports(containers: list[Object], at: str) -> Errors:
    """Return the errors of host ports: on the host network they must equal the container ports."""
    return [
        invalid_value(f"{at}[{index}].ports[{position}].hostPort", port["hostPort"], _SAME_PORT)
        for index, container in enumerate(containers)
        for position, port in enumerate(container.get("ports") or ())
        if port.get("hostPort") and port["hostPort"] != port.get("containerPort")
    ]


def _validate_environment(container: Object, at: str) -> Errors:
    errors: Errors = []
    for index, variable in enumerate(container.get("env") or ()):
        location = f"{at}.env[{index}]"
        if not variable.get("name"):
            errors.append(required(f"{location}.name"))
        else:
            errors += named(f"{location}.name", variable["name"], environment_name)
        if variable.get("valueFrom") is not None:
            errors += _validate_value_from(variable, f"{location}.valueFrom")
    for index, source in enumerate(container.get("envFrom") or ()):
        sources = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        if not sources:
            errors.append(invalid_value(f"{at}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(sources) > 1:
            errors.append(invalid_value(f"{at}.envFrom", "", "may not have more than one field specified at a time"))
        errors += [required(f"{at}.envFrom[{index}].{name}.name") for name in sources if not source[name].get("name")]
    return errors


def _validate_value_from(variable: Object, at: str) -> Errors:
    source: Object = variable["valueFrom"]
    errors: Errors = []
    sources = [name for name in _VALUE_SOURCES if source.get(name) is not None]
    for name in sources:
        errors += _validate_reference(name, source[name], f"{at}.{name}")
    if not sources:
        listed = ", ".join(f"`{name}`" for name in _VALUE_SOURCES[:-1])
        errors.append(invalid_value(at, "", f"must specify one of: {listed} or `{_VALUE_SOURCES[-1]}`"))
    if variable.get("value"):
        errors.append(invalid_value(at, "", "may not be specified when `value` is not empty"))
    elif len(sources) > 1:
        errors.append(invalid_value(at, "", "may not have more than one field specified at a time"))
    return errors


def _validate_reference(name: str, ref: Object, at: str) -> Errors:
    if name == "fieldRef":
        path = ref.get("fieldPath") or ""
        if not path:
            return [required(f"{at}.fieldPath")]
        known = path in _FIELD_PATHS or path.startswith(("metadata.labels[", "metadata.annotations["))
        if known:
            return []
        return [
            invalid_value(f"{at}.fieldPath", path, f"error converting fieldPath: field label not supported: {path}")
        ]
    if name in ("configMapKeyRef", "secretKeyRef"):
        errors = named(f"{at}.name", ref.get("name") or "", dns_subdomain)
        key = ref.get("key") or ""
        return errors + (named(f"{at}.key", key, config_key) if key else [required(f"{at}.key")])
    return []


def _validate_mounts(mounts: list[Object], volumes: set[str], at: str) -> Errors:
    errors: Errors = []
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        location = f"{at}[{index}]"
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(required(f"{location}.name"))
        if name not in volumes:
            errors.append(not_found(f"{location}.name", name))
        if not path:
            errors.append(required(f"{location}.mountPath"))
        elif path in paths:
            errors.append(invalid_value(f"{location}.mountPath", path, "must be unique"))
        paths.add(path)
        sub_path = mount.get("subPath") or ""
        if sub_path.startswith("/"):
            errors.append(invalid_value(f"{at}.subPath", sub_path, "must be a relative path"))
        elif ".." in sub_path.split("/"):
            errors.append(invalid_value(f"{at}.subPath", sub_path, "must not contain '..'"))
    return errors


def _validate_handler(handler: Object, at: str) -> Errors:
    errors: Errors = []
    actions = [name for name in _HANDLERS if (handler or {}).get(name) is not None]
    for index, name in enumerate(actions):
        if index:
            errors.append(forbidden(f"{at}.{name}", "may not specify more than 1 handler type"))
            continue
        action = handler[name]
        if name == "exec" and not action.get("command"):
            errors.append(required(f"{at}.exec.command"))
        if name in ("httpGet", "tcpSocket"):
            errors += validate_port_or_name(action.get("port", 0), f"{at}.{name}.port")
        if name == "httpGet":
            errors += one_of(action, "scheme", ("HTTP", "HTTPS"), f"{at}.httpGet")
    if not actions and not (handler or {}).get("sleep"):
        errors.append(required(at, "must specify a handler type"))
    return errors


def validate_port_or_name(port: Any, at: str) -> Errors:
    return [
        invalid_value(at, port, problem)
        for problem in (port_name(port) if isinstance(port, str) else port_number(port))
    ]


def _validate_probe(probe: Object, at: str, *, once: bool) -> Errors:
    errors = _validate_handler(probe, at)
    errors += not_negative(
        probe, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", at=at
    )
    success = probe.get("successThreshold") or 0
    if once and success not in (0, 1) and success > 0:
        errors.append(invalid_value(f"{at}.successThreshold", success, "must be 1"))
    return errors


def _validate_security(context: Object, at: str) -> Errors:
    errors: Errors = []
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        value = context.get(name)
        if value is not None and not 0 <= value <= 2147483647:
            errors.append(invalid_value(f"{at}.{name}", value, "must be between 0 and 2147483647, inclusive"))
    return errors


_STANDARD = ("cpu", "memory", "ephemeral-storage", "storage")
_HUGE = "hugepages-"


def validate_resources(resources: Object, at: str) -> list[ApiFieldError]:
    """Return the errors of a container's resources."""
    errors: list[ApiFieldError] = []
    limits: Object = resources.get("limits") or {}
    requests: Object = resources.get("requests") or {}
    for name, value in limits.items():
        errors += _validate_one(name, value, f"{at}.limits[{name}]")
    for name, value in requests.items():
        errors += _validate_one(name, value, f"{at}.requests[{name}]")
        limit = limits.get(name)
        if limit is not None and amount(value) > amount(limit):
            errors.append(
                invalid_value(f"{at}.requests", value, f"must be less than or equal to {name} limit of {limit}")
            )
        if limit is None and "/" in name and not name.startswith("kubernetes.io/"):
            errors.append(required(f"{at}.limits", "Limit must be set for non overcommitable resources"))
    return errors


def _validate_one(name: str, value: str, at: str) -> list[ApiFieldError]:
    errors = [invalid_value(at, name, problem) for problem in qualified_name(name)]
    if not errors and "/" not in name and name not in _STANDARD and not name.startswith(_HUGE):
        errors.append(invalid_value(at, name, "must be a standard resource type or fully qualified"))
        errors.append(invalid_value(at, name, "must be a standard resource for containers"))
    if amount(value) < 0:
        errors.append(invalid_value(at, value, "must be greater than or equal to 0"))
    return errors


# Validation of pod updates: the few fields that may change.


_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(new: Object, old: Object) -> list[ApiFieldError]:
    spec, stored = copy_json(new["spec"]), copy_json(old["spec"])
    count = len(spec.get("containers") or ())
    if count != len(stored.get("containers") or ()):
        return [forbidden("spec.containers", "pod updates may not add or remove containers")]
    for pod_spec in (spec, stored):
        pod_spec.pop("activeDeadlineSeconds", None)
        for name in ("containers", "initContainers"):
            for container in pod_spec.get(name) or ():
                container.pop("image", None)
    old_tolerations, tolerations = stored.pop("tolerations", None) or [], spec.pop("tolerations", None) or []
    errors: list[ApiFieldError] = []
    if any(toleration not in tolerations for toleration in old_tolerations):
        errors.append(
            forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    if spec != stored:
        errors.append(forbidden("spec", _TEXT))
    return errors
