"""The HTTP server of the registry: one aiohttp application, on loopback, in the current event loop.

registry = SandboxRegistry(access=RegistryAccess(Scheme.BASIC, {"dev": RegistryUser("secret")}))
await registry.start()          # registry.address == "127.0.0.1:40123"
registry.store.push_blob(...)   # served at once
await registry.stop()
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
import ssl
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlencode

from aiohttp import web
from msgspec import Struct, field

from kymatui.errors import ConfigurationError
from kymatui.sandbox.apiserver.http.http_server import stop_runner
from kymatui.sandbox.registry.registry_access import CATALOG_SCOPE, RegistryAccess, Scheme, TokenScope, repository_scope
from kymatui.sandbox.registry.registry_routes import RegistryRefusal, Route, answer_refusal, check_digest, route
from kymatui.sandbox.registry.registry_store import MAX_MANIFEST_BYTES, OCI_INDEX, RegistryStore

Handler = Callable[[web.Request, Route], Awaitable[web.Response]]

API_VERSION = {"Docker-Distribution-API-Version": "registry/2.0"}


class SandboxRegistry:
    """One registry: its content (`store`), access rules (`access`), faults, and HTTP server."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        access: RegistryAccess | None = None,
        tls: ssl.SSLContext | None = None,
        referrers_api: bool = True,
        max_blob_bytes: int = 1 << 30,
    ) -> None:
        if not ipaddress.ip_address(host).is_loopback:
            raise ConfigurationError(
                f"the sandbox's registry does not listen on {host}",
                hint="It serves loopback addresses only: 127.0.0.1 or ::1.",
            )
        self.store = RegistryStore()
        self.access = access or RegistryAccess()
        self.faults = RegistryFaults()
        self.requests: list[str] = []
        self._host = host
        self._port = port
        self._tls = tls
        self._uploads = BlobUploads()
        self._handlers = self._table(max_blob_bytes, referrers_api)
        self._runner: web.AppRunner | None = None

    # -- start and stop

    async def start(self, listening: socket.socket | None = None) -> None:
        """Listen, on an open socket if one is given; `address` has the port."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/token", self._serve_token)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        if listening is not None:
            await web.SockSite(self._runner, listening, ssl_context=self._tls).start()
        else:
            await web.TCPSite(self._runner, self._host, self._port, ssl_context=self._tls).start()
        self._port = cast("tuple[str, int]", self._runner.addresses[0])[1]

    async def stop(self) -> None:
        if self._runner is not None:
            await stop_runner(self._runner)
            self._runner = None

    @property
    def address(self) -> str:
        """Return `host:port`, the first part of an image reference to this registry."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self._port}"

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{self.address}"

    # -- requests

    def _table(self, max_blob_bytes: int, referrers_api: bool) -> dict[tuple[str, str], Handler]:
        blobs = BlobHandlers(self.store, self._uploads, self.access, max_blob_bytes)
        listings = ListingHandlers(self.store, referrers_api=referrers_api)
        return {
            ("base", "GET"): self._base,
            ("base", "HEAD"): self._base,
            ("catalog", "GET"): listings.list_repositories,
            ("tags", "GET"): listings.list_tags,
            ("referrers", "GET"): listings.list_referrers,
            ("manifest", "GET"): listings.get_manifest,
            ("manifest", "HEAD"): listings.get_manifest,
            ("manifest", "PUT"): listings.put_manifest,
            ("manifest", "DELETE"): listings.delete_manifest,
            ("blob", "GET"): blobs.get_blob,
            ("blob", "HEAD"): blobs.get_blob,
            ("blob", "DELETE"): blobs.delete_blob,
            ("start", "POST"): blobs.start_upload,
            ("upload", "GET"): blobs.upload_status,
            ("upload", "PATCH"): blobs.patch_upload,
            ("upload", "PUT"): blobs.put_upload,
            ("upload", "DELETE"): blobs.cancel_upload,
        }

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        fault = self.faults.take(request.method, request.path)
        if fault is not None and fault.kind in (RegistryFaultKind.STATUS, RegistryFaultKind.DROP):
            return await self._fail(request, fault)
        if fault is not None and fault.kind is RegistryFaultKind.DELAY:
            await asyncio.sleep(fault.seconds)
        answer = await self._answer(request)
        answer.headers.update(API_VERSION)
        if fault is not None and fault.kind in (RegistryFaultKind.TRUNCATE, RegistryFaultKind.TAMPER):
            return await self._spoil(request, answer, fault)
        return answer

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            matched = route(request.method, request.path)
            self.access.require(request.headers.get("Authorization"), self._scope(matched), self._realm(request))
            return await self._handlers[matched.shape, request.method](request, matched)
        except RegistryRefusal as refusal:
            return answer_refusal(refusal)

    async def _base(self, request: web.Request, matched: Route) -> web.Response:
        return answer_json({})

    @staticmethod
    def _scope(matched: Route) -> TokenScope | None:
        if matched.shape == "base":
            return None
        if matched.shape == "catalog":
            return CATALOG_SCOPE
        return repository_scope(matched.name, *matched.actions)

    @staticmethod
    def _realm(request: web.Request) -> str:
        return f"{request.scheme}://{request.host}/token"

    # -- the token endpoint

    async def _serve_token(self, request: web.Request) -> web.Response:
        """Serve GET with Basic (or anonymously) and POST with a form (OAuth 2, `grant_type=password`)."""
        self.requests.append(f"{request.method} {request.path}")
        fault = self.faults.take(request.method, request.path)
        if fault is not None:
            return await self._fail(request, fault)
        try:
            if self.access.scheme is not Scheme.BEARER:
                raise RegistryRefusal("UNSUPPORTED", "this registry gives no tokens", status=404)
            return await self._issue(request)
        except RegistryRefusal as refusal:
            return answer_refusal(refusal)

    async def _issue(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            form = await request.clone(client_max_size=1 << 16).post()
            user = self.access.password_matches(str(form.get("username", "")), str(form.get("password", "")))
            if user is None:
                raise RegistryRefusal("UNAUTHORIZED", "wrong user name or password")
            texts = [part for text in form.getall("scope", []) for part in str(text).split()]
        else:
            user = self.access.authenticate(request.headers.get("Authorization"))
            texts = [part for text in request.query.getall("scope", []) for part in text.split()]
        scopes = [scope for text in texts if (scope := TokenScope.parse(text)) is not None]
        token = self.access.issue(user, scopes)
        body = {
            "token": token,
            "access_token": token,
            "expires_in": self.access.token_seconds,
            "issued_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return answer_json(body)

    # -- faults

    @staticmethod
    async def _fail(request: web.Request, fault: RegistryFault) -> web.Response:
        if fault.kind is RegistryFaultKind.DROP:
            if request.transport is not None:
                request.transport.close()
            return web.Response(status=500)
        code = "TOOMANYREQUESTS" if fault.status == 429 else "UNKNOWN"
        headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after else {}
        return answer_refusal(
            RegistryRefusal(code, "the registry was asked to fail", status=fault.status, headers=headers)
        )

    @staticmethod
    async def _spoil(request: web.Request, answer: web.Response, fault: RegistryFault) -> web.StreamResponse:
        content = answer.body if isinstance(answer.body, bytes) else b""
        if fault.kind is RegistryFaultKind.TAMPER:
            answer.body = bytes([content[0] ^ 1]) + content[1:] if content else b"?"
            return answer
        headers = {k: v for k, v in answer.headers.items() if k.lower() != "content-length"}
        partly = web.StreamResponse(status=answer.status, headers=headers)
        partly.content_length = len(content)
        await partly.prepare(request)
        await partly.write(content[: len(content) // 2])
        if request.transport is not None:
            request.transport.close()
        return partly


# Manifests, tags, referrers and the catalog over HTTP.


class ListingHandlers:
    """Handlers of requests about the content of a repository."""

    def __init__(self, store: RegistryStore, *, referrers_api: bool) -> None:
        self._store = store
        self._referrers_api = referrers_api

    async def get_manifest(self, request: web.Request, route: Route) -> web.Response:
        manifest = self._store.manifest(route.name, route.reference)
        headers = {
            "Content-Type": manifest.media_type,
            "Docker-Content-Digest": manifest.digest,
            "Etag": f'"{manifest.digest}"',
        }
        if request.method == "HEAD":
            return web.Response(headers={**headers, "Content-Length": str(len(manifest.content))})
        return web.Response(body=manifest.content, headers=headers)

    async def put_manifest(self, request: web.Request, route: Route) -> web.Response:
        content = await self._body(request)
        media_type = request.headers.get("Content-Type", "").partition(";")[0].strip()
        digest = self._store.push_manifest(route.name, route.reference, content, media_type)
        headers = {"Location": f"/v2/{route.name}/manifests/{digest}", "Docker-Content-Digest": digest}
        subject = self._store.manifest(route.name, digest).subject
        if subject and self._referrers_api:
            headers["OCI-Subject"] = subject
        return web.Response(status=201, headers=headers)

    async def delete_manifest(self, request: web.Request, route: Route) -> web.Response:
        self._store.delete_manifest(route.name, route.reference)
        return web.Response(status=202)

    async def list_tags(self, request: web.Request, route: Route) -> web.Response:
        shown, headers = page(self._store.tags(route.name), request.query, request.path)
        return answer_json({"name": route.name, "tags": shown}, headers=headers)

    async def list_repositories(self, request: web.Request, route: Route) -> web.Response:
        shown, headers = page(self._store.repositories(), request.query, request.path)
        return answer_json({"repositories": shown}, headers=headers)

    async def list_referrers(self, request: web.Request, route: Route) -> web.Response:
        if not self._referrers_api:
            raise RegistryRefusal("UNSUPPORTED", "The operation is unsupported.", status=404)
        artifact_type = request.query.get("artifactType", "")
        referrers = self._store.referrers(route.name, route.reference, artifact_type)
        body = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": referrers}
        headers = {"OCI-Filters-Applied": "artifactType"} if artifact_type else {}
        return answer_json(body, content_type=OCI_INDEX, headers=headers)

    @staticmethod
    async def _body(request: web.Request) -> bytes:
        received = bytearray()
        async for chunk in request.content.iter_chunked(1 << 16):
            received += chunk
            if len(received) > MAX_MANIFEST_BYTES:
                raise RegistryRefusal(
                    "MANIFEST_INVALID", f"manifest is larger than {MAX_MANIFEST_BYTES} bytes", status=413
                )
        return bytes(received)


def answer_json(
    body: Any, *, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(body=json.dumps(body).encode(), content_type=content_type, headers=headers)


def page(items: Sequence[str], query: Mapping[str, str], path: str) -> tuple[list[str], dict[str, str]]:
    """Return at most `n` items after `last`, and the headers of the page."""
    after = [item for item in items if item > query["last"]] if "last" in query else list(items)
    if "n" not in query:
        return after, {}
    size = _size(query["n"])
    shown = after[:size]
    if not shown or len(shown) == len(after):
        return shown, {}
    following = urlencode({"n": size, "last": shown[-1]})
    return shown, {"Link": f'<{path}?{following}>; rel="next"'}


def _size(text: str) -> int:
    if not text.isdigit():
        raise RegistryRefusal("PAGINATION_NUMBER_INVALID", "invalid number of results requested", detail={"n": text})
    return int(text)


# Injected faults of a registry: overloaded, broken or tampered with.


class RegistryFaultKind(StrEnum):
    STATUS = "status"  # answers with `status` and does nothing
    TRUNCATE = "truncate"  # promises the whole body, sends half of it, closes the connection
    TAMPER = "tamper"  # changes one byte of the body; headers still have the right digest
    DROP = "drop"  # closes the connection without an answer
    DELAY = "delay"  # waits `seconds`, then answers as usual


class RegistryFault(Struct, dict=True):
    """A fault for requests with a matching method and path, `times` times (0: always)."""

    kind: RegistryFaultKind
    path: str = ".*"
    method: str = ".*"
    times: int = 1
    status: int = 500
    retry_after: int = 0
    seconds: float = 0.0

    def matches(self, method: str, path: str) -> bool:
        return bool(re.fullmatch(self.method, method) and re.search(self.path, path))


class RegistryFaults:
    """The active faults in the order they were set; each request gets the first that matches."""

    def __init__(self) -> None:
        self._faults: list[RegistryFault] = []

    def set(self, fault: RegistryFault) -> None:
        self._faults.append(fault)

    def clear(self) -> None:
        self._faults.clear()

    def take(self, method: str, path: str) -> RegistryFault | None:
        for fault in self._faults:
            if fault.matches(method, path):
                self._count(fault)
                return fault
        return None

    def _count(self, fault: RegistryFault) -> None:
        if fault.times == 0:
            return
        fault.times -= 1
        if fault.times == 0:
            self._faults.remove(fault)


# Blobs over HTTP: pull (with ranges) and push (whole, in chunks, or mounted).


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


# Uploads in progress: sessions between POST and PUT, their offsets, and Content-Range checks.


_RANGE = re.compile(r"(?:bytes[ =])?(\d+)-(\d+)(?:/(?:\d+|\*))?")


class BlobUpload(Struct, dict=True):
    """One session; `received` grows with each chunk."""

    repository: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    received: bytearray = field(default_factory=bytearray)

    @property
    def location(self) -> str:
        return f"/v2/{self.repository}/blobs/uploads/{self.id}"

    def headers(self) -> dict[str, str]:
        """Return the headers of answers about this upload; an empty one has `0-0`, as in other registries."""
        return {
            "Location": self.location,
            "Range": f"0-{max(len(self.received) - 1, 0)}",
            "Docker-Upload-UUID": self.id,
        }

    def expect(self, content_range: str | None, content_length: int | None) -> None:
        """Raise RANGE_INVALID (416, with the offset to resume at) unless the chunk continues the last one."""
        if content_range is None:
            return
        match = _RANGE.fullmatch(content_range.strip())
        if not match:
            raise self._out_of_order(content_range)
        start, end = int(match[1]), int(match[2])
        if start != len(self.received) or end < start:
            raise self._out_of_order(content_range)
        if content_length is not None and content_length != end - start + 1:
            raise RegistryRefusal("SIZE_INVALID", "provided length did not match content length", detail=content_range)

    def _out_of_order(self, content_range: str) -> RegistryRefusal:
        return RegistryRefusal("RANGE_INVALID", "invalid content range", detail=content_range, headers=self.headers())


class BlobUploads:
    """The open sessions of a registry."""

    def __init__(self) -> None:
        self._open: dict[str, BlobUpload] = {}

    def start(self, repository: str) -> BlobUpload:
        upload = BlobUpload(repository)
        self._open[upload.id] = upload
        return upload

    def find(self, repository: str, upload_id: str) -> BlobUpload:
        upload = self._open.get(upload_id)
        if upload is None or upload.repository != repository:
            raise RegistryRefusal("BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry", detail=upload_id)
        return upload

    def close(self, upload: BlobUpload) -> None:
        self._open.pop(upload.id, None)
