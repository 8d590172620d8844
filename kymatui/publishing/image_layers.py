"""Images with more layers and other metadata: manifest and config as `crane append` and `crane mutate` make them.

What the base has stays: layers, platform, annotations, and fields that nobody knows. The base's subject goes, because
the new image refers to nothing, and entries without a value go, as Go writes them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from kymatui.engine.bundles.tar_archives import is_gzip, unpack_chunks
from kymatui.engine.sources.component_source import CONFIG_TYPE, blob_digest
from kymatui.errors import ConfigurationError, RefusedError
from kymatui.structs import repr_without
from kymatui.tar_entries import has_tar_header

OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
IMAGE_CONFIGS: Final = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
LAYER_TYPES: Final = {
    OCI_MANIFEST: "application/vnd.oci.image.layer.v1.tar+gzip",
    DOCKER_MANIFEST: "application/vnd.docker.image.rootfs.diff.tar.gzip",
}
BASE_DIGEST: Final = "org.opencontainers.image.base.digest"
BASE_NAME: Final = "org.opencontainers.image.base.name"
CREATOR: Final = "kymatui bundle add"

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_HEAD: Final = 512  # a tar's first header
_GZIP: Final = 31  # zlib's window bits for a gzip without name and time
_NO_TIME: Final = "0001-01-01T00:00:00Z"
_OPTIONAL: Final = ("author", "container", "docker_version", "history", "os.version", "variant", "os.features")

Json = dict[str, Any]


Chunks = Callable[[], Iterator[bytes]]
"""Content that is read from its beginning with each call, in pieces: layers are larger than memory."""


class NewLayer(Struct, frozen=True):
    """A layer as it is stored; `diff_id` is the digest of its content without compression."""

    chunks: Chunks
    digest: str
    size: int
    diff_id: str
    media_type: str = ""

    __repr__ = repr_without("chunks")


class ImageMetadata(Struct, frozen=True):
    """What is set in the config and the manifest; empty values leave the base's."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    user: str = ""
    workdir: str = ""


def new_layer(read: Chunks, where: str, media_type: str = "") -> NewLayer:
    """Return a file as a layer: compressed unless it is already. Raises ConfigurationError and SourceError.

    With a media type of its own the file is stored as it is, and need not be a tar.
    """
    head = _head(read())
    if head.startswith(_ZSTD):
        raise ConfigurationError(f"{where} is compressed with zstd", hint="compress it with gzip")
    if is_gzip(head):
        digest, size = _digest(read())
        plain, start = hashlib.sha256(), b""
        for chunk in unpack_chunks(read(), where):
            start = start + chunk if len(start) < _HEAD else start
            plain.update(chunk)
        _require_tar(start, where, media_type)
        return NewLayer(read, digest, size, f"sha256:{plain.hexdigest()}", media_type)
    _require_tar(head, where, media_type)
    diff_id, size = _digest(read())
    if media_type:
        return NewLayer(read, diff_id, size, diff_id, media_type)

    def packed() -> Iterator[bytes]:
        """Compress again with each call, which gives the same bytes and needs no second file."""
        pack = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
        yield from (part for chunk in read() if (part := pack.compress(chunk)))
        yield pack.flush()

    digest, size = _digest(packed())
    return NewLayer(packed, digest, size, diff_id)


