"""What differs between the contents of two component versions: objects of manifests and templates, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.versions.manifest_diff import object_changes
from kymatui.domain.versions.version_diff import ValueChange
from kymatui.engine.bundles.yaml_objects import document_key, each_object
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.oci_layers import raw_manifest
from kymatui.errors import KymatuiError, SourceError
from kymatui.ocm.component_location import ComponentLocation

LARGEST_CONTENT: Final = 32 * 1024 * 1024  # bytes of a layer that is parsed and compared
MOST_SHOWN: Final = 20  # differences that are displayed; the others are counted


def changed_contents(
    store: ArtifactStore,
    location: ComponentLocation,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    blobs: Mapping[str, bytes],
) -> list[str]:
    """Return lines for the local blobs that differ and are YAML; others differ by their digest only.

    `blobs` are the new contents by digest; the old ones are in the store.
    """
    old, new = _digests(before), _digests(after)
    lines = []
    for name in sorted(old.keys() & new.keys()):
        if old[name] == new[name] or new[name] not in blobs:
            continue
        try:
            stored = layer_objects(store.blob(location.repository, old[name], LARGEST_CONTENT))
            lines += shown_changes(list(object_changes(stored, layer_objects(blobs[new[name]]), name)))
        except KymatuiError:  # the digests differ, which is reported anyway
            continue
    return lines


def shown_changes(changes: Sequence[ValueChange]) -> list[str]:
    """Return an indented line for each of the first changes."""
    shown = changes[:MOST_SHOWN]
    lines = [
        sanitize(f"  {change.path[:200]}: {shown_value(change.before)} → {shown_value(change.after)}")
        for change in shown
    ]
    rest = len(changes) - MOST_SHOWN
    return [*lines, f"  … and {format_count(rest, 'more difference')}"] if rest > 0 else lines


def _digests(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of local blobs by resource; both schemas have them in a list of resources."""
    digests = {}
    for layer in objects_at(document, "component" if document.get("component") else "spec", "resources"):
        digest = mapping_at(layer, "access").get("localReference")
        if isinstance(digest, str):
            digests[str(layer.get("name"))] = digest
    return digests


def layer_objects(content: bytes, where: str = "the layer") -> dict[str, Object]:
    """Return the objects of a layer by kind, namespace and name. Raise SourceError that names `where`."""
    objects: dict[str, Object] = {}
    for body in each_object(raw_manifest(content, where), where):
        namespace, name, _, _, kind = document_key(body)
        objects.setdefault("/".join(part for part in (kind, namespace, name) if part), body)
    if not objects:
        raise SourceError(f"{where} has no objects")
    return objects


def shown_value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str) if value is not None else "absent"
    return text if len(text) <= 100 else f"{text[:100]}…"
