"""Kubernetes' CEL libraries: quantities, URLs, IPs, semver, regular expressions, named formats, sets."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from msgspec import Struct

from kymatui.helm.functions.text.regexes import Compiled, compiled, find_all, search_cost
from kymatui.helm.govalues.types import FunctionError
from kymatui.schemas.cel.cel_costs import count
from kymatui.schemas.cel.cel_values import NOTHING, CelError, Optional, equal, some
from kymatui.schemas.values import name_rules
from kymatui.schemas.values.quantity import QuantityError, amount
from kymatui.schemas.values.string_formats import CHECKS

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Found = TypeVar("Found")
_STEPS = 100
"""Steps of a search that cost a unit."""
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\Z")


class Quantity(Struct, frozen=True, order=True):
    amount: Fraction


class CelUrl(Struct, frozen=True):
    parts: SplitResult


class CelVersion(Struct, frozen=True):
    numbers: tuple[int, int, int]
    before: tuple[tuple[int, int, str], ...]
    """The parts of a pre-release: (0, number, "") or (1, 0, text)."""

    @property
    def order(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]:
        return self.numbers, not self.before, self.before


def _parses(parse: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def parses(value: Any) -> bool:
        try:
            parse(value)
        except CelError:
            return False
        return True

    return parses


def _quantity(text: Any) -> Quantity:
    try:
        return Quantity(amount(text))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _url(text: Any) -> CelUrl:
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None
    if (not parts.scheme and not text.startswith("/")) or any(char <= " " for char in text):
        raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return CelUrl(parts)


def _ip(text: Any) -> Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise CelError(f"IP Address '{text}' parse error during conversion from string") from None


def _cidr(text: Any) -> Network:
    try:
        if "/" not in text:
            raise ValueError("no length")
        return ipaddress.ip_interface(text)
    except ValueError:
        raise CelError("network address parse error during conversion from string") from None


def _semver(text: Any) -> CelVersion:
    match = _SEMVER.match(text)
    if match is None:
        raise CelError(f"No Major.Minor.Patch elements found in {text!r}")
    before = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in (match[4] or "").split(".") if p)
    return CelVersion((int(match[1]), int(match[2]), int(match[3])), before)


def _order(value: Any) -> Any:
    if isinstance(value, Quantity):
        return value.amount
    if isinstance(value, CelVersion):
        return value.order
    raise CelError("no such overload")


def _compare(left: Any, right: Any) -> int:
    order, other = _order(left), _order(right)
    return int(order > other) - int(order < other)


def _sum(sign: int) -> Callable[[Any, Any], Quantity]:
    def total(left: Any, right: Any) -> Quantity:
        other = right.amount if isinstance(right, Quantity) else Fraction(right)
        return Quantity(_order(left) + sign * other)

    return total


def _as_integer(value: Any) -> int:
    if _order(value).denominator != 1:
        raise CelError("cannot convert value to integer")
    return int(_order(value))


def _network(value: Any) -> Network:
    return value if isinstance(value, (ipaddress.IPv4Interface, ipaddress.IPv6Interface)) else _cidr(value)


def _contains_ip(network: Any, address: Any) -> bool:
    ip = address if isinstance(address, (ipaddress.IPv4Address, ipaddress.IPv6Address)) else _ip(address)
    return ip in _network(network).network


def _contains_cidr(network: Any, other: Any) -> bool:
    inner, outer = _network(other).network, _network(network).network
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _host(value: Any) -> str:
    location = str(value.parts.netloc)
    return location.rpartition("@")[2]


def _find_all(text: Any, expression: Any, limit: int = -1) -> list[str]:
    return list(searched(text, expression, lambda pattern, text: find_all(pattern, text, limit)))


def _find(text: Any, expression: Any) -> str:
    return next(iter(_find_all(text, expression, 1)), "")


def searched(text: str, expression: str, search: Callable[[Compiled, str], Found]) -> Found:
    """Return the result of a search by RE2's syntax, and count what it may cost. Raise `CelError`."""
    try:
        pattern = compiled(expression)
    except FunctionError as error:
        raise CelError(str(error)) from None
    count(search_cost(pattern, len(text)) // _STEPS)
    return search(pattern, text)


class NamedFormat(Struct, frozen=True):
    check: Callable[[str], list[str]]


def _by_check(name: str) -> Callable[[str], list[str]]:
    return lambda text: [] if CHECKS[name](text) else [f"invalid {name}"]


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": name_rules.dns_label,
    "dns1123Subdomain": name_rules.dns_subdomain,
    "dns1035Label": name_rules.dns_old_label,
    "qualifiedName": name_rules.qualified_name,
    "dns1123LabelPrefix": lambda text: name_rules.dns_label(text.removesuffix("-")),
    "dns1123SubdomainPrefix": lambda text: name_rules.dns_subdomain(text.removesuffix("-")),
    "dns1035LabelPrefix": lambda text: name_rules.dns_old_label(text.removesuffix("-")),
    "labelValue": name_rules.label_value,
    "uri": _by_check("uri"),
    "uuid": _by_check("uuid"),
    "byte": _by_check("byte"),
    "date": _by_check("date"),
    "datetime": _by_check("datetime"),
}


