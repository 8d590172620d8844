"""Errors of a registry: the codes of the distribution specification and their HTTP statuses.

Where the specification leaves the status open, it is that of the CNCF distribution registry, which clients know.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

STATUS_OF_CODE: dict[str, int] = {
    "BLOB_UNKNOWN": 404,
    "BLOB_UPLOAD_INVALID": 400,
    "BLOB_UPLOAD_UNKNOWN": 404,
    "DIGEST_INVALID": 400,
    "MANIFEST_BLOB_UNKNOWN": 400,
    "MANIFEST_INVALID": 400,
    "MANIFEST_UNKNOWN": 404,
    "NAME_INVALID": 400,
    "NAME_UNKNOWN": 404,
    "PAGINATION_NUMBER_INVALID": 400,
    "RANGE_INVALID": 416,
    "SIZE_INVALID": 400,
    "TAG_INVALID": 400,
    "UNAUTHORIZED": 401,
    "DENIED": 403,
    "UNSUPPORTED": 405,
    "TOOMANYREQUESTS": 429,
    "UNKNOWN": 500,
}


class RegistryRefusal(Exception):
    """A refused request; `headers` are added to the answer (challenges, ranges)."""

    def __init__(
        self, code: str, message: str, *, detail: Any = None, status: int = 0, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.status = status or STATUS_OF_CODE[code]
        self.headers = headers or {}


def answer_refusal(refusal: RegistryRefusal) -> web.Response:
    """Return the body `{"errors": [{code, message, detail}]}` of the specification."""
    body = {"errors": [{"code": refusal.code, "message": refusal.message, "detail": refusal.detail}]}
    return web.Response(
        status=refusal.status,
        body=json.dumps(body).encode(),
        content_type="application/json",
        headers=refusal.headers,
    )
