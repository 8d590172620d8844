"""Resolution of modules to ModuleTemplates, as lifecycle-manager does it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.manifest_installer import YAML_LOADER
from kymatui.sandbox.world.modules.module_announcement import PREFIX, RELEASES, TEMPLATES
from kymatui.sandbox.world.modules.module_packages import BASE, TAR


@dataclass(frozen=True)
class ResolvedTemplate:
    """A template with its version and component."""

    template: Obj
    version: str
    channel: str
    component: str
    descriptor: Mapping[str, Any]


@dataclass(frozen=True)
class UnresolvedTemplate:
    """The reason why a module has no template. With `kept`, the installed version stays."""

    message: str
    state: str = "Error"
    kept: bool = False
    maintenance: bool = False
    withdrawn: bool = False


class Resolver:
    """Finds templates in one cluster and descriptors in the registry."""

    def __init__(self, observer: StoreReader, store: RegistryStore) -> None:
        self._observer = observer
        self._store = store
        self._descriptors: dict[str, Mapping[str, Any]] = {}  # by layer digest

    def resolve(
        self, kyma: Obj, entry: Mapping[str, Any], known: Mapping[str, Any] | None
    ) -> ResolvedTemplate | UnresolvedTemplate:
        """Resolve a module; `entry` is its entry in the spec, `known` its entry in the status."""
        name = entry["name"]
        channel = entry.get("channel") or kyma["spec"].get("channel") or "regular"
        if channel.lower() == "none":
            return UnresolvedTemplate("no channel can be named none")
        namespace = kyma["metadata"]["namespace"]
        meta = self._observer.get(RELEASES, (namespace, name))
        found = (
            self._by_release(meta, kyma, name, channel)
            if meta is not None
            else self._by_channel(namespace, name, channel)
        )
        if isinstance(found, UnresolvedTemplate):
            return found
        return self._guard(kyma, found, known)

    # -- release metas

    def _by_release(self, meta: Obj, kyma: Obj, name: str, channel: str) -> ResolvedTemplate | UnresolvedTemplate:
        version = _version_in(meta["spec"], channel)
        if not version:
            return UnresolvedTemplate(f"no versions found for channel: {channel} in module {name}")
        namespace = kyma["metadata"]["namespace"]
        template = self._observer.get(TEMPLATES, (namespace, f"{name}-{version}"))
        if template is None:
            return UnresolvedTemplate(f"no module template {name}-{version} found for module: {name}")
        if template["spec"].get("mandatory") or not _is_allowed(template, kyma):
            return UnresolvedTemplate(f"module template not allowed for this Kyma: {name}-{version}", withdrawn=True)
        component = meta["spec"].get("ocmComponentName", "")
        descriptor = self.descriptor(component, version)
        if descriptor is None:
            return UnresolvedTemplate(f"the component descriptor of {component}:{version} cannot be fetched")
        return ResolvedTemplate(template, version, channel, component, descriptor)

    def descriptor(self, component: str, version: str) -> Mapping[str, Any] | None:
        """Return the component descriptor of a version from the registry."""
        repository = f"{BASE}/component-descriptors/{component}"
        try:
            manifest = self._store.manifest(repository, version)
            config = json.loads(self._store.blob(repository, manifest.document["config"]["digest"]))
            layer = config["componentDescriptorLayer"]["digest"]
            if layer not in self._descriptors:
                self._descriptors[layer] = _unpacked(self._store.blob(repository, layer))
        except RegistryRefusal:
            return None
        return self._descriptors[layer]

    # -- templates per channel

    def _by_channel(self, namespace: str, name: str, channel: str) -> ResolvedTemplate | UnresolvedTemplate:
        found = [
            t
            for t in self._observer.all(TEMPLATES, namespace)
            if t["spec"].get("channel") == channel and _stands_for(t, name)
        ]
        if not found:
            return UnresolvedTemplate(f"no templates were found: in channel {channel} for module {name}")
        if len(found) > 1:
            names = ", ".join(t["metadata"]["name"] for t in found)
            return UnresolvedTemplate(f"more than one module template found for module: {name}, candidates: {names}")
        template = found[0]
        if template["spec"].get("mandatory"):
            return UnresolvedTemplate(f"template marked as mandatory: {template['metadata']['name']}")
        descriptor = template["spec"]["descriptor"]
        component = descriptor.get("component") or {}
        version = component.get("version") or (template["metadata"].get("annotations") or {}).get(
            f"{PREFIX}/module-version", ""
        )
        return ResolvedTemplate(template, version, channel, component.get("name", ""), descriptor)

    # -- guards

    @staticmethod
    def _guard(
        kyma: Obj, found: ResolvedTemplate, known: Mapping[str, Any] | None
    ) -> ResolvedTemplate | UnresolvedTemplate:
        """Refuse a downgrade, and an upgrade outside a required maintenance window."""
        before = (known or {}).get("version", "")
        if not before or not (known or {}).get("template"):
            return found
        old, new = _numbers(before), _numbers(found.version)
        if old is None or new is None:
            return UnresolvedTemplate(f"module {found.component} contains invalid version", "Warning", kept=True)
        if new < old:
            skew = f"ignore channel skew (from {(known or {}).get('channel', '')} to {found.channel})"
            why = f"as a higher version ({before}) of the module was previously installed"
            return UnresolvedTemplate(f"module template update not allowed: {skew}, {why}", "Warning", kept=True)
        downtime = found.template["spec"].get("requiresDowntime")
        if downtime and before != found.version and not kyma["spec"].get("skipMaintenanceWindows"):
            return UnresolvedTemplate(
                "waiting for next maintenance window to update module version", "", True, maintenance=True
            )
        return found


def _unpacked(content: bytes) -> Mapping[str, Any]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile("component-descriptor.yaml")
        text = member.read() if member else b"{}"
    found: Mapping[str, Any] = yaml.load(text, Loader=YAML_LOADER)  # noqa: S506 - the safe loader, in C where it is
    return found


def raw_manifest(descriptor: Mapping[str, Any]) -> tuple[str, str]:
    """Return (digest, media type) of the manifest's layer, empty if there is none."""
    for resource in (descriptor.get("component") or {}).get("resources") or []:
        access = resource.get("access") or {}
        if resource.get("name") == "raw-manifest":
            return str(access.get("localReference", "")), str(access.get("mediaType", ""))
    return "", ""


def is_archive(media_type: str) -> bool:
    return media_type == TAR


def _version_in(spec: Mapping[str, Any], channel: str) -> str:
    if spec.get("mandatory"):
        return str(spec["mandatory"]["version"])
    return next((str(c["version"]) for c in spec.get("channels") or [] if c["channel"] == channel), "")


def _is_allowed(template: Obj, kyma: Obj) -> bool:
    labels = template["metadata"].get("labels") or {}
    own = kyma["metadata"].get("labels") or {}
    return all(
        str(own.get(f"{PREFIX}/{name}", "")).lower() == "true"
        for name in ("beta", "internal")
        if str(labels.get(f"{PREFIX}/{name}", "")).lower() == "true"
    )


def _stands_for(template: Obj, name: str) -> bool:
    metadata = template["metadata"]
    component = ((template["spec"].get("descriptor") or {}).get("component") or {}).get("name", "")
    return name in (
        (metadata.get("labels") or {}).get(f"{PREFIX}/module-name"),
        f"{metadata.get('namespace', '')}/{metadata['name']}",
        metadata["name"],
        component,
    )


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.partition("-")[0].partition("+")[0].split(".")
    return tuple(int(p) for p in parts) if len(parts) == 3 and all(p.isdigit() for p in parts) else None
