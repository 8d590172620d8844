"""The layers of modules from the sandbox's own registry, read without a socket."""

from __future__ import annotations

import io
from collections.abc import Sequence

from kymatui.domain.kyma.manifests import ImageSpec, Manifest
from kymatui.engine.bundles.tar_archives import unpack as unpack_gzip
from kymatui.errors import RegistryError, SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import documents
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.tar_entries import TarKind, read_content, read_entries


class StoredLayers:
    """Implements `LayerReader` of the controller of Manifests."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store

    def objects(self, manifest: Manifest) -> Sequence[Obj]:
        source = manifest.installs[0].source
        assert isinstance(source, ImageSpec)
        base = source.repo.rpartition("://")[2]
        repository = f"{base.partition('/')[2]}/component-descriptors/{source.name}".lstrip("/")
        try:
            return parse(unpack(self._store.blob(repository, source.ref), source.type))
        except RegistryRefusal as refusal:
            raise RegistryError(f"layer {source.ref} of {repository} cannot be read: {refusal.message}") from refusal
        except YamlError as error:
            raise SourceError(f"layer {source.ref} of {repository} is invalid: {error.summary}") from None
        except ValueError as error:
            raise SourceError(f"layer {source.ref} of {repository} is invalid: {error}") from error


def unpack(content: bytes, source_type: str) -> bytes:
    """Return the manifest's text: the blob itself, or the first file of a tar archive."""
    if source_type != "oci-dir":
        return content
    archive = io.BytesIO(unpack_gzip(content, "the layer"))
    for entry in read_entries(archive):
        if entry.kind is TarKind.FILE and not entry.name.rpartition("/")[2].startswith("._"):
            return read_content(archive, entry)
    raise ValueError("the layer holds no file")


def parse(text: bytes) -> list[Obj]:
    """Return the objects of a multi-document YAML; lists are flattened, duplicates dropped."""
    objects: dict[tuple[str, ...], Obj] = {}
    for document in documents(text, keeps_integers=True):
        is_list = isinstance(document, dict) and document.get("kind") == "List"
        for obj in document.get("items", []) if is_list else [document]:
            if isinstance(obj, dict) and "kind" in obj:
                metadata = obj.get("metadata") or {}
                identity = (obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata.get("name", ""))
                objects.setdefault(identity, obj)
    return list(objects.values())
