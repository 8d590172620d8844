"""Metadata of any object, and the type for malformed objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader, text_at
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.moments import parse_moment

GARBAGE_COLLECTION = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers of Kubernetes' garbage collector, which it removes once the dependent objects are handled."""
OPERATOR = "operator.kyma-project.io"
LABEL_MODULE_NAME = f"{OPERATOR}/module-name"
LABEL_MANAGED_BY = f"{OPERATOR}/managed-by"
LABEL_BETA = f"{OPERATOR}/beta"
LABEL_INTERNAL = f"{OPERATOR}/internal"
LABEL_SYNC = f"{OPERATOR}/sync"
LABEL_MANDATORY = f"{OPERATOR}/mandatory-module"
LABEL_KYMA_NAME = f"{OPERATOR}/kyma-name"
LABEL_CHANNEL = f"{OPERATOR}/channel"
LABEL_SKIP = f"{OPERATOR}/skip-reconciliation"
ANNOTATION_MODULE_VERSION = f"{OPERATOR}/module-version"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ANNOTATION_UNMANAGED = f"{OPERATOR}/is-unmanaged"
ANNOTATION_STATE_CHECK = f"{OPERATOR}/custom-state-check"


class ObjectMeta(Struct, frozen=True):
    """The metadata of one object; times are in seconds of the Unix clock, None if absent."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...]
    created: float | None
    deleted: float | None
    generation: int
    uid: str
    field_managers: tuple[str, ...]

    @property
    def deleting(self) -> bool:
        """Return whether a deletion was requested and the object still exists."""
        return self.deleted is not None

    def label_is_true(self, label: str) -> bool:
        """Return whether a label is "true" in any case: lifecycle-manager lowers the value before comparing."""
        return self.labels.get(label, "").lower() == "true"


class WithRaw:
    """The base of classes that are read from an object, which `raw` is."""

    __slots__ = ()
    raw: Mapping[str, Any]

    @property
    def ref(self) -> ObjectRef:
        return read_ref(self.raw)


class MalformedObject(Struct, frozen=True):
    """An object that cannot be used, with the reason; the others are not affected."""

    ref: ObjectRef
    reason: str
    raw: object


def parse_time(text: str) -> float | None:
    """Return an RFC 3339 time in seconds of the Unix clock, None if invalid."""
    try:
        parsed = parse_moment(text)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def format_time(seconds: float) -> str:
    """Return a time as Kubernetes writes it: RFC 3339, in UTC, with whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(reader: JsonReader, key: str) -> float | None:
    """Read the time at a key; an invalid time is a flaw."""
    text = reader.text(key)
    if not text:
        return None
    moment = parse_time(text)
    if moment is None:
        reader.flaws.append(Flaw(f"{reader.path}.{key}", "an RFC 3339 time", "another text"))
    return moment


def read_meta(reader: JsonReader) -> ObjectMeta:
    """Read `metadata`."""
    meta = reader.child("metadata")
    return ObjectMeta(
        name=meta.text("name"),
        namespace=meta.text("namespace"),
        labels=meta.labels("labels"),
        annotations=meta.labels("annotations"),
        finalizers=meta.texts("finalizers"),
        created=read_time(meta, "creationTimestamp"),
        # An unreadable time still means that the deletion was requested.
        deleted=(read_time(meta, "deletionTimestamp") or 0.0) if meta.has("deletionTimestamp") else None,
        generation=meta.integer("generation"),
        uid=meta.text("uid"),
        field_managers=tuple(_managers(meta)),
    )


def field_managers(raw: object) -> AbstractSet[str]:
    """Return the field managers of an object, in the order of their entries."""
    return dict.fromkeys(_managers(JsonReader(raw).child("metadata"))).keys()


def last_writes(raw: object) -> Iterator[tuple[str, float | None]]:
    """Yield the field managers of an object, each with the time of a write in seconds of the Unix clock."""
    for entry in JsonReader(raw).child("metadata").children("managedFields"):
        yield entry.text("manager"), parse_time(entry.text("time"))


def last_write(raw: object, manager: str) -> float | None:
    """Return when a manager last changed an object, apart from its subresources; None for never, or unknown."""
    entries = JsonReader(raw).child("metadata").children("managedFields")
    own = (entry for entry in entries if entry.text("manager") == manager and not entry.text("subresource"))
    return max((at for entry in own if (at := parse_time(entry.text("time"))) is not None), default=None)


def _managers(meta: JsonReader) -> Iterator[str]:
    return (entry.text("manager") for entry in meta.children("managedFields"))


def read_kind(raw: object) -> GroupVersionKind:
    """Read `apiVersion` and `kind`; empty strings if absent."""
    reader = JsonReader(raw)
    return GroupVersionKind.of(reader.text("apiVersion"), reader.text("kind"))


def read_ref(raw: object) -> ObjectRef:
    """Read the reference of an object; absent parts are empty."""
    if (
        type(raw) is dict and type(metadata := raw.get("metadata")) is dict
    ):  # a fast path: called about ten times for every object
        api_version, kind = raw.get("apiVersion"), raw.get("kind")
        namespace, name = metadata.get("namespace", ""), metadata.get("name")
        if type(api_version) is type(kind) is type(namespace) is type(name) is str:
            return ObjectRef(GroupVersionKind.of(api_version, kind), namespace, name)
    meta = JsonReader(raw).child("metadata")
    return ObjectRef(read_kind(raw), meta.text("namespace"), meta.text("name"))


def uid_of(raw: Mapping[str, Any]) -> str:
    """Return the uid of an object, "" if absent."""
    return text_at(raw, "metadata", "uid")


def resource_version_of(raw: Mapping[str, Any]) -> str:
    """Return the resource version of an object, "" if absent."""
    return text_at(raw, "metadata", "resourceVersion")


def unusable(raw: object, name: str) -> str:
    """Return why an object of this name is unusable, "" if it is usable."""
    if not isinstance(raw, Mapping):
        return str(Flaw("", "an object", "something else"))
    if not name:
        return "metadata.name is missing"
    spec: Any = raw.get("spec")
    if spec is not None and not isinstance(spec, Mapping):
        return "spec is not an object"
    return ""


LONGEST_MESSAGE: Final = 32_000
"""Characters of a written message: the API accepts 32,768 in a condition, and refuses the whole status beyond."""


class Condition(Struct, frozen=True):
    """One status condition; `since` is in seconds of the Unix clock, None if absent."""

    type: str
    status: str
    reason: str
    message: str
    since: float | None = None


def read_conditions(status: JsonReader) -> tuple[Condition, ...]:
    """Read `status.conditions`."""
    return tuple(
        Condition(
            entry.text("type"),
            entry.text("status"),
            entry.text("reason"),
            entry.text("message"),
            parse_time(entry.text("lastTransitionTime")),
        )
        for entry in status.children("conditions")
    )


def find_condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """Return the first condition of a type, None if there is none."""
    return next((condition for condition in conditions if condition.type == kind), None)
