"""A module by its component descriptor: the layers that it names, verified first on request.

A signature covers the digests of the layers but not their location, so each layer is also compared with its signed
digest.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.yaml_objects import read_objects
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.engine.sources import chart_source, oci_layers
from kymatui.engine.sources.chart_source import LoadedChart
from kymatui.engine.sources.manifest_installs import InstallConfig, read_configs
from kymatui.engine.sources.oci_layers import LayerRef, Shape
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.errors import SourceError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.values import merge_values
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.ocm import ComponentDescriptor, Keys, ModuleLayer, ModuleLayers, check_content, module_layers, verify

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


class Trust(Struct, frozen=True):
    """The trusted keys, and the signature's name if there may be several."""

    keys: Keys
    signature: str = ""
    issuer: str = ""
    now: datetime | None = None


class ModuleComponent:
    """The layers of a component, verified on creation if `trust` is given.

    `registry` ("host/path") replaces the location in the descriptor.
    """

    def __init__(
        self,
        descriptor: ComponentDescriptor,
        blobs: Blobs,
        *,
        registry: str = "",
        insecure: bool = False,
        trust: Trust | None = None,
    ) -> None:
        """Verify the signature before anything is fetched. Raises SignatureError and DescriptorError."""
        if trust is not None:
            verify(descriptor, trust.keys, name=trust.signature, issuer=trust.issuer, now=trust.now)
        self._descriptor = descriptor
        self._blobs = blobs
        self._insecure = insecure
        self._verified = trust is not None
        self.layers: ModuleLayers = module_layers(descriptor, registry)

    def content(self, layer: ModuleLayer) -> bytes:
        """Return the checked bytes of a layer. Raises SignatureError, RegistryError and the port's errors."""
        data = oci_layers.fetch(self._ref(layer), self._blobs)
        if self._verified:
            check_content(layer.resource, data)
        return data

    def _ref(self, layer: ModuleLayer) -> LayerRef:
        if not layer.repository:
            raise SourceError(f"{self._descriptor.name}: the descriptor names no registry for layer {layer.name}")
        return LayerRef(layer.repository, layer.digest, self._insecure)

    def bundles(self, *, namespace: str = "default", target: RenderTarget | None = None) -> list[Bundle]:
        """Return the module's bundles: its raw manifest, and charts of the first generation.

        The first bundle has the CRDs, the last one the default CR. Raises SourceError if there is nothing to
        install.
        """
        bundles = []
        if self.layers.raw_manifest is not None:
            bundles.append(self._raw(self.layers.raw_manifest, namespace))
        configs = self._configs() if self.layers.charts else {}
        bundles += [self._chart(chart, namespace, configs.get(chart.name), target) for chart in self.layers.charts]
        if not bundles:
            raise SourceError(f"{self._descriptor.name}:{self._descriptor.version} has no installable layer")
        bundles[0] = replace(bundles[0], crds=(*self._definitions(), *bundles[0].crds))
        bundles[-1] = replace(bundles[-1], resource=self.default_resource())
        return bundles

    def _raw(self, layer: ModuleLayer, namespace: str) -> Bundle:
        where = str(self._ref(layer))
        text = oci_layers.raw_manifest(self.content(layer), where, archive=layer.is_archive)
        objects = tuple(read_objects(text, f"{where} {layer.name}"))
        version = self._descriptor.version
        return Bundle(
            layer.name, namespace, oci_layers.layer_origin(self._ref(layer), version), version, objects=objects
        )

    def _chart(
        self, layer: ModuleLayer, namespace: str, config: InstallConfig | None, target: RenderTarget | None
    ) -> Bundle:
        chart_layer = oci_layers.read_layer(self.content(layer), str(self._ref(layer)))
        if chart_layer.shape is not Shape.CHART or chart_layer.files is None:
            raise SourceError(f"{self._ref(layer)} is not a chart")
        chart = Chart.from_files(dict(chart_layer.files))
        config = config or InstallConfig()
        return chart_source.chart_bundle(
            LoadedChart(chart, oci_layers.layer_origin(self._ref(layer), chart.version)),
            name=layer.name,
            namespace=config.text("Namespace") or namespace,
            values=merge_values(set=[config.overrides] if config.overrides else []),
            target=target,
        )

    def _configs(self) -> dict[str, InstallConfig]:
        layer = self.layers.config
        return read_configs(self.content(layer), str(self._ref(layer))) if layer is not None else {}

    def _definitions(self) -> list[Object]:
        layer = self.layers.definitions
        return oci_layers.definitions(self.content(layer), str(self._ref(layer))) if layer is not None else []

    def default_resource(self) -> Object | None:
        """Return the default CR of the layer `default-cr`, None without such a layer."""
        layer = self.layers.default_resource
        if layer is None:
            return None
        where = str(self._ref(layer))
        objects = read_objects(oci_layers.raw_manifest(self.content(layer), where, archive=layer.is_archive), where)
        if len(objects) != 1:
            raise SourceError(f"{where} has {format_count(len(objects), 'object')}; expected one, the default CR")
        return objects[0]
