"""What is known of one object: the object, its references and events."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from kymatui.domain.catalog.module_events import Event
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import FieldWriter, field_writers
from kymatui.domain.kubernetes.object_meta import Condition, ObjectMeta, WithRaw, read_conditions, read_meta, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.objects.references import ResolvedReference
from kymatui.domain.ownership import owning_manifest
from kymatui.domain.snapshot.snapshots import Object

_NEGATIVE = ("Pressure", "Failure", "Failed", "Suspended", "NetworkUnavailable", "Degraded", "Stalled")


class Description(WithRaw, Struct, frozen=True):
    """An object with what was read about it; `events_unknown` says why events are missing, "" if they are listed."""

    raw: Object
    references: tuple[ResolvedReference, ...] = ()
    events: Sequence[Event] = ()
    events_unknown: str = ""
    left_out: int = field(default=0)
    """References that were not checked because there are too many."""

    @property
    def meta(self) -> ObjectMeta:
        return read_meta(JsonReader(self.raw))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return read_conditions(JsonReader(self.raw).child("status"))

    @property
    def writers(self) -> tuple[FieldWriter, ...]:
        return field_writers(self.raw)


def is_bad(condition: Condition) -> bool:
    """Return whether a condition reports a problem: most say True when all is well, some the opposite."""
    expected = "False" if condition.type.endswith(_NEGATIVE) else "True"
    return condition.status not in (expected, "")


# The owners of an object: by owner reference, and the Manifest that lifecycle-manager applied it from.


_MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")


class ObjectOwner(Struct, frozen=True):
    """An owner by reference, or the Manifest that lifecycle-manager applied the object from (`is_manifest`)."""

    ref: ObjectRef
    is_controller: bool = False
    is_manifest: bool = False


def find_owners(raw: Object) -> tuple[ObjectOwner, ...]:
    """Return the owners; an owner by reference is in the namespace of the object, or in none."""
    own = read_ref(raw).namespace
    owners = []
    for reference in JsonReader(raw).child("metadata").children("ownerReferences"):
        kind = GroupVersionKind.of(reference.text("apiVersion"), reference.text("kind"))
        owners.append(
            ObjectOwner(ObjectRef(kind, own, reference.text("name")), is_controller=reference.flag("controller"))
        )
    namespace, _, name = owning_manifest(raw).partition("/")
    manifest = [ObjectOwner(ObjectRef(_MANIFEST, namespace, name), is_manifest=True)] if name else []
    return (*owners, *manifest)
