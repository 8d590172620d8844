"""The ModuleReleaseMeta resource: which version of a module each channel has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject, ObjectMeta, identity_flaw, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef


@dataclass(frozen=True, slots=True)
class ReleaseMeta:
    """A ModuleReleaseMeta; `channels` keeps the order and the first entry of a channel that is there twice.

    `mandatory_version` is None where `spec.mandatory` is absent, `selector` None where `spec.kymaSelector` is.
    """

    meta: ObjectMeta
    module: str
    component: str
    channels: Mapping[str, str]
    mandatory_version: str | None
    beta: bool
    internal: bool
    selector: Mapping[str, Any] | None
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]

    @property
    def ref(self) -> ObjectRef:
        """The name of this object."""
        return read_ref(self.raw)

    @property
    def follows_convention(self) -> bool:
        """Whether lifecycle-manager finds it: it asks for the object that is named like the module."""
        return self.meta.name == self.module


def read_release_meta(raw: object) -> ReleaseMeta | MalformedObject:
    """Reads a ModuleReleaseMeta; the module's name falls back to the object's."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := identity_flaw(raw, meta):
        return MalformedObject(read_ref(raw), reason, raw)
    spec = reader.child("spec")
    channels: dict[str, str] = {}
    for entry in spec.children("channels"):
        if channel := entry.text("channel"):
            channels.setdefault(channel, entry.text("version"))
    return ReleaseMeta(
        meta=meta,
        module=spec.text("moduleName") or meta.name,
        component=spec.text("ocmComponentName"),
        channels=channels,
        mandatory_version=spec.child("mandatory").text("version") if spec.has("mandatory") else None,
        beta=spec.flag("beta"),
        internal=spec.flag("internal"),
        selector=spec.mapping("kymaSelector"),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
    )


def schema_violations(meta: ReleaseMeta) -> tuple[Flaw, ...]:
    """What the CustomResourceDefinition refuses: channels and mandatory exclude each other, and one must be there."""
    found = list(meta.flaws)
    if meta.channels and meta.mandatory_version is not None:
        found.append(Flaw("spec", "either channels or mandatory", "both"))
    if not meta.channels and meta.mandatory_version is None:
        found.append(Flaw("spec", "either channels or mandatory", "neither"))
    return tuple(found)
