"""Chart downloads from a URL, a repository or an OCI registry; archives are cached by digest."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.content.blob_cache import BlobCache
from kymatui.adapters.http.response_body import LARGEST_ARCHIVE, LARGEST_INDEX, LARGEST_PROVENANCE
from kymatui.adapters.http.web_session import WEB, is_same_origin, open_web_session, parts_of
from kymatui.adapters.oci.docker_credentials import DockerCredentials, FindCredentials, RegistryCredentials
from kymatui.adapters.oci.image_manifest import ACCEPTED, ContentDescriptor, ImageManifest
from kymatui.adapters.oci.image_reference import ImageReference, parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import Requester, TransportFlags
from kymatui.engine.bundles.addresses import redact_address
from kymatui.engine.cluster.ports import FetchedChart
from kymatui.errors import HelmError, RegistryError, RegistryNotFoundError
from kymatui.helm.charts.repositories import RepositoryIndex, archive_url, read_index, repository_url
from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemanticVersion, SemverError, parse_strict_version, parse_version
from kymatui.structs import repr_without

CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
OLD_CHART_LAYER = "application/tar+gzip"
PROVENANCE_LAYER = "application/vnd.cncf.helm.chart.provenance.v1.prov"
INDEX_SECONDS = 60.0
"""How long an index is used: an operator runs for weeks, and charts are published meanwhile."""
MOST_INDEXES = 8
"""Indexes in memory; Manifests may name any number of repositories."""
MOST_MANIFESTS = 32
"""Manifests of an image index that are read in search of a chart."""


class ChartAccess(Struct, frozen=True):
    """Access to chart servers: user and password, trusted authorities, TLS.

    certificate  files of the client certificate and its key
    unverified   accept any server certificate
    everywhere   send user and password also to other hosts that a repository points to
    find         credentials of registries, without user and password; None: docker's files and helpers
    flags        options of the command at hand for a private CA and for no TLS, for hints
    """

    username: str = ""
    password: str = ""
    ca: str | None = None
    plain_http: bool = False
    cache: Path | None = None
    certificate: tuple[str, str] | None = None
    unverified: bool = False
    everywhere: bool = False
    find: FindCredentials | None = None
    flags: tuple[str, str] | None = None

    __repr__ = repr_without("password")


class ChartFetcher:
    """Fetches packed charts; reuses its connections, indexes and credentials."""

    def __init__(self, access: ChartAccess | None = None) -> None:
        self._access = access or ChartAccess()
        self._indexes: OrderedDict[str, tuple[float, RepositoryIndex]] = OrderedDict()
        self._cache = BlobCache(self._access.cache) if self._access.cache else None
        self._flags = TransportFlags(*self._access.flags) if self._access.flags else TransportFlags()
        self._lock = threading.Lock()
        self._sender: Requester | None = None

    def fetch(
        self, reference: str, *, version: str = "", repository: str = "", provenance: bool = False
    ) -> FetchedChart:
        """Fetch a chart by URL, `oci://…` reference, or name in `repository`.

        Raise HelmError or RegistryError.
        """
        if reference.startswith("oci://"):
            return self._from_registry(reference, version, provenance)
        if repository:
            return self._from_repository(repository, reference, version, provenance)
        if parts_of(reference).scheme in WEB:
            return self._from_url(reference, None, provenance)
        raise HelmError(
            f"chart {reference!r} not found: it is neither a local file nor a URL",
            hint="check the path, add --repo URL, or write oci://registry/repository",
        )

    def index(self, repository: str) -> RepositoryIndex:
        """Return the index of a repository; the last ones are kept for a while."""
        at, known = self._indexes.get(repository, (-math.inf, None))
        if known is None or time.monotonic() - at > INDEX_SECONDS:
            url = repository_url(repository, "index.yaml")
            content = self._get(url, repository, LARGEST_INDEX)
            known = read_index(content.decode("utf-8", "replace"), source=redact_address(url))
            with self._lock:
                self._indexes.pop(repository, None)
                self._indexes[repository] = time.monotonic(), known
                while len(self._indexes) > MOST_INDEXES:
                    self._indexes.popitem(last=False)
        return known

    def versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        """Return the available versions of a chart, unordered; other tags are skipped.

        Raise HelmError if there is no such chart or a single archive is named, and RegistryError.
        """
        if repository.startswith("oci://"):
            reference, repository = f"{repository.rstrip('/')}/{reference}", ""
        if reference.startswith("oci://"):
            where = parse_reference(reference)
            tags = self._registry(where).tags(where)
            return tuple(tag.replace("_", "+") for _, tag in _versions(tags))
        if not repository:
            raise HelmError(f"{reference} is a single archive without other versions")
        index = self.index(repository)
        index.find(reference, ">=0.0.0-0")
        return tuple(entry.version for entry in index.charts[reference])

    # repositories and URLs

    def _from_repository(self, repository: str, name: str, version: str, provenance: bool) -> FetchedChart:
        if repository.startswith("oci://"):
            return self._from_registry(f"{repository.rstrip('/')}/{name}", version, provenance)
        index = self.index(repository)
        try:
            entry = index.find(name, version)
        except HelmError as error:
            description = f'chart "{name}"' + (f' version "{version}"' if version else "")
            where = redact_address(repository)
            raise HelmError(f"{description} not found in {where} repository", hint=error.hint or str(error)) from error
        url = archive_url(repository, entry)
        if url.startswith("oci://"):
            return self._from_registry(url, entry.version, provenance, repository)
        digest = f"sha256:{entry.digest}" if entry.digest else None
        return self._from_url(url, digest, provenance, repository)

    def _from_url(self, url: str, digest: str | None, provenance: bool, repository: str = "") -> FetchedChart:
        parts = parts_of(url)
        filename = unquote(parts.path).rpartition("/")[2] or "chart.tgz"
        owner = repository or url

        def fetch() -> Iterator[bytes]:
            yield self._get(url, owner, LARGEST_ARCHIVE)

        beside = parts._replace(path=f"{parts.path}.prov").geturl()
        signed = self._get(beside, owner, LARGEST_PROVENANCE) if provenance else None
        return FetchedChart(redact_address(url), filename, self._kept(digest, fetch), signed)

    def _kept(self, digest: str | None, fetch: Callable[[], Iterator[bytes]]) -> bytes:
        if digest is None:
            return b"".join(fetch())
        if self._cache is not None:
            return self._cache.get(digest, fetch)
        content = b"".join(fetch())
        actual = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if actual != digest:
            raise RegistryError(f"the archive is {actual}, the index says {digest}", hint="it was not used")
        return content

    def _get(self, url: str, owner: str, largest: int) -> bytes:
        """Return the body of a URL; user and password go only to the host they belong to."""
        if parts_of(url).scheme not in WEB:
            raise HelmError(f"{redact_address(url)!r} is not a valid URL")
        more: dict[str, Any] = {"stream": True, "headers": {"Accept-Encoding": "identity"}}
        known = self._access.everywhere or is_same_origin(url, owner)
        if self._access.username and known:
            more["headers"]["Authorization"] = RegistryCredentials(self._access.username, self._access.password).basic
        requester, shown = self._requester(), redact_address(url)
        with requester.send("GET", url, **more) as response:
            if response.status_code != 200:
                raise RegistryError(f"{shown}: HTTP {response.status_code} {response.reason or ''}".rstrip())
            content = bytearray()
            for piece in requester.chunks(response, shown):
                content += piece
                if len(content) > largest:
                    raise RegistryError(f"{shown} is longer than {largest} bytes")
            return bytes(content)

    def _requester(self) -> Requester:
        if self._sender is None:
            verify = False if self._access.unverified else self._access.ca or True
            self._sender = Requester(
                open_web_session(),
                verify=verify,
                certificate=self._access.certificate,
                flags=replace(self._flags, plain=""),
            )
        return self._sender

    # registries

    def _from_registry(self, reference: str, version: str, provenance: bool, repository: str = "") -> FetchedChart:
        """Fetch a chart from a registry that the user or the index of a repository names."""
        where = parse_reference(_as_tags(unquote(reference)))
        if version and where.tag and _as_tags(version) != where.tag:
            raise HelmError(f"chart reference and version mismatch: {version} is not {where.tag}")
        registry = self._registry(where, repository)
        if where.digest:
            _check_tag(registry, where, _as_tags(version))
            label = f"@{where.digest.replace(':', '-')}"
        else:
            tag = where.tag or self._tag(registry, where, version)
            where = ImageReference(where.registry, where.repository, tag)
            label = f"-{tag.replace('_', '+')}"
        try:
            manifest = registry.fetch_manifest(where)
        except RegistryNotFoundError as error:
            tag = where.tag.replace("_", "+") or where.digest
            reason = str(error).removeprefix(f"{where}: ")
            raise HelmError(
                f"{where} has no version {tag}: {reason}", hint=_range_hint(version) or error.hint
            ) from error
        chart = _chart_manifest(registry, manifest)
        layer = _layer(chart, CHART_LAYER, OLD_CHART_LAYER)
        if layer is None:
            raise HelmError(f"{where} is not a Helm chart but {manifest.media_type}")
        signed = _layer(chart, PROVENANCE_LAYER) if provenance else None
        for what, part, largest in (("chart", layer, LARGEST_ARCHIVE), ("provenance", signed, LARGEST_PROVENANCE)):
            if part is not None and part.size > largest:
                raise HelmError(f"{where}: the {what} has {part.size} bytes; at most {largest} are allowed")
        content = self._kept(layer.digest, lambda: registry.read_blob(where, layer))
        if provenance and signed is None:
            raise HelmError(f"{where} has no provenance")
        name = where.repository.rpartition("/")[2]
        blob = b"".join(registry.read_blob(where, signed)) if signed else None
        is_old = layer.media_type == OLD_CHART_LAYER
        warnings = (f"chart media type {OLD_CHART_LAYER} is deprecated",) if is_old else ()
        return FetchedChart(f"oci://{where}", f"{name}{label}.tgz", content, blob, manifest.digest, warnings)

    def _registry(self, where: ImageReference, repository: str = "") -> Registry:
        """Return a client of the registry; one that a repository points to gets no credentials of the repository."""
        access = self._access
        address = f"{'http' if access.plain_http else 'https'}://{where.host}"
        is_own = access.everywhere or not repository or is_same_origin(repository, address)
        credentials = RegistryCredentials(access.username, access.password) if access.username and is_own else None
        find = access.find or DockerCredentials().find
        return Registry(
            credentials=lambda registry: credentials or find(registry),
            insecure=access.plain_http,
            ca=access.ca,
            certificate=access.certificate if is_own else None,
            unverified=access.unverified,
            flags=self._flags,
        )

    def _tag(self, registry: Registry, where: ImageReference, version: str) -> str:
        """Return the tag of a version, else the newest in a range; "" means the newest stable version."""
        if _is_version(version):
            return _as_tags(version)
        try:
            constraint = parse_constraint(version or "*")
        except SemverError as error:
            raise HelmError(f"{version!r} is neither a version nor a range: {error}") from error
        allowed = [(parsed, tag) for parsed, tag in _versions(registry.tags(where)) if constraint.check(parsed)]
        if not allowed:
            raise HelmError(f"{where} has no version {version}" if version else f"{where} has no stable version")
        return max(allowed, key=itemgetter(0))[1]


def _as_tags(text: str) -> str:
    """Return a version or a reference with `_` for `+`, which tags cannot hold; helm writes them so."""
    return text.replace("+", "_")


def _is_version(text: str) -> bool:
    try:
        parse_version(text)
    except SemverError:
        return False
    return True


def _range_hint(version: str) -> str:
    """Return what to write for the newest patch of a version with fewer than three numbers."""
    is_short = bool(version) and len(version.partition("-")[0].split(".")) < 3 and _is_version(version)
    return f"a registry has versions of three numbers; write '{version}.x' for the newest {version}" if is_short else ""


def _versions(tags: Iterable[str]) -> Iterator[tuple[SemanticVersion, str]]:
    """Yield tags that are strict versions, as helm does; `v1.0.0` and tags of dates or commits are skipped."""
    for tag in tags:
        try:
            yield parse_strict_version(tag.replace("_", "+")), tag
        except SemverError:
            continue


def _check_tag(registry: Registry, where: ImageReference, version: str) -> None:
    """Raise HelmError if a reference by digest names a tag, or a version is requested, with other content."""
    tag = where.tag or version
    tagged = registry.find_manifest(ImageReference(where.registry, where.repository, tag)) if tag else None
    if tagged is not None and tagged.digest != where.digest:
        raise HelmError(f"chart reference digest mismatch: {tag} is {tagged.digest}, not {where.digest}")


def _chart_manifest(registry: Registry, manifest: ImageManifest) -> ImageManifest:
    """Return the manifest of the chart: the manifest itself, or one of an index. Raise HelmError if there is none."""
    charts = _charts(registry, manifest, [MOST_MANIFESTS])
    if not charts:
        what = "an index without a chart" if manifest.manifests else manifest.media_type
        raise HelmError(f"{manifest.reference} is not a Helm chart but {what}")
    if len(charts) > 1:
        raise HelmError(
            f"{manifest.reference} is an index of {len(charts)} charts", hint=f"choose one: {', '.join(charts)}"
        )
    return next(iter(charts.values()))


def _charts(registry: Registry, manifest: ImageManifest, budget: list[int]) -> dict[str, ImageManifest]:
    """Return the charts of a manifest or index by digest; `budget` is how many more manifests may be read."""
    if manifest.config is not None and manifest.config.media_type == CHART_CONFIG:
        return {manifest.digest: manifest}
    parts = manifest.manifests
    parts = tuple(part for part in parts if part.artifact_type == CHART_CONFIG) or parts
    charts: dict[str, ImageManifest] = {}
    for part in parts:
        if part.media_type not in ACCEPTED:
            continue
        budget[0] -= 1
        if budget[0] < 0:
            raise HelmError(f"{manifest.reference} is an index of more than {MOST_MANIFESTS} manifests")
        where = ImageReference(manifest.reference.registry, manifest.reference.repository, digest=part.digest)
        charts |= _charts(registry, registry.fetch_manifest(where), budget)
    return charts


def _layer(manifest: ImageManifest, *media_types: str) -> ContentDescriptor | None:
    return next((layer for kind in media_types for layer in manifest.layers if layer.media_type == kind), None)
