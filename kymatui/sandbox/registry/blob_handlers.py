"""Blobs over HTTP: pull (with ranges) and push (whole, in chunks, or mounted)."""

from __future__ import annotations

import re

from aiohttp import web

from kymatui.sandbox.registry.blob_uploads import BlobUpload, BlobUploads
from kymatui.sandbox.registry.digest_rules import check_digest
from kymatui.sandbox.registry.registry_access import RegistryAccess, repository_scope
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_routes import Route
from kymatui.sandbox.registry.registry_store import RegistryStore

_BYTES = re.compile(r"bytes=(\d*)-(\d*)")


def requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last requested byte; None for the whole, or a header that may be ignored."""
    match = _BYTES.fullmatch(header.strip()) if header else None
    if not match or not (match[1] or match[2]):
        return None
    if not match[1]:
        return max(size - int(match[2]), 0), size - 1
    start = int(match[1])
    end = min(int(match[2]), size - 1) if match[2] else size - 1
    if start >= size or end < start:
        raise RegistryRefusal(
            "RANGE_INVALID", "invalid range", detail=header, headers={"Content-Range": f"bytes */{size}"}
        )
    return start, end


class BlobHandlers:
    """Handlers of the requests under `/blobs/`."""

    def __init__(self, store: RegistryStore, uploads: BlobUploads, access: RegistryAccess, max_bytes: int) -> None:
        self._store = store
        self._uploads = uploads
        self._access = access
        self._max_bytes = max_bytes

    # -- pulling

    async def get_blob(self, request: web.Request, route: Route) -> web.Response:
        content = self._store.blob(route.name, route.reference)
        headers = {
            "Docker-Content-Digest": route.reference,
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
            "Etag": f'"{route.reference}"',
            "Cache-Control": "max-age=31536000",
        }
        if request.method == "HEAD":
            return web.Response(headers={**headers, "Content-Length": str(len(content))})
        byte_range = requested_range(request.headers.get("Range"), len(content))
        if byte_range is None:
            return web.Response(body=content, headers=headers)
        start, end = byte_range
        headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return web.Response(status=206, body=content[start : end + 1], headers=headers)

    async def delete_blob(self, request: web.Request, route: Route) -> web.Response:
        self._store.delete_blob(route.name, route.reference)
        return web.Response(status=202, headers={"Docker-Content-Digest": route.reference})

    # -- pushing

    async def start_upload(self, request: web.Request, route: Route) -> web.Response:
        """Mount a blob, receive a whole blob, or open a session, depending on the query."""
        mount, source = request.query.get("mount"), request.query.get("from")
        if mount:
            check_digest(mount)
            if source and self._may_pull(request, source) and self._store.mount_blob(route.name, mount, source):
                return self._created(route.name, mount)
        upload = self._uploads.start(route.name)
        digest = request.query.get("digest")
        if digest and not mount:
            await self._receive(request, upload)
            return self._finish(upload, digest)
        return web.Response(status=202, headers=upload.headers())

    async def patch_upload(self, request: web.Request, route: Route) -> web.Response:
        upload = self._uploads.find(route.name, route.reference)
        upload.expect(request.headers.get("Content-Range"), request.content_length)
        await self._receive(request, upload)
        return web.Response(status=202, headers=upload.headers())

    async def put_upload(self, request: web.Request, route: Route) -> web.Response:
        upload = self._uploads.find(route.name, route.reference)
        digest = request.query.get("digest", "")
        if not digest:
            raise RegistryRefusal(
                "DIGEST_INVALID", "provided digest did not match uploaded content", detail="digest missing"
            )
        check_digest(digest)
        if request.can_read_body:
            upload.expect(request.headers.get("Content-Range"), request.content_length)
            await self._receive(request, upload)
        return self._finish(upload, digest)

    async def upload_status(self, request: web.Request, route: Route) -> web.Response:
        return web.Response(status=204, headers=self._uploads.find(route.name, route.reference).headers())

    async def cancel_upload(self, request: web.Request, route: Route) -> web.Response:
        self._uploads.close(self._uploads.find(route.name, route.reference))
        return web.Response(status=204)

    async def _receive(self, request: web.Request, upload: BlobUpload) -> None:
        """Append the body; after a broken transfer the received bytes stay, and the client can resume."""
        async for chunk in request.content.iter_chunked(1 << 16):
            if len(upload.received) + len(chunk) > self._max_bytes:
                self._uploads.close(upload)
                raise RegistryRefusal("SIZE_INVALID", f"a blob may have {self._max_bytes} bytes at most", status=413)
            upload.received += chunk

    def _finish(self, upload: BlobUpload, digest: str) -> web.Response:
        self._uploads.close(upload)
        self._store.push_blob(upload.repository, bytes(upload.received), digest)
        return self._created(upload.repository, digest)

    def _may_pull(self, request: web.Request, source: str) -> bool:
        return self._access.may(request.headers.get("Authorization"), repository_scope(source, "pull"), "")

    @staticmethod
    def _created(repository: str, digest: str) -> web.Response:
        headers = {"Location": f"/v2/{repository}/blobs/{digest}", "Docker-Content-Digest": digest}
        return web.Response(status=201, headers=headers)
