"""RBAC escalation check: users grant only permissions they have.

Source: k8s.io/kubernetes/pkg/registry/rbac/escalation_check.go.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.statuses import StatusError, forbidden, not_found
from kymatui.sandbox.apiserver.auth.rbac_authorizer import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
    Attributes,
    Authorizer,
    RbacRule,
    rule_covers,
)
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource


def check_rbac_escalation(
    authorizer: Authorizer, resource: ServedResource, obj: Object, old: Object | None, user: RequestUser
) -> None:
    """Raise StatusError 403 for rules that the user lacks, 404 for a binding to a missing role."""
    if "system:masters" in user.groups:
        return
    if resource.full_name in (ROLES, CLUSTER_ROLES):
        _check_role(authorizer, resource, obj, old, user)
    elif resource.full_name in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        _check_binding(authorizer, resource, obj, old, user)


def _check_role(
    authorizer: Authorizer, resource: ServedResource, obj: Object, old: Object | None, user: RequestUser
) -> None:
    if old is not None and old.get("rules") == obj.get("rules"):
        return
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    attributes = Attributes("escalate", namespace, GROUP, resource=resource.name, name=metadata["name"])
    if authorizer.decide(user, attributes).allowed:
        return
    _require_covered(authorizer, resource, metadata["name"], namespace, obj.get("rules") or [], user)


def _check_binding(
    authorizer: Authorizer, resource: ServedResource, obj: Object, old: Object | None, user: RequestUser
) -> None:
    if old is not None and (old["roleRef"], old.get("subjects")) == (obj["roleRef"], obj.get("subjects")):
        return
    metadata, ref = obj["metadata"], obj["roleRef"]
    namespace = metadata.get("namespace", "")
    plural = "roles" if ref["kind"] == "Role" else "clusterroles"
    if authorizer.decide(user, Attributes("bind", namespace, GROUP, resource=plural, name=ref["name"])).allowed:
        return
    rules = authorizer.rules_of(ref, namespace)
    if rules is None:
        raise not_found(f"{plural}.{GROUP}", ref["name"])
    _require_covered(authorizer, resource, metadata["name"], namespace, rules, user)


def _require_covered(
    authorizer: Authorizer,
    resource: ServedResource,
    name: str,
    namespace: str,
    rules: Iterable[RbacRule],
    user: RequestUser,
) -> None:
    owned = [rule for _, rule in authorizer.rules_for(user, namespace)]
    missing = [part for rule in rules for part in _parts(rule) if not _covered(part, owned)]
    if missing:
        raise _refusal(resource, name, missing, user)


def _parts(rule: RbacRule) -> Iterator[RbacRule]:
    """Yield the rule as rules of one verb and one resource or URL each."""
    for verb in rule.get("verbs") or ():
        for url in rule.get("nonResourceURLs") or ():
            yield {"verbs": [verb], "nonResourceURLs": [url]}
        for group, resource in itertools.product(rule.get("apiGroups") or (), rule.get("resources") or ()):
            single: dict[str, list[str]] = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            names = rule.get("resourceNames") or ()
            if not names:
                yield single
            for name in names:
                yield {**single, "resourceNames": [name]}


def _covered(part: RbacRule, owned: Iterable[RbacRule]) -> bool:
    verb = part["verbs"][0]
    if "nonResourceURLs" in part:
        attributes = Attributes(verb, path=part["nonResourceURLs"][0])
        return any(rule_covers(rule, attributes) for rule in owned)
    resource, _, subresource = part["resources"][0].partition("/")
    names = part.get("resourceNames") or [""]
    attributes = Attributes(verb, group=part["apiGroups"][0], resource=resource, subresource=subresource, name=names[0])
    return any(rule_covers(rule, attributes) for rule in owned)


def _refusal(resource: ServedResource, name: str, missing: list[RbacRule], user: RequestUser) -> StatusError:
    groups = "[" + " ".join(f'"{group}"' for group in user.groups) + "]"
    why = f'user "{user.name}" (groups={groups}) is attempting to grant RBAC permissions not currently held:'
    lines = "\n".join(_shown(rule) for rule in _compacted(missing))
    return forbidden(resource.full_name, name, f"{why}\n{lines}")


def _compacted(parts: list[RbacRule]) -> list[RbacRule]:
    """Join rules that differ only in the verb."""
    joined: dict[str, dict[str, list[str]]] = {}
    for part in parts:
        key = repr({name: value for name, value in part.items() if name != "verbs"})
        known = joined.setdefault(key, {**part, "verbs": []})
        known["verbs"] += [verb for verb in part["verbs"] if verb not in known["verbs"]]
    return sorted(joined.values(), key=_shown)


_SHOWN = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("ResourceNames", "resourceNames"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("Verbs", "verbs"),
)


def _shown(rule: RbacRule) -> str:
    def quoted(values: list[str]) -> str:
        return "[" + " ".join(f'"{value}"' for value in values) + "]"

    return "{" + ", ".join(f"{label}:{quoted(rule[key])}" for label, key in _SHOWN if rule.get(key)) + "}"
