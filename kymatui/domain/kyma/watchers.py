"""The Watcher resource: what a runtime reports to its control plane. kymatui only reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import (
    LABEL_MANAGED_BY,
    Condition,
    MalformedObject,
    ObjectMeta,
    WithRaw,
    read_conditions,
    read_meta,
    read_ref,
    unusable,
)


class Watcher(WithRaw, Struct, frozen=True):
    """A Watcher; `raw` is the whole object, including fields that are not read here."""

    meta: ObjectMeta
    manager: str
    service: str
    service_namespace: str
    port: int
    labels_to_watch: Mapping[str, str]
    group: str
    version: str
    resource: str
    field: str
    gateway_selector: Mapping[str, Any] | None
    state: str
    conditions: tuple[Condition, ...]
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]

    @property
    def webhook(self) -> str:
        """Return the name of its webhook in the runtime."""
        return f"{self.meta.namespace}.{self.meta.name}.operator.kyma-project.io"


def read_watcher(raw: object) -> Watcher | MalformedObject:
    """Read a Watcher; the manager defaults to the managed-by label."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := unusable(raw, meta.name):
        return MalformedObject(read_ref(raw), reason, raw)
    spec, status = reader.child("spec"), reader.child("status")
    service, watched = spec.child("serviceInfo"), spec.child("resourceToWatch")
    return Watcher(
        meta=meta,
        manager=spec.text("manager") or meta.labels.get(LABEL_MANAGED_BY, ""),
        service=service.text("name"),
        service_namespace=service.text("namespace"),
        port=service.integer("port"),
        labels_to_watch=spec.labels("labelsToWatch"),
        group=watched.text("group"),
        version=watched.text("version"),
        resource=watched.text("resource"),
        field=spec.text("field"),
        gateway_selector=spec.child("gateway").mapping("selector"),
        state=status.text("state"),
        conditions=read_conditions(status),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
    )
