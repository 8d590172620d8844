"""What sources are fetched with: registries without TLS, certificates, and the cache of layers and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kymatui.adapters.files.user_files import cache_folder

if TYPE_CHECKING:
    from kymatui.adapters.content.blob_fetcher import BlobFetcher
    from kymatui.engine.cluster.ports import FetchedChart


class FetchOptions(Struct, frozen=True):
    """Registries (host[:port]) that may go without TLS, and a file of certificates to trust.

    `registry` (HOST[:PORT][/PATH]) has the components of templates without a descriptor, "" if nobody named it; only
    with `http://` before it may it go without TLS.
    """

    insecure: tuple[str, ...] = ()
    ca: str | None = None
    registry: str = ""

    def with_registry(self, registry: str) -> FetchOptions:
        """Return the same options with the registry of components."""
        base = registry.rpartition("://")[2].strip("/")
        plain = (base.partition("/")[0],) if registry.startswith("http://") else ()
        return FetchOptions((*self.insecure, *plain), self.ca, base)


def open_fetcher(options: FetchOptions | None = None) -> BlobFetcher:
    """Return what sources are fetched with; layers and charts are kept in the platform's place for caches."""
    from kymatui.adapters.content.blob_fetcher import BlobFetcher
    from kymatui.adapters.content.chart_fetcher import ChartAccess

    chosen = options or FetchOptions()
    return BlobFetcher(cache=cache_folder("blobs"), insecure=chosen.insecure, access=ChartAccess(ca=chosen.ca))


class LazyFetcher:
    """Implements `Blobs`; the fetcher is made when something is fetched, since its libraries take 0.2 s to load."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._made: BlobFetcher | None = None

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        return self._fetcher().layer(repository, digest, insecure=insecure)

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        return self._fetcher().chart(reference, repository=repository, version=version)

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        return self._fetcher().chart_versions(reference, repository=repository)

    def url(self, address: str) -> bytes:
        return self._fetcher().url(address)

    def _fetcher(self) -> BlobFetcher:
        if self._made is None:
            self._made = open_fetcher(self._options)
        return self._made
