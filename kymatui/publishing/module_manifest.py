"""The manifest and the default CR of a module: their objects, CRDs, and the scope of the default CR."""

from __future__ import annotations

from collections.abc import Iterable

from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.json_reader import mapping_at, text_at
from kymatui.engine.bundles.yaml_objects import each_object
from kymatui.engine.cluster.ports import Object
from kymatui.publishing.module_config import ConfigManager


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
