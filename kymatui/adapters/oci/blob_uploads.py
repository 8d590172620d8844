"""Uploads of blobs: skipped if the registry has them, mounted from another repository, whole or in chunks, resumed.

Distribution specification 1.1, "Pushing blobs". Manifests are pushed after their blobs, so an upload that is
interrupted leaves only blobs that no manifest names.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

from kymatui.adapters.http.web_session import is_same_origin, next_address
from kymatui.adapters.oci.image_reference import ImageReference
from kymatui.errors import RegistryError

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
