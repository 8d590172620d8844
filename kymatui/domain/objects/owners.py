"""The owners of an object: by owner reference, and the Manifest that lifecycle-manager applied it from."""

from __future__ import annotations

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import owning_manifest
from kymatui.domain.snapshot.snapshots import Object

_MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")


class ObjectOwner(Struct, frozen=True):
    """An owner by reference, or the Manifest that lifecycle-manager applied the object from (`is_manifest`)."""

    ref: ObjectRef
    is_controller: bool = False
    is_manifest: bool = False


def find_owners(raw: Object) -> tuple[ObjectOwner, ...]:
    """Return the owners; an owner by reference is in the namespace of the object, or in none."""
    own = read_ref(raw).namespace
    found = []
    for one in JsonReader(raw).child("metadata").children("ownerReferences"):
        kind = GroupVersionKind.of(one.text("apiVersion"), one.text("kind"))
        found.append(ObjectOwner(ObjectRef(kind, own, one.text("name")), is_controller=one.flag("controller")))
    namespace, _, name = owning_manifest(raw).partition("/")
    manifest = [ObjectOwner(ObjectRef(_MANIFEST, namespace, name), is_manifest=True)] if name else []
    return (*found, *manifest)
