"""What the engine's sources are fetched with: layers, charts and addresses, verified and kept by their digests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kymatui.adapters.blobs import BlobCache
from kymatui.adapters.charts import Access, ChartFetcher
from kymatui.adapters.oci.authentication import FindCredentials
from kymatui.adapters.oci.credentials import DockerCredentials
from kymatui.adapters.oci.references import parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.web import WEB, fetch, shown
from kymatui.errors import RegistryError

LARGEST_MANIFEST: Final = 32 * 1024 * 1024


class Fetcher:
    """Implements `kymatui.engine.ports.Blobs`.

    cache        a folder for what is named by a digest; None: nothing is kept
    insecure     registries (host[:port]) that may be reached without TLS; others never are, whoever asks for it
    ca           a file of certificates to trust instead of the system's
    credentials  by the registry's host; by default docker's and podman's own
    """

    def __init__(
        self,
        *,
        cache: Path | None = None,
        insecure: tuple[str, ...] = (),
        ca: str | None = None,
        credentials: FindCredentials | None = None,
    ) -> None:
        self._cache = BlobCache(cache) if cache is not None else None
        self._charts = ChartFetcher(Access(cache=cache, ca=ca))
        self._insecure = insecure
        self._ca = ca
        self._credentials = credentials or DockerCredentials().find
        self._registries: dict[bool, Registry] = {}

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        where = parse_reference(f"{repository}@{digest}")
        if insecure and where.registry not in self._insecure:
            raise RegistryError(
                f"{where.registry} is to be reached without TLS, and nobody here has allowed that",
                hint=f"allow it with --insecure-registry {where.registry}",
            )
        registry = self._registry(insecure)
        if self._cache is None:
            return b"".join(registry.read_blob(where, digest))
        return self._cache.get(digest, lambda: registry.read_blob(where, digest))

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> bytes:
        return self._charts.fetch(reference, repository=repository, version=version).content

    def url(self, address: str) -> bytes:
        scheme = address.partition("://")[0].lower()
        if scheme not in WEB:
            raise RegistryError(f"{shown(address)!r} is no address on the web", hint="write https://…")
        return fetch(address, largest=LARGEST_MANIFEST, what="manifest")

    def _registry(self, insecure: bool) -> Registry:
        if insecure not in self._registries:
            self._registries[insecure] = Registry(credentials=self._credentials, insecure=insecure, ca=self._ca)
        return self._registries[insecure]
