"""Validation of roles and bindings."""

from __future__ import annotations

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, invalid_value, required, unsupported
from kymatui.schemas.values.name_rules import dns_subdomain, path_segment

Errors = list[ApiFieldError]
_REF = ("APIGroup", "Kind", "Name")
"""The fields of a roleRef as the server shows them."""


def validate_role(obj: Object) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(obj.get("rules") or ()):
        errors += _validate_rule(rule, f"rules[{index}]", namespaced=obj.get("kind") == "Role")
    return errors


def _validate_rule(rule: Object, at: str, *, namespaced: bool) -> Errors:
    errors: Errors = []
    if not rule.get("verbs"):
        errors.append(required(f"{at}.verbs", "verbs must contain at least one value"))
    if rule.get("nonResourceURLs"):
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid_value(f"{at}.nonResourceURLs", rule["nonResourceURLs"], text))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid_value(f"{at}.nonResourceURLs", rule["nonResourceURLs"], text))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return errors


def validate_role_binding(obj: Object) -> Errors:
    ref: Object = obj["roleRef"]
    errors: Errors = []
    if ref.get("apiGroup") != "rbac.authorization.k8s.io":
        errors.append(unsupported("roleRef.apiGroup", ref.get("apiGroup") or "", ("rbac.authorization.k8s.io",)))
    kinds = ("ClusterRole",) if obj.get("kind") == "ClusterRoleBinding" else ("Role", "ClusterRole")
    if ref.get("kind") not in kinds:
        errors.append(unsupported("roleRef.kind", ref.get("kind") or "", kinds))
    if not ref.get("name"):
        errors.append(required("roleRef.name"))
    else:
        errors += [invalid_value("roleRef.name", ref["name"], problem) for problem in path_segment(ref["name"])]
    for index, subject in enumerate(obj.get("subjects") or ()):
        errors += _validate_subject(subject, f"subjects[{index}]", namespaced=obj.get("kind") == "RoleBinding")
    return errors


def _validate_subject(subject: Object, at: str, *, namespaced: bool) -> Errors:
    errors: Errors = []
    name, kind, group = subject.get("name") or "", subject.get("kind") or "", subject.get("apiGroup") or ""
    if not name:
        errors.append(required(f"{at}.name"))
    if kind == "ServiceAccount":
        if name:
            errors += [invalid_value(f"{at}.name", name, problem) for problem in dns_subdomain(name)]
        if group:
            errors.append(unsupported(f"{at}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{at}.namespace"))
    elif kind in ("User", "Group"):
        if group != "rbac.authorization.k8s.io":
            errors.append(unsupported(f"{at}.apiGroup", group, ("rbac.authorization.k8s.io",)))
    else:
        errors.append(unsupported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def validate_role_ref_update(new: Object, old: Object) -> Errors:
    if new.get("roleRef") == old.get("roleRef"):
        return []
    ref: Object = new.get("roleRef") or {}
    shown = {name: ref.get(name[0].lower() + name[1:] if name != "APIGroup" else "apiGroup") or "" for name in _REF}
    return [invalid_value("roleRef", shown, "cannot change roleRef")]