def _format_named(name: Any) -> Optional:
    return some(NamedFormat(_FORMATS[name])) if name in _FORMATS else NOTHING


def _check_format(format_name: Any, text: Any) -> Optional:
    problems = format_name.check(text)
    return some(problems) if problems else NOTHING


def _contains_all(left: Any, right: Any) -> bool:
    return all(any(equal(item, known) for known in left) for item in right)


def _quoted_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": _parses(_quantity),
    "url": _url,
    "isURL": _parses(_url),
    "ip": _ip,
    "isIP": _parses(_ip),
    "cidr": _cidr,
    "isCIDR": _parses(_cidr),
    "semver": _semver,
    "isSemver": _parses(_semver),
    "ip.isCanonical": lambda text: str(_ip(text)) == text,
    "optional.of": some,
    "optional.none": lambda: NOTHING,
    "optional.ofNonZeroValue": lambda value: some(value) if value else NOTHING,
    "format.named": _format_named,
    "sets.contains": _contains_all,
    "sets.equivalent": lambda left, right: _contains_all(left, right) and _contains_all(right, left),
    "sets.intersects": lambda left, right: any(equal(item, known) for item in left for known in right),
    "strings.quote": _quoted_text,
    **{f"format.{name}": (lambda check=check: NamedFormat(check)) for name, check in _FORMATS.items()},
}
"""Functions; those of a namespace by their whole name."""

METHODS: dict[str, Callable[..., Any]] = {
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "compareTo": _compare,
    "sign": lambda value: int(_order(value) > 0) - int(_order(value) < 0),
    "add": _sum(1),
    "sub": _sum(-1),
    "isInteger": lambda value: _order(value).denominator == 1,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: float(_order(value)),
    "major": lambda value: value.numbers[0],
    "minor": lambda value: value.numbers[1],
    "patch": lambda value: value.numbers[2],
    "getScheme": lambda value: value.parts.scheme,
    "getHost": _host,
    "getHostname": lambda value: value.parts.hostname or "",
    "getPort": lambda value: str(value.parts.port or ""),
    "getEscapedPath": lambda value: quote(value.parts.path, safe="/%:@!$&'()*+,;=~-._"),
    "getQuery": lambda value: parse_qs(value.parts.query, keep_blank_values=True),
    "family": lambda value: value.version,
    "isUnspecified": lambda value: value.is_unspecified,
    "isLoopback": lambda value: value.is_loopback,
    "isLinkLocalMulticast": lambda value: value.is_multicast and str(value).startswith(("224.0.0.", "ff02", "ff12")),
    "isLinkLocalUnicast": lambda value: value.is_link_local,
    "isGlobalUnicast": lambda value: (
        not (value.is_multicast or value.is_loopback or value.is_link_local or value.is_unspecified)
    ),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "ip": lambda value: value.ip,
    "masked": lambda value: ipaddress.ip_interface(str(value.network)),
    "prefixLength": lambda value: value.network.prefixlen,
    "find": _find,
    "findAll": _find_all,
    "validate": _check_format,
}
"""Methods of these values."""
