"""The objects of a module version: its layers in the registry, else its raw manifest's address; each is asked once.

Who is affected in the cluster when CRDs lose kinds, versions or fields: objects, and clients that wrote them.

The comparison of two versions of a module: templates, what they install, and who is affected in the cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.content_changes import layer_objects
from kymatui.domain.kubernetes.json_reader import JsonReader, mapping_at
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CRD, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.plans.direct_install import RAW_MANIFEST
from kymatui.domain.versions.crd_diff import EVERY, CrdLosses, Path, crd_losses
from kymatui.domain.versions.manifest_diff import DiffSection, Manifest, manifest_sections, object_changes
from kymatui.domain.versions.version_diff import ValueChange, VersionComparison, compare_versions
from kymatui.domain.versions.version_risks import VersionRisk, manifest_risks
from kymatui.engine.bundles.addresses import redact_address
from kymatui.engine.cluster.ports import Blobs, Cluster, Object
from kymatui.engine.sources.component_source import ModuleComponent
from kymatui.engine.sources.oci_layers import definitions, raw_manifest
from kymatui.errors import KymatuiError
from kymatui.ocm import ComponentDescriptor, DescriptorError, read_descriptor

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


MOST_KEPT: Final = 16
"""Versions whose objects stay in memory."""


class VersionContent(Struct, frozen=True):
    """The objects of a version by kind, namespace and name, None if they could not be read.

    `location` is where they were read. `unread` says what could not be read, and why.
    """

    objects: Mapping[str, Object] | None
    default_cr: Mapping[str, Object]
    location: str = ""
    unread: tuple[str, ...] = ()


class VersionReader:
    """Reads versions for comparisons. What was read, and what failed, stays known until `forget`. Methods block."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known: dict[tuple[object, ...], VersionContent] = {}
        self._lock = threading.Lock()
        self._turns: dict[tuple[object, ...], threading.Lock] = {}

    def forget(self) -> None:
        """Ask again for what failed; content that was read stays, because versions do not change."""
        with self._lock:
            self._known = {key: content for key, content in self._known.items() if not content.unread}

    def read(self, template: ModuleTemplate) -> VersionContent:
        """Return the objects of a version; what cannot be fetched or read is named, never raised."""
        key = template_key(template)
        with self._lock:
            lock = self._turns.setdefault(key, threading.Lock())
        with lock:  # the second caller finds what the first one fetched; other versions are read meanwhile
            content = self._known.get(key)
            if content is None:
                content = self._read(template)
                with self._lock:
                    while len(self._known) >= MOST_KEPT:
                        del self._known[next(iter(self._known))]
                    self._known[key] = content
        with self._lock:
            self._turns.pop(key, None)
        return content

    @staticmethod
    def has_source(template: ModuleTemplate) -> bool:
        """Return whether the template names anything that could be fetched."""
        spec = template.raw.get("spec")
        has_descriptor = isinstance(spec, Mapping) and bool(spec.get("descriptor"))
        return has_descriptor or any(link.name == RAW_MANIFEST for link in template.links)

    def _read(self, template: ModuleTemplate) -> VersionContent:
        unread: list[str] = []
        default = _by_kind(dict(template.data)) if template.data else {}
        for source in (self._layers, self._address):
            try:
                content = source(template)
            except KymatuiError as error:
                unread.append(sanitize(f"{template.version}: {error}"))
                continue
            if content is not None:
                return VersionContent(content.objects, default or content.default_cr, content.location)
        if not unread:
            unread.append(f"{template.version}: {template.ref} names neither a registry layer nor a raw manifest")
        return VersionContent(None, default, unread=tuple(unread))

    def _layers(self, template: ModuleTemplate) -> VersionContent | None:
        """Return the content of the descriptor's layers; None if the template has no descriptor with a raw manifest."""
        descriptor = _descriptor(template)
        if descriptor is None:
            return None
        plain = any(str(context.get("baseUrl") or "").startswith("http://") for context in descriptor.contexts)
        component = ModuleComponent(descriptor, self._blobs, insecure=plain)
        layer = component.layers.raw_manifest
        if layer is None:
            return None
        where = f"{layer.repository}@{layer.digest}"
        objects = layer_objects(raw_manifest(component.content(layer), where, archive=layer.is_archive), where)
        if component.layers.definitions is not None:
            where = f"{component.layers.definitions.repository}@{component.layers.definitions.digest}"
            for body in definitions(component.content(component.layers.definitions), where):
                objects.setdefault(f"{body['kind']}/{body['metadata']['name']}", body)
        default = component.default_resource() if not template.data else None
        return VersionContent(objects, _by_kind(default) if default else {}, str(layer.digest))

    def _address(self, template: ModuleTemplate) -> VersionContent | None:
        address = next((link.address for link in template.links if link.name == RAW_MANIFEST), "")
        if not address:
            return None
        objects = layer_objects(self._blobs.url(address), redact_address(address))
        return VersionContent(objects, {}, redact_address(address))


