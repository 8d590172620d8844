"""Checksums in lower-case hexadecimal; adler32sum in decimal."""

from __future__ import annotations

import hashlib
import zlib
from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.text import to_bytes


def sha1sum(text: str) -> str:
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


def sha256sum(text: str) -> str:
    return hashlib.sha256(to_bytes(text)).hexdigest()


def sha512sum(text: str) -> str:
    return hashlib.sha512(to_bytes(text)).hexdigest()


def adler32sum(text: str) -> str:
    return str(zlib.adler32(to_bytes(text)))


FUNCTIONS: Final = table(
    (
        declare("sha1sum(string)", sha1sum),
        declare("sha256sum(string)", sha256sum),
        declare("sha512sum(string)", sha512sum),
        declare("adler32sum(string)", adler32sum),
    )
)
