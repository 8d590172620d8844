"""`format` checks of Helm's library (santhosh-tekuri/jsonschema v6).

Each check receives a string and raises ValueError with the library's message. An unknown format allows everything.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final

from kymatui.helm.functions.text.regexes import compiled
from kymatui.helm.functions.text.urls import Url, parse, unescape
from kymatui.helm.gotime.calendar import UTC_LOCATION
from kymatui.helm.gotime.time_parser import parse_time
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import byte_length
from kymatui.helm.govalues.types import FunctionError

_DIGITS: Final = re.compile(r"[0-9]*")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_LABEL: Final = re.compile(r"[A-Za-z0-9-]*")
_LOCAL_PART: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+\-/=?^_`{|}~]*")
_UNITS: Final = ("YMD", "HMS")


def _require(holds: object, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _only(pattern: re.Pattern[str], text: str, where: str = "") -> None:
    """Raise ValueError unless the pattern matches the whole text."""
    if match := pattern.match(text):
        _require(match.end() == len(text), f"invalid character {_rune(text[match.end() :][:1])}{where}")


def _rune(character: str) -> str:
    return "'\\''" if character == "'" else "'" + quote(character)[1:-1].replace('\\"', '"') + "'"


def _within(check: Callable[[str], None], text: str, what: str) -> None:
    try:
        check(text)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def json_pointer(text: str) -> None:
    _require(not text or text.startswith("/"), "not starting with /")
    _require(not re.search(r"~(?![01])", text), "~ must be followed by 0 or 1")


def relative_json_pointer(text: str) -> None:
    digits = _leading_digits(text)
    _require(digits, "must start with non-negative integer")
    _require(digits == "0" or not digits.startswith("0"), "starts with zero")
    if text != f"{digits}#":
        json_pointer(text[len(digits) :])


def _leading_digits(text: str) -> str:
    match = _DIGITS.match(text)
    return match[0] if match else ""


def uuid(text: str) -> None:
    groups = text.split("-")
    _require(len(groups) == 5, "must have 5 elements")
    for number, (group, length) in enumerate(zip(groups, (8, 4, 4, 4, 12), strict=True), 1):
        _require(byte_length(group) == length, f"element {number} must be {length} characters long")
        bad = re.search(r"[^0-9a-fA-F]", group)
        _require(not bad, f"non-hex character {_rune(bad[0]) if bad else ''}")


def duration(text: str) -> None:
    """Check an ISO 8601 duration: P1DT12H, P3W."""
    _require(text.startswith("P"), "must start with P")
    rest = text[1:]
    _require(rest, "nothing after P")
    if rest.endswith("W"):
        _require(rest != "W", "no number in week")
        _require(_leading_digits(rest) == rest[:-1], "invalid week")
        return
    parts = rest.split("T")
    for number, part in enumerate(parts):
        _require(part or not number, "no time elements")
        _require(number < len(_UNITS), "more than one T")
        _spans(part, _UNITS[number])


def _spans(text: str, all_units: str) -> None:
    units = all_units
    while text:
        digits = _leading_digits(text)
        _require(digits, "missing number")
        text = text[len(digits) :]
        _require(text, "missing unit")
        unit = text[0]
        _require(
            unit in units, f"unit {_rune(unit)} out of order" if unit in all_units else f"invalid unit {_rune(unit)}"
        )
        units, text = units.partition(unit)[2], text[1:]


def ipv4(text: str) -> None:
    groups = text.split(".")
    _require(len(groups) == 4, "expected four decimals")
    for group in groups:
        _require(len(group) < 2 or group[0] != "0", "leading zeros")
        _require(_NUMBER.fullmatch(group), f"strconv.Atoi: parsing {quote(group)}: invalid syntax")
        _require(0 <= int(group) <= 255, "decimal must be between 0 and 255")


def ipv6(text: str) -> None:
    _require(":" in text, "missing colon")
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise ValueError(f"ParseAddr({quote(text)}): unable to parse IP") from error
    _require(address.scope_id is None, "zone id is not a part of ipv6 address")


def hostname(text: str) -> None:
    text = text.removesuffix(".")
    _require(byte_length(text) <= 253, "more than 253 characters long")
    for label in text.split("."):
        _require(1 <= byte_length(label) <= 63, "label must be 1 to 63 characters long")
        _require(not label.startswith("-"), "label starts with hyphen")
        _require(not label.endswith("-"), "label ends with hyphen")
        _only(_LABEL, label)


def email(text: str) -> None:
    _require(byte_length(text) <= 254, "more than 255 characters long")
    _require("@" in text, "missing @")
    local, _, domain = text.rpartition("@")
    _require(byte_length(local) <= 64, "local part more than 64 characters long")
    if len(local) > 1 and local.startswith('"'):
        inner = local[1:-1]
        allowed = "\\" not in inner and '"' not in inner
        _require(allowed, "backslash and quote are not allowed within quoted local part")
    else:
        _require(not local.startswith("."), "starts with dot")
        _require(not local.endswith("."), "ends with dot")
        _require(".." not in local, "consecutive dots")
        _only(_LOCAL_PART, local)
    if not (domain.startswith("[") and domain.endswith("]")):
        _within(hostname, domain, "invalid domain")
    elif (address := domain[1:-1]).startswith("IPv6:"):
        _within(ipv6, address.removeprefix("IPv6:"), "invalid ipv6 address")
    else:
        _within(ipv4, address, "invalid ipv4 address")


def date(text: str) -> None:
    parse_time("2006-01-02", text, UTC_LOCATION)


def time(text: str) -> None:
    """Check hh:mm:ss with an optional fraction, and a zone."""
    _require(byte_length(text) >= 9, "less than 9 characters long")
    _require(text[2] == text[5] == ":", "missing colon in correct place")
    parts = text[:8].split(":", 2)
    _require(all(map(_NUMBER.fullmatch, parts)), "invalid hour/min/sec")
    hour, minute, second = map(int, parts)
    _require(min(hour, minute, second) >= 0, "non-positive hour/min/sec")
    _require(hour <= 23 and minute <= 59 and second <= 60, "hour/min/sec out of range")
    rest = text[8:]
    if rest.startswith("."):
        digits = _leading_digits(rest[1:])
        _require(digits, "no digits in second fraction")
        rest = rest[1 + len(digits) :]
    minutes = hour * 60 + minute
    if rest not in ("z", "Z"):
        minutes += _zone_minutes(rest)
        minutes += 1440 if minutes < 0 else 0
    _require(second < 60 or minutes == 23 * 60 + 59, "invalid leap second")


def _zone_minutes(zone: str) -> int:
    """Return the minutes to add for UTC."""
    _require(byte_length(zone) == 6, "offset must be 6 characters long")
    _require(zone[0] in "+-", "offset must begin with plus/minus")
    _require(zone[3] == ":", "missing colon in offset in correct place")
    parts = zone[1:].split(":", 1)
    _require(all(map(_NUMBER.fullmatch, parts)), "invalid hour/min in offset")
    hours, minutes = map(int, parts)
    _require(min(hours, minutes) >= 0, "non-positive hour/min in offset")
    _require(hours <= 23 and minutes <= 59, "hour/min in offset out of range")
    return (hours * 60 + minutes) * (-1 if zone[0] == "+" else 1)


def date_time(text: str) -> None:
    _require(byte_length(text) >= 20, "less than 20 characters long")
    _require(text[10] in "tT", "11th character must be t or T")
    _within(date, text[:10], "invalid date element")
    _within(time, text[11:], "invalid time element")


def period(text: str) -> None:
    start, slash, end = text.partition("/")
    _require(slash, "missing slash")
    if start.startswith("P"):
        _within(duration, start, "invalid start duration")
        _within(date_time, end, "invalid end date-time")
        return
    _within(date_time, start, "invalid start date-time")
    if end.startswith("P"):
        _within(duration, end, "invalid end duration")
    else:
        _within(date_time, end, "invalid end date-time")


def _url(text: str) -> Url:
    url = parse(text)
    if ":" in url.hostname:
        _require("[" in url.host and "]" in url.host, "ipv6 address not enclosed in brackets")
        _within(ipv6, url.hostname, "invalid ipv6 address")
    return url


def uri(text: str) -> None:
    _require(_url(text).scheme, "relative url")


def uri_reference(text: str) -> None:
    _require("\\" not in text, "contains \\")
    _url(text)


def uri_template(text: str) -> None:
    for segment in _url(text).raw_path.split("/"):
        is_open = False
        for brace in re.findall("[{}]", unescape(segment)):
            _require(is_open == (brace == "}"), "nested curly braces")
            is_open = not is_open
        _require(not is_open, "no matching closing brace")


def semver(text: str) -> None:
    text, plus, build = text.partition("+")
    if plus:
        _require(build, "build is empty")
        for identifier in build.split("."):
            _require(identifier, "build identifier is empty")
            _only(_LABEL, identifier, " in build identifier")
    core, minus, before = text.partition("-")
    for identifier in before.split(".") if minus else ():
        _require(identifier, "pre-release identifier is empty")
        _only(_LABEL, identifier, " in pre-release identifier")
        starts_with_zero = len(identifier) > 1 and identifier.isdigit() and identifier[0] == "0"
        _require(not starts_with_zero, "pre-release numeric identifier starts with zero")
    numbers = core.split(".")
    _require(len(numbers) == 3, "versionCore must have 3 numbers separated by dot")
    for name, number in zip(("major", "minor", "patch"), numbers, strict=True):
        _require(number, f"{name} is empty")
        _require(len(number) == 1 or number[0] != "0", f"{name} starts with zero")
        _require(_leading_digits(number) == number, f"{name} contains non-digit")


def regex(text: str) -> None:
    try:
        compiled(text)
    except FunctionError as error:
        raise ValueError(str(error)) from error


FORMATS: Final[Mapping[str, Callable[[str], None]]] = {
    "json-pointer": json_pointer,
    "relative-json-pointer": relative_json_pointer,
    "uuid": uuid,
    "duration": duration,
    "period": period,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "hostname": hostname,
    "email": email,
    "date": date,
    "time": time,
    "date-time": date_time,
    "uri": uri,
    "iri": uri,
    "uri-reference": uri_reference,
    "iri-reference": uri_reference,
    "uri-template": uri_template,
    "semver": semver,
    "regex": regex,
}
