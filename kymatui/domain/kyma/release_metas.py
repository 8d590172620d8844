"""The ModuleReleaseMeta resource: the version of a module in each channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import (
    MalformedObject,
    ObjectMeta,
    WithRaw,
    identity_flaw,
    read_meta,
    read_ref,
)


class ReleaseMeta(WithRaw, Struct, frozen=True):
    """A ModuleReleaseMeta.

    `channels` keeps the order, and the first entry of a duplicate channel. `mandatory_version` is None without
    `spec.mandatory`, `selector` None without `spec.kymaSelector`.
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
    def follows_convention(self) -> bool:
        """Return whether lifecycle-manager finds it, which requires the module's name as object name."""
        return self.meta.name == self.module


def read_release_meta(raw: object) -> ReleaseMeta | MalformedObject:
    """Read a ModuleReleaseMeta; the module's name defaults to the object's name."""
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


def release_meta_violations(meta: ReleaseMeta) -> tuple[Flaw, ...]:
    """Return what the CRD would reject; it requires either channels or mandatory, not both."""
    flaws = list(meta.flaws)
    if meta.channels and meta.mandatory_version is not None:
        flaws.append(Flaw("spec", "either channels or mandatory", "both"))
    if not meta.channels and meta.mandatory_version is None:
        flaws.append(Flaw("spec", "either channels or mandatory", "neither"))
    return tuple(flaws)
