"""A Blobs port over what a test gives it, which counts what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kymatui.engine.bundles.addresses import content_digest
from kymatui.engine.cluster.ports import FetchedChart
from kymatui.errors import RegistryError


@dataclass
class StoredBlobs:
    """Layers by digest, charts by reference, URLs; everything else is not there."""

    layers: dict[str, bytes] = field(default_factory=dict)
    charts: Mapping[str, bytes] = field(default_factory=dict)
    urls: Mapping[str, bytes] = field(default_factory=dict)
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, content: bytes) -> str:
        digest = content_digest(content)
        self.layers[digest] = content
        return digest

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        self.asked.append(("layer", repository, digest, *(["insecure"] if insecure else [])))
        return self._found(self.layers, digest)

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        self.asked.append(("chart", reference, repository, version))
        return FetchedChart(reference, "", self._found(self.charts, reference), warnings=self.warnings)

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        self.asked.append(("versions", reference, repository))
        key = f"{repository}/{reference}" if repository else reference
        if key not in self.versions:
            raise RegistryError(f"{key} is not there")
        return self.versions[key]

    def url(self, address: str) -> bytes:
        self.asked.append(("url", address))
        return self._found(self.urls, address)

    @staticmethod
    def _found(where: Mapping[str, bytes], key: str) -> bytes:
        if key not in where:
            raise RegistryError(f"{key} is not there")
        return where[key]
