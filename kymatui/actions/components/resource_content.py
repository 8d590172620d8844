"""The content of a component's resources as text, for a screen; nothing of it is used for anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from kymatui.actions.components.component_facts import ShownComponent
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.engine.bundles.tar_archives import is_tar, read_tar, unpack
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.errors import RegistryError
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.json_input import read_json
from kymatui.ocm.module_layers import image_of, local_digest

LARGEST_BLOB: Final = 16 * 1024 * 1024  # bytes of a blob whose files are displayed
LONGEST_TEXT: Final = 1024 * 1024
"""Characters that are displayed."""


def descriptor_text(shown: ShownComponent) -> str:
    """Return the descriptor as it is stored, as YAML."""
    return _cut(dump_yaml(dict(shown.component.document)))


def resource_text(store: ContentStore, shown: ShownComponent, number: int) -> str:
    """Return the files of a blob, the manifest of an image, or the access of another resource, up to a limit.

    `number` is the place of the resource in the descriptor. Raise RegistryError, DescriptorError and SourceError.
    """
    resource = shown.component.descriptor.resources[number]
    name = resource.name
    if digest := local_digest(resource):
        if not shown.repository:
            raise RegistryError(f"the registry of {shown.component.location} is unknown")
        content = store.blob(shown.repository, digest, LARGEST_BLOB)
        return _cut("\n".join(_texts(content, f"{shown.component.location} {name}")))
    image = image_of(resource)
    if not image:
        return _cut(dump_yaml(dict(resource.access or {})))
    parsed = parse_image(image)
    if parsed is None:
        raise RegistryError(f"{name}: {image!r} is not an image reference")
    manifest = store.manifest(f"{parsed.registry}/{parsed.repository}", parsed.digest or parsed.tag or "latest")
    if manifest is None:
        raise RegistryError(f"image {image} does not exist")
    try:
        return _cut(json.dumps(read_json(manifest[0]), indent=2, ensure_ascii=False))
    except ValueError as error:
        raise RegistryError(f"image {image}: the manifest is not JSON") from error


def _texts(content: bytes, where: str) -> Iterator[str]:
    plain = unpack(content, where)
    if not is_tar(plain):
        yield _readable(plain)
        return
    files: Mapping[str, bytes] = read_tar(plain, where)
    for name, body in files.items():
        if len(files) > 1:
            yield f"# {name} ({len(body)} bytes)"
        yield _readable(body)


def _readable(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"# binary, {len(body)} bytes"
    if "\0" in text:
        return f"# binary, {len(body)} bytes"
    return text


def _cut(text: str) -> str:
    rest = len(text) - LONGEST_TEXT
    return text if rest <= 0 else f"{text[:LONGEST_TEXT]}\n# … {rest} more characters; `kymatui bundle pull` writes all"
