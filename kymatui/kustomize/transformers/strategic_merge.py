"""Strategic merge patches, as in kustomize: lists of built-in kinds are merged by Kubernetes' keys.

Maps are merged, null removes a field, and other values are replaced. A list without a merge key is replaced; one
with a key has the patch's elements first (merged), then the rest. Directives: `$patch: delete`, `replace` and
`merge`, in maps and as list elements.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from kymatui.errors import SourceError
from kymatui.helm.yaml.node_reader import MissingValues
from kymatui.helm.yaml.reading import load_exactly

DIRECTIVE: Final = "$patch"
_GONE: Final = object()

_CONTAINER: Final = {"env": ("name",), "volumeMounts": ("mountPath",), "volumeDevices": ("devicePath",)}
_ELEMENTS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "container": {**_CONTAINER, "ports": ("containerPort", "protocol")},
    "ephemeral": dict(_CONTAINER),
    "pod": {
        "containers": ("name",),
        "initContainers": ("name",),
        "ephemeralContainers": ("name",),
        "volumes": ("name",),
        "imagePullSecrets": ("name",),
        "hostAliases": ("ip",),
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    },
    "metadata": {"finalizers": (), "ownerReferences": ("uid",)},
    "service": {"ports": ("port", "protocol")},
    "account": {"secrets": ("name",)},
    "webhooks": {"webhooks": ("name",)},
    "conditions": {"conditions": ("type",)},
    "csinode": {"drivers": ("name",)},
    "node": {"podCIDRs": ()},
}
"""Merge keys of lists by parent type; () for merged lists of scalars."""

Types = dict[tuple[str, ...], str]
_WORKLOADS: Final = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "ReplicationController": "v1",
}


def _pod(*at: str) -> Types:
    return {
        at: "pod",
        (*at, "containers"): "container",
        (*at, "initContainers"): "container",
        (*at, "ephemeralContainers"): "ephemeral",
    }


def _types(api_version: str, kind: str) -> Types | None:
    """Return the types by path of a built-in kind; None for others, whose lists are replaced."""
    spec = ("spec",)
    template = (*spec, "template")
    meta: Types = {("metadata",): "metadata"}
    if _WORKLOADS.get(kind) == api_version:
        return {**meta, (*template, "metadata"): "metadata", **_pod(*template, "spec"), ("status",): "conditions"}
    match api_version, kind:
        case "v1", "Pod":
            return {**meta, **_pod(*spec), ("status",): "conditions"}
        case "v1", "PodTemplate":
            return {**meta, ("template", "metadata"): "metadata", **_pod("template", "spec")}
        case (("batch/v1" | "batch/v1beta1"), "CronJob"):
            job = (*spec, "jobTemplate")
            inner = (*job, "spec", "template")
            more: Types = {(*job, "metadata"): "metadata", (*inner, "metadata"): "metadata"}
            return {**meta, **more, **_pod(*inner, "spec")}
        case "v1", "Service":
            return {**meta, spec: "service", ("status",): "conditions"}
        case "v1", "ServiceAccount":
            return {**meta, (): "account"}
        case "v1", "Node":
            return {**meta, spec: "node", ("status",): "conditions"}
        case _, "CSINode" if api_version.startswith("storage.k8s.io/"):
            return {**meta, spec: "csinode"}
        case _, ("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") if _is_admission(api_version):
            return {**meta, (): "webhooks"}
    return meta if _is_known(api_version, kind) else None


def _is_admission(api_version: str) -> bool:
    return api_version in ("admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1")


_KNOWN: Final = {
    "v1": "ConfigMap Endpoints Event LimitRange Namespace PersistentVolume PersistentVolumeClaim ResourceQuota Secret",
    "apps/v1": "ControllerRevision",
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2beta1": "HorizontalPodAutoscaler",
    "autoscaling/v2beta2": "HorizontalPodAutoscaler",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "coordination.k8s.io/v1": "Lease",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "networking.k8s.io/v1beta1": "Ingress IngressClass",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "policy/v1beta1": "PodDisruptionBudget PodSecurityPolicy",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver StorageClass VolumeAttachment",
}


def _is_known(api_version: str, kind: str) -> bool:
    return kind in _KNOWN.get(api_version, "").split()


def merge(body: dict[str, Any], patch: dict[str, Any], missing: MissingValues | None = None) -> dict[str, Any] | None:
    """Return the patched object, None if the patch deletes it. Raises SourceError for mismatched types.

    Keys of the object whose value is `missing` are dropped, as by kustomize.
    """
    types = _types(str(body.get("apiVersion", "")), str(body.get("kind", ""))) or {}
    merged = _Merge(types, missing or MissingValues()).value(body, copy.deepcopy(patch), ())
    return merged if isinstance(merged, dict) and merged else None


def _shape(value: Any) -> str:
    return "a map" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a scalar"


def _directive(new: dict[str, Any], at: tuple[str, ...]) -> str:
    directive = new.pop(DIRECTIVE, None)
    if directive not in (None, "merge", "replace", "delete"):
        raise SourceError(f"a patch has the unknown directive {DIRECTIVE}: {directive!r} at {'.'.join(at)}")
    return directive or "merge"


def _set(items: list[Any], at: tuple[str, ...]) -> list[Any]:
    """Return texts without duplicates and nulls."""
    for item in items:
        if isinstance(item, (dict, list)):
            raise SourceError(f"{'.'.join(at)}: an element is not a string: {item!r:.60}")
    return [item for item in dict.fromkeys(items) if item is not None]


def _list_directive(new: list[Any]) -> str:
    """Remove an element with only a directive from the list; return the directive."""
    for item in new:
        if isinstance(item, dict) and set(item) == {DIRECTIVE}:
            new.remove(item)
            return str(item[DIRECTIVE])
    return "merge"


class _Merge:
    """The merge of one object, whose types by path have the merge keys of its lists."""

    def __init__(self, types: Types, missing: MissingValues) -> None:
        self._types, self._missing = types, missing

    def value(self, old: Any, new: Any, at: tuple[str, ...]) -> Any:
        if new is None:
            return _GONE
        if old is not None and _shape(old) != _shape(new):
            raise SourceError(
                f"a patch has {_shape(new)} at {'.'.join(at) or 'its root'}, but the object has {_shape(old)}"
            )
        if isinstance(new, dict):
            return self._map(old, new, at)
        if isinstance(new, list):
            keys = self._keys(at)
            return new if keys is None else self._list(old, new, at, keys)
        return new

    def _keys(self, at: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the merge keys of the list at a path, None if it is replaced."""
        if not at:
            return None
        holder = self._types.get(at[:-1])
        return _ELEMENTS[holder].get(at[-1]) if holder is not None else None

    def _map(self, old: dict[str, Any] | None, new: dict[str, Any], at: tuple[str, ...]) -> Any:
        directive = _directive(new, at)
        if directive == "delete":
            return _GONE
        merged = {} if old is None or directive == "replace" else dict(old)
        for key in [*merged, *(key for key in new if key not in merged)]:
            if key in new:
                value = self.value(merged.get(key), new[key], (*at, key))
            elif old is not None and self._missing.has(old, key):
                value = _GONE
            else:
                value = self._untouched(merged[key], (*at, key))
            if value is _GONE:
                merged.pop(key, None)
            else:
                merged[key] = value
        return merged

    def _untouched(self, old: Any, at: tuple[str, ...]) -> Any:
        """Return a value that the patch does not mention; kustomize still orders its keyed lists."""
        if isinstance(old, dict):
            keys = [key for key in old if not self._missing.has(old, key)]
            return {key: self._untouched(old[key], (*at, key)) for key in keys}
        if isinstance(old, list):
            merge_keys = self._keys(at)
            if merge_keys:
                return self._by_keys(old, [], at, merge_keys)
            return old if merge_keys is None else _set(old, at)
        return old

    def _list(self, old: list[Any] | None, new: list[Any], at: tuple[str, ...], keys: tuple[str, ...]) -> Any:
        directive = _list_directive(new)
        if directive == "delete":
            return _GONE
        before: list[Any] = [] if old is None or directive == "replace" else old
        if old is None and len(keys) > 1:
            before = copy.deepcopy(new)  # as in kustomize; this affects the order
        return self._by_keys(before, new, at, keys) if keys else _set([*new, *before], at)

    def _by_keys(self, before: list[Any], new: list[Any], at: tuple[str, ...], keys: tuple[str, ...]) -> list[Any]:
        def merged(old: dict[str, Any] | None, patch: dict[str, Any] | None) -> dict[str, Any] | None:
            element = self._untouched(old, at) if patch is None else self._map(old, patch, at)
            return element if isinstance(element, dict) else None

        try:
            return merge_elements(before, new, keys, merged)
        except SourceError as error:
            raise SourceError(f"{'.'.join(at)}: {error}") from error


