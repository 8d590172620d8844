"""What a module still manages: the objects that must be gone before its manager may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.snapshot.cluster_index import object_identity
from kymatui.domain.snapshot.snapshots import Object


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """One object that is left; `waits_for` are its finalizers where it is being deleted already."""

    ref: ObjectRef
    created: float | None
    deleting: bool
    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManagedKind:
    """The objects of one kind, None where they may not be listed: then nobody knows whether there are any."""

    group: str
    kind: str
    objects: tuple[ManagedResource, ...] | None

    @property
    def clear(self) -> bool:
        """Whether it is certain that nothing is left."""
        return self.objects == ()


def associated_kinds(template: ModuleTemplate) -> tuple[GroupVersionKind, ...]:
    """The kinds that a module declares, and the kind of its own resource; never the Kyma itself."""
    own = template.resource_kind
    kinds = (*template.associated, *((own,) if own is not None else ()))
    return tuple(dict.fromkeys(kind for kind in kinds if kind.kind and kind.kind != "Kyma"))


def managed_resources(
    kinds: Sequence[GroupVersionKind], listed: Mapping[GroupVersionKind, Sequence[Object] | None]
) -> tuple[ManagedKind, ...]:
    """Counts what is left of each kind, over all its versions, each object once.

    `listed` has the objects by kind and version; None where they may not be listed; no entry where the cluster does not
    serve the version, which means that there are none of it.
    """
    groups = dict.fromkeys((kind.group, kind.kind) for kind in kinds)
    return tuple(_kind(group, kind, kinds, listed) for group, kind in groups)


def _kind(
    group: str, kind: str, kinds: Sequence[GroupVersionKind], listed: Mapping[GroupVersionKind, Sequence[Object] | None]
) -> ManagedKind:
    found: dict[object, ManagedResource] = {}
    for version in (entry for entry in listed if (entry.group, entry.kind) == (group, kind)):
        objects = listed[version]
        if objects is None:
            return ManagedKind(group, kind, None)
        for raw in objects:
            found.setdefault(object_identity(raw), _remaining(raw))
    return ManagedKind(group, kind, tuple(found.values()))


def _remaining(raw: Object) -> ManagedResource:
    meta = read_meta(JsonReader(raw))
    return ManagedResource(read_ref(raw), meta.created, meta.deleting, meta.finalizers if meta.deleting else ())


def blocking_resources(resources: Sequence[Object], default: ObjectRef | None, policy: str) -> tuple[ObjectRef, ...]:
    """The module's resources for whose deletion lifecycle-manager waits; its own default one it deletes itself.

    With policy Ignore the default one counts as the user's.
    """
    own = default if policy != Policy.IGNORE else None
    return tuple(ref for ref in map(read_ref, resources) if own is None or not _same(ref, own))


def _same(ref: ObjectRef, default: ObjectRef) -> bool:
    """Versions do not matter, nor does a namespace that a cluster-scoped kind does not have."""
    return (ref.kind.group, ref.kind.kind, ref.name) == (default.kind.group, default.kind.kind, default.name) and (
        ref.namespace in ("", default.namespace)
    )
