"""Images of a manifest as resources of a component: those of Deployments and StatefulSets, and of their variables.

modulectl takes every variable with a colon and without blanks for an image. Here URLs, `host:port` and texts that no
registry could have are not images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.stored_components import json_objects
from kymatui.domain.kubernetes.image_references import Image, parse_image
from kymatui.engine.cluster.ports import Object
from kymatui.errors import ConfigurationError
from kymatui.ocm.component_location import check_resource_version
from kymatui.ocm.errors import DescriptorError

KINDS: Final = ("Deployment", "StatefulSet")
MOVING: Final = ("latest", "main")
INJECTED: Final = "auto"
"""What a sidecar injector replaces, as Istio's does in gateways."""

_RESOURCE_NAME: Final = re.compile(r"[a-z0-9]([-_+a-z0-9]*[a-z0-9])?")
_THREE_NUMBERS: Final = re.compile(
    r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_PORT: Final = re.compile(r"[^/@:]+:[0-9]{1,5}")
_SHORTEST, _LONGEST = 3, 256  # characters of a variable's value that may be an image; longer ones are other texts


class ImageProblemError(ConfigurationError):
    """An image cannot be a resource of a component; `image` is its text in the manifest."""

    def __init__(self, image: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.image = image


class ManifestImage(Struct, frozen=True):
    """An image as the manifest writes it, and where: "Deployment sample-manager, container manager"."""

    text: str
    where: str
    image: Image


class ImageResource(Struct, frozen=True):
    """Name and version of an image as a resource of a component."""

    name: str
    version: str
    reference: str


def manifest_images(objects: Iterable[Object]) -> list[ManifestImage]:
    """Return each image once, in the order of the manifest. Raises ImageProblemError for the first bad one."""
    images: dict[str, ManifestImage] = {}
    for image in each_image(objects):
        if isinstance(image, ImageProblemError):
            raise image
        images.setdefault(image.text, image)
    return list(images.values())


def each_image(objects: Iterable[Object]) -> Iterator[ManifestImage | ImageProblemError]:
    """Yield every image and every problem of one."""
    for body in objects:
        if body.get("kind") in KINDS:
            for container in pod_containers(body):
                where = f"{body['kind']} {body['metadata']['name']}, container {container.get('name', '')}"
                yield from _of_container(where, container)


def image_resource(image: ManifestImage) -> ImageResource:
    """Return the name and version that modulectl gives to an image. Raises ImageProblemError if ocm refuses them."""
    parsed = image.image
    if parsed.digest:
        algorithm, _, value = parsed.digest.partition(":")
        version = f"{_tag_version(parsed.tag) if parsed.tag else '0.0.0'}+{algorithm}.{value[:12]}"
        name = f"{parsed.name}-{value[:8]}"
    else:
        version, name = _tag_version(parsed.tag), parsed.name
    if len(name) < 2 or not _RESOURCE_NAME.fullmatch(name):
        raise ImageProblemError(
            image.text,
            f"{image.where}: image {image.text!r} cannot be a resource of a component: the name {name!r} must have "
            "at least 2 characters, only of a-z, 0-9, - and _",
            hint="rename the image, or reference it by digest, which makes its name longer",
        )
    try:
        check_resource_version(version)
    except DescriptorError as error:
        raise ImageProblemError(
            image.text,
            f"{image.where}: image {image.text!r} cannot be a resource of a component: {error}",
            hint="use a semantic version as its tag",
        ) from error
    return ImageResource(name, version, image.text)


def _tag_version(tag: str) -> str:
    if _THREE_NUMBERS.fullmatch(tag):
        return tag
    return f"0.0.0-{re.sub(r'[^a-zA-Z0-9.-]', '-', tag).strip('-.') or 'unknown'}"


def pod_containers(body: Object) -> Iterator[Mapping[str, Any]]:
    """Yield the containers of a workload's pods, then its init containers."""
    spec: Any = body
    for name in ("spec", *(("jobTemplate", "spec") if body["kind"] == "CronJob" else ()), "template", "spec"):
        spec = spec.get(name) if isinstance(spec, dict) else None
    for kind in ("containers", "initContainers") if isinstance(spec, dict) else ():
        yield from json_objects(spec, kind)


def image_text(container: Mapping[str, Any]) -> str:
    """Return the image that the container names, "" without one and where an injector sets it."""
    text = container.get("image")
    return text if isinstance(text, str) and text != INJECTED else ""


def _of_container(where: str, container: Mapping[str, Any]) -> Iterator[ManifestImage | ImageProblemError]:
    if text := image_text(container):
        yield _read(text, where)
    for variable in json_objects(container, "env"):
        value = variable.get("value")
        if isinstance(value, str) and _may_be_image(value):
            yield _read(value, f"{where}, variable {variable.get('name', '')}")


def _read(text: str, where: str) -> ManifestImage | ImageProblemError:
    parsed = parse_image(text) if len(text) <= _LONGEST else None
    if parsed is None:
        return ImageProblemError(text, f"{where}: {text!r} is not an image reference")
    if not parsed.tag and not parsed.digest:
        return ImageProblemError(
            text, f"{where}: image {text!r} has no tag or digest", hint="name its version: image:1.2.3, or its digest"
        )
    if parsed.tag.lower() in MOVING:
        return ImageProblemError(
            text,
            f"{where}: image {text!r} has the tag {parsed.tag}, which is mutable",
            hint="name its version or its digest",
        )
    return ManifestImage(text, where, parsed)


def _may_be_image(value: str) -> bool:
    """Return whether a variable names an image: it parses, has a tag or digest, and is not `host:port`."""
    if not _SHORTEST <= len(value) <= _LONGEST or "://" in value or _PORT.fullmatch(value):
        return False
    parsed = parse_image(value)
    return parsed is not None and bool(parsed.tag or parsed.digest)