def _head(chunks: Iterator[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= _HEAD:
            break
    return head


def _digest(chunks: Iterator[bytes]) -> tuple[str, int]:
    hashed, size = hashlib.sha256(), 0
    for chunk in chunks:
        hashed.update(chunk)
        size += len(chunk)
    return f"sha256:{hashed.hexdigest()}", size


def _require_tar(head: bytes, where: str, media_type: str) -> None:
    if not media_type and not has_tar_header(head):
        raise ConfigurationError(f"{where} is not a tar", hint="pack it with tar, or name its media type: FILE:TYPE")


def extended_image(
    manifest: Mapping[str, Any],
    config: Mapping[str, Any],
    media_type: str,
    layers: Sequence[NewLayer],
    metadata: ImageMetadata,
    base: str,
    annotate: Mapping[str, str] | None = None,
) -> tuple[bytes, bytes]:
    """Return the bytes of the new manifest and config.

      media_type  of the base's manifest, which decides about the layers' types
      base        "host/repository@digest", recorded in the history
      annotate    annotations that name the base

    Raises RefusedError for what is not an image.
    """
    extended, body = copy.deepcopy(dict(manifest)), copy.deepcopy(dict(config))
    described = extended.get("config")
    if not isinstance(described, dict) or described.get("mediaType") not in IMAGE_CONFIGS:
        kind = described.get("mediaType") if isinstance(described, dict) else None
        hint = "build a component with `kymatui bundle create`" if kind == CONFIG_TYPE else ""
        raise RefusedError(f"{base} is not an image: its config is {kind or 'missing'}", hint=hint)
    if body.get("os") == "windows" and any(not layer.media_type for layer in layers):
        raise RefusedError(f"{base} is an image for Windows, whose layers have another format")
    _add_layers(extended, body, media_type, layers, base)
    _set_metadata(body, metadata)
    content = compact_json(_without_empty(body))
    described.update({"digest": blob_digest(content), "size": len(content)})
    if "data" in described:
        described.pop("data")
    annotations = {**(extended.get("annotations") or {}), **(annotate or {}), **metadata.annotations}
    extended.pop("annotations", None)
    extended.pop("subject", None)
    if annotations:
        extended["annotations"] = dict(sorted(annotations.items()))
    return compact_json(extended), content


def _add_layers(manifest: Json, config: Json, media_type: str, layers: Sequence[NewLayer], base: str) -> None:
    stored = list(manifest.get("layers") or [])
    root = config.setdefault("rootfs", {"type": "layers"})
    root["diff_ids"] = [*(root.get("diff_ids") or []), *(layer.diff_id for layer in layers)]
    kind = LAYER_TYPES.get(media_type, LAYER_TYPES[OCI_MANIFEST])
    manifest["layers"] = [
        *stored,
        *({"mediaType": layer.media_type or kind, "size": layer.size, "digest": layer.digest} for layer in layers),
    ]
    if layers:
        history = list(config.get("history") or [])
        # one entry for each layer: with fewer, tools take new entries for those of the base
        missing = len(stored) - sum(not step.get("empty_layer") for step in history)
        history += [{"created": _NO_TIME} for _ in range(missing)]
        entry = {"created": _NO_TIME, "created_by": CREATOR, "comment": f"base {base}"}
        config["history"] = [*history, *(dict(entry) for _ in layers)]


def _set_metadata(body: Json, metadata: ImageMetadata) -> None:
    settings = body.get("config")
    settings = settings if isinstance(settings, dict) else {}
    body["config"] = settings
    if metadata.labels:
        settings["Labels"] = {**(settings.get("Labels") or {}), **metadata.labels}
    if metadata.env:
        settings["Env"] = _environment(settings.get("Env") or [], metadata.env, windows=body.get("os") == "windows")
    if metadata.entrypoint:
        settings["Entrypoint"] = list(metadata.entrypoint)
        settings["Cmd"] = None  # as Docker does: it was the arguments of the former entrypoint
    if metadata.cmd:
        settings["Cmd"] = list(metadata.cmd)
    if metadata.user:
        settings["User"] = metadata.user
    if metadata.workdir:
        settings["WorkingDir"] = metadata.workdir


def _environment(known: Sequence[str], variables: Mapping[str, str], *, windows: bool) -> list[str]:
    """Return the variables: known ones keep their place."""
    remaining = dict(variables)
    entries = []
    for entry in known:
        name = str(entry).partition("=")[0]
        entries.append(f"{name}={remaining.pop(name)}" if name in remaining else str(entry))
    return [*entries, *(f"{name.upper() if windows else name}={value}" for name, value in remaining.items())]


def _without_empty(body: Json) -> Json:
    """Return the config without the empty entries that Go leaves out."""
    filled = {key: value for key, value in body.items() if value or key not in _OPTIONAL}
    filled.setdefault("architecture", "")
    filled.setdefault("os", "")
    filled.setdefault("created", _NO_TIME)
    filled["config"] = {key: value for key, value in filled["config"].items() if value}
    return filled


def compact_json(value: Any) -> bytes:
    """Return JSON without blanks, as registries store it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
