"""Offer a version of a module in channels: the objects beside its template, or what a person has to add."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.component_template import API_VERSION
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.engine.cluster.ports import Object
from kymatui.errors import ConfigurationError, UsageError
from kymatui.publishing.module_template import to_yaml


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


# The ModuleReleaseMeta of a module, with a version in some of its channels.
#
# A ModuleReleaseMeta lists all channels of a module: applied with some of them, it takes the module from the others. So
# one is written only from the present one, or where the module is in no channel yet.


KIND: Final = "ModuleReleaseMeta"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def first_release_meta(component: str, version: str, channels: Sequence[str]) -> Object:
    """Return the ModuleReleaseMeta of a module that was in no channel."""
    name = module_name(component)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"moduleName": name, "ocmComponentName": component, "channels": channel_entries(version, channels)},
    }


def updated_release_meta(
    objects: Iterable[Object], source: str, component: str, version: str, channels: Sequence[str]
) -> Object:
    """Return the module's ModuleReleaseMeta among `objects`, with the version in `channels`; the rest stays.

    Raise ConfigurationError that names `source` if it has none, or one that cannot get channels.
    """
    name = module_name(component)
    release = copy.deepcopy(_select(objects, source, name))
    spec = release["spec"]
    other = spec.setdefault("ocmComponentName", component)
    if other != component:
        raise ConfigurationError(
            f"{source}: {KIND} {name} is of the component {other}, not of {component}",
            hint="fix name in the module config, or use the ModuleReleaseMeta of this module",
        )
    entries = _entries(spec, f"{source}: {KIND} {name}")
    by_channel = {entry["channel"]: entry for entry in entries}
    for entry in channel_entries(version, channels):
        if entry["channel"] in by_channel:
            by_channel[entry["channel"]].update(entry)
        else:
            entries.append(entry)
    return {"apiVersion": release["apiVersion"], "kind": KIND, "metadata": _metadata(release, name), "spec": spec}


def module_name(component: str) -> str:
    return component.rpartition("/")[2]


def channel_entries(version: str, channels: Sequence[str]) -> list[Object]:
    """Return what `spec.channels` needs for a version to be in channels."""
    return [{"channel": channel, "version": version} for channel in channels]


def _select(objects: Iterable[Object], source: str, name: str) -> Object:
    releases = [
        each for each in objects if each["kind"] == KIND and str(each["apiVersion"]).partition("/")[0] == OPERATOR
    ]
    own = [each for each in releases if _names(each) == name]
    if len(own) != 1:
        others = ", ".join(sorted(map(_names, releases))) or "none"
        count = "several ModuleReleaseMetas" if own else "no ModuleReleaseMeta"
        raise ConfigurationError(f"{source} has {count} of {name} (modules in it: {others})")
    if not isinstance(own[0].get("spec"), dict):
        raise ConfigurationError(f"{source}: {KIND} {name} has no spec")
    return own[0]


def _names(release: Object) -> str:
    """Return the module of a ModuleReleaseMeta: lifecycle-manager finds it by its name, the CLI by `moduleName`."""
    return str(mapping_at(release, "spec").get("moduleName") or release["metadata"].get("name"))


def _entries(spec: Object, where: str) -> list[Any]:
    """Return the entries of `spec.channels`, which may be changed."""
    if spec.get("mandatory"):
        raise ConfigurationError(
            f"{where} is of a mandatory module, which is in no channel", hint="leave --channel out, set spec.mandatory"
        )
    entries: list[Any] = spec.setdefault("channels", [])
    readable = isinstance(entries, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("channel"), str) for entry in entries
    )
    if not readable:
        raise ConfigurationError(f"{where}: spec.channels is not a list of channels with versions")
    return entries


def _metadata(release: Object, name: str) -> Object:
    """Return the metadata that a person writes; what the cluster adds would make the object stale."""
    metadata = release["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _LAST_APPLIED}
    kept = {"namespace": metadata.get("namespace"), "labels": metadata.get("labels"), "annotations": annotations}
    return {"name": metadata.get("name") or name, **{key: value for key, value in kept.items() if value}}
