"""Name rules: of Kubernetes objects by kind (apimachinery's validation), and of releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kymatui.errors import HelmError

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SERVICE = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_ENDS = "and must start and end with an alphanumeric character"


RELEASE_PATTERN: Final = rf"^{_SUBDOMAIN}$"
LONGEST_RELEASE: Final = 53


def check_release_name(name: str) -> None:
    """Raise HelmError for an invalid release name."""
    if len(name) > LONGEST_RELEASE or not re.fullmatch(_SUBDOMAIN, name):
        raise HelmError(
            f'release name check failed: release name "{name}": invalid release name, must match regex'
            f" {RELEASE_PATTERN} and the length must not be longer than {LONGEST_RELEASE}"
        )


def name_problems(kind: str, name: str) -> Iterator[str]:
    """Yield Kubernetes' messages for a name, by the kind's rule."""
    match kind.lower():
        case "certificatesigningrequest":
            return
        case "role" | "clusterrole" | "rolebinding" | "clusterrolebinding":
            yield from (f"may not be '{name}'" for _ in range(name in (".", "..")))
            yield from (f"may not contain '{sign}'" for sign in "/%" if sign in name)
        case "service":
            yield from _pattern(
                name,
                _SERVICE,
                63,
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
                " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123'",
            )
        case "namespace":
            words = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
            yield from _pattern(name, _LABEL, 63, f"{words} (e.g. 'my-name',  or '123-abc'")
        case _:
            words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
            yield from _pattern(name, _SUBDOMAIN, 253, f"{words} {_ENDS} (e.g. 'example.com'")


def _pattern(name: str, pattern: str, longest: int, words: str) -> Iterator[str]:
    if len(name.encode()) > longest:
        yield f"must be no more than {longest} bytes"
    if not re.fullmatch(pattern, name):
        yield f"{words}, regex used for validation is '{pattern}')"
