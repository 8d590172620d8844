"""Downloads for the engine: layers by digest, charts and URLs, cached on disk and verified each time.

    blobs = BlobFetcher(cache=user_cache_path("kymatui") / "blobs")
    blobs.layer("reg.example/modules/component-descriptors/kyma-project.io/module/x", "sha256:…")

Threads may share a fetcher, and processes may share a cache: the same digest is fetched once.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from urllib3.exceptions import HTTPError

from kymatui.adapters.content.blob_cache import BlobCache, write_cached
from kymatui.adapters.content.chart_fetcher import ChartAccess, ChartFetcher
from kymatui.adapters.http.deadlines import answered_within, run_abandonable
from kymatui.adapters.http.response_body import LARGEST_LAYER, LARGEST_PAGE, BodyError, OversizedError, read_body
from kymatui.adapters.http.web_session import (
    MOST_REDIRECTS,
    load_requests,
    next_address,
    open_web_session,
    parts_of,
    redact_url,
)
from kymatui.adapters.oci.docker_credentials import DockerCredentials, FindCredentials, SecretCredentials
from kymatui.adapters.oci.image_reference import parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import innermost_reason
from kymatui.engine.cluster.concurrency import cancelled_after
from kymatui.engine.cluster.ports import FetchedChart
from kymatui.errors import CancelledError, RegistryError
from kymatui.json_input import read_json
from kymatui.own_files import read_own

if TYPE_CHECKING:
    from requests import Response


TIMEOUTS: Final = (5.0, 15.0)  # to connect, and between two pieces of an answer
ALL_SECONDS = 60.0  # for a whole download, however slowly the server sends


def fetch(url: str, *, largest: int, what: str, ca: str | None = None) -> bytes:
    """Return the content of a URL, at most `largest` bytes; `what` names the expected content in errors.

    `ca` is a file of certificates to trust instead of the system's. The total time is limited, however slowly the
    server sends. Raise RegistryError, also for an HTML page in place of the file.
    """
    try:
        with cancelled_after(ALL_SECONDS) as cancel:
            return run_abandonable(lambda: _transfer(url, largest, what, ca or True), cancel)
    except CancelledError as error:
        raise RegistryError(f"{redact_url(url)} took longer than {ALL_SECONDS:.0f} s") from error


def _transfer(url: str, largest: int, what: str, verify: bool | str) -> bytes:
    load_requests()
    import requests

    where, address = redact_url(url), url
    headers = {"Accept-Encoding": "gzip"}
    try:
        with answered_within(ALL_SECONDS + 1), open_web_session() as session:
            for _ in range(MOST_REDIRECTS + 1):
                with session.get(
                    address, headers=headers, timeout=TIMEOUTS, stream=True, allow_redirects=False, verify=verify
                ) as response:
                    if response.is_redirect:
                        address = next_address(where, address, response.headers["Location"])
                        continue
                    _check_answer(where, response, what)
                    return _body(where, response, largest, what)
    except requests.exceptions.SSLError as error:
        raise RegistryError(
            f"{where}: TLS failed: {innermost_reason(error)}", hint="check that its certificate is trusted"
        ) from error
    except (requests.exceptions.Timeout, TimeoutError) as error:
        raise RegistryError(f"{where} did not answer in time", hint="check the network and the proxy") from error
    except (requests.exceptions.RequestException, HTTPError, OSError, ValueError) as error:
        reason = innermost_reason(error)
        raise RegistryError(f"{where} cannot be fetched: {reason}", hint="check the name and the network") from error
    raise RegistryError(f"{where} redirects more than {MOST_REDIRECTS} times")


def _check_answer(where: str, response: Response, what: str) -> None:
    if response.status_code != 200:
        raise RegistryError(f"{where}: HTTP {response.status_code} {response.reason or ''}".rstrip())
    if "html" in response.headers.get("Content-Type", "").lower():
        raise RegistryError(f"{where} is a web page, not a {what}", hint="use the address of the raw file")


def _body(where: str, response: Response, largest: int, what: str) -> bytes:
    try:
        content = read_body(response.raw, largest)
    except OversizedError as error:
        raise RegistryError(f"{where} is too large; at most {largest} bytes are allowed") from error
    except BodyError as error:
        raise RegistryError(f"{where} {error}") from error
    if content[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise RegistryError(f"{where} is a web page, not a {what}", hint="use the address of the raw file")
    return content


_HERE: Final = ("127.0.0.1", "localhost", "::1")


class BlobFetcher:
    """Implements the Blobs port with registries, chart repositories and https.

    cache        folder for content by digest; None disables caching
    credentials  by registry; default: docker's files and helpers
    access       user, authorities and plain http for chart repositories
    stale        return the cached chart if its repository is unreachable: for display only, never to install
    insecure     registries and hosts (host[:port]) used without TLS; no others may go without it, unless it is None
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
        self._access = replace(access or ChartAccess(), cache=cache, find=credentials)
        plain = replace(self._access, plain_http=True)
        self._charts = {False: ChartFetcher(self._access), True: ChartFetcher(plain)}
        self._stale = stale
        self._insecure = insecure
        self._cancelled = cancelled
        self._registries: dict[bool, Registry] = {}
        self._lock = threading.Lock()

    def with_secrets(self, secrets: Iterable[Mapping[str, Any]]) -> BlobFetcher:
        """Return a fetcher that uses only the credentials of these pull Secrets.

        Raise RegistryError if they hold none. Its cache is separate from the common one: otherwise the digest alone
        would be enough to read content that needs credentials.
        """
        listed = list(secrets)
        apart = hashlib.sha256(
            json.dumps([secret.get("data") for secret in listed], sort_keys=True).encode()
        ).hexdigest()
        return BlobFetcher(
            cache=self._folder / "private" / apart if self._folder is not None else None,
            credentials=SecretCredentials(listed).find,
            access=self._access,
            insecure=self._insecure,
            cancelled=self._cancelled,
        )

    # the Blobs port

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        """Return a verified blob. Raise RegistryError."""
        where = parse_reference(f"{repository}@{digest}")
        named = self._is_insecure(where.registry)
        if insecure and self._insecure is not None and not named:
            raise RegistryError(
                f"{where.registry} has no TLS", hint=f"allow it with --insecure-registry {where.registry}"
            )

        def fetch() -> list[bytes]:
            chunks: list[bytes] = []
            size = 0
            for chunk in self._registry(insecure or named).read_blob(where, digest):
                size += len(chunk)
                if size > LARGEST_LAYER:
                    raise RegistryError(f"{where} is larger than {LARGEST_LAYER} bytes")
                chunks.append(chunk)
            return chunks

        return self._cache.get(digest, fetch) if self._cache is not None else b"".join(fetch())

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        """Return a packed chart. Raise RegistryError, and HelmError if the chart does not exist."""
        key = "\n".join((repository, reference, version))
        try:
            fetched = self._of(reference, repository).fetch(reference, repository=repository, version=version)
        except RegistryError:  # without a network, the last received chart is better than none
            kept = self._kept(key) if self._stale else None
            if kept is None:
                raise
            return FetchedChart(reference, "", kept)
        self._keep(key, fetched.content)
        return fetched

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        """Return the versions of a chart in a registry or repository. Raise RegistryError or HelmError."""
        return self._of(reference, repository).versions(reference, repository=repository)

    def url(self, address: str) -> bytes:
        """Return the content of an https:// URL, limited in size. Raise RegistryError.

        http:// is allowed on this machine and for `insecure` hosts.
        """
        if not self._is_allowed(address):
            raise RegistryError(f"{redact_url(address)} is not an https:// address", hint="nothing was fetched")
        return fetch(address, largest=LARGEST_PAGE, what="manifest", ca=self._access.ca)

    def _of(self, reference: str, repository: str) -> ChartFetcher:
        """Return the chart fetcher for a registry, without TLS if the registry is allowed without it."""
        return self._charts[self._is_insecure(chart_registry(reference, repository))]

    def _is_insecure(self, host: str) -> bool:
        """Return whether a host (host[:port]) was named as one without TLS."""
        return host in (self._insecure or ())

    def _is_allowed(self, address: str) -> bool:
        parts = parts_of(address)
        if parts.scheme == "https":
            return True
        host = parts.netloc.rpartition("@")[2]
        named = self._access.plain_http or self._is_insecure(host)
        return parts.scheme == "http" and (named or parts.hostname in _HERE)

    # the chart cache

    def _path(self, key: str) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / "charts" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def _keep(self, key: str, content: bytes) -> None:
        """Record the last content of a chart by its digest; the cache holds the content itself."""
        path = self._path(key)
        if path is None or self._cache is None:
            return
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._cache.get(digest, lambda: [content])
        body = json.dumps({"digest": digest}).encode()
        if _read(path) != body:
            write_cached(path, body)

    def _kept(self, key: str) -> bytes | None:
        path = self._path(key)
        body = _read(path) if path is not None else None
        if body is None or self._cache is None:
            return None
        try:
            digest = str(read_json(body)["digest"])
            return self._cache.get(digest, _nothing)
        except (ValueError, KeyError, TypeError, RegistryError):  # a damaged cache counts as an empty one
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
    """Return the registry (host[:port]) of a chart, "" if it is not in a registry."""
    address = repository or reference
    return address.removeprefix("oci://").partition("/")[0] if address.startswith("oci://") else ""


def _nothing() -> list[bytes]:
    raise RegistryError("it is no longer cached")


def _read(path: Path) -> bytes | None:
    try:
        return read_own(path)
    except OSError:
        return None
