"""Validation of claims, ingresses, budgets, autoscalers, leases, classes, webhooks and events."""

from __future__ import annotations

import ipaddress
import json

from kymatui.sandbox.schemas.pods.pod_rules import validate_port_or_name
from kymatui.sandbox.schemas.pods.workload_rules import int_or_percent
from kymatui.schemas.objects.object_meta_rules import immutable, not_negative, one_of, validate_selector
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, unsupported
from kymatui.schemas.values.name_rules import (
    cidr,
    dns_old_label,
    dns_subdomain,
    ip_address,
    outside_address,
    port_number,
    qualified_name,
    wildcard_subdomain,
)
from kymatui.schemas.values.quantity import amount

Errors = list[ApiFieldError]
_LONGEST_EVENT_WORD, _LONGEST_EVENT_MESSAGE = 128, 1024


def validate_claim(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = validate_selector(spec.get("selector"), "spec.selector")
    modes: list[str] = spec.get("accessModes") or []
    choices = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
    if not modes:
        errors.append(required("spec.accessModes", "at least 1 access mode is required"))
    errors += [unsupported("spec.accessModes", mode, choices) for mode in modes if mode not in choices]
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if not storage:
        errors.append(required("spec.resources[storage]"))
    elif amount(storage) <= 0:
        errors.append(invalid_value("spec.resources[storage]", storage, "must be greater than zero"))
    return errors


_CLAIM_TEXT = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def validate_claim_update(new: Object, old: Object) -> Errors:
    free = ("resources", "volumeAttributesClassName", "volumeName", "storageClassName")
    rest = {name: value for name, value in new["spec"].items() if name not in free}
    stored = {name: value for name, value in old["spec"].items() if name not in free}
    return [] if rest == stored else [forbidden("spec", _CLAIM_TEXT)]


def validate_ingress(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        return [invalid_value("spec", None, "either `defaultBackend` or `rules` must be specified")]
    errors: Errors = []
    for index, rule in enumerate(spec.get("rules") or ()):
        http = rule.get("http")
        at = f"spec.rules[{index}]"
        host = rule.get("host") or ""
        if host:
            errors += _validate_host(host, f"{at}.host")
        if http is None:
            continue
        if not http.get("paths"):
            errors.append(required(f"{at}.http.paths"))
        for position, path in enumerate(http.get("paths") or ()):
            errors += _validate_ingress_path(path, f"{at}.http.paths[{position}]")
    return errors


def _validate_host(host: str, at: str) -> Errors:
    try:
        ipaddress.ip_address(host)
        return [invalid_value(at, host, "must be a DNS name, not an IP address")]
    except ValueError:
        problems = wildcard_subdomain(host) if "*" in host else dns_subdomain(host)
        return [invalid_value(at, host, problem) for problem in problems]


def _validate_ingress_path(path: Object, at: str) -> Errors:
    kind, text = path.get("pathType"), path.get("path") or ""
    errors: Errors = []
    choices = ("Exact", "ImplementationSpecific", "Prefix")
    if kind is None:
        return [required(f"{at}.pathType", "pathType must be specified")]
    if kind not in choices:
        errors.append(unsupported(f"{at}.pathType", kind, choices))
    elif kind != "ImplementationSpecific" and not text.startswith("/"):
        errors.append(invalid_value(f"{at}.path", text, "must be an absolute path"))
    backend: Object = path.get("backend") or {}
    service, resource = backend.get("service"), backend.get("resource")
    if service is None and resource is None:
        errors.append(required(f"{at}.backend", "resource or service backend is required"))
    if service is not None:
        if not service.get("name"):
            errors.append(required(f"{at}.backend.service.name"))
        port: Object = service.get("port") or {}
        if not port.get("name") and not port.get("number"):
            errors.append(required(f"{at}.backend", "port name or number is required"))
    return errors


def validate_budget(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors: Errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = {"MinAvailable": spec["minAvailable"], "Selector": spec.get("selector")}
        shown |= {"MaxUnavailable": spec["maxUnavailable"], "UnhealthyPodEvictionPolicy": None}
        value = json.dumps(shown, separators=(",", ":"))
        text = "minAvailable and maxUnavailable cannot be both set"
        errors.append(ApiFieldError("Invalid", "spec", f"Invalid value: {value}: {text}"))
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            errors += int_or_percent(spec[name], f"spec.{name}")
    return errors + validate_selector(spec.get("selector"), "spec.selector")


def validate_autoscaler(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors: Errors = []
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        errors.append(invalid_value("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    if least is not None and most < least:
        errors.append(invalid_value("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    ref: Object = spec.get("scaleTargetRef") or {}
    return errors + [required(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not ref.get(name)]


def validate_lease(obj: Object) -> Errors:
    spec: Object = obj.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    errors: Errors = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return errors + not_negative(spec, "leaseTransitions", at="spec")


_HIGHEST_PRIORITY = 1_000_000_000


def validate_priority_class(obj: Object) -> Errors:
    value = obj.get("value") or 0
    errors: Errors = []
    name = obj["metadata"].get("name") or ""
    if name.startswith("system-") and name not in ("system-cluster-critical", "system-node-critical"):
        text = "priority class names with 'system-' prefix are reserved for system use only. error: " + (
            f"{name} is not a known system priority class"
        )
        errors.append(forbidden("metadata.name", text))
    elif value > _HIGHEST_PRIORITY and not name.startswith("system-"):
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        errors.append(forbidden("value", text))
    return errors + one_of(obj, "preemptionPolicy", ("PreemptLowerPriority", "Never"), "")


def validate_priority_class_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    if new.get("value") != old.get("value"):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def validate_storage_class(obj: Object) -> Errors:
    errors: Errors = []
    if not obj.get("provisioner"):
        errors.append(required("provisioner"))
    choices = ("Delete", "Retain")
    if obj.get("reclaimPolicy") not in (None, *choices):
        errors.append(unsupported("reclaimPolicy", obj["reclaimPolicy"], choices))
    modes = ("Immediate", "WaitForFirstConsumer")
    if obj.get("volumeBindingMode") not in modes:
        errors.append(unsupported("volumeBindingMode", obj.get("volumeBindingMode") or "", modes))
    return errors


def validate_storage_class_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    for name in ("parameters", "provisioner", "reclaimPolicy"):
        if (new.get(name) or {}) != (old.get(name) or {}):
            errors.append(forbidden(name, "updates to " + name + " are forbidden."))
    return errors + immutable(new.get("volumeBindingMode"), old.get("volumeBindingMode"), "volumeBindingMode")


def validate_webhooks(obj: Object) -> Errors:
    errors: Errors = []
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        errors += _validate_webhook(webhook, f"webhooks[{index}]")
    return errors


def _validate_webhook(webhook: Object, at: str) -> Errors:
    errors: Errors = []
    name = webhook.get("name") or ""
    if not name:
        errors.append(required(f"{at}.name"))
    elif dns_subdomain(name):
        errors += [invalid_value(f"{at}.name", name, problem) for problem in dns_subdomain(name)]
    elif name.count(".") < 2:
        errors.append(
            invalid_value(f"{at}.name", name, "should be a domain with at least three segments separated by dots")
        )
    versions: list[str] = webhook.get("admissionReviewVersions") or []
    if not versions:
        errors.append(required(f"{at}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        text = "must include at least one of v1, v1beta1"
        errors.append(invalid_value(f"{at}.admissionReviewVersions", versions, text))
    errors += one_of(webhook, "failurePolicy", ("Fail", "Ignore"), at)
    errors += one_of(webhook, "matchPolicy", ("Equivalent", "Exact"), at)
    effects = webhook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{at}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        errors.append(unsupported(f"{at}.sideEffects", effects, ("None", "NoneOnDryRun")))
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(
            invalid_value(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
        )
    errors += validate_selector(webhook.get("namespaceSelector"), f"{at}.namespaceSelector")
    config: Object = webhook.get("clientConfig") or {}
    if bool(config.get("url")) == bool(config.get("service")):
        errors.append(required(f"{at}.clientConfig", "exactly one of url or service is required"))
    return errors


def validate_network_policy(obj: Object) -> Errors:
    spec: Object = obj.get("spec") or {}
    errors = validate_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            errors += _validate_policy_rule(rule, f"spec.{direction}[{index}]", peers)
    types: list[str] = spec.get("policyTypes") or []
    if len(types) > 2:
        return [*errors, invalid_value("spec.policyTypes", types, "may not specify more than two policyTypes")]
    choices = ("Ingress", "Egress")
    return errors + [
        unsupported(f"spec.policyTypes[{index}]", kind, choices)
        for index, kind in enumerate(types)
        if kind not in choices
    ]


def _validate_policy_rule(rule: Object, at: str, peers: str) -> Errors:
    errors: Errors = []
    for index, port in enumerate(rule.get("ports") or ()):
        location = f"{at}.ports[{index}]"
        errors += one_of(port, "protocol", ("SCTP", "TCP", "UDP"), location)
        if port.get("port") is not None:
            errors += validate_port_or_name(port["port"], f"{location}.port")
    for index, peer in enumerate(rule.get(peers) or ()):
        errors += _validate_peer(peer, f"{at}.{peers}[{index}]")
    return errors


def _validate_peer(peer: Object, at: str) -> Errors:
    errors: Errors = []
    for name in ("podSelector", "namespaceSelector"):
        errors += validate_selector(peer.get(name), f"{at}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        block_cidr = block.get("cidr") or ""
        if not block_cidr:
            errors.append(required(f"{at}.ipBlock.cidr"))
        errors += [
            invalid_value(f"{at}.ipBlock.cidr", block_cidr, problem)
            for problem in (cidr(block_cidr) if block_cidr else ())
        ]
        if peer.get("podSelector") is not None or peer.get("namespaceSelector") is not None:
            errors.append(forbidden(at, "may not specify both ipBlock and another peer"))
    elif peer.get("podSelector") is None and peer.get("namespaceSelector") is None:
        errors.append(required(at, "must specify a peer"))
    return errors


def validate_api_service(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""
    name, expected = obj["metadata"].get("name") or "", f"{version}.{group}"
    errors: Errors = []
    if name != expected:
        errors.append(invalid_value("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{expected}"'))
    if group:
        errors += [invalid_value("spec.group", group, problem) for problem in dns_subdomain(group)]
    elif version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    errors += [invalid_value("spec.version", version, problem) for problem in dns_old_label(version)]
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
        value = spec.get(field) or 0
        if not 0 < value <= most:
            errors.append(invalid_value(f"spec.{field}", value, f"must be positive and less than {most}"))
    service = spec.get("service")
    if service is not None:
        errors += [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    return errors


def validate_endpoints(obj: Object) -> Errors:
    """Return the errors of addresses and ports of every subset."""
    errors: Errors = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(field) or ()):
                errors += _validate_endpoint(address.get("ip") or "", f"{at}.{field}[{position}].ip")
        for position, port in enumerate(subset.get("ports") or ()):
            number, where = port.get("port") or 0, f"{at}.ports[{position}]"
            if len(subset["ports"]) > 1 and not port.get("name"):
                errors.append(required(f"{where}.name"))
            errors += [invalid_value(f"{where}.port", number, problem) for problem in port_number(number)]
            errors += one_of(port, "protocol", ("SCTP", "TCP", "UDP"), where)
    return errors


def _validate_endpoint(address: str, at: str) -> Errors:
    errors = [invalid_value(at, address, problem) for problem in outside_address(address)]
    return [*errors, invalid_value(at, address, "must be a valid IP address")] if ip_address(address) else errors


def validate_event(obj: Object) -> Errors:
    namespace = (obj.get("involvedObject") or {}).get("namespace") or ""
    if namespace and namespace != obj["metadata"].get("namespace"):
        return [invalid_value("involvedObject.namespace", namespace, "does not match event.namespace")]
    if not namespace and obj["metadata"].get("namespace") not in ("default", None):
        return [invalid_value("involvedObject.namespace", "", "does not match event.namespace")]
    return _validate_new_event(obj) if obj.get("eventTime") else []


def _validate_new_event(obj: Object) -> Errors:
    """Return the errors of an event with eventTime, which must name its reporter."""
    component = obj.get("reportingComponent") or ""
    errors = [] if component else [required("reportingComponent")]
    errors += [invalid_value("reportingComponent", component, problem) for problem in qualified_name(component)]
    for name in ("reportingInstance", "action", "reason"):
        text = obj.get(name) or ""
        if not text:
            errors.append(required(name))
        elif len(text) > _LONGEST_EVENT_WORD:
            errors.append(invalid_value(name, "", f"can have at most {_LONGEST_EVENT_WORD} characters"))
    if len(obj.get("message") or "") > _LONGEST_EVENT_MESSAGE:
        errors.append(invalid_value("message", "", f"can have at most {_LONGEST_EVENT_MESSAGE} characters"))
    return errors
