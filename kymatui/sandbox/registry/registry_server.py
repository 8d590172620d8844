"""The HTTP server of the registry: one aiohttp application, on loopback, in the current event loop.

registry = SandboxRegistry(access=RegistryAccess(Scheme.BASIC, {"dev": RegistryUser("secret")}))
await registry.start()          # registry.address == "127.0.0.1:40123"
registry.store.push_blob(...)   # served at once
await registry.stop()
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import cast

from aiohttp import web

from kymatui.errors import ConfigurationError
from kymatui.sandbox.apimachinery.server_shutdown import stop_runner
from kymatui.sandbox.registry.blob_handlers import BlobHandlers
from kymatui.sandbox.registry.blob_uploads import BlobUploads
from kymatui.sandbox.registry.listing_handlers import ListingHandlers, answer_json
from kymatui.sandbox.registry.registry_access import CATALOG_SCOPE, RegistryAccess, Scheme, TokenScope, repository_scope
from kymatui.sandbox.registry.registry_errors import RegistryRefusal, answer_refusal
from kymatui.sandbox.registry.registry_faults import RegistryFault, RegistryFaultKind, RegistryFaults
from kymatui.sandbox.registry.registry_routes import Route, route
from kymatui.sandbox.registry.registry_store import RegistryStore

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
