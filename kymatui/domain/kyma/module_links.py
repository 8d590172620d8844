"""The links of a module: documentation and repository, as its template names them.

Templates are written by others, so a link is opened and displayed only if it is an http or https address without
tricks: no control characters, no user before the host, no host that looks like another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from kymatui.domain.kyma.module_templates import ModuleTemplate

LONGEST_LINK: Final = 2048  # characters; a longer text is not displayed as a link
_OLD_DOCUMENTATION: Final = "operator.kyma-project.io/doc-url"
_PATH: Final = "/%:@!$&'()*+,;=~-._"
_SCHEMES: Final = ("http", "https")


class ModuleLink(Struct, frozen=True):
    """A link that may be opened; `name` says where it leads."""

    name: str
    address: str


def module_links(template: ModuleTemplate) -> tuple[ModuleLink, ...]:
    """Return the usable links of a template, the documentation first, each address once."""
    links: dict[str, ModuleLink] = {}
    for name, text in _named(template):
        address = safe_address(text)
        if address:
            links.setdefault(address, ModuleLink(name, address))
    return tuple(links.values())


def _named(template: ModuleTemplate) -> Iterator[tuple[str, str]]:
    yield "documentation", template.documentation
    yield "documentation", template.meta.annotations.get(_OLD_DOCUMENTATION, "")
    yield "repository", template.repository


def safe_address(text: str) -> str:
    """Return the address as ASCII, "" for everything that is no plain http or https address."""
    if not text or len(text) > LONGEST_LINK or not text.isprintable() or any(char in text for char in ' "<>\\^`{|}'):
        return ""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        plain = host.encode("idna").decode("ascii") if not host.isascii() else host
    except (ValueError, UnicodeError):  # browsers may read a malformed address in another way
        return ""
    if parts.scheme not in _SCHEMES or not plain or "@" in parts.netloc:
        return ""
    public_host = f"[{plain}]" if ":" in plain else plain
    netloc = public_host if port is None else f"{public_host}:{port}"
    path, query, fragment = (quote(part, safe=f"{_PATH}?") for part in parts[2:])
    return urlunsplit((parts.scheme, netloc, path, query, fragment))
