"""Addresses and digests for messages and records, without passwords, tokens and queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit


def redact_address(address: str) -> str:
    """Return an address without user, password, query and fragment; other text stays the same."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.rpartition("@")[2]
    if not parts.scheme or not parts.netloc:
        return address
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def content_digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def digest_of_files(files: Iterable[tuple[str, bytes]]) -> str:
    """Return one digest over names and contents of files; their order does not matter."""
    hashed = hashlib.sha256()
    for name, content in sorted(files):
        encoded = name.encode("utf-8", "surrogateescape")
        hashed.update(b"%d:%b%d:" % (len(encoded), encoded, len(content)))
        hashed.update(content)
    return f"sha256:{hashed.hexdigest()}"
