"""Manifests, tags, referrers and the catalog over HTTP."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from kymatui.sandbox.registry.list_pages import page
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_routes import Route
from kymatui.sandbox.registry.registry_store import MAX_MANIFEST_BYTES, OCI_INDEX, RegistryStore


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
