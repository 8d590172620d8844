"""Layers of a module in a registry, by digest: raw manifest, chart, kustomization, config, CRDs.

A layer is a blob of a repository ("reg.example/modules/component@sha256:…"), as `oci-ref` and `oci-dir` of a
Manifest name it. Its digest is always checked here too.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kymatui.domain.inventories import LAYER, Origin
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.engine.bundles.tar_archives import is_gzip, is_tar, read_tar, unpack, without_root
from kymatui.engine.bundles.yaml_objects import read_objects, unique_documents
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.errors import RegistryError, SourceError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.ocm.component_location import COMPONENTS
from kymatui.ocm.descriptors import ComponentDescriptor
from kymatui.ocm.module_layers import ModuleLayer

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART: Final = "Chart.yaml"
CRD: Final = frozenset(["CustomResourceDefinition"])
YAML: Final = (".yaml", ".yml", ".json")

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


class LayerRef(Struct, frozen=True):
    """The location of a layer; `repository` has no scheme, `insecure` means without TLS."""

    repository: str
    digest: str
    insecure: bool = False

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest}"

    @classmethod
    def of(cls, repo: str, name: str, ref: str, *, folder: str = "") -> LayerRef:
        """Return the layer that a Manifest names; `http://` before `repo` means without TLS.

        `folder` is inserted between repo and name unless one of them has it. Raises SourceError.
        """
        scheme, separator, rest = repo.rpartition("://")
        if separator and scheme.lower() not in ("http", "https", "oci"):
            raise SourceError(f"{repo!r} is not a registry", hint="use a host, or http://host if it has no TLS")
        parts = [rest.strip("/"), name.strip("/")]
        if folder and folder not in parts[0].split("/") and folder not in parts[1].split("/"):
            parts.insert(1, folder)
        if not _DIGEST.fullmatch(ref):
            raise SourceError(f"{ref!r} is not a layer digest", hint="use sha256: and 64 hexadecimal digits")
        if not rest.strip("/") or not name.strip("/"):
            raise SourceError("a layer needs a repo and a name", hint="e.g. repo: reg.example/modules, name: component")
        return cls("/".join(parts), ref, scheme.lower() == "http")


class Shape(enum.StrEnum):
    """The kinds of content of a layer."""

    MANIFEST = "manifest"
    CHART = "chart"
    KUSTOMIZATION = "kustomization"


class Layer(Struct, frozen=True):
    """The content of a layer: the text of a manifest, or files by path."""

    shape: Shape
    manifest: bytes = b""
    files: Mapping[str, bytes] | None = None


def fetch(ref: LayerRef, blobs: Blobs) -> bytes:
    """Return a layer's bytes, checked by digest. Raises RegistryError, and the port's errors."""
    data = blobs.layer(ref.repository, ref.digest, insecure=ref.insecure)
    algorithm, _, expected = ref.digest.partition(":")
    actual = hashlib.new(algorithm, data).hexdigest()
    if actual != expected:
        raise RegistryError(f"{ref} arrived as {algorithm}:{actual}", hint="it was changed or truncated; not used")
    return data


def layer_origin(ref: LayerRef, version: str = "") -> Origin:
    return Origin(LAYER, str(ref), version, ref.digest)


def raw_manifest(data: bytes, where: str, *, archive: bool = False) -> bytes:
    """Return a raw manifest: the layer itself, or a tar's first regular file not named `._…`.

    `archive` requires a tar (type oci-dir). Raises SourceError.
    """
    plain = unpack(data, where)
    if not archive and not is_tar(plain):
        return plain
    for name, content in read_tar(plain, where).items():
        if not name.rpartition("/")[2].startswith("._"):
            return content
    raise SourceError(f"{where} is an archive without a manifest", hint="it has only files of macOS")


def read_layer(data: bytes, where: str) -> Layer:
    """Read a layer by its content: text, or an archive with a chart, a kustomization or one YAML file.

    Raises SourceError for other content.
    """
    if not is_gzip(data) and not is_tar(data):
        return Layer(Shape.MANIFEST, data)
    plain = unpack(data, where)
    if not is_tar(plain):
        return Layer(Shape.MANIFEST, plain)
    return _classified(read_tar(plain, where), where)


def _classified(layer_files: dict[str, bytes], where: str) -> Layer:
    files = {name: data for name, data in layer_files.items() if not name.rpartition("/")[2].startswith("._")}
    files = without_root(files, (CHART, *KUSTOMIZATIONS), where)
    if any(name in files for name in KUSTOMIZATIONS):
        return Layer(Shape.KUSTOMIZATION, files=files)
    if CHART in files:
        return Layer(Shape.CHART, files=files)
    texts = [name for name in files if name.endswith(YAML)]
    if len(texts) == 1:
        return Layer(Shape.MANIFEST, files[texts[0]])
    raise SourceError(
        f"{where} is neither a chart, a kustomization nor a manifest: it has {len(texts)} YAML files",
        hint="expected Chart.yaml, kustomization.yaml or exactly one YAML file at its root",
    )


def definitions(data: bytes, where: str) -> list[Object]:
    """Return the CRDs in all YAML and JSON files of a layer; other objects are ignored.

    Raises SourceError if there is none.
    """
    plain = unpack(data, where)
    files = read_tar(plain, where) if is_tar(plain) else {where: plain}
    texts = sorted((name, text) for name, text in files.items() if name.endswith(YAML) or name == where)
    budget = YamlBudget()
    read = (read_objects(text, f"{where}: {name}", only=CRD, budget=budget) for name, text in texts)
    unique = unique_documents(body for objects in read for body in objects)
    if not unique:
        raise SourceError(f"{where} has no CRD")
    return unique


def manifest_layer(descriptor: ComponentDescriptor, layer: ModuleLayer, registry: str = "") -> ManifestLayer | None:
    """Return a layer with its registry, None if its repository is not where components are.

    `registry` ("http://HOST:PORT" or "https://HOST/PATH") replaces the location in the descriptor.
    """
    repo, separator, component = layer.repository.partition(f"/{COMPONENTS}/")
    if registry:
        return ManifestLayer(registry, component if separator else descriptor.name, layer.digest, layer.is_archive)
    if not separator:
        return None
    plain = any(str(context.get("baseUrl") or "").startswith("http://") for context in descriptor.contexts)
    return ManifestLayer(f"http://{repo}" if plain else repo, component, layer.digest, layer.is_archive)
