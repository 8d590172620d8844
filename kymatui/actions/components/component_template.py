"""The ModuleTemplate of a component version: the one that it carries, else one from its descriptor."""

from __future__ import annotations

from typing import Any, Final

from kymatui.actions.components.stored_components import StoredComponent
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.bundles.yaml_objects import read_objects
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.engine.sources.oci_layers import raw_manifest
from kymatui.errors import RegistryError, SourceError
from kymatui.ocm import check_content
from kymatui.ocm.module_layers import TAR_TYPES, access_kind

API_VERSION: Final = f"{OPERATOR}/v1beta2"
MODULE_NAME: Final = f"{OPERATOR}/module-name"
BETA: Final = f"{OPERATOR}/beta"
INTERNAL: Final = f"{OPERATOR}/internal"
CLUSTER_SCOPED: Final = f"{OPERATOR}/is-cluster-scoped"
REQUIRES_DOWNTIME: Final = f"{OPERATOR}/requiresDowntime"
# Names of resources in a component.
DEFAULT_CR: Final = "default-cr"
MODULE_TEMPLATE: Final = "moduletemplate"
LARGEST_TEMPLATE: Final = 4 * 1024 * 1024  # bytes of a local blob that has a template or a default CR


def module_template(store: ContentStore, component: StoredComponent, *, signed: bool = False) -> Object:
    """Return the ModuleTemplate of a component: the one that it carries, else one from its descriptor.

    With `signed`, every resource that is read needs a digest in the descriptor, whose signature the caller verified.
    Raise RegistryError, SignatureError and SourceError.
    """
    return _carried(store, component, signed=signed) or _derived(store, component, signed=signed)


def _carried(store: ContentStore, component: StoredComponent, *, signed: bool) -> Object | None:
    """Return the template among the resources, None in components of older tools."""
    content = _content(store, component, MODULE_TEMPLATE, signed=signed)
    if content is None:
        return None
    where = f"{component.location}: resource {MODULE_TEMPLATE}"
    objects = [body for body in read_objects(content, where) if body["kind"] == "ModuleTemplate"]
    if len(objects) != 1 or not isinstance(objects[0].get("spec"), dict):
        raise RegistryError(f"{where} is not a ModuleTemplate")
    return objects[0]


def _derived(store: ContentStore, component: StoredComponent, *, signed: bool) -> Object:
    """Return a template with what a descriptor knows: names, flags, sources and default CR."""
    descriptor = component.descriptor
    name = descriptor.name.rpartition("/")[2]
    content = _content(store, component, DEFAULT_CR, signed=signed)
    custom_resource = read_default_cr(content, str(component.location)) if content is not None else None
    sources = [source.access.get("repoUrl") for source in descriptor.sources if source.access]
    labels = {label: "true" for label in (BETA, INTERNAL) if descriptor.label(label) == "true"}
    scoped = "true" if descriptor.label(CLUSTER_SCOPED) == "true" else "false"
    spec: dict[str, Any] = {
        "moduleName": name,
        "version": descriptor.version,
        "requiresDowntime": descriptor.label(REQUIRES_DOWNTIME) == "true",
        **({"info": {"repository": sources[0], "documentation": sources[0]}} if sources and sources[0] else {}),
        **({"data": custom_resource} if custom_resource else {}),
        "descriptor": {},
    }
    metadata = {
        "name": f"{name}-{descriptor.version}",
        "labels": {MODULE_NAME: name, **labels},
        "annotations": {CLUSTER_SCOPED: scoped},
    }
    return {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def _content(store: ContentStore, component: StoredComponent, name: str, *, signed: bool) -> bytes | None:
    """Return the text of a local blob, checked against the digest in the descriptor; None without such a resource."""
    resource = component.descriptor.resource(name)
    if resource is None or access_kind(resource.access) != "localBlob":
        return None
    digest, media_type = (text_at(resource.access or {}, field) for field in ("localReference", "mediaType"))
    content = store.blob(component.location.repository, digest, LARGEST_TEMPLATE)
    if signed or (resource.digest is not None and not resource.digest.is_excluded):
        check_content(resource, content)
    return raw_manifest(content, f"{component.location}: resource {name}", archive=media_type.endswith(TAR_TYPES))


def read_default_cr(content: bytes, file: str) -> Object:
    """Return the only object of a default CR's file. Raises SourceError."""
    objects = read_objects(content, f"default CR {file}")
    if len(objects) != 1:
        raise SourceError(
            f"default CR {file} has {format_count(len(objects), 'object')}; expected one",
            hint="a module has one default CR; other objects belong to the manifest",
        )
    return objects[0]
