"""Private keys as PEM, in Go's formats."""

from __future__ import annotations

import base64
import re
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from msgspec import Struct

from kymatui.helm.govalues.budget import check_budget, within_deadline
from kymatui.helm.govalues.text import to_bytes

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | dsa.DSAPrivateKey

_KINDS: Final[dict[str, type]] = {
    "RSA": rsa.RSAPrivateKey,
    "EC": ec.EllipticCurvePrivateKey,
    "DSA": dsa.DSAPrivateKey,
}
_PEM: Final = re.compile(
    rb"-----BEGIN (?P<label>[^\r\n]*?)-----[ \t]*\r?\n(?P<headers>(?:[^\r\n:]+:[^\r\n]*\r?\n){1,50}\r?\n)?"
    rb"(?P<body>[A-Za-z0-9+/=\s]*?)-----END (?P=label)-----"
)


LARGEST_KEY: Final = 2_500
"""Bytes: RSA keys of 4,096 bits have 2,350. The check of one takes 0.2 seconds, and grows with the fourth power."""


class PemKeyError(ValueError):
    """A PEM text without a key; the message is Go's."""


class PemBlock(Struct, frozen=True):
    """The first block of a PEM text."""

    label: str
    data: bytes


def decode_pem(text: str) -> PemBlock | None:
    """Return pem.Decode: the first valid block."""
    for match in _PEM.finditer(to_bytes(text)):
        try:
            data = base64.b64decode(b"".join(match["body"].split()), validate=True)
        except ValueError:
            continue
        return PemBlock(match["label"].decode("utf-8", "replace"), data)
    return None


def encode_pem(label: str, data: bytes) -> str:
    """Return pem.EncodeToMemory: lines of 64 characters."""
    text = base64.b64encode(data).decode()
    lines = "".join(f"{text[start : start + 64]}\n" for start in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}-----END {label}-----\n"


def write_key(key: PrivateKey) -> str:
    """Return PKCS #1 for RSA, SEC 1 for elliptic curves, OpenSSL's format for DSA, else PKCS #8."""
    labels = {rsa.RSAPrivateKey: "RSA PRIVATE KEY", ec.EllipticCurvePrivateKey: "EC PRIVATE KEY"}
    label = next((label for kind, label in labels.items() if isinstance(key, kind)), "PRIVATE KEY")
    if isinstance(key, dsa.DSAPrivateKey):
        label = "DSA PRIVATE KEY"
    form = (
        serialization.PrivateFormat.PKCS8 if label == "PRIVATE KEY" else serialization.PrivateFormat.TraditionalOpenSSL
    )
    return encode_pem(label, key.private_bytes(serialization.Encoding.DER, form, serialization.NoEncryption()))


def read_key(text: str) -> PrivateKey:
    """Return a private key from PEM. Raise PemKeyError with Sprig's message."""
    block = decode_pem(text)
    if block is None:
        raise PemKeyError("no PEM data in input")
    if block.label != "PRIVATE KEY" and not block.label.endswith(" PRIVATE KEY"):
        raise PemKeyError(f"no private key data in PEM block of type {block.label}")
    kind = block.label.removesuffix("PRIVATE KEY").strip()
    if kind not in ("", "RSA", "EC", "DSA"):
        raise PemKeyError(f"invalid private key type {block.label}")
    what = f"parsing {kind} private key from PEM" if kind else "decoding PEM as PKCS#8"
    if len(block.data) > LARGEST_KEY:
        raise PemKeyError(f"{what}: the key has more than 4096 bits")
    check_budget()
    try:
        key = serialization.load_der_private_key(block.data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise PemKeyError(f"{what}: {error}") from error
    expected = _KINDS.get(kind)
    if isinstance(key, PrivateKey) and (expected is None or isinstance(key, expected)):
        return key
    raise PemKeyError(f"{what}: the key is of another type")


def gen_private_key(kind: str) -> str:
    """Return a new key: RSA 4096, DSA 2048, ECDSA P-256, or Ed25519.

    It uses the system's random source, never the Environment's.
    """
    if kind in ("", "rsa"):
        return write_key(within_deadline(rsa.generate_private_key, 65537, 4096))
    if kind == "dsa":
        return write_key(within_deadline(dsa.generate_private_key, 2048))
    if kind == "ecdsa":
        return write_key(ec.generate_private_key(ec.SECP256R1()))
    if kind == "ed25519":
        return write_key(ed25519.Ed25519PrivateKey.generate())
    return f"Unknown type {kind}"
