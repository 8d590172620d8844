"""Rules of claims, ingresses, budgets, autoscalers, leases, classes, webhooks and events."""

from __future__ import annotations

from kymatui.sandbox.schemas.fielderrors import FieldError, forbidden, required, unsupported, wrong
from kymatui.sandbox.schemas.kinds.metadata import immutable, not_negative, one_of, validate_selector
from kymatui.sandbox.schemas.kinds.names import dns_subdomain
from kymatui.sandbox.schemas.kinds.workloadrules import int_or_percent
from kymatui.sandbox.schemas.nodes import Object

Errors = list[FieldError]


def validate_claim(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = validate_selector(spec.get("selector"), "spec.selector")
    modes: list[str] = spec.get("accessModes") or []
    choices = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
    if not modes:
        errors.append(required("spec.accessModes", "at least 1 access mode is required"))
    errors += [unsupported("spec.accessModes", mode, choices) for mode in modes if mode not in choices]
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        errors.append(required("spec.resources[storage]"))
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
        return [wrong("spec", spec, "either `defaultBackend` or `rules` must be specified")]
    errors: Errors = []
    for index, rule in enumerate(spec.get("rules") or ()):
        http = rule.get("http")
        at = f"spec.rules[{index}]"
        if http is None:
            continue
        if not http.get("paths"):
            errors.append(required(f"{at}.http.paths"))
        for place, path in enumerate(http.get("paths") or ()):
            errors += _validate_ingress_path(path, f"{at}.http.paths[{place}]")
    return errors


def _validate_ingress_path(path: Object, at: str) -> Errors:
    kind, text = path.get("pathType"), path.get("path") or ""
    errors: Errors = []
    choices = ("Exact", "ImplementationSpecific", "Prefix")
    if kind is None:
        errors.append(required(f"{at}.pathType", "pathType must be specified"))
    elif kind not in choices:
        errors.append(unsupported(f"{at}.pathType", kind, choices))
    elif kind != "ImplementationSpecific" and not text.startswith("/"):
        errors.append(wrong(f"{at}.path", text, "must be an absolute path"))
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
        errors.append(wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            errors += int_or_percent(spec[name], f"spec.{name}")
    return errors + validate_selector(spec.get("selector"), "spec.selector")


def validate_autoscaler(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors: Errors = []
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        errors.append(wrong("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(wrong("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(wrong("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    ref: Object = spec.get("scaleTargetRef") or {}
    return errors + [required(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not ref.get(name)]


def validate_lease(obj: Object) -> Errors:
    spec: Object = obj.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    errors: Errors = []
    if seconds is not None and seconds <= 0:
        errors.append(wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
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
        errors += [wrong(f"{at}.name", name, problem) for problem in dns_subdomain(name)]
    elif name.count(".") < 2:
        errors.append(wrong(f"{at}.name", name, "should be a domain with at least three segments separated by dots"))
    versions: list[str] = webhook.get("admissionReviewVersions") or []
    if not versions:
        errors.append(required(f"{at}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        text = "must include at least one of v1, v1beta1"
        errors.append(wrong(f"{at}.admissionReviewVersions", versions, text))
    errors += one_of(webhook, "failurePolicy", ("Fail", "Ignore"), at)
    errors += one_of(webhook, "matchPolicy", ("Equivalent", "Exact"), at)
    effects = webhook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{at}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        errors.append(unsupported(f"{at}.sideEffects", effects, ("None", "NoneOnDryRun")))
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(wrong(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds"))
    errors += validate_selector(webhook.get("namespaceSelector"), f"{at}.namespaceSelector")
    config: Object = webhook.get("clientConfig") or {}
    if bool(config.get("url")) == bool(config.get("service")):
        errors.append(required(f"{at}.clientConfig", "exactly one of url or service is required"))
    return errors


def validate_network_policy(obj: Object) -> Errors:
    return validate_selector((obj.get("spec") or {}).get("podSelector"), "spec.podSelector")


def validate_event(obj: Object) -> Errors:
    namespace = (obj.get("involvedObject") or {}).get("namespace") or ""
    if namespace and namespace != obj["metadata"].get("namespace"):
        return [wrong("involvedObject.namespace", namespace, "does not match event.namespace")]
    if not namespace and obj["metadata"].get("namespace") not in ("default", None):
        return [wrong("involvedObject.namespace", "", "does not match event.namespace")]
    return []
