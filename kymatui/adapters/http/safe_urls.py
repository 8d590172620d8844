"""Checks of URLs that servers send: redirects, further pages, token services. All must stay on TLS."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from kymatui.errors import RegistryError

MOST_REDIRECTS: Final = 5  # of one request; more are treated as a loop
WEB: Final = ("http", "https")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_PORTS: Final = {"http": 80, "https": 443}
_NONE: Final = SplitResult("", "", "", "", "")


def parts_of(address: str) -> SplitResult:
    """Return the parts of a URL, all empty if it is malformed.

    Backslashes and control characters are malformed: `https://a\\@b/` is host b for the standard library and host a
    for urllib3, which connects.
    """
    try:
        return _NONE if _AMBIGUOUS.search(address) else urlsplit(address)
    except ValueError:
        return _NONE


def redact_url(source: str) -> str:
    """Return the source without user and password, for display."""
    try:
        parts = urlsplit(source) if "://" in source else None
    except ValueError:  # malformed, but a password may still stand before the @
        return source.rpartition("@")[2]
    if parts is None or "@" not in parts.netloc:
        return source
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def next_address(where: str, address: str, location: str) -> str:
    """Return the target of a redirect or link. Raise RegistryError if it leaves TLS or HTTP."""
    try:
        target = "" if _AMBIGUOUS.search(location) else urljoin(address, location)
    except ValueError:
        target = ""
    parts = parts_of(target)
    if not parts.netloc:
        raise RegistryError(f"{where} redirects to {redact_url(location)[:200]!r}, which is not a valid address")
    if parts.scheme not in WEB or (parts.scheme == "http" and parts_of(address).scheme == "https"):
        raise RegistryError(f"{where} redirects to an address without TLS: {redact_url(target)}")
    return target


def is_same_origin(address: str, other: str) -> bool:
    """Return whether scheme, host and port are equal, so that credentials of one may go to the other."""
    origin = origin_of(address)
    return origin is not None and origin == origin_of(other)


def origin_of(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a web address, None if it has none."""
    parts = parts_of(address)
    try:
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in WEB or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port
