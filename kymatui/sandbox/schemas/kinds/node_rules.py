"""Validation of nodes, RuntimeClasses, EndpointSlices and IngressClasses."""

from __future__ import annotations

import re

from kymatui.sandbox.schemas.pods.placement_rules import validate_tolerations
from kymatui.schemas.objects.object_meta_rules import immutable, one_of
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, duplicate, invalid_value, required, too_long, unsupported
from kymatui.schemas.values.name_rules import cidr, dns_label, dns_subdomain, ip_address, label_value, qualified_name
from kymatui.schemas.values.quantity import amount

Errors = list[ApiFieldError]
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_LONGEST_CONTROLLER = 250
_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def validate_node(obj: Object) -> Errors:
    spec: Object = obj.get("spec") or {}
    errors: Errors = []
    keys: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        at = f"metadata.taints[{index}]"
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        errors += [invalid_value(f"{at}.key", key, problem) for problem in qualified_name(key)]
        errors += [invalid_value(f"{at}.value", taint["value"], text) for text in label_value(taint.get("value") or "")]
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in _EFFECTS:
            errors.append(unsupported(f"{at}.effect", effect, _EFFECTS))
        if (key, effect) in keys:
            errors.append(duplicate(at, taint))
        keys.add((key, effect))
    for index, block in enumerate(spec.get("podCIDRs") or ()):
        errors += [invalid_value(f"spec.podCIDRs[{index}]", block, problem) for problem in cidr(block)]
    return errors


def validate_runtime(obj: Object) -> Errors:
    """Return the errors of a RuntimeClass."""
    handler = obj.get("handler") or ""
    errors = [] if handler else [required("handler")]
    errors += [invalid_value("handler", handler, problem) for problem in (dns_label(handler) if handler else ())]
    for name, value in ((obj.get("overhead") or {}).get("podFixed") or {}).items():
        if amount(value) < 0:
            errors.append(invalid_value(f"overhead.limits[{name}]", value, "must be greater than or equal to 0"))
    scheduling: Object = obj.get("scheduling") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        errors += [invalid_value("scheduling.nodeSelector", key, problem) for problem in qualified_name(key)]
        errors += [invalid_value("scheduling.nodeSelector", value, problem) for problem in label_value(value)]
    return errors + validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")


def validate_runtime_update(new: Object, old: Object) -> Errors:
    return immutable(new.get("handler"), old.get("handler"), "handler")


def validate_slice(obj: Object) -> Errors:
    """Return the errors of an EndpointSlice."""
    kind = obj.get("addressType") or ""
    if kind not in _ADDRESS_TYPES:
        return [unsupported("addressType", kind, _ADDRESS_TYPES) if kind else required("addressType")]
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        at, name = f"ports[{index}]", port.get("name") or ""
        errors += [invalid_value(f"{at}.name", name, problem) for problem in (dns_label(name) if name else ())]
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        errors += one_of(port, "protocol", ("SCTP", "TCP", "UDP"), at)
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        errors += _validate_endpoint(endpoint, kind, f"endpoints[{index}]")
    return errors


def _validate_endpoint(endpoint: Object, kind: str, at: str) -> Errors:
    addresses: list[str] = endpoint.get("addresses") or []
    if not addresses:
        return [required(f"{at}.addresses", "must contain at least 1 address")]
    rule = dns_subdomain if kind == "FQDN" else ip_address
    errors: Errors = []
    for index, address in enumerate(addresses):
        problems = rule(address)
        if not problems and kind != "FQDN" and (":" in address) != (kind == "IPv6"):
            problems = [f"must be an {kind} address"]
        errors += [invalid_value(f"{at}.addresses[{index}]", address, problem) for problem in problems]
    return errors


def validate_slice_update(new: Object, old: Object) -> Errors:
    """Return the errors of an update; after a forbidden change of the address type, skip the endpoints."""
    changed = immutable(new.get("addressType"), old.get("addressType"), "addressType")
    return changed or validate_slice(new)


def validate_ingress_class(obj: Object) -> Errors:
    spec: Object = obj.get("spec") or {}
    controller = spec.get("controller") or ""
    errors: Errors = []
    if len(controller) > _LONGEST_CONTROLLER:
        errors.append(too_long("spec.controller", _LONGEST_CONTROLLER))
    errors += _validate_domain_path(controller, "spec.controller")
    parameters: Object | None = spec.get("parameters")
    if parameters is None:
        return errors
    at = "spec.parameters"
    errors += [required(f"{at}.{name}") for name in ("kind", "name") if not parameters.get(name)]
    scope = parameters.get("scope")
    errors += one_of(parameters, "scope", ("Cluster", "Namespace"), at)
    if scope == "Namespace" and not parameters.get("namespace"):
        errors.append(required(f"{at}.namespace", "`parameters.scope` is set to 'Namespace'"))
    return errors


def _validate_domain_path(text: str, at: str) -> Errors:
    if not text:
        return [required(at)]
    host, _, path = text.partition("/")
    if not host or not path:
        return [invalid_value(at, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid_value(at, host, problem) for problem in dns_subdomain(host)]
    if not _HTTP_PATH.fullmatch(path):
        shape = _HTTP_PATH.pattern
        errors.append(invalid_value(at, path, f"Invalid path (regex used for validation is '{shape}')"))
    return errors


def validate_ingress_class_update(new: Object, old: Object) -> Errors:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    return immutable(after.get("controller"), before.get("controller"), "spec.controller")
