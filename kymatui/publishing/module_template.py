"""The ModuleTemplate of a module, of both generations, and the manifest and default CR that it installs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kymatui.actions.components.component_template import API_VERSION, BETA, CLUSTER_SCOPED, INTERNAL, MODULE_NAME
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.json_reader import mapping_at, text_at
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.engine.cluster.ports import Object
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.publishing.module_config import ConfigManager, ModuleConfig, is_address

MODULE_VERSION: Final = f"{OPERATOR}/module-version"
RAW_MANIFEST_LINK: Final = "rawManifest"


def module_template(config: ModuleConfig, default_cr: Object | None, *, cluster_scoped: bool) -> Object:
    """Return the ModuleTemplate `<module>-<version>`; its component is found by name and version."""
    labels = {**config.labels, **_flags(config), MODULE_NAME: config.short_name}
    annotations = {**config.annotations, CLUSTER_SCOPED: ("true" if cluster_scoped else "false")}
    linked = {RAW_MANIFEST_LINK: config.manifest} if is_address(config.manifest) else {}
    spec = {
        "moduleName": config.short_name,
        "version": config.version,
        "requiresDowntime": config.requires_downtime,
        "info": {"repository": config.repository, "documentation": config.documentation, "icons": _links(config.icons)},
        **_optional("associatedResources", [_type(kind) for kind in config.associated_resources]),
        **_optional("data", default_cr),
        **_optional("manager", _manager(config.manager)),
        "descriptor": {},
        **_optional("resources", _links({**linked, **config.resources})),
    }
    return _template(f"{config.short_name}-{config.version}", labels, annotations, spec)


def legacy_template(
    template: Object, descriptor: Mapping[str, Any], channel: str, extra: Mapping[str, Any] | None = None
) -> Object:
    """Return the template of the older generation `<module>-<channel>`, which holds the whole descriptor.

    `template` is the one of the current generation; `extra` are fields that it does not have.
    """
    spec, metadata = template["spec"], template["metadata"]
    name = spec.get("moduleName") or metadata["labels"][MODULE_NAME]
    kept = {key: value for key, value in {"data": spec.get("data"), **(extra or {})}.items() if value}
    annotations = {**(metadata.get("annotations") or {}), MODULE_VERSION: str(spec.get("version", ""))}
    return _template(
        f"{name}-{channel}",
        metadata.get("labels") or {},
        annotations,
        {"channel": channel, **kept, "descriptor": dict(descriptor)},
    )


def to_yaml(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return a YAML document for each object, keys sorted."""
    return "---\n".join(dump_yaml(body) for body in objects)


def _template(name: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: Object) -> Object:
    metadata = {
        "name": name,
        **_optional("labels", dict(sorted(labels.items()))),
        **_optional("annotations", dict(sorted(annotations.items()))),
    }
    return {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def _flags(config: ModuleConfig) -> dict[str, str]:
    return {label: "true" for label, is_set in ((BETA, config.beta), (INTERNAL, config.internal)) if is_set}


def _links(links: Mapping[str, str]) -> list[Object]:
    return [{"name": name, "link": links[name]} for name in sorted(links)]


def _type(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _manager(manager: ConfigManager | None) -> Object | None:
    if manager is None:
        return None
    return {**_type(manager.type), "name": manager.name, **_optional("namespace", manager.namespace)}


def _optional(name: str, value: Any) -> Object:
    return {name: value} if value else {}


def read_manifest(content: bytes, file: str) -> list[Object]:
    """Return the objects of a manifest, also those that appear twice. Raises SourceError."""
    return list(each_object(content, f"manifest {file}"))


def crd_of(objects: Iterable[Object], custom_resource: Object) -> Object | None:
    """Return the CRD of a custom resource by group and kind, None if the manifest has none."""
    group, kind = str(custom_resource["apiVersion"]).rpartition("/")[0], custom_resource["kind"]
    for body in objects:
        group_kind = (text_at(mapping_at(body, "spec"), "group"), text_at(mapping_at(body, "spec", "names"), "kind"))
        if body["kind"] == "CustomResourceDefinition" and group_kind == (group, kind):
            return body
    return None


def is_cluster_scoped(crd: Object | None) -> bool:
    return crd is not None and text_at(mapping_at(crd, "spec"), "scope") == "Cluster"


def manager_images(objects: Iterable[Object], manager: ConfigManager) -> list[str] | None:
    """Return the images of the manager's containers, None if the manifest has no such Deployment or StatefulSet."""
    images: list[str] | None = None
    for body in objects:
        if (body["kind"], body["metadata"]["name"]) != (manager.type.kind, manager.name):
            continue
        if body["kind"] in ("Deployment", "StatefulSet"):
            containers = mapping_at(body, "spec", "template", "spec").get("containers")
            listed = containers if isinstance(containers, list) else []
            images = [
                *(images or ()),
                *(str(container.get("image", "")) for container in listed if isinstance(container, dict)),
            ]
    return images


def runs_version(images: Iterable[str], version: str) -> bool:
    """Return whether an image has the version as its tag."""
    return any(parsed is not None and parsed.tag == version for parsed in map(parse_image, images))
