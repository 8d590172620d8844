"""Private keys in PEM: PKCS #1, PKCS #8, SEC 1, encrypted or not, and those of `cosign generate-key-pair`.

No message holds any part of a key or password.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from kymatui.json_input import read_json
from kymatui.ocm.errors import PrivateKeyError
from kymatui.ocm.pem import SMALLEST_RSA, PemSection, read_sections

PrivateKey: TypeAlias = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey
AskPassword: TypeAlias = Callable[[], bytes]

SIGSTORE_TYPES: Final = ("ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY")
LARGEST_COST: Final = 1 << 20  # of scrypt; cosign uses 2**16 with r=8, which is 64 MiB of memory
LARGEST_MEMORY: Final = 1 << 30  # bytes for scrypt, so that the file of a key cannot use up the machine's memory


def read_private_key(text: bytes, password: AskPassword) -> PrivateKey:
    """Read the first private key of a PEM text; `password` is called only if it is encrypted.

    Raises PrivateKeyError.
    """
    section = next((block for block in read_sections(text) if "PRIVATE KEY" in block.type), None)
    if section is None:
        raise PrivateKeyError(
            "this is not a private key in PEM", hint="it must begin with -----BEGIN … PRIVATE KEY-----"
        )
    key = _sigstore_key(section, password) if section.type in SIGSTORE_TYPES else _pem_key(text, section, password)
    if not isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey):
        raise PrivateKeyError("private keys of this kind are not supported", hint="use RSA, elliptic curves or Ed25519")
    if isinstance(key, RSAPrivateKey) and key.key_size < SMALLEST_RSA:
        raise PrivateKeyError(f"the RSA key has {key.key_size} bits; at least {SMALLEST_RSA} are required")
    return key


def _pem_key(text: bytes, section: PemSection, password: AskPassword) -> object:
    encrypted = section.type == "ENCRYPTED PRIVATE KEY" or "ENCRYPTED" in section.headers.get("Proc-Type", "")
    try:
        return load_pem_private_key(text, password() if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "cannot be decrypted with this password" if encrypted else "cannot be read"
        raise PrivateKeyError(f"the private key {what}") from None


def _sigstore_key(section: PemSection, password: AskPassword) -> object:
    """Decrypt a key of cosign: JSON with scrypt's parameters and a secretbox around PKCS #8."""
    box = _Box(section.content)
    secret = password()
    try:
        plain = SecretBox(box.derive(secret)).decrypt(box.content, box.nonce)
    except (CryptoError, ValueError, TypeError):
        raise PrivateKeyError("the private key cannot be decrypted with this password") from None
    try:
        return load_der_private_key(plain, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise PrivateKeyError("the private key cannot be read") from None


class _Box:
    """The JSON of an encrypted key; its numbers are limited, because they decide about memory and time."""

    def __init__(self, text: bytes) -> None:
        try:
            body = read_json(text)
            kdf, cipher = body["kdf"], body["cipher"]
            names = (kdf["name"], cipher["name"])
            self._n, self._r, self._p = (_number(kdf["params"], name) for name in ("N", "r", "p"))
            self._salt = base64.b64decode(kdf["salt"], validate=True)
            self.nonce = base64.b64decode(cipher["nonce"], validate=True)
            self.content = base64.b64decode(body["ciphertext"], validate=True)
        except (ValueError, KeyError, TypeError, binascii.Error):
            raise PrivateKeyError("the encrypted private key cannot be read") from None
        if names != ("scrypt", "nacl/secretbox"):
            raise PrivateKeyError("the encryption of this private key is not supported")
        memory_bytes = 128 * self._n * self._r * self._p
        if self._n & (self._n - 1) or not 1 < self._n <= LARGEST_COST or memory_bytes > LARGEST_MEMORY:
            raise PrivateKeyError("the encryption of this private key has parameters that are not allowed")

    def derive(self, password: bytes) -> bytes:
        memory_bytes = 2 * 128 * self._n * self._r * self._p
        return hashlib.scrypt(password, salt=self._salt, n=self._n, r=self._r, p=self._p, maxmem=memory_bytes, dklen=32)


def _number(parameters: Any, name: str) -> int:
    value = parameters[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(name)
    return value
