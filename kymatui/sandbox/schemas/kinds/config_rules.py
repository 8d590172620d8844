"""Validation of ConfigMaps, Secrets and Services."""

from __future__ import annotations

import base64
import json
from typing import Any

from kymatui.sandbox.schemas.pods.pod_rules import PROTOCOLS, validate_port_or_name
from kymatui.schemas.objects.object_meta_rules import immutable, one_of, validate_labels
from kymatui.schemas.objects.typed_decoding import json_type
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, duplicate, forbidden, invalid_value, required, too_long
from kymatui.schemas.values.name_rules import (
    cidr,
    config_key,
    dns_label,
    dns_subdomain,
    ip_address,
    outside_address,
    port_number,
    qualified_name,
)

Errors = list[ApiFieldError]
MOST_DATA = 1024 * 1024
_REDACTED = "<secret contents redacted>"
_KEEP_IMMUTABLE = "field is immutable when `immutable` is set"


def validate_config_map(obj: Object) -> Errors:
    errors: Errors = []
    data: Object = obj.get("data") or {}
    binary: Object = obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        errors += [invalid_value(f"data[{key}]", key, problem) for problem in config_key(key)]
        if key in binary:
            errors.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value.encode())
    for key, value in binary.items():
        errors += [invalid_value(f"binaryData[{key}]", key, problem) for problem in config_key(key)]
        size += len(value) * 3 // 4
    return [*errors, too_long("[]", MOST_DATA)] if size > MOST_DATA else errors


