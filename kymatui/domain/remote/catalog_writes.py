"""The writes of the catalog sync: the copies as they are applied to a runtime, and those to delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan
from kymatui.domain.remote.runtime_pair import is_synced_copy
from kymatui.domain.snapshot.snapshots import Object

_TEMPLATE_DEFAULTS = {"channel": "", "mandatory": False, "moduleName": "", "requiresDowntime": False, "version": ""}
"""The fields of a template's spec that lifecycle-manager sends even if they are empty."""
_META_DEFAULTS = {"beta": False, "internal": False}


class CatalogWrites(Struct, frozen=True):
    """The bodies to apply to a runtime, and the copies to delete there, in the order of the plan."""

    applied: tuple[Mapping[str, Any], ...]
    deleted: tuple[ObjectRef, ...]


def catalog_writes(plan: SyncPlan) -> CatalogWrites:
    """Return what makes a runtime's catalog the planned one; other clients' objects stay.

    Old-style templates count as not planned: only older lifecycle-managers synced them.
    """
    applied = [*(_meta_copy(one) for one in plan.metas if one.wanted), *_template_copies(plan)]
    names = {(read_ref(body).kind.kind, read_ref(body).name) for body in applied}
    return CatalogWrites(tuple(applied), tuple(_deleted(plan, names)))


def _meta_copy(entry: SyncEntry) -> dict[str, Any]:
    channels = [{"channel": one.channel, "version": one.version} for one in entry.channels if one.is_wanted]
    body = _copy(entry.original or {}, _META_DEFAULTS)
    return {**body, "spec": {**body["spec"], "channels": channels}}


def _template_copies(plan: SyncPlan) -> Iterator[dict[str, Any]]:
    for entry in plan.templates:
        if entry.wanted and not entry.is_old:
            yield _copy(entry.original or {}, _TEMPLATE_DEFAULTS)


def _copy(original: Object, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the copy of an object for a runtime, without what the control plane's server manages."""
    metadata = JsonReader(original).child("metadata")
    annotations = dict(metadata.labels("annotations"))
    body: dict[str, Any] = {
        "apiVersion": original["apiVersion"],
        "kind": original["kind"],
        "metadata": {
            "name": metadata.text("name"),
            "namespace": KYMA_NAMESPACE,
            "labels": {**metadata.labels("labels"), LABEL_MANAGED_BY: "kyma"},
        },
        "spec": {**defaults, **JsonReader(original).child("spec").raw},
    }
    if annotations:
        body["metadata"]["annotations"] = annotations
    return body


def _deleted(plan: SyncPlan, names: set[tuple[str, str]]) -> Iterator[ObjectRef]:
    for entry in plan.entries:
        if entry.copy is None or not is_synced_copy(entry.copy):
            continue
        ref = read_ref(entry.copy)
        if ref.namespace != KYMA_NAMESPACE or (ref.kind.kind, ref.name) not in names:
            yield ref