Element = dict[str, Any]
Values = tuple[str, ...]
Merge = Callable[[Element | None, Element | None], Element | None]
"""A function that merges an element with the patch's (None if absent); None deletes it."""


def merge_elements(old: list[Any], new: list[Any], keys: Values, merge: Merge) -> list[Any]:
    """Return the merged list. Raises SourceError for elements that are no maps or lack the key."""
    for item in (*new, *old):
        if not isinstance(item, dict):
            raise SourceError(f"an element is not a map with {keys[0]}: {item!r:.60}")
    for item in new:
        if item.get(keys[0]) is None:
            raise SourceError(f"an element of a patch has no {keys[0]}")
    return _Merging(old, new, keys, merge).run()


class _Merging:
    def __init__(self, old: list[Any], new: list[Any], keys: Values, merge: Merge) -> None:
        self._old, self._new, self._keys, self._merge = list(old), list(new), keys, merge
        self._added: list[Any] = []

    def run(self) -> list[Any]:
        values = self._all_values()
        keys = self._keys
        if not values:
            return self._old
        for key_values in values:
            keys, used_values = _used(values, key_values, self._keys)
            self._add(keys, used_values)
        for item in list(self._old):
            self._put_back(item, keys)
        return self._added

    def _all_values(self) -> list[Values]:
        """Return the key values of all elements without duplicates, those of the patch first."""
        items = (*self._new, *self._old)
        texts = list(dict.fromkeys(tuple(_text(item.get(key)) for key in self._keys) for item in items))
        return _filled(texts) if len(self._keys) > 1 else texts

    def _add(self, keys: Values, values: Values) -> None:
        present = [(key, value) for key, value in zip(keys, values, strict=True) if value] or list(
            zip(keys, values, strict=True)
        )
        at = _find(self._old, present)
        patch = _find(self._new, present)
        merged: Any = self._old[at] if at is not None else None
        if merged is not None or patch is not None:
            replaces = patch is not None and self._new[patch].get("$patch") == "replace"
            merged = self._merge(merged, self._new[patch] if patch is not None else None)
            if at is not None and merged and not replaces:
                self._old[at] = merged
        if not merged:
            self._old = _without(self._old, keys, values)
            return
        for key, value in zip(keys, values, strict=True):
            if value and merged.get(key) is None:
                merged[key] = load_exactly(value)
        self._added = _with(self._added, merged, keys, values)

    def _put_back(self, item: Any, keys: Values) -> None:
        """Append an element of the list, or replace the matching one."""
        texts: list[str] = []
        for key in keys:
            if item.get(key) is None:
                self._added.append(item)
            else:
                texts.append(_text(item[key]))
        if len(keys) > 1:
            self._added = _without(self._added, keys, tuple(texts))
        self._added = _with(self._added, item, keys, tuple(texts))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _filled(values: list[Values]) -> list[Values]:
    """Return the values with equivalent ones unified: an omitted key matches any value."""
    for index in range(len(values)):
        for other in range(len(values)):
            joined = _joined(values[index], values[other])
            if joined is not None:
                values[index] = values[other] = joined
    return values


