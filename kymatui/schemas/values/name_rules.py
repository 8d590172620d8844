"""Rules for names and labels, with the messages of k8s.io/apimachinery/pkg/util/validation."""

from __future__ import annotations

import ipaddress
import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_OLD_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
_ENVIRONMENT = re.compile(r"[ -<>-~]+\Z")
_PERCENT = re.compile(r"[0-9]+%\Z")
_BAD_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_BAD_OLD_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_NAME_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_BAD_CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_BAD_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_BAD_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)


def dns_label(text: str) -> list[str]:
    """Return the errors of an RFC 1123 label."""
    problems = ["must be no more than 63 characters"] if len(text) > 63 else []
    return problems if _LABEL.match(text) else [*problems, _BAD_LABEL]


def dns_old_label(text: str) -> list[str]:
    """Return the errors of an RFC 1035 label."""
    problems = ["must be no more than 63 characters"] if len(text) > 63 else []
    return problems if _OLD_LABEL.match(text) else [*problems, _BAD_OLD_LABEL]


def dns_subdomain(text: str) -> list[str]:
    """Return the errors of an RFC 1123 subdomain."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    return problems if _SUBDOMAIN.match(text) else [*problems, _BAD_SUBDOMAIN]


def wildcard_subdomain(text: str) -> list[str]:
    """Return the errors of a wildcard such as `*.example.com`."""
    if text.startswith("*.") and _SUBDOMAIN.match(text[2:]):
        return []
    return [
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
        r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def path_segment(text: str) -> list[str]:
    """Return the errors of a name that only has to fit into a URL path segment."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{part}'" for part in "/%" if part in text]


def qualified_name(text: str) -> list[str]:
    """Return the errors of a label key: `name` or `prefix/name`."""
    parts = text.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_NAME_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in dns_subdomain(parts[0])]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.match(name):
        problems.append(f"name part {_NAME_PART}")
    return problems


def label_value(text: str) -> list[str]:
    problems = ["must be no more than 63 bytes"] if len(text) > 63 else []
    return problems if not text or _QUALIFIED.match(text) else [*problems, _BAD_VALUE]


def config_key(text: str) -> list[str]:
    """Return the errors of a ConfigMap or Secret key."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    if not _CONFIG_KEY.match(text):
        problems.append(_BAD_CONFIG_KEY)
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def environment_name(text: str) -> list[str]:
    if not _ENVIRONMENT.match(text):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def port_name(text: str) -> list[str]:
    """Return the errors of an IANA service name."""
    problems: list[str] = []
    if len(text) > 15:
        return ["must be no more than 15 characters"]
    if not re.match(r"[-a-z0-9]+\Z", text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def percent(text: str) -> list[str]:
    return [] if _PERCENT.match(text) else [_BAD_PERCENT]


def cidr(text: str) -> list[str]:
    """Return the errors of a network in CIDR notation."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [_BAD_CIDR]
    return [] if "/" in text else [_BAD_CIDR]


def outside_address(text: str) -> list[str]:
    """Return the errors of an address that other machines cannot reach."""
    problems = ip_address(text)
    if problems:
        return problems
    parsed = ipaddress.ip_address(text)
    if parsed.is_unspecified:
        problems.append(f"may not be unspecified ({text})")
    if parsed.is_loopback:
        problems.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        problems.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    return problems


def ip_address(text: str) -> list[str]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []
