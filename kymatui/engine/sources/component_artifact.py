"""The artifact of a component version in a registry, as ocm writes it: descriptor layer, config and image manifest.

One image manifest for each version; its config names the layer with the descriptor, a tar; then one layer for each
local blob, which an annotation ties to its resource. All bytes follow from the document and the layers.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.helm.yaml.writing import dump_yaml

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE: Final = "application/vnd.ocm.software.component.config.v1+json"
DESCRIPTOR_TYPE: Final = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
DESCRIPTOR_FILE: Final = "component-descriptor.yaml"
RESOURCE_ANNOTATION: Final = "software.ocm.artifact"
VERSION_ANNOTATION: Final = "software.ocm.componentversion"
CREATOR_ANNOTATION: Final = "software.ocm.creator"
CREATOR: Final = "kymatui"

Json = dict[str, Any]


class ComponentArtifact(Struct, frozen=True):
    """What is pushed for a descriptor besides its local blobs; the manifest goes last."""

    descriptor: bytes
    config: bytes
    manifest: bytes

    @property
    def digest(self) -> str:
        return blob_digest(self.manifest)


def component_artifact(
    document: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], annotations: Mapping[str, str] | None = None
) -> ComponentArtifact:
    """Return the artifact of a descriptor (a v2 or v3alpha1 document).

      layers       the content descriptors of the local blobs, see `resource_layer`
      annotations  of a manifest that is replaced; ours are added

    The media type of the descriptor layer is the same for both schemas.
    """
    text = dump_yaml(document).encode("utf-8", "surrogateescape")
    packed = pack_file(DESCRIPTOR_FILE, text, mode=0, time=DESCRIPTOR_TIME)
    described = content_descriptor(packed, DESCRIPTOR_TYPE)
    config = _compact({"componentDescriptorLayer": described})
    name, version = identity_of(document)
    own = {VERSION_ANNOTATION: f"{name}:{version}"}
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": content_descriptor(config, CONFIG_TYPE),
        "layers": [described, *layers],
        "annotations": dict(sorted({CREATOR_ANNOTATION: CREATOR, **(annotations or {}), **own}.items())),
    }
    return ComponentArtifact(packed, config, _compact(manifest))


def identity_of(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and version of a descriptor's document."""
    component = document.get("component") or document.get("metadata") or {}
    return str(component.get("name", "")), str(component.get("version", ""))


def resource_layer(content: bytes, media_type: str, identities: Iterable[Mapping[str, str]]) -> Json:
    """Return the content descriptor of a local blob; `identities` are those of the resources that use it."""
    marks = [{"kind": "resource", "identity": dict(sorted(identity.items()))} for identity in identities]
    annotations = {RESOURCE_ANNOTATION: _compact(marks).decode()}
    return {**content_descriptor(content, media_type), "annotations": annotations}


def content_descriptor(content: bytes, media_type: str) -> Json:
    return {"mediaType": media_type, "digest": blob_digest(content), "size": len(content)}


def blob_digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


_BLOCK: Final = 512  # bytes of a tar's block: contents are padded to it, and two empty ones end the tar
DESCRIPTOR_TIME: Final = 1_640_995_200
"""2022-01-01, which ocm gives to the descriptor in its tar."""


def pack_file(name: str, content: bytes, *, mode: int = 0o644, time: int = 0) -> bytes:
    """Return a tar with one file; long and non-ASCII names have PAX headers."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), mode, time
    info.type = tarfile.REGTYPE
    header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return header + content + bytes(-len(content) % _BLOCK) + bytes(2 * _BLOCK)