def _frozen(new: Object, old: Object, *fields: str) -> Errors:
    """Return the errors of changes that `immutable: true` forbids."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _KEEP_IMMUTABLE)]
    return errors + [
        forbidden(name, _KEEP_IMMUTABLE) for name in fields if (new.get(name) or {}) != (old.get(name) or {})
    ]


def validate_config_map_update(new: Object, old: Object) -> Errors:
    return _frozen(new, old, "data", "binaryData")


_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def validate_secret(obj: Object) -> Errors:
    data: Object = obj.get("data") or {}
    errors: Errors = []
    for key in data:
        errors += [invalid_value(f"data[{key}]", key, problem) for problem in config_key(key)]
    if sum(len(value) * 3 // 4 for value in data.values()) > MOST_DATA:
        errors.append(too_long("data", MOST_DATA))
    kind = obj.get("type") or ""
    account = "kubernetes.io/service-account.name"
    if kind == "kubernetes.io/service-account-token":
        if not (obj["metadata"].get("annotations") or {}).get(account):
            errors.append(required(f"metadata.annotations[{account}]"))
    elif kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        errors += [required("data[username]"), required("data[password]")]
    for key in _NEEDED_KEYS.get(kind, ()):
        if key not in data:
            errors.append(required(f"data[{key}]"))
        elif key.startswith(".docker"):
            problem = _json_problem(data[key])
            errors += [invalid_value(f"data[{key}]", _REDACTED, problem)] if problem else []
    return errors


def _json_problem(encoded: str) -> str:
    text = base64.b64decode(encoded).decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return "unexpected end of JSON input"
        return f"invalid character '{text[error.pos]}' looking for beginning of value"
    if isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"


def validate_secret_update(new: Object, old: Object) -> Errors:
    return immutable(new.get("type"), old.get("type"), "type") + _frozen(new, old, "data")


# -- services

_LONGEST_AFFINITY = 86_400
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def validate_service(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    kind = spec.get("type")
    errors: Errors = []
    headless = spec.get("clusterIP") == "None"
    ports: list[Object] = spec.get("ports") or []
    if not ports and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if headless and kind in ("NodePort", "LoadBalancer"):
        errors.append(invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        errors += _validate_external(spec)
    errors += _validate_service_ports(ports, kind or "", headless=headless)
    errors += validate_labels(spec.get("selector"), "spec.selector")
    errors += one_of(spec, "sessionAffinity", ("ClientIP", "None"), "spec")
    errors += _validate_affinity(spec)
    errors += _validate_addresses(spec, kind or "")
    errors += one_of(spec, "type", _TYPES, "spec")
    errors += one_of(spec, "externalTrafficPolicy", ("Cluster", "Local"), "spec")
    errors += one_of(spec, "internalTrafficPolicy", ("Cluster", "Local"), "spec")
    return errors + one_of(spec, "trafficDistribution", _DISTRIBUTIONS, "spec")


def _validate_external(spec: Object) -> Errors:
    name = (spec.get("externalName") or "").rstrip(".")
    if not name:
        return [required("spec.externalName")]
    return [invalid_value("spec.externalName", name, problem) for problem in dns_subdomain(name)]


def _validate_addresses(spec: Object, kind: str) -> Errors:
    address = spec.get("clusterIP")
    errors: Errors = []
    if address and address != "None" and kind != "ExternalName":
        errors += [invalid_value("spec.clusterIPs[0]", address, problem) for problem in ip_address(address)]
    for index, external in enumerate(spec.get("externalIPs") or ()):
        errors += [
            invalid_value(f"spec.externalIPs[{index}]", external, problem) for problem in outside_address(external)
        ]
    for index, source in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        problems = cidr(source)
        errors += [invalid_value(f"spec.LoadBalancerSourceRanges[{index}]", source, problem) for problem in problems]
    return errors


def _validate_affinity(spec: Object) -> Errors:
    """Return the errors of the session affinity timeout."""
    seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
    if spec.get("sessionAffinity") != "ClientIP" or seconds is None or 0 < seconds <= _LONGEST_AFFINITY:
        return []
    text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
    return [invalid_value("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)]


def _validate_service_ports(ports: list[Object], kind: str, *, headless: bool) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        at = f"spec.ports[{index}]"
        name, number = port.get("name") or "", port.get("port") or 0
        if len(ports) > 1 and not name:
            errors.append(required(f"{at}.name"))
        elif name:
            errors += [invalid_value(f"{at}.name", name, problem) for problem in dns_label(name)]
            if name in names:
                errors.append(duplicate(f"{at}.name", name))
            names.add(name)
        errors += [invalid_value(f"{at}.port", number, problem) for problem in port_number(number)]
        errors += one_of(port, "protocol", PROTOCOLS, at)
        errors += validate_port_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        protocol = port.get("appProtocol") or ""
        errors += [invalid_value(f"{at}.appProtocol", protocol, problem) for problem in qualified_name(protocol or "x")]
        if port.get("nodePort") and kind in ("ClusterIP", "ExternalName"):
            errors.append(forbidden(f"{at}.nodePort", f"may not be used when `type` is '{kind}'"))
        if (number, port.get("protocol")) in numbers and not headless:
            errors.append(_same_port(at, port))
        numbers.add((number, port.get("protocol")))
    return errors


def _same_port(at: str, port: Object) -> ApiFieldError:
    """Return the error of a duplicate port, shown as the server's internal struct."""
    shown = {
        "Name": "",
        "Protocol": port.get("protocol"),
        "AppProtocol": None,
        "Port": port.get("port"),
        "TargetPort": 0,
        "NodePort": 0,
    }
    return ApiFieldError("Duplicate", at, f"Duplicate value: {json.dumps(shown, separators=(',', ':'))}")


def validate_service_status(obj: Object) -> Errors:
    """Return the errors of load balancer addresses on a service of another type."""
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if not ingress or obj["spec"].get("type") == "LoadBalancer":
        return []
    return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]


def validate_service_update(new: Object, old: Object) -> Errors:
    spec, stored = new["spec"], old["spec"]
    if "ExternalName" in (spec.get("type"), stored.get("type")):
        return []
    errors: Errors = []
    families = spec.get("ipFamilies") or ["IPv4"]
    if families[0] == "IPv6" and "." in (spec.get("clusterIP") or ""):
        text = "expected an IPv6 value as indicated by `ipFamilies[0]`"
        errors.append(invalid_value("spec.clusterIPs[0]", spec["clusterIP"], text))
    if stored.get("clusterIP") and spec.get("clusterIP") != stored["clusterIP"]:
        errors.append(invalid_value("spec.clusterIPs[0]", [spec.get("clusterIP") or ""], "may not change once set"))
    return errors
