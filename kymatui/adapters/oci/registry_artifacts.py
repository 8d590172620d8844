"""Registries as an `ArtifactStore`; only the hosts that were named may be used without TLS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from kymatui.adapters.oci.blob_uploads import FileContent
from kymatui.adapters.oci.docker_credentials import DockerCredentials
from kymatui.adapters.oci.image_manifest import ContentDescriptor
from kymatui.adapters.oci.image_reference import ImageReference, parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.registry_auth import FindCredentials
from kymatui.errors import RegistryError

TransferReport = Callable[[str, int, int], None]
"""Gets what is done ("sending sha256:…"), and how many of how many bytes are."""


class RegistryArtifacts:
    """Implements `ArtifactStore` with one client for hosts with TLS and one for `insecure` hosts (host[:port]).

    `report` is called for each part of a blob that is read or sent.
    """

    def __init__(
        self,
        *,
        insecure: Collection[str] = (),
        ca: str | None = None,
        credentials: FindCredentials | None = None,
        cancelled: threading.Event | None = None,
        report: TransferReport | None = None,
    ) -> None:
        self._report = report or _unreported
        find = credentials or DockerCredentials().find
        self._insecure = frozenset(insecure)
        self._secure_client = Registry(credentials=find, ca=ca, cancelled=cancelled)
        self._plain_client = Registry(credentials=find, insecure=True, cancelled=cancelled)

    def client(self, repository: str) -> Registry:
        """Return the client for a repository ("host/path"), which has more requests than a store."""
        return self._plain_client if repository.partition("/")[0] in self._insecure else self._secure_client

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        """Return a manifest, None if the registry has none. Raise RegistryError."""
        found = self.client(repository).find_manifest(_at(repository, pointer))
        return (found.raw, found.media_type) if found is not None else None

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
        found = self.client(repository).referrers(parse_reference(repository), digest)
        return [one.to_json() for one in found]

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
