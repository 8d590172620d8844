"""RBAC authorizer: roles and bindings (k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError, failure, forbidden

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"

RbacRule = Mapping[str, Any]


class Attributes(Struct, frozen=True):
    """The attributes of a request to a resource or, if `resource` is "", to a path."""

    verb: str
    namespace: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """Return resource and subresource as rules name them: "pods/log"."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AccessDecision(Struct, frozen=True):
    allowed: bool
    reason: str = ""


class Authorizer:
    """Decides from the current content of the store; decodes each version of a role once."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._bodies: dict[tuple[str, str, str], tuple[int, dict[str, Any]]] = {}

    def decide(self, user: RequestUser, attributes: Attributes) -> AccessDecision:
        """Return the decision of the first matching rule; cluster role bindings come first."""
        if "system:masters" in user.groups:
            return AccessDecision(True)
        missing: list[str] = []
        for reason, rule in self.rules_for(user, attributes.namespace, missing):
            if rule_covers(rule, attributes):
                return AccessDecision(True, reason)
        return AccessDecision(False, f"RBAC: {_joined(missing)}" if missing else "")

    def require(self, user: RequestUser, attributes: Attributes) -> None:
        """Raise StatusError 403 with the server's message."""
        decision = self.decide(user, attributes)
        if not decision.allowed:
            raise refusal(user, attributes, decision.reason)

    def rules_for(
        self, user: RequestUser, namespace: str, missing: list[str] | None = None
    ) -> Iterator[tuple[str, RbacRule]]:
        """Yield (reason, rule) for all rules of a user in a namespace ("": cluster scope)."""
        for binding in self._bodies_of(CLUSTER_ROLE_BINDINGS, None):
            yield from self._bound(user, binding, "", missing)
        if namespace:
            for binding in self._bodies_of(ROLE_BINDINGS, namespace):
                yield from self._bound(user, binding, namespace, missing)

    def _bound(
        self, user: RequestUser, binding: dict[str, Any], namespace: str, missing: list[str] | None
    ) -> Iterator[tuple[str, RbacRule]]:
        subject = next((s for s in binding.get("subjects") or () if binding_applies(s, user, namespace)), None)
        if subject is None:
            return
        ref = binding["roleRef"]
        rules = self.rules_of(ref, namespace)
        if rules is None:
            if missing is not None:
                missing.append(f'{ref["kind"].lower()}.{GROUP} "{ref["name"]}" not found')
            return
        why = _reason(binding, ref, subject, namespace)
        for rule in rules:
            yield why, rule

    def rules_of(self, ref: Mapping[str, Any], namespace: str) -> list[RbacRule] | None:
        """Return the rules of a roleRef, None if the role is missing."""
        resource = ROLES if ref["kind"] == "Role" else CLUSTER_ROLES
        role = self._body(resource, namespace if ref["kind"] == "Role" else "", ref["name"])
        return None if role is None else list(role.get("rules") or ())

    def _bodies_of(self, resource: str, namespace: str | None) -> Iterator[dict[str, Any]]:
        for stored in self._store.walk(resource, namespace):
            body = self._body(resource, stored.namespace, stored.name)
            if body is not None:
                yield body

    def _body(self, resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        stored = self._store.get(resource, namespace, name)
        if stored is None:
            return None
        key = (resource, namespace, name)
        known = self._bodies.get(key)
        if known is None or known[0] != stored.version:
            known = self._bodies[key] = (stored.version, stored.body())
        return known[1]


def refusal(user: RequestUser, attributes: Attributes, reason: str = "") -> StatusError:
    """Return the 403 of a request without permission."""
    more = f": {reason}" if reason else ""
    if not attributes.resource:
        message = f'forbidden: User "{user.name}" cannot {attributes.verb} path "{attributes.path}"{more}'
        return failure(403, "Forbidden", message, {})
    where = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    why = (
        f'User "{user.name}" cannot {attributes.verb} resource "{attributes.combined}" '
        f'in API group "{attributes.group}" {where}{more}'
    )
    resource = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    return forbidden(resource, attributes.name, why)


def binding_applies(subject: Mapping[str, Any], user: RequestUser, namespace: str) -> bool:
    """Return whether the subject is the user; a service account defaults to the binding's namespace."""
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    home = subject.get("namespace") or namespace
    return bool(home) and user.name == f"system:serviceaccount:{home}:{name}"


def rule_covers(rule: RbacRule, attributes: Attributes) -> bool:
    """Return whether a PolicyRule allows the request."""
    if not _has(rule.get("verbs"), attributes.verb):
        return False
    if not attributes.resource:
        return any(_path_matches(url, attributes.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("apiGroups"), attributes.group)
        and _names_resource(rule.get("resources") or (), attributes)
        and (not names or attributes.name in names)
    )


def _has(allowed: Any, value: str) -> bool:
    return bool(allowed) and ("*" in allowed or value in allowed)


def _names_resource(resources: Any, attributes: Attributes) -> bool:
    if "*" in resources or attributes.combined in resources:
        return True
    return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources


def _path_matches(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _reason(binding: dict[str, Any], ref: Mapping[str, Any], subject: Mapping[str, Any], namespace: str) -> str:
    name = binding["metadata"]["name"]
    what = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
    who = subject["name"]
    if subject["kind"] == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    return f'RBAC: allowed by {what} of {ref["kind"]} "{ref["name"]}" to {subject["kind"]} "{who}"'


def _joined(texts: list[str]) -> str:
    """Return the texts as Go's aggregate error: one text plain, several unique ones in brackets."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
