"""Rules of content digests (`sha256:…`, `sha512:…`) and of repository names and tags."""

from __future__ import annotations

import hashlib
import re

from kymatui.sandbox.registry.registry_errors import RegistryRefusal

_HEX_LENGTH = {"sha256": 64, "sha512": 128}
_DIGEST = re.compile(r"([a-z0-9]+(?:[+._-][a-z0-9]+)*):([a-zA-Z0-9=_-]+)")
_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def check_digest(text: str) -> str:
    """Return the algorithm of a valid digest. Raise DIGEST_INVALID for one that cannot be verified."""
    match = _DIGEST.fullmatch(text)
    if not match:
        raise RegistryRefusal(
            "DIGEST_INVALID", "provided digest did not match uploaded content", detail=f"not a digest: {text}"
        )
    algorithm, encoded = match[1], match[2]
    if algorithm not in _HEX_LENGTH:
        raise RegistryRefusal("DIGEST_INVALID", f"unsupported digest algorithm {algorithm}", detail=text)
    if not re.fullmatch(rf"[0-9a-f]{{{_HEX_LENGTH[algorithm]}}}", encoded):
        raise RegistryRefusal("DIGEST_INVALID", f"invalid {algorithm} digest", detail=text)
    return algorithm


def verify(content: bytes, digest: str) -> None:
    """Raise DIGEST_INVALID unless `digest` is that of `content`."""
    algorithm = check_digest(digest)
    actual = digest_of(content, algorithm)
    if actual != digest:
        raise RegistryRefusal(
            "DIGEST_INVALID",
            "provided digest did not match uploaded content",
            detail={"Digest": digest, "Actual": actual},
        )


def is_digest(reference: str) -> bool:
    return ":" in reference


def check_name(name: str) -> str:
    if len(name) > 255 or not _NAME.fullmatch(name):
        raise RegistryRefusal("NAME_INVALID", "invalid repository name", detail=name)
    return name


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise RegistryRefusal("TAG_INVALID", "manifest tag did not match URI", detail=tag)
    return tag
