"""Addresses of archives; addresses and digests for messages and records, without passwords, tokens and queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

ARCHIVES: Final = (".tar", ".tar.gz", ".tgz")


def archive_url(address: str) -> tuple[str, str] | None:
    """Return the URL of an archive and the folder in it, which follows `//`; None for another file."""
    scheme, _, rest = address.partition("://")
    archive, _, folder = rest.partition("//")
    return (f"{scheme}://{archive}", folder) if archive.partition("?")[0].endswith(ARCHIVES) else None


def archive_path(text: str) -> tuple[str, str]:
    """Return the path of an archive on this machine and the folder in it; another path stays the same."""
    archive, _, folder = text.partition("//")
    return (archive, folder) if folder and Path(archive).is_file() else (text, "")


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
