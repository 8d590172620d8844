"""Everything that is fetched for the engine: layers by digest, charts, addresses; kept on disk, checked each time.

    blobs = Fetcher(cache=user_cache_path("kymatui") / "blobs")
    blobs.layer("reg.example/modules/component-descriptors/kyma-project.io/module/x", "sha256:…")

One fetcher serves several threads, and several processes share one cache: the same digest is fetched once.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kymatui.adapters.content.blob_cache import BlobCache, write_atomically
from kymatui.adapters.content.chart_fetcher import ChartAccess, ChartFetcher
from kymatui.adapters.content.web import fetch
from kymatui.adapters.http.safe_urls import parts_of, redact_url
from kymatui.adapters.http.size_limits import LARGEST_LAYER, LARGEST_PAGE
from kymatui.adapters.oci.docker_credentials import DockerCredentials, SecretCredentials
from kymatui.adapters.oci.image_reference import parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.registry_auth import FindCredentials
from kymatui.errors import RegistryError

_HERE: Final = ("127.0.0.1", "localhost", "::1")


class BlobFetcher:
    """The Blobs port over registries, repositories and https.

    cache        a folder for content by digest; None: nothing is kept
    credentials  by registry; docker's files and helpers where nothing is given
    access       user, authorities and plain http for repositories of charts
    stale        a chart whose repository cannot be reached is taken from the cache as it was fetched last: for looking
                 only, never for installing
    insecure     registries and hosts (host[:port]) that may go without TLS; None: registries for which a source asks
    cancelled    stops transfers
    """

    def __init__(
        self,
        *,
        cache: Path | None = None,
        credentials: FindCredentials | None = None,
        access: ChartAccess | None = None,
        stale: bool = False,
        insecure: Collection[str] | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._folder = cache
        self._cache = BlobCache(cache) if cache is not None else None
        self._credentials = credentials or DockerCredentials().find
        self._access = replace(access or ChartAccess(), cache=cache)
        plain = replace(self._access, plain_http=True)
        self._charts = {False: ChartFetcher(self._access), True: ChartFetcher(plain)}
        self._stale = stale
        self._insecure = insecure
        self._cancelled = cancelled
        self._registries: dict[bool, Registry] = {}
        self._lock = threading.Lock()

    def with_secrets(self, secrets: Iterable[Mapping[str, Any]]) -> BlobFetcher:
        """The same for layers that pull Secrets of a cluster have the credentials for, and these alone.

        Raises RegistryError where there are none. What they let in is kept apart from what all may see: who knows a
        digest only shall not get the content.
        """
        found = list(secrets)
        apart = hashlib.sha256(json.dumps([one.get("data") for one in found], sort_keys=True).encode()).hexdigest()
        return BlobFetcher(
            cache=self._folder / "private" / apart if self._folder is not None else None,
            credentials=SecretCredentials(found).find,
            access=self._access,
            insecure=self._insecure,
            cancelled=self._cancelled,
        )

    # the port

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        """A blob, verified. Raises RegistryError."""
        where = parse_reference(f"{repository}@{digest}")
        if insecure and self._insecure is not None and where.registry not in self._insecure:
            raise RegistryError(
                f"{where.registry} is to be reached without TLS, and nobody here has allowed that",
                hint=f"allow it with --insecure-registry {where.registry}",
            )

        def fetch() -> list[bytes]:
            chunks: list[bytes] = []
            size = 0
            for chunk in self._registry(insecure).read_blob(where, digest):
                size += len(chunk)
                if size > LARGEST_LAYER:
                    raise RegistryError(f"{where} is larger than {LARGEST_LAYER} bytes")
                chunks.append(chunk)
            return chunks

        return self._cache.get(digest, fetch) if self._cache is not None else b"".join(fetch())

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> bytes:
        """The archive of a chart. Raises RegistryError, and HelmError where there is no such chart."""
        key = "\n".join((repository, reference, version))
        try:
            content = self._of(reference, repository).fetch(reference, repository=repository, version=version).content
        except RegistryError:
            kept = self._kept(key) if self._stale else None
            if kept is None:
                raise
            return kept
        self._keep(key, content)
        return content

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        """What a registry or a repository has of a chart. Raises RegistryError, HelmError."""
        return self._of(reference, repository).versions(reference, repository=repository)

    def url(self, address: str) -> bytes:
        """What stands at an https:// address, bounded; http:// on this machine, or where allowed. RegistryError."""
        if not self._is_allowed(address):
            raise RegistryError(f"{redact_url(address)} is no https:// address", hint="nothing was fetched from there")
        return fetch(address, largest=LARGEST_PAGE, what="manifest", ca=self._access.ca)

    def _of(self, reference: str, repository: str) -> ChartFetcher:
        """Registries that may go without TLS are spoken to without it, for charts, too."""
        return self._charts[chart_registry(reference, repository) in (self._insecure or ())]

    def _is_allowed(self, address: str) -> bool:
        parts = parts_of(address)
        if parts.scheme == "https":
            return True
        host = parts.netloc.rpartition("@")[2]
        named = self._access.plain_http or (self._insecure is not None and host in self._insecure)
        return parts.scheme == "http" and (named or parts.hostname in _HERE)

    # what is kept

    def _path(self, key: str) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / "charts" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def _keep(self, key: str, content: bytes) -> None:
        """Which content a chart had last; the content itself is kept by its digest."""
        path = self._path(key)
        if path is None or self._cache is None:
            return
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._cache.get(digest, lambda: [content])
        body = json.dumps({"digest": digest}).encode()
        if _read(path) != body:
            write_atomically(path, body)

    def _kept(self, key: str) -> bytes | None:
        path = self._path(key)
        body = _read(path) if path is not None else None
        if body is None or self._cache is None:
            return None
        try:
            digest = str(json.loads(body)["digest"])
            return self._cache.get(digest, _nothing)
        except (ValueError, KeyError, TypeError, RegistryError):
            return None

    # connections

    def _registry(self, insecure: bool) -> Registry:
        with self._lock:
            if insecure not in self._registries:
                self._registries[insecure] = Registry(
                    credentials=self._credentials,
                    insecure=insecure or self._access.plain_http,
                    ca=self._access.ca,
                    cancelled=self._cancelled,
                )
            return self._registries[insecure]


def chart_registry(reference: str, repository: str = "") -> str:
    """The registry (host[:port]) that a chart is in; "" where it is in none."""
    address = repository or reference
    return address.removeprefix("oci://").partition("/")[0] if address.startswith("oci://") else ""


def _nothing() -> list[bytes]:
    raise RegistryError("it is not kept any more")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
