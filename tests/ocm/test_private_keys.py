"""Private keys in all their forms, and that no message holds anything of them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from nacl.secret import SecretBox

from kymatui.ocm.errors import PrivateKeyError
from kymatui.ocm.pem import read_private_key
from tests.ocm.components import key

CURVE = ec.generate_private_key(ec.SECP256R1())
LOCKED = BestAvailableEncryption(b"word")


def no_password() -> bytes:
    raise AssertionError("this key is not encrypted")


def pem(
    private: Any, how: PrivateFormat = PrivateFormat.PKCS8, lock: KeySerializationEncryption | None = None
) -> bytes:
    return bytes(private.private_bytes(Encoding.PEM, how, lock or NoEncryption()))


MAKERS: dict[str, Callable[[], Any]] = {
    "RSA": key,
    "EC": lambda: CURVE,
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "short": partial(rsa.generate_private_key, public_exponent=65537, key_size=1024),
    "DSA": partial(dsa.generate_private_key, key_size=2048),
}
"""What makes the keys; only the worker that runs a test makes its key, for that takes up to a second."""


@pytest.fixture
def private(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]()


@pytest.mark.parametrize("private", ["RSA", "EC", "Ed25519"], indirect=True)
def test_keys_of_all_kinds(private: Any) -> None:
    plain = read_private_key(b"a comment\n" + pem(private), no_password)
    assert pem(plain) == pem(private)
    assert pem(read_private_key(pem(private, lock=LOCKED), lambda: b"word")) == pem(private)


@pytest.mark.parametrize("private", ["RSA", "EC"], indirect=True)
def test_the_older_forms(private: Any) -> None:
    old = PrivateFormat.TraditionalOpenSSL
    assert pem(read_private_key(pem(private, old), no_password)) == pem(private)
    assert pem(read_private_key(pem(private, old, LOCKED), lambda: b"word")) == pem(private)


def test_messages_hold_nothing_of_key_and_password() -> None:
    text = pem(key(), lock=LOCKED)
    with pytest.raises(PrivateKeyError) as caught:
        read_private_key(text, lambda: b"wr0ng-passw0rd")
    told = f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    assert "wr0ng" not in told
    assert text.splitlines()[1].decode() not in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not a private key in PEM"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "not a private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "cannot be read"),
    ],
    ids=["nothing", "public", "damaged"],
)
def test_texts_that_are_no_key(text: bytes, message: str) -> None:
    with pytest.raises(PrivateKeyError, match=message):
        read_private_key(text, no_password)


@pytest.mark.parametrize(
    ("private", "message"),
    [("short", "has 1024 bits"), ("DSA", "of this kind are not supported")],
    indirect=["private"],
    ids=["short", "DSA"],
)
def test_keys_that_cannot_be_used(private: Any, message: str) -> None:
    with pytest.raises(PrivateKeyError, match=message):
        read_private_key(pem(private), no_password)


NONCE = bytes(range(24))


def sealed(content: bytes, password: bytes = b"word") -> str:
    derived = hashlib.scrypt(password, salt=b"salt", n=1024, r=8, p=1, dklen=32)
    return base64.b64encode(SecretBox(derived).encrypt(content, NONCE).ciphertext).decode()


def sigstore(**changes: Any) -> bytes:
    """Return a key as cosign writes it, with a box that opens to nothing useful."""
    parameters = {"N": 1024, "r": 8, "p": 1, **changes.pop("params", {})}
    body: dict[str, Any] = {
        "kdf": {"name": "scrypt", "params": parameters, "salt": base64.b64encode(b"salt").decode()},
        "cipher": {"name": "nacl/secretbox", "nonce": base64.b64encode(NONCE).decode()},
        "ciphertext": sealed(b"nothing useful"),
        **changes,
    }
    text = base64.b64encode(json.dumps(body).encode()).decode()
    kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
    return f"-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n".encode()


def test_a_key_of_cosign_is_decrypted() -> None:
    inner = CURVE.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    assert pem(read_private_key(sigstore(ciphertext=sealed(inner)), lambda: b"word")) == pem(CURVE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "the private key cannot be read"),
        ({"ciphertext": sealed(b"x", b"other word")}, "cannot be decrypted with this password"),
        ({"ciphertext": base64.b64encode(b"short").decode()}, "cannot be decrypted with this password"),
        ({"cipher": {"name": "nacl/secretbox", "nonce": ""}}, "cannot be decrypted with this password"),
        ({"params": {"N": 1 << 24}}, "parameters that are not allowed"),
        ({"params": {"N": 1023}}, "parameters that are not allowed"),
        ({"params": {"r": 1 << 20}}, "parameters that are not allowed"),
        ({"params": {"N": -1}}, "cannot be read"),
        ({"params": {"N": "1024"}}, "cannot be read"),
        ({"params": {"p": True}}, "cannot be read"),
        ({"ciphertext": "%"}, "cannot be read"),
        ({"kdf": None}, "cannot be read"),
        ({"cipher": {"name": "aes", "nonce": ""}}, "is not supported"),
    ],
)
def test_keys_of_cosign_that_cannot_be_opened(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PrivateKeyError, match=message):
        read_private_key(sigstore(**changes), lambda: b"word")
