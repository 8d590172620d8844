"""String formats of custom resource schemas (k8s.io/apiextensions-apiserver's supported formats)."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from kymatui.schemas.values.metav1_time import TimeError, parse_time

_UUID = re.compile(r"(?i)^[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}$")
_HOSTNAME = re.compile(
    r"^[a-zA-Z0-9](?:[-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$"
)
_MAC = re.compile(r"^(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4,18}[0-9A-Fa-f]{2}$")
_DURATION = re.compile(r"^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$")
_WORDED_DURATION = re.compile(
    r"(?i)^\s*(?:\d+\s*(?:nanoseconds?|ns|microseconds?|us|µs|milliseconds?|ms|milis|secs?|seconds?|s|minutes?|mins?|m|"
    r"hours?|hrs?|h|days?|d|weeks?|wks?|w)\s*)+$"
)
_EMAIL = re.compile(r"^[^\s@<>]+@[^\s@<>]+$")
_SHORT_NAME = re.compile(r"^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$")
_LONG_NAME = re.compile(r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$")


def _ipv4(text: str) -> bool:
    return _parses(ipaddress.IPv4Address, text)


def _ipv6(text: str) -> bool:
    return _parses(ipaddress.IPv6Address, text)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _cidr(text: str) -> bool:
    _, slash, length = text.partition("/")
    return bool(slash) and length.isdigit() and _parses(lambda t: ipaddress.ip_network(t, strict=False), text)


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _time(text: str) -> bool:
    return _parses_time(text)


def _parses_time(text: str) -> bool:
    try:
        parse_time(text)
    except TimeError:
        return False
    return True


def _date(text: str) -> bool:
    return bool(re.match(r"^\d{4}-\d{2}-\d{2}$", text)) and _parses_time(f"{text}T00:00:00Z")


def _uri(text: str) -> bool:
    if not text or any(char <= " " or char == "\x7f" for char in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _pattern(expression: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: expression.match(text) is not None


def _uuid_version(digit: str) -> Callable[[str], bool]:
    return lambda text: _UUID.match(text) is not None and text.replace("-", "")[12] == digit


CHECKS: dict[str, Callable[[str], bool]] = {
    "uuid": _pattern(_UUID),
    "uuid3": _uuid_version("3"),
    "uuid4": _uuid_version("4"),
    "uuid5": _uuid_version("5"),
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.match(text) is not None,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _pattern(_MAC),
    "byte": _byte,
    "duration": lambda text: bool(_DURATION.match(text) or _WORDED_DURATION.match(text)) or text == "0",
    "email": _pattern(_EMAIL),
    "uri": _uri,
    "date": _date,
    "date-time": _time,
    "datetime": _time,
    "k8s-short-name": _pattern(_SHORT_NAME),
    "k8s-long-name": lambda text: len(text) <= 253 and _LONG_NAME.match(text) is not None,
}
"""By format; formats that are not here say nothing."""
