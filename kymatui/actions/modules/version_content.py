"""The objects of a module version: its layers in the registry, else its raw manifest's address; each is asked once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kymatui.actions.components.content_changes import layer_objects
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.plans.direct_install import RAW_MANIFEST
from kymatui.engine.bundles.addresses import redact_address
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.engine.sources.component_source import ModuleComponent
from kymatui.engine.sources.oci_layers import definitions, raw_manifest
from kymatui.errors import KymatuiError
from kymatui.ocm import ComponentDescriptor, DescriptorError, read_descriptor

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
    spec = template.raw.get("spec")
    raw = spec.get("descriptor") if isinstance(spec, Mapping) else None
    try:
        return read_descriptor(raw) if raw else None
    except DescriptorError as error:
        raise DescriptorError(f"its component descriptor: {error}") from error


def _by_kind(body: Object) -> Mapping[str, Object]:
    """Return one object by its kind: a default CR may get another name in each version."""
    return {str(body.get("kind") or "object"): body}
