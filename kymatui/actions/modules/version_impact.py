"""Who is affected in the cluster when CRDs lose kinds, versions or fields: objects, and clients that wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CRD, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.versions.crd_diff import EVERY, CrdLosses, Path, crd_losses
from kymatui.domain.versions.manifest_diff import Manifest
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.errors import KymatuiError

MOST_KINDS: Final = 20
"""Kinds whose objects are listed for one comparison."""


class VersionEffect(StrEnum):
    """Why objects are affected; the values appear in JSON."""

    KIND_REMOVED = "kindRemoved"
    VERSION_STORED = "versionStored"
    VERSION_WRITTEN = "versionWritten"
    FIELD_REMOVED = "fieldRemoved"


_LABELS: Final = {
    VersionEffect.KIND_REMOVED: "deleted with the CRD",
    VersionEffect.VERSION_STORED: "stored version removed",
    VersionEffect.VERSION_WRITTEN: "use the removed version",
    VersionEffect.FIELD_REMOVED: "set the removed field",
}
_EXAMPLES: Final = 3  # objects that are named; the others are counted


class Affected(Struct, frozen=True):
    """Objects of one kind in this cluster that another version of the module would affect.

    `what` is the version or the field that goes, "" for a removed kind. `managers` are the field managers that write
    the version. VERSION_STORED counts all objects of the kind: the server does not say in which version it stores
    each of them.
    """

    effect: VersionEffect
    crd: str
    what: str
    objects: tuple[ObjectRef, ...]
    managers: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return the effect for people."""
        return _LABELS[self.effect]

    @property
    def message(self) -> str:
        """Return the number of objects, the first of them, and who writes them."""
        names = [f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name for ref in self.objects[:_EXAMPLES]]
        more = f", … {len(self.objects) - _EXAMPLES} more" if len(self.objects) > _EXAMPLES else ""
        by = f"; written by {', '.join(self.managers)}" if self.managers else ""
        return f"{format_count(len(self.objects), 'object')}: {', '.join(names)}{more}{by}"


class Impact(Struct, frozen=True):
    """What is affected; `unread` says what could not be read, and why."""

    affected: tuple[Affected, ...] = ()
    unread: tuple[str, ...] = ()


def find_impact(cluster: Cluster, before: Manifest, after: Manifest) -> Impact:
    """List the objects of kinds that lose something. Never raise what the server answers; read at most some kinds."""
    losses = [lost for lost in _losses(before, after) if lost]
    crd: list[Affected] = []
    unread = [f"{lost.name}: only {MOST_KINDS} kinds are read" for lost in losses[MOST_KINDS:]]
    for loss in losses[:MOST_KINDS]:
        try:
            crd += _of_crd(cluster, loss)
        except KymatuiError as error:
            unread.append(f"{loss.name}: {error}")
    return Impact(tuple(crd), tuple(unread))


def _losses(before: Manifest, after: Manifest) -> Iterator[CrdLosses]:
    for key, body in before.items():
        if body.get("kind") == CRD.kind:
            yield crd_losses(body, after.get(key))


def _of_crd(cluster: Cluster, lost: CrdLosses) -> Iterator[Affected]:
    served = cluster.kinds(lost.group, lost.kind)
    if not served:
        return
    objects = cluster.list(served[0].gvk)
    if not objects:
        return
    refs = tuple(map(read_ref, objects))
    if lost.is_gone:
        yield Affected(VersionEffect.KIND_REMOVED, lost.name, "", refs)
        return
    stored = _stored_versions(cluster, lost.name)
    for version in lost.versions:
        if version in stored:
            yield Affected(VersionEffect.VERSION_STORED, lost.name, version, refs)
    for version in (*lost.versions, *lost.unserved):
        written, managers = _written_in(objects, f"{lost.group}/{version}")
        if written:
            yield Affected(VersionEffect.VERSION_WRITTEN, lost.name, version, written, managers)
    yield from _fields(lost, objects)


def _stored_versions(cluster: Cluster, crd: str) -> frozenset[str]:
    live = cluster.get(ObjectRef(CRD, "", crd))
    stored_versions = JsonReader(live).child("status").raw.get("storedVersions")
    return (
        frozenset(stored_version for stored_version in stored_versions if isinstance(stored_version, str))
        if isinstance(stored_versions, list)
        else frozenset()
    )


def _written_in(objects: Iterable[Object], api_version: str) -> tuple[tuple[ObjectRef, ...], tuple[str, ...]]:
    """Return the objects that somebody wrote in a version, and the field managers that did."""
    refs, managers = [], set()
    for body in objects:
        entries = JsonReader(body).child("metadata").children("managedFields")
        writers = {entry.text("manager") for entry in entries if entry.text("apiVersion") == api_version}
        if writers:
            refs.append(read_ref(body))
            managers |= writers
    return tuple(refs), tuple(sorted(filter(None, managers)))


def _fields(lost: CrdLosses, objects: Iterable[Object]) -> Iterator[Affected]:
    """Yield the objects that set a removed field; a path of several versions counts once."""
    listed = list(objects)
    for path in dict.fromkeys(path for _, path in lost.fields):
        setting = tuple(read_ref(body) for body in listed if _has(body, path))
        if setting:
            yield Affected(VersionEffect.FIELD_REMOVED, lost.name, ".".join(path).replace(f".{EVERY}", EVERY), setting)


def _has(value: Any, path: Path) -> bool:
    if not path:
        return True
    step, rest = path[0], path[1:]
    if step == EVERY:
        items = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else ()
        return any(_has(item, rest) for item in items)
    return isinstance(value, Mapping) and step in value and _has(value[step], rest)
