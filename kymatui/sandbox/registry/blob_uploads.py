"""Uploads in progress: sessions between POST and PUT, their offsets, and Content-Range checks."""

from __future__ import annotations

import re
import uuid

from msgspec import Struct, field

from kymatui.sandbox.registry.registry_errors import RegistryRefusal

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