def _joined(values: Values, other: Values) -> Values | None:
    pairs = list(zip(values, other, strict=True))
    if any(left and right and left != right for left, right in pairs):
        return None
    return tuple(left or right for left, right in pairs) if any(left == right for left, right in pairs) else None


def _used(values: list[Values], key_values: Values, keys: Values) -> tuple[Values, Values]:
    """Return the keys that any element has, with their values."""
    used = {key for entry in values for key, value in zip(keys, entry, strict=True) if value}
    if not used:
        return keys, key_values
    pairs = [(key, value) for key, value in zip(keys, key_values, strict=True) if key in used]
    return tuple(key for key, _ in pairs), tuple(value for _, value in pairs)


def _find(items: list[Any], pairs: list[tuple[str, str]]) -> int | None:
    for at, item in enumerate(items):
        if all(item.get(key) is not None and _text(item[key]) == value for key, value in pairs):
            return at
    return None


def _means(item: Any, keys: Values, values: Values) -> bool:
    """Return whether an element matches: it has all keys, with the given values."""
    for key, value in zip(keys, values, strict=False):
        if item.get(key) is None or (value and _text(item[key]) != value):
            return False
    return True


def _without(items: list[Any], keys: Values, values: Values) -> list[Any]:
    if not values:
        return []
    return [item for item in items if item and not (isinstance(item, dict) and _means(item, keys, values))]


def _with(items: list[Any], element: Any, keys: Values, values: Values) -> list[Any]:
    """Return the items with the element in place of matching ones, else at the end."""
    kept = [item for item in items if item] if values else []
    meant = [isinstance(item, dict) and _means(item, keys, values) for item in kept]
    if not any(meant):
        return [*kept, element]
    return [element if here else item for item, here in zip(kept, meant, strict=True)]
