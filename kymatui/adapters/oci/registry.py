"""A registry client for the distribution API: manifests, blobs, tags, referrers; verifies all digests.

Uploads of blobs: skipped if the registry has them, mounted from another repository, whole or in chunks, resumed.

Distribution specification 1.1, "Pushing blobs". Manifests are pushed after their blobs, so an upload that is
interrupted leaves only blobs that no manifest names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

import oras.provider

from kymatui.adapters.http.response_body import MOST_TAG_PAGES, MOST_TAGS
from kymatui.adapters.http.web_session import bound_session, is_same_origin, next_address
from kymatui.adapters.oci.docker_credentials import DockerCredentials, FindCredentials
from kymatui.adapters.oci.image_manifest import (
    ACCEPTED,
    IMAGE_INDEX,
    LARGEST_MANIFEST,
    ContentDescriptor,
    ImageManifest,
    digest_of,
    read_body,
    read_descriptor,
    read_manifest,
)
from kymatui.adapters.oci.image_reference import ImageReference, is_digest, parse_reference
from kymatui.adapters.oci.requester import Requester, TransportFlags
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.errors import RegistryError, RegistryNotFoundError
from kymatui.json_input import read_json

CHUNK: Final = 8 * 1024 * 1024
"""Bytes of one request. Proxies in front of registries refuse bodies of 10 to 100 MB."""
TRIES: Final = 4  # times that an interrupted upload is resumed or started again

_RANGE: Final = re.compile(r"(?:bytes=)?0-(\d+)")
Send = Callable[..., Any]
Expect = Callable[..., None]


class Content(Protocol):
    """Bytes that can be sent again from any place: in memory or in a file."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class FileContent:
    """Content in a temporary file, which is deleted at the end."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._size = 0

    def __enter__(self) -> FileContent:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fill(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self._file.write(chunk)
            self._size += len(chunk)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        start, stop, _ = part.indices(self._size)
        self._file.seek(start)
        return self._file.read(max(stop - start, 0))


class BlobUploader:
    """Uploads blobs with the requests of a registry client.

    send    sends a request with credentials and retries
    expect  raises RegistryError for an answer with another status
    chunk   bytes of one request
    """

    def __init__(self, send: Send, expect: Expect, *, scheme: str, chunk: int = CHUNK) -> None:
        self._send = send
        self._expect = expect
        self._scheme = scheme
        self._chunk = chunk

    def has(self, where: ImageReference, digest: str) -> bool:
        """Return whether the repository has a blob; registries have several statuses for no."""
        return bool(self._send(self._url(where, digest), "HEAD").status_code == 200)

    def mount(self, where: ImageReference, digest: str, source: str) -> bool:
        """Mount a blob of another repository; return whether the registry did. Raises RegistryError."""
        query = f"?mount={quote(digest, safe='')}&from={quote(source, safe='')}"
        try:
            response = self._send(self._url(where, "uploads/") + query, "POST", headers={"Content-Length": "0"})
        except RegistryError:
            return False  # reading there may need other credentials; the copy will tell what is wrong
        if response.status_code == 202:
            location = response.headers.get("Location", "")
            if location:
                with contextlib.suppress(RegistryError):  # many registries allow nobody to delete
                    upload = next_address(str(where), response.url, location)
                    if is_same_origin(upload, self._url(where, "")):  # no registry lets kymatui delete elsewhere
                        self._send(upload, "DELETE")
            return False
        if response.status_code != 201:
            return False
        self._check(response, where, digest)
        return True

    def upload(
        self,
        where: ImageReference,
        content: Content,
        digest: str,
        *,
        source: str = "",
        sent: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Upload a blob unless the repository has it.

        `source` is a repository of the same registry that may have the blob; `sent` is called with the bytes that the
        registry has, after each request. Raises RegistryError.
        """
        for attempt in range(1, TRIES + 1):
            if self.has(where, digest):
                return
            session = self._start(where, digest, source)
            if session is None or self._sent(where, session, content, digest, sent, last=attempt == TRIES):
                return

    def _start(self, where: ImageReference, digest: str, source: str) -> tuple[str, int] | None:
        """Return the address of a new upload and the bytes of its chunks; None if the blob was mounted."""
        query = f"?mount={quote(digest, safe='')}&from={quote(source, safe='')}" if source else ""
        try:
            response = self._send(self._url(where, "uploads/") + query, "POST", headers={"Content-Length": "0"})
        except RegistryError:
            if not source:
                raise
            return self._start(where, digest, "")  # reading there may need other credentials
        if source and response.status_code not in (201, 202):
            return self._start(where, digest, "")
        self._expect(response, where, 202, 201)
        if response.status_code == 201:
            self._check(response, where, digest)
            return None
        least = response.headers.get("OCI-Chunk-Min-Length", "")
        return self._next(where, response, response.url), max(self._chunk, int(least) if least.isdecimal() else 0)

    def _sent(
        self,
        where: ImageReference,
        session: tuple[str, int],
        content: Content,
        digest: str,
        report: Callable[[int], None],
        *,
        last: bool,
    ) -> bool:
        """Send the content; return False if the registry no longer knows the upload and it can be started again."""
        address, chunk = session
        offset = 0
        if len(content) > chunk:
            for _ in range(len(content) // chunk + 1 + TRIES):
                if offset == len(content):
                    break
                response = self._patch(where, address, content[offset : offset + chunk], offset)
                if response.status_code == 404 and not last:
                    return False
                if response.status_code != 416:  # a chunk that arrived although its answer was lost
                    self._expect(response, where, 202, 201, 204)
                address = self._next(where, response, address)
                sent = offset if response.status_code == 416 else offset + chunk
                offset = min(_received(response, sent), len(content))
                report(offset)
            else:
                raise RegistryError(f"{where}: the registry does not accept the chunks of blob {digest}")
        rest = content[offset:]
        target = f"{address}{'&' if '?' in address else '?'}digest={quote(digest, safe='')}"
        response = self._put(where, target, "PUT", rest, {})
        if response.status_code in (404, 416) and not last:
            return False
        self._expect(response, where, 201)
        self._check(response, where, digest)
        report(len(content))
        return True

    def _patch(self, where: ImageReference, address: str, part: bytes, offset: int) -> Any:
        return self._put(where, address, "PATCH", part, {"Content-Range": f"{offset}-{offset + len(part) - 1}"})

    def _put(self, where: ImageReference, address: str, method: str, part: bytes, headers: Mapping[str, str]) -> Any:
        """Send content to an address that the registry named; another host than the registry's gets no credentials."""
        headers = {"Content-Type": "application/octet-stream", **headers}
        return self._send(address, method, data=part, headers=headers, owner=self._url(where, ""))

    def _next(self, where: ImageReference, response: Any, address: str) -> str:
        location = response.headers.get("Location", "")
        if not location and response.status_code == 202:
            raise RegistryError(f"{where}: the registry names no address for the upload")
        return next_address(str(where), address, location)

    def _check(self, response: Any, where: ImageReference, digest: str) -> None:
        """Raise RegistryError if the registry reports another digest than the content's."""
        stored = response.headers.get("Docker-Content-Digest", "")
        if stored.partition(":")[0] == digest.partition(":")[0] and stored != digest:
            raise RegistryError(f"{where}: the registry stored {stored}, but the blob is {digest}")

    def _url(self, where: ImageReference, rest: str) -> str:
        return f"{self._scheme}://{where.host}/v2/{where.repository}/blobs/{rest}"


def _received(response: Any, expected: int) -> int:
    """Return the number of bytes that the registry has of an upload."""
    match = _RANGE.fullmatch(response.headers.get("Range", "").strip())
    if not match:
        return expected
    last = int(match[1])
    return last + 1 if last else min(expected, 1)  # 0-0 is an upload of one byte or none


class Registry(oras.provider.Registry):  # type: ignore[misc]  # oras carries no types
    """oras's client with its own requests; `insecure` allows requests without TLS.

    `ca` is a file of certificates to trust instead of the system's; `cancelled` stops transfers between two chunks of
    at most `chunk` bytes.
    """

    def __init__(
        self,
        *,
        credentials: FindCredentials = lambda registry: None,
        insecure: bool = False,
        ca: str | None = None,
        certificate: tuple[str, str] | None = None,
        unverified: bool = False,
        cancelled: threading.Event | None = None,
        chunk: int = CHUNK,
        flags: TransportFlags | None = None,
    ) -> None:
        self._chunk = chunk
        verify = False if unverified else ca or True
        super().__init__(insecure=insecure, tls_verify=verify)
        bound_session(self.session)
        self._requester = Requester(
            self.session,
            verify=verify,
            certificate=certificate,
            credentials=credentials,
            cancelled=cancelled,
            flags=flags,
        )

    def do_request(self, url: str, method: str = "GET", **more: Any) -> Any:
        """Send a request; oras calls this for all of its own requests. See `Requester.send`."""
        return self._requester.send(method, url, **more)

    # manifests

    def fetch_manifest(self, reference: ImageReference | str) -> ImageManifest:
        """Fetch a manifest or index by tag or digest; verify a digest."""
        where = _reference(reference)
        with self._ask_manifest(where) as response:
            self._expect(response, where, 200)
            return read_manifest(where, self._bounded(where, response), response.headers.get("Content-Type", ""))

    def find_manifest(self, reference: ImageReference | str) -> ImageManifest | None:
        """Fetch a manifest or index, None if the registry has none of that tag or digest."""
        where = _reference(reference)
        with self._ask_manifest(where) as response:
            if response.status_code == 404:
                return None
            self._expect(response, where, 200)
            return read_manifest(where, self._bounded(where, response), response.headers.get("Content-Type", ""))

    def _ask_manifest(self, where: ImageReference) -> Any:
        url = self._url(where, "manifests", where.pointer)
        return self.do_request(url, "GET", headers={"Accept": ", ".join(ACCEPTED)}, stream=True)

    def push_manifest(self, reference: ImageReference | str, raw: bytes, media_type: str) -> str:
        """Push exactly these bytes under the tag or digest; return their digest.

        Push the blobs that it names before.
        """
        where = _reference(reference)
        digest = digest_of(raw)
        if where.digest and where.digest != digest:
            raise RegistryError(f"{where}: the manifest to push has the digest {digest}")
        headers = {"Content-Type": media_type}
        response = self.do_request(self._url(where, "manifests", where.pointer), "PUT", data=raw, headers=headers)
        self._expect(response, where, 200, 201)
        stored = response.headers.get("Docker-Content-Digest") or digest
        if stored.startswith("sha256:") and stored != digest:
            raise RegistryError(f"{where}: the registry stored {stored}, but the manifest is {digest}")
        subject = read_json(raw).get("subject")
        if subject and not response.headers.get("OCI-Subject"):
            self._keep_fallback(where, read_descriptor(where, subject).digest, raw, media_type)
        return digest

    # blobs

    def read_blob(self, reference: ImageReference | str, blob: ContentDescriptor | str) -> Iterator[bytes]:
        """Yield the content in chunks. Size and digest are verified after the last chunk: use nothing before."""
        where = _reference(reference)
        digest, size = (blob, None) if isinstance(blob, str) else (blob.digest, blob.size)
        if not is_digest(digest):
            raise RegistryError(f"{where}: {digest!r} is not a digest that can be checked")
        algorithm, _, expected = digest.partition(":")
        hasher, count = hashlib.new(algorithm), 0
        with self.do_request(self._url(where, "blobs", digest), "GET", stream=True) as response:
            self._expect(response, where.at(digest), 200)
            for chunk in self._requester.chunks(response, where):
                count += len(chunk)
                if size is not None and count > size:
                    raise RegistryError(f"{where}: blob {digest} is longer than the expected {size} bytes")
                hasher.update(chunk)
                yield chunk
        if hasher.hexdigest() != expected or (size is not None and count != size):
            raise RegistryError(
                f"{where}: blob {digest} has the digest {algorithm}:{hasher.hexdigest()} ({count} bytes)",
                hint="the transfer was interrupted or the content was changed; run the command again",
            )

    def push_blob(
        self,
        reference: ImageReference | str,
        content: bytes,
        media_type: str,
        *,
        source: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> ContentDescriptor:
        """Upload the content unless the registry has it; return what a manifest needs to name it.

        `source` is a repository of this registry that may have the content: it is mounted from there.
        """
        where, digest = _reference(reference), digest_of(content)
        self.uploader().upload(where, content, digest, source=source)
        return ContentDescriptor(media_type, digest, len(content), annotations or {})

    def uploader(self) -> BlobUploader:
        return BlobUploader(self.do_request, self._expect, scheme=self.prefix, chunk=self._chunk)

    # tags and referrers

    def tags(self, reference: ImageReference | str) -> list[str]:
        """Return all tags of a repository, from all pages."""
        where = _reference(reference)
        tags: list[str] = []
        url: str | None = self._url(where, "tags", "list")
        visited: set[str] = set()
        while url:
            if url in visited or len(visited) == MOST_TAG_PAGES or len(tags) > MOST_TAGS:
                raise RegistryError(
                    f"{where}: the list of tags does not end", hint="report it to the registry's operator"
                )
            visited.add(url)
            response = self.do_request(url, "GET", owner=self._url(where))
            self._expect(response, where, 200)
            tags += [str(tag) for tag in _listed(where, response, "tags")]
            link = response.links.get("next", {}).get("url")
            url = next_address(str(where), url, link) if link else None
        return tags

    def referrers(
        self, reference: ImageReference | str, digest: str, artifact_type: str = ""
    ) -> list[ContentDescriptor]:
        """Return the manifests whose subject is `digest`.

        Registries without the referrers API keep them in an index under a tag derived from the digest.
        """
        where = _reference(reference)
        response = self.do_request(self._url(where, "referrers", digest), "GET", headers={"Accept": IMAGE_INDEX})
        if response.status_code == 404:
            descriptors = self._fallback(where, digest)
        else:
            self._expect(response, where, 200)
            descriptors = [read_descriptor(where, entry) for entry in _listed(where, response, "manifests")]
        return [
            descriptor for descriptor in descriptors if not artifact_type or descriptor.artifact_type == artifact_type
        ]

    def _fallback(self, where: ImageReference, digest: str) -> list[ContentDescriptor]:
        index = self.find_manifest(ImageReference(where.registry, where.repository, digest.replace(":", "-")))
        return list(index.manifests) if index else []

    def _keep_fallback(self, where: ImageReference, subject: str, raw: bytes, media_type: str) -> None:
        """Add a manifest to the index under its subject's tag (distribution specification, "Referrers Tag")."""
        body = read_json(raw)
        kind = str(body.get("artifactType") or mapping_at(body, "config").get("mediaType") or "")
        mine = ContentDescriptor(media_type, digest_of(raw), len(raw), mapping_at(body, "annotations"), kind)
        others = [descriptor for descriptor in self._fallback(where, subject) if descriptor.digest != mine.digest]
        manifests = [other.to_json() for other in (*others, mine)]
        index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": manifests}
        tag = ImageReference(where.registry, where.repository, subject.replace(":", "-"))
        self.push_manifest(tag, json.dumps(index, separators=(",", ":")).encode(), IMAGE_INDEX)

    # answers

    def _bounded(self, where: ImageReference, response: Any) -> bytes:
        raw = bytearray()
        for chunk in self._requester.chunks(response, where):
            raw += chunk
            if len(raw) > LARGEST_MANIFEST:
                raise RegistryError(f"{where}: the manifest is longer than {LARGEST_MANIFEST} bytes")
        return bytes(raw)

    def _url(self, where: ImageReference, *path: str) -> str:
        return "/".join((f"{self.prefix}://{where.host}/v2/{where.repository}", *path))

    def _expect(self, response: Any, where: ImageReference, *statuses: int) -> None:
        if response.status_code in statuses:
            return
        messages = "; ".join(_registry_messages(response))
        hints = {403: "ask for the right, or use other credentials", 404: "check the name, the tag and the registry"}
        kind = RegistryNotFoundError if response.status_code == 404 else RegistryError
        raise kind(
            f"{where}: HTTP {response.status_code}{f': {messages}' if messages else ''}",
            hint=hints.get(response.status_code, ""),
        )


def _reference(reference: ImageReference | str) -> ImageReference:
    return parse_reference(reference) if isinstance(reference, str) else reference


def _registry_messages(response: Any) -> Sequence[str]:
    """Return the registry's own messages (distribution specification, "Error Codes"), shortened."""
    try:
        errors = read_json(response.content[:65536]).get("errors") or []
        return [f"{error.get('code', '')} {error.get('message', '')}".strip()[:200] for error in errors[:3]]
    except (ValueError, AttributeError, TypeError, KeyError):
        # a proxy may answer in the registry's place, with HTML
        return []


def _listed(where: ImageReference, response: Any, key: str) -> list[Any]:
    entries = read_body(where, response.content, "the registry's answer").get(key) or []
    if not isinstance(entries, list):
        raise RegistryError(f"{where}: {key} in the registry's answer is not a list")
    return entries


TransferReport = Callable[[str, int, int], None]
"""Gets what is done ("sending sha256:…"), and how many of how many bytes are."""


class RegistryArtifacts:
    """Implements `ArtifactStore` with one client for hosts with TLS and one for `insecure` hosts (host[:port]).

    `report` is called for each part of a blob that is read or sent.
    """

    def __init__(
        self, *, insecure: Collection[str] = (), ca: str | None = None, report: TransferReport | None = None
    ) -> None:
        self._report = report or _unreported
        find = DockerCredentials().find
        self._insecure = frozenset(insecure)
        self._secure_client = Registry(credentials=find, ca=ca)
        self._plain_client = Registry(credentials=find, insecure=True)

    def client(self, repository: str) -> Registry:
        """Return the client for a repository ("host/path"), which has more requests than a store."""
        return self._plain_client if repository.partition("/")[0] in self._insecure else self._secure_client

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        """Return a manifest, None if the registry has none. Raise RegistryError."""
        manifest = self.client(repository).find_manifest(_at(repository, pointer))
        return (manifest.raw, manifest.media_type) if manifest is not None else None

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        """Return a verified blob. Raise RegistryError, also if it is larger."""
        content = bytearray()
        for chunk in self.client(repository).read_blob(parse_reference(repository), digest):
            content += chunk
            if len(content) > largest:
                raise RegistryError(f"{repository}@{digest} is larger than {largest} bytes")
        return bytes(content)

    def tags(self, repository: str) -> list[str]:
        return self.client(repository).tags(parse_reference(repository))

    def referrers(self, repository: str, digest: str) -> list[Mapping[str, Any]]:
        referrers = self.client(repository).referrers(parse_reference(repository), digest)
        return [referrer.to_json() for referrer in referrers]

    def push_blob(self, repository: str, content: bytes, *, source: str = "") -> None:
        """Upload a blob unless the repository has it; mount it from `source` if both are of one registry."""
        where = parse_reference(repository)
        other = parse_reference(source) if source else where
        mounted = other.repository if other.registry == where.registry and other != where else ""
        self.client(repository).push_blob(where, content, "", source=mounted)

    def has_blob(self, repository: str, digest: str) -> bool:
        return self.client(repository).uploader().has(parse_reference(repository), digest)

    def mount_blob(self, repository: str, digest: str, source: str) -> bool:
        """Mount a blob if both repositories are of one registry."""
        where, other = parse_reference(repository), parse_reference(source)
        if where.registry != other.registry or where == other:
            return False
        return self.client(repository).uploader().mount(where, digest, other.repository)

    def blob_chunks(self, repository: str, digest: str, size: int) -> Iterator[bytes]:
        blob, done = ContentDescriptor("", digest, size), 0
        for chunk in self.client(repository).read_blob(parse_reference(repository), blob):
            done += len(chunk)
            self._report(f"reading {digest}", done, size)
            yield chunk

    def push_chunks(self, repository: str, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        """Upload a blob from a temporary file, so that chunks can be sent again."""
        with FileContent() as content:
            content.fill(chunks)

            def sent(count: int) -> None:
                self._report(f"sending {digest}", count, size)

            self.client(repository).uploader().upload(parse_reference(repository), content, digest, sent=sent)

    def push_manifest(self, repository: str, pointer: str, content: bytes, media_type: str) -> str:
        return self.client(repository).push_manifest(_at(repository, pointer), content, media_type)


def _unreported(what: str, done: int, size: int) -> None:
    pass


def _at(repository: str, pointer: str) -> ImageReference:
    if not pointer:
        raise RegistryError(f"{repository}: a manifest has neither tag nor digest")
    return parse_reference(f"{repository}@{pointer}" if ":" in pointer else f"{repository}:{pointer}")
