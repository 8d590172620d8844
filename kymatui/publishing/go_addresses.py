"""Web addresses by the rules of Go's net/url, with which modulectl checks them."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"\x80-\U0010ffff]|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_USER: Final = re.compile(r"(?:[A-Za-z0-9\-._:~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")


def is_valid_address(text: str) -> bool:
    """Return whether an address with a scheme has no control characters, and valid escapes, host and port."""
    if _CONTROL.search(text) or text != text.lstrip():
        return False
    rest, _, fragment = text.partition("#")
    rest, _, _ = rest.partition("?")  # a query may hold anything
    _, slashes, after = rest.partition("://")
    authority, _, path = after.partition("/") if slashes else ("", "", rest)
    user, _, host = authority.rpartition("@")
    if not _USER.fullmatch(user):
        return False
    closed = ""
    if host.startswith("["):
        inner, closed, port = host.rpartition("]")
        name = f"{inner}{closed}"
        if not closed:
            return False
    else:
        name, colon, port = host.rpartition(":")
        name, port = (name, colon + port) if colon else (host, "")
    if ":" in name and not closed:
        return False
    return bool(_HOST.fullmatch(name) and _PORT.fullmatch(port)) and not _ESCAPE.search(f"{path}\n{fragment}")
