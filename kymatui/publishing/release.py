"""Offer a version of a module in channels: the objects beside its template, or what a person has to add."""

from __future__ import annotations

from msgspec import Struct

from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.engine.cluster.ports import Object
from kymatui.errors import UsageError
from kymatui.publishing.module_template import to_yaml
from kymatui.publishing.release_meta import (
    KIND,
    channel_entries,
    first_release_meta,
    module_name,
    updated_release_meta,
)


class ReleaseRequest(Struct, frozen=True):
    """The channels to offer a version in.

    meta    text with the present ModuleReleaseMeta, None if it is unknown; `source` names it in errors
    first   the module is in no channel yet
    legacy  channels have a template each, of the older generation
    """

    channels: tuple[str, ...] = ()
    meta: bytes | None = None
    source: str = ""
    first: bool = False
    legacy: bool = False

    def check(self) -> None:
        """Raise UsageError for options that exclude each other."""
        if self.legacy and not self.channels:
            raise UsageError("--legacy needs a channel", hint="a legacy ModuleTemplate belongs to one channel")
        option = "--first-release" if self.first else "--release-meta"
        if (self.first or self.meta is not None) and (self.legacy or not self.channels):
            why = "--legacy writes no ModuleReleaseMeta" if self.legacy else "name the channel"
            raise UsageError(f"{option} needs --channel without --legacy", hint=why)
        if self.first and self.meta is not None:
            raise UsageError("--first-release and --release-meta exclude each other", hint="use one of them")

    @property
    def is_incomplete(self) -> bool:
        """Return whether the other channels of the module are unknown, so that no ModuleReleaseMeta is written."""
        return bool(self.channels) and not (self.legacy or self.first or self.meta is not None)


def release_objects(request: ReleaseRequest, component: str, version: str) -> list[Object]:
    """Return the module's ModuleReleaseMeta with the version in the channels; nothing if other channels are unknown.

    Raise ConfigurationError.
    """
    if request.legacy or not request.channels:
        return []
    if request.first:
        return [first_release_meta(component, version, request.channels)]
    if request.meta is None:
        return []
    objects = each_object(request.meta, request.source)
    return [updated_release_meta(objects, request.source, component, version, request.channels)]


def release_advice(request: ReleaseRequest, component: str, version: str) -> str:
    """Return what a person has to add to the present ModuleReleaseMeta; "" if nothing."""
    if not request.is_incomplete:
        return ""
    name = module_name(component)
    entries = to_yaml([{"channels": channel_entries(version, request.channels)}]).rstrip("\n")
    return (
        f"no {KIND} is written, because the other channels of {name} are unknown. Add to spec of {KIND} {name}:\n"
        f"{entries}\n"
        f"or use --release-meta FILE with the present {KIND} (- is standard input, such as `kubectl get {KIND.lower()} "
        f"{name} -n kcp-system -o yaml`), or --first-release for a module that is in no channel yet"
    )
