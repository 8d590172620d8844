"""The default admission plugins of a real API server, as far as clients notice them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.object_store import ObjectStore
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
from kymatui.sandbox.apiserver.resources.request_meta import metadata_of
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource

IMMORTAL = ("default", "kube-system", "kube-public")
_TOLERATED_SECONDS = 300
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_WITHOUT_NAMESPACE = ("localsubjectaccessreviews.authorization.k8s.io",)


class Admission:
    """`create` may change the object; `validate` only refuses. Both raise StatusError."""

    def __init__(self, store: ObjectStore, authorizer: Authorizer) -> None:
        self._store = store
        self._authorizer = authorizer
        self._mutations: dict[str, Callable[[Object], None]] = {
            "pods": self._pod,
            "nodes": _node,
            "persistentvolumeclaims": self._claim,
            "persistentvolumes": _volume,
        }

    def create(self, resource: ServedResource, obj: Object, user: RequestUser) -> None:
        """Check the namespace of a new object and add the plugin's fields."""
        del user
        if resource.namespaced:
            self._check_namespace(resource, obj)
        mutate = self._mutations.get(resource.full_name)
        if mutate is not None:
            mutate(obj)

    def validate(self, resource: ServedResource, obj: Object, old: Object | None, user: RequestUser) -> None:
        """Run the checks that need more than the object itself."""
        if resource.group == "rbac.authorization.k8s.io":
            check_rbac_escalation(self._authorizer, resource, obj, old, user)

    def _check_namespace(self, resource: ServedResource, obj: Object) -> None:
        metadata = metadata_of(obj)
        name = metadata.get("namespace") or ""
        if resource.full_name in _WITHOUT_NAMESPACE:
            return
        namespace = self._store.get("namespaces", "", name)
        if namespace is None:
            raise not_found("namespaces", name)
        if namespace.body()["metadata"].get("deletionTimestamp"):
            raise _terminating(resource, metadata.get("name") or metadata.get("generateName") or "", name)

    # -- plugins

    def _pod(self, obj: Object) -> None:
        """Run Priority and DefaultTolerationSeconds."""
        spec: dict[str, Any] = obj.setdefault("spec", {})
        tolerations: list[Any] = spec.setdefault("tolerations", [])
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
            if not any(_tolerates(toleration, key) for toleration in tolerations):
                tolerations.append(
                    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
                )
        self._priority(obj, spec)

    def _priority(self, pod: Object, spec: dict[str, Any]) -> None:
        name = spec.get("priorityClassName") or ""
        pod_name = metadata_of(pod).get("name") or ""
        resource = "priorityclasses.scheduling.k8s.io"
        if name:
            stored = self._store.get(resource, "", name)
            if stored is None:
                raise forbidden("pods", pod_name, f"no PriorityClass with name {name} was found")
            chosen = stored.body()
        else:
            bodies = (stored.body() for stored in self._store.walk(resource))
            chosen = next((body for body in bodies if body.get("globalDefault")), {})
            if chosen:
                spec["priorityClassName"] = chosen["metadata"]["name"]
        value = chosen.get("value", 0)
        if spec.get("priority") not in (None, value):
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise forbidden("pods", pod_name, why)
        spec["priority"] = value
        spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))

    def _claim(self, obj: Object) -> None:
        """Run DefaultStorageClass and StorageObjectInUseProtection."""
        _add_finalizer(obj, "kubernetes.io/pvc-protection")
        spec: dict[str, Any] = obj.setdefault("spec", {})
        annotations = metadata_of(obj).get("annotations") or {}
        if "storageClassName" in spec or "volume.beta.kubernetes.io/storage-class" in annotations:
            return
        for stored in self._store.walk("storageclasses.storage.k8s.io"):
            class_annotations = stored.body()["metadata"].get("annotations") or {}
            if class_annotations.get(_DEFAULT_CLASS) == "true":
                spec["storageClassName"] = stored.name
                return


def _tolerates(toleration: Any, key: str) -> bool:
    return (
        isinstance(toleration, dict)
        and toleration.get("key") in (key, None, "")
        and toleration.get("effect") in ("NoExecute", None, "")
    )


def _node(obj: Object) -> None:
    """Run TaintNodesByCondition: a node accepts no pods before its first report."""
    taints: list[Any] = obj.setdefault("spec", {}).setdefault("taints", [])
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    if not any(node_taint.get("key") == taint["key"] for node_taint in taints):
        taints.append(taint)


def _volume(obj: Object) -> None:
    _add_finalizer(obj, "kubernetes.io/pv-protection")


def _add_finalizer(obj: Object, name: str) -> None:
    finalizers: list[str] = metadata_of(obj).setdefault("finalizers", [])
    if name not in finalizers:
        finalizers.append(name)


def _terminating(resource: ServedResource, name: str, namespace: str) -> StatusError:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(resource.full_name, name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.status["details"] = {**error.status["details"], "causes": [cause]}
    return error


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
