"""Checks of URLs that servers send: redirects, further pages, token services. All must stay on TLS."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from kymatui.errors import RegistryError

MOST_REDIRECTS: Final = 5  # of one request; more are treated as a loop
WEB: Final = ("http", "https")
_NONE: Final = SplitResult("", "", "", "", "")


def parts_of(address: str) -> SplitResult:
    """Return the parts of a URL, all empty if it is malformed."""
    try:
        return urlsplit(address)
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
        target = urljoin(address, location)
        parts = urlsplit(target)
    except ValueError as error:
        raise RegistryError(
            f"{where} redirects to {redact_url(location)[:200]!r}, which is not a valid address"
        ) from error
    if parts.scheme not in WEB or (parts.scheme == "http" and address.lower().startswith("https:")):
        raise RegistryError(f"{where} redirects to an address without TLS: {redact_url(target)}")
    return target


def is_same_host(one: str, other: str) -> bool:
    """Return whether scheme, host and port are equal, so that credentials of one may go to the other."""
    first, second = parts_of(one), parts_of(other)
    return bool(first.netloc) and first[:2] == second[:2]
