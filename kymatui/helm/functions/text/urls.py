"""urlParse and urlJoin as in Go's net/url."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

from msgspec import Struct

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.govalues.types import Panic, kind

_UNRESERVED: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
_HOST: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_PATH: Final = _UNRESERVED | frozenset(b"$&+,/:;=@")
_USER: Final = _UNRESERVED | frozenset(b"$&+,;=")
_FRAGMENT: Final = _UNRESERVED | frozenset(b"$&+,/:;=?@!()*")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")


class UrlError(ValueError):
    """An error of net/url."""


class Url(Struct):
    """The parts of a URL, decoded; `userinfo` stays encoded.

    raw_path: the path as written, "" if it is what Go writes for `path`.
    """

    scheme: str = ""
    opaque: str = ""
    userinfo: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""
    raw_path: str = ""

    @property
    def hostname(self) -> str:
        """Return the host without port and brackets."""
        colon = self.host.rfind(":")
        host = self.host[:colon] if colon >= 0 and _PORT.fullmatch(self.host[colon:]) else self.host
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            text = self._with_authority(text)
        if self.query:
            text += f"?{self.query}"
        return f"{text}#{escape(self.fragment, _FRAGMENT)}" if self.fragment else text

    def _with_authority(self, text: str) -> str:
        if (self.scheme or self.host or self.userinfo is not None) and (
            self.host or self.path or self.userinfo is not None
        ):
            text += "//"
            if self.userinfo is not None:
                text += f"{self.userinfo}@"
            text += escape(self.host, _HOST)
        path = "*" if self.path == "*" else escape(self.path, _PATH)
        if path and not path.startswith("/") and self.host:
            text += "/"
        if not text and ":" in path.partition("/")[0]:
            text = "./"
        return text + path


def escape(text: str, plain: frozenset[int]) -> str:
    """Percent-encode every byte that is not in `plain`."""
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in to_bytes(text))


def unescape(text: str, *, host: bool = False, zone: bool = False) -> str:
    """Decode percent-encoding as strictly as net/url for this part of a URL."""
    data = to_bytes(text)
    decoded = bytearray()
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == 0x25:
            code = data[position + 1 : position + 3]
            written = from_bytes(data[position : position + 3])
            if len(code) < 2 or not _HEX.issuperset(code):
                raise UrlError(f"invalid URL escape {quote(written)}")
            byte = int(code, 16)
            if host and byte < 0x80 and code != b"25":
                raise UrlError(f"invalid URL escape {quote(written)}")
            if zone and code != b"25" and byte != 0x20 and byte not in _HOST:
                raise UrlError(f"invalid URL escape {quote(written)}")
            position += 2
        elif (host or zone) and byte < 0x80 and byte not in _HOST:
            raise UrlError(f"invalid character {quote(chr(byte))} in host name")
        decoded.append(byte)
        position += 1
    return from_bytes(bytes(decoded))


def parse(text: str) -> Url:
    """Return url.Parse. Raise UrlError with Go's message."""
    before, _, fragment = text.partition("#")
    try:
        url = _parse(before)
    except UrlError as error:
        raise UrlError(f"parse {quote(before)}: {error}") from error
    try:
        url.fragment = unescape(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from error
    return url


def _parse(text: str) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if text == "*":
        return Url(path="*")
    scheme, rest = _split_scheme(text)
    url = Url(scheme=scheme.lower())
    if rest.endswith("?") and rest.count("?") == 1:
        rest = rest[:-1]
    else:
        rest, _, url.query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            url.opaque = rest
            return url
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        url.userinfo, url.host = _parse_authority(authority)
    url.path = unescape(rest)
    url.raw_path = "" if escape(url.path, _PATH) == rest else rest
    return url


def _split_scheme(text: str) -> tuple[str, str]:
    for position, character in enumerate(text):
        if character.isascii() and character.isalpha():
            continue
        if character == ":":
            if position == 0:
                raise UrlError("missing protocol scheme")
            return text[:position], text[position + 1 :]
        if position == 0 or not (character.isascii() and (character.isdigit() or character in "+-.")):
            break
    return "", text


def _parse_authority(authority: str) -> tuple[str | None, str]:
    userinfo, at, host = authority.rpartition("@")
    parsed = _parse_host(host)
    if not at:
        return None, parsed
    if not _USERINFO.fullmatch(userinfo):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    return escape(unescape(name), _USER) + colon + escape(unescape(password), _USER), parsed


def _parse_host(host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_address(host)
    # Go 1.26 begins the port of http and https at the first colon; Helm is built with the rules before.
    if (colon := host.rfind(":")) >= 0:
        _check_port(host[colon:])
    return unescape(host, host=True)


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise UrlError(f"invalid port {quote(text)} after host")


def _parse_address(host: str) -> str:
    """Parse [address]:port."""
    closing = host.rfind("]")
    if closing < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[closing + 1 :])
    port = unescape(host[closing + 1 :], host=True)
    name, percent, zone = host[1:closing].partition("%25")
    address = unescape(name, host=True) + unescape(percent + zone, zone=True)
    try:
        if ipaddress.ip_address(address).version == 4:
            raise UrlError("invalid IP-literal")
    except ValueError as error:
        if isinstance(error, UrlError):
            raise
        raise UrlError(f"invalid host: ParseAddr({quote(address)}): unable to parse IP") from error
    return f"[{address}]{port}"


def url_parse(text: str) -> dict[str, Any]:
    try:
        url = parse(text)
    except UrlError as error:
        raise Panic(f"unable to parse url: {error}") from error
    return {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.userinfo or "",
    }


def url_join(parts: dict[str, Any]) -> str:
    url = Url(
        scheme=_part(parts, "scheme"),
        host=_part(parts, "host"),
        path=_part(parts, "path"),
        query=_part(parts, "query"),
        opaque=_part(parts, "opaque"),
        fragment=_part(parts, "fragment"),
    )
    userinfo = _part(parts, "userinfo")
    if userinfo:
        try:
            url.userinfo = parse(f"proto://{userinfo}@host").userinfo
        except UrlError as error:
            raise Panic(f"unable to parse userinfo in dict: {error}") from error
    return str(url)


def _part(parts: dict[str, Any], key: str) -> str:
    value = parts.get(key, "")
    if value is None:
        raise Panic("runtime error: invalid memory address or nil pointer dereference")
    if not isinstance(value, str):
        raise Panic(f"unable to parse {key} key, must be of type string, but {kind(value)} found")
    return value


FUNCTIONS: Final = table((declare("urlParse(string)", url_parse), declare("urlJoin(map)", url_join)))