def template_key(template: ModuleTemplate) -> tuple[object, ...]:
    """Return what changes whenever a template may name other content."""
    revision = JsonReader(template.raw).child("metadata").text("resourceVersion")
    return (template.ref, template.meta.uid, revision, template.version, template.links)


def _descriptor(template: ModuleTemplate) -> ComponentDescriptor | None:
    raw = mapping_at(template.raw, "spec").get("descriptor")
    try:
        return read_descriptor(raw) if raw else None
    except DescriptorError as error:
        raise DescriptorError(f"its component descriptor: {error}") from error


def _by_kind(body: Object) -> Mapping[str, Object]:
    """Return one object by its kind: a default CR may get another name in each version."""
    return {str(body.get("kind") or "object"): body}


_LINKS: Final = frozenset({"info", "resources"})


class VersionReport(Struct, frozen=True):
    """The differences by section, in the order of display, and the objects in the cluster that they affect.

    `risks` are what cannot be undone, is refused or grants more. `locations` are where the two manifests were read, ""
    where they were not. `unread` says what could not be read, and why: what depends on it is then missing.
    """

    templates: VersionComparison
    sections: Mapping[DiffSection, tuple[ValueChange, ...]]
    affected: tuple[Affected, ...] = ()
    locations: tuple[str, str] = ("", "")
    unread: tuple[str, ...] = ()
    risks: tuple[VersionRisk, ...] = ()


def compare_templates(before: ModuleTemplate, after: ModuleTemplate) -> VersionReport:
    """Compare two versions by their templates alone; nothing is fetched."""
    comparison = compare_versions(before, after)
    sections: dict[DiffSection, list[ValueChange]] = {}
    for change in comparison.template:
        sections.setdefault(_section(change), []).append(change)
    return VersionReport(comparison, _ordered(sections))


def compare_contents(
    reader: VersionReader, connect: Callable[[], Cluster] | None, before: ModuleTemplate, after: ModuleTemplate
) -> VersionReport:
    """Compare two versions by templates and manifests; ask the cluster who is affected, unless `connect` is None.

    What cannot be read is named in the report, never raised.
    """
    plain = compare_templates(before, after)
    if before.ref == after.ref:
        return plain
    old, new = reader.read(before), reader.read(after)
    unread = [*old.unread, *new.unread]
    sections: dict[DiffSection, list[ValueChange]] = {name: list(section) for name, section in plain.sections.items()}
    if not (before.data and after.data):  # else their templates were compared
        sections[DiffSection.DEFAULT_CR] = list(object_changes(old.default_cr, new.default_cr))
    impact = Impact()
    risks: tuple[VersionRisk, ...] = ()
    if old.objects is not None and new.objects is not None:
        try:
            for name, changes in manifest_sections(old.objects, new.objects).items():
                sections.setdefault(name, []).extend(changes)
            risks = manifest_risks(old.objects, new.objects)
            impact = find_impact(connect(), old.objects, new.objects) if connect is not None else impact
        except KymatuiError as error:
            impact = Impact(unread=(f"affected objects: {error}",))
    return VersionReport(
        plain.templates,
        _ordered(sections),
        impact.affected,
        (old.location, new.location),
        tuple(map(sanitize, dict.fromkeys((*unread, *impact.unread)))),
        risks,
    )


def _section(change: ValueChange) -> DiffSection:
    field = change.path.partition(".")[0].partition("[")[0]
    if field == "data":
        return DiffSection.DEFAULT_CR
    return DiffSection.LINKS if field in _LINKS else DiffSection.TEMPLATE


def _ordered(sections: Mapping[DiffSection, list[ValueChange]]) -> dict[DiffSection, tuple[ValueChange, ...]]:
    return {name: tuple(sections[name]) for name in DiffSection if sections.get(name)}
