"""Image references, parsed by the grammar of the distribution project.

`registry:5000/team/manager` has no tag; `manager:1.2.3@sha256:…` has the tag 1.2.3.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from kymatui.patterns import deferred

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = deferred(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_HOST_PART = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])"
_HOST = rf"{_HOST_PART}(?:\.{_HOST_PART})*"
_REGISTRY = deferred(rf"(?:{_HOST}|\[[0-9a-fA-F:]+\])(?::[0-9]+)?")
_TAG = deferred(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = deferred(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_HUB = ("docker.io", "index.docker.io")
_LONGEST = 4096  # characters of a reference with tag and digest, before patterns see it
_LONGEST_NAME = 255  # the limit of the distribution project, without tag and digest


class Image(Struct, frozen=True):
    """An image reference; `registry` defaults to "docker.io", `tag` and `digest` to ""."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """Return the last part of the repository, which a copy in another registry keeps."""
        return self.repository.rpartition("/")[2]

    def is_same(self, other: Image) -> bool:
        """Return whether both name the same image: repository, and digest if both have one, else tag."""
        if (self.registry, self.repository) != (other.registry, other.repository):
            return False
        return self._content(other)

    def is_copy(self, other: Image) -> bool:
        """Return whether the other is the same image in another registry, as `localizedImages` copies it."""
        return self.name == other.name and self._content(other)

    def _content(self, other: Image) -> bool:
        if self.digest and other.digest:
            return self.digest == other.digest
        return bool(self.tag) and self.tag == other.tag


@lru_cache(maxsize=4096)
def parse_image(text: str) -> Image | None:
    """Parse an image reference; None if invalid (upper case in the repository, an empty part, …)."""
    if not 0 < len(text) <= _LONGEST:
        return None
    rest, at, digest = text.partition("@")
    head, colon, tail = rest.rpartition(":")
    tag = tail if colon and "/" not in tail else ""
    path = head if tag else rest
    if rest.endswith(":") or (at and not _DIGEST.fullmatch(digest)) or (tag and not _TAG.fullmatch(tag)):
        return None
    registry, repository = _split(path)
    if not _REGISTRY.fullmatch(registry) or not _REPOSITORY.fullmatch(repository):
        return None
    if len(f"{registry}/{repository}") > _LONGEST_NAME:
        return None
    return Image(registry, repository, tag, digest)


def _split(path: str) -> tuple[str, str]:
    first, slash, rest = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        if first not in _HUB:
            return first, rest
        path = rest
    return "docker.io", path if "/" in path else f"library/{path}"
