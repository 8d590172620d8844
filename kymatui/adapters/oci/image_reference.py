"""References of images: `[oci://]registry/repository[:tag][@digest]`."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from kymatui.errors import RegistryError

_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_REGISTRY = re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?")


class ImageReference(Struct, frozen=True):
    """The location of an artifact; `repository` is the path in the registry; tag and digest may be empty."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def pointer(self) -> str:
        """Return the digest if there is one, else the tag, else `latest`."""
        return self.digest or self.tag or "latest"

    @property
    def host(self) -> str:
        """Return the host that serves the registry; Docker Hub's name is that of its web page."""
        return "registry-1.docker.io" if self.registry in ("docker.io", "index.docker.io") else self.registry

    def at(self, digest: str) -> ImageReference:
        return replace(self, digest=digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def is_digest(text: str) -> bool:
    """Return whether this is a digest whose content can be checked."""
    return _DIGEST.fullmatch(text) is not None


def parse_reference(text: str) -> ImageReference:
    """Return the parsed reference. Raise RegistryError naming the wrong part.

    Syntax: distribution specification 1.1, "Pulling manifests".
    """
    rest = text.removeprefix("oci://")
    rest, _, digest = rest.partition("@")
    registry, slash, path = rest.partition("/")
    repository, tag = path, ""
    if ":" in path:
        repository, _, tag = path.rpartition(":")
    hint = "write registry/repository:tag or registry/repository@sha256:…"
    if not slash or not _REGISTRY.fullmatch(registry):
        raise RegistryError(f"{text!r} has no registry", hint=hint)
    if not _NAME.fullmatch(repository):
        raise RegistryError(f"{text!r}: {repository!r} is not a valid repository name (lower case only)", hint=hint)
    if tag and not _TAG.fullmatch(tag):
        raise RegistryError(f"{text!r}: {tag!r} is not a valid tag", hint=hint)
    if digest and not _DIGEST.fullmatch(digest):
        raise RegistryError(f"{text!r}: {digest!r} is not a digest", hint=hint)
    return ImageReference(registry, repository, tag, digest)
