"""The order of kinds for installation and deletion, and the cleaning of objects before they are sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.managed_fields import finalizer_owners
from kymatui.domain.kubernetes.object_meta import GARBAGE_COLLECTION, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object
from kymatui.errors import ConfigurationError
from kymatui.helm.rendering.manifests import INSTALL_ORDER, UNINSTALL_ORDER

DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE: Final = ("", "Namespace")
SYSTEM_NAMESPACES: Final = frozenset({"kyma-system", "default", "kube-system", "kube-public", "kube-node-lease"})

_GIVEN_BY_SERVER: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)

# Helm's order, split where a part needs an earlier one: tokens need their accounts, bindings their roles, pods
# their configuration, instances and unknown kinds the webhooks that validate them.
_CUTS: Final = ("NetworkPolicy", "Secret", "ClusterRoleBinding", "DaemonSet", "IngressClass")
_FIRST_BAND: Final = 2  # 0 is for CRDs, 1 for namespaces and priority classes

Waves = tuple[tuple[Object, ...], ...]


def _bands() -> dict[str, int]:
    bands: dict[str, int] = {}
    band = _FIRST_BAND
    for kind in INSTALL_ORDER:
        if kind in _CUTS and kind != _CUTS[0]:
            band += 1
        bands[kind] = band
    for late in ("Role", "ClusterRole"):
        bands[late] = bands["Secret"]
    return bands


_BANDS: Final = _bands()
_UNKNOWN_BAND: Final = max(_BANDS.values()) + 1
_OWN_INSTANCES_BAND: Final = _UNKNOWN_BAND + 1
_UNINSTALL_RANKS: Final = {kind: rank for rank, kind in enumerate(UNINSTALL_ORDER)}


def is_definition(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == DEFINITION


def is_namespace(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == NAMESPACE


def is_system_namespace(name: str) -> bool:
    """Return whether a namespace belongs to the cluster or Kyma and must never be deleted."""
    return name in SYSTEM_NAMESPACES or name.startswith("kube-")


def defined_kinds(definitions: Iterable[Object]) -> dict[GroupVersionKind, bool]:
    """Return the kinds that CRDs define, in every served version, and whether they are namespaced."""
    kinds: dict[GroupVersionKind, bool] = {}
    for body in definitions:
        spec = body.get("spec") or {}
        group, kind = str(spec.get("group") or ""), str((spec.get("names") or {}).get("kind") or "")
        for version in spec.get("versions") or ():
            if version.get("served", True):
                gvk = GroupVersionKind(group, str(version.get("name") or ""), kind)
                kinds[gvk] = spec.get("scope") != "Cluster"
    return kinds


def clean(body: Mapping[str, Any], namespaced: bool | None, namespace: str) -> Object:
    """Return an object without status and server-set metadata, and with a namespace if its kind has one.

    `namespaced` is None if unknown; the namespace then stays the same.
    """
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in _GIVEN_BY_SERVER}
    if namespaced is False:
        metadata.pop("namespace", None)
    elif namespaced and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    rest = {name: value for name, value in body.items() if name not in ("metadata", "status")}
    return {**rest, "metadata": metadata}


def require_named(body: Mapping[str, Any], where: str) -> ObjectRef:
    """Return the object's reference. Raises ConfigurationError that names the invalid object of `where`."""
    ref = read_ref(body)
    if not ref.kind.kind or not ref.kind.version:
        raise ConfigurationError(f"{where}: {ref.name or 'an object'} has no apiVersion and kind")
    if not ref.name:
        generated = (body.get("metadata") or {}).get("generateName")
        why = "has a generated name, so each run would create it again" if generated else "has no name"
        raise ConfigurationError(f"{where}: a {ref.kind.kind} {why}", hint="set metadata.name")
    return ref


def install_waves(objects: Sequence[Object]) -> Waves:
    """Return groups of objects to apply in sequence, in parallel within each; groups keep the given order."""
    own = {(gvk.group, gvk.kind) for gvk in defined_kinds(body for body in objects if is_definition(read_ref(body)))}
    waves: dict[int, list[Object]] = {}
    for body in objects:
        waves.setdefault(_band(read_ref(body), own), []).append(body)
    return tuple(tuple(waves[band]) for band in sorted(waves))


def _band(ref: ObjectRef, own: set[tuple[str, str]]) -> int:
    if is_definition(ref):
        return 0
    if is_namespace(ref) or ref.kind.kind == "PriorityClass":
        return 1
    if (ref.kind.group, ref.kind.kind) in own:
        return _OWN_INSTANCES_BAND
    known = not ref.kind.group or ref.kind.group in _HELM_GROUPS or ref.kind.group.endswith(".k8s.io")
    return _BANDS.get(ref.kind.kind, _UNKNOWN_BAND) if known else _UNKNOWN_BAND


_HELM_GROUPS: Final = frozenset({"apps", "autoscaling", "batch", "extensions", "policy"})


def deletion_waves(refs: Iterable[ObjectRef]) -> tuple[tuple[ObjectRef, ...], ...]:
    """Return groups for deletion: instances and unknown kinds, then Helm's order, CRDs, namespaces."""
    waves: dict[int, list[ObjectRef]] = {}
    for ref in refs:
        waves.setdefault(_removal_rank(ref), []).append(ref)
    return tuple(tuple(waves[rank]) for rank in sorted(waves))


def _removal_rank(ref: ObjectRef) -> int:
    last = len(UNINSTALL_ORDER)
    if is_definition(ref):
        return last + 1
    if is_namespace(ref):
        return last + 2
    return _UNINSTALL_RANKS.get(ref.kind.kind, -1)


def unique_objects(objects: Iterable[Object]) -> Iterator[Object]:
    """Yield each object once; two versions of a kind are the same object."""
    keys: set[tuple[str, str, str, str]] = set()
    for body in objects:
        key = read_ref(body).key
        if key not in keys:
            keys.add(key)
            yield body


def deletion_blocker(live: Mapping[str, Any]) -> str:
    """Return what blocks the deletion of an object, to append to its name.

    The garbage collector's own finalizers only wait for dependent objects.
    """
    if not mapping_at(live, "metadata").get("deletionTimestamp"):
        return ", deletion not started"
    owners = {name: owner for name, owner in finalizer_owners(live).items() if name not in GARBAGE_COLLECTION}
    if not owners:
        return ", terminating"
    names = ", ".join(f"{name} (set by {owner})" if owner else name for name, owner in owners.items())
    return f", blocked by {'finalizers' if len(owners) > 1 else 'finalizer'} {names}"
