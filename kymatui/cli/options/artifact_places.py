"""Places of artifacts on the command line: registries, `layout:DIR` and `tar:FILE`, with a component or image behind.

reg.example/modules//kyma-project.io/module/keda:1.6.0      a component in a registry
layout:./folder//kyma-project.io/module/keda:1.6.0          … in a folder with an image layout
tar:keda.tar//kyma-project.io/module/keda:1.6.0             … in an archive of one
reg.example/keda-manager:1.6.0, tar:keda.tar//keda:1.6.0    images
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from kymatui.cli.options.registry_options import component_location, image_location
from kymatui.errors import UsageError
from kymatui.ocm.component_location import ComponentLocation, NameMapping, check_name
from kymatui.ocm.errors import DescriptorError


class PlaceKind(StrEnum):
    REGISTRY = "registry"
    LAYOUT = "layout"
    ARCHIVE = "tar"


class ArtifactPlace(Struct, frozen=True):
    """A parsed place: `path` is the folder or file; `component` or `image` (repository, tag or digest), or neither."""

    kind: PlaceKind
    text: str
    path: str = ""
    base: str = ""
    component: ComponentLocation | None = None
    image: tuple[str, str] | None = None


def artifact_place(text: str, mapping: str = NameMapping.URL_PATH) -> ArtifactPlace:
    """Return a parsed place. Raises UsageError."""
    for kind in (PlaceKind.LAYOUT, PlaceKind.ARCHIVE):
        if text.startswith(f"{kind}:"):
            return _local(kind, text, mapping)
    plain = text.removeprefix("oci://")
    if "//" in plain:
        return ArtifactPlace(PlaceKind.REGISTRY, text, component=component_location(plain, mapping))
    last = plain.rpartition("/")[2]
    if "/" in plain and (":" in last or "@" in plain):
        return ArtifactPlace(PlaceKind.REGISTRY, text, image=image_location(plain))
    return ArtifactPlace(PlaceKind.REGISTRY, text, base=plain.strip("/"))


def _local(kind: PlaceKind, text: str, mapping: str) -> ArtifactPlace:
    path, _, name = text.removeprefix(f"{kind}:").partition("//")
    if not path:
        raise UsageError(f"{text!r} has no {'file' if kind is PlaceKind.ARCHIVE else 'folder'}")
    if not name:
        return ArtifactPlace(kind, text, path)
    repository, at, digest = name.partition("@")
    known, colon, tag = repository.rpartition(":")
    if at:
        return ArtifactPlace(kind, text, path, image=(repository, digest))
    if not colon:
        raise UsageError(f"{text!r} has no version or tag", hint=f"write {kind}:{path}//{name}:VERSION")
    try:
        check_name(known)
    except DescriptorError:  # no name of a component, so it is an image
        return ArtifactPlace(kind, text, path, image=(known, tag))
    return ArtifactPlace(kind, text, path, component=component_location(name, mapping))


def component_source(text: str) -> tuple[ComponentLocation, str]:
    """Return the component to install, and the folder of its image layout, "" in a registry. Raises UsageError."""
    location = artifact_place(text)
    if location.kind is PlaceKind.ARCHIVE:
        raise UsageError(
            f"{text} is an archive, which cannot be installed",
            hint=f"run `kymatui bundle copy {text} layout:DIR//…`, then install from the layout",
        )
    if location.component is None or not (location.component.base or location.path):
        raise UsageError(
            f"{text!r} is not a component in a registry or layout",
            hint="write HOST[:PORT][/PATH]//COMPONENT:VERSION, or layout:DIR//COMPONENT:VERSION",
        )
    return location.component, location.path
