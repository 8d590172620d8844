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

from kymatui.ocm.errors import PrivateKeyError
from kymatui.ocm.private_keys import read_private_key
from kymatui.ocm.secretbox import SecretBoxError, open_secretbox
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


# cosign's keys; the numbers of the secretbox are those of NaCl's own test (tests/secretbox.c)

FIRST_KEY = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
NONCE = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
BOX = bytes.fromhex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b"
    "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da"
    "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
)
PLAIN = bytes.fromhex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4"
    "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52"
    "f0a089bc76897040e082f937763848645e0705"
)


def test_a_secretbox_of_nacl_is_opened_and_a_changed_one_is_not() -> None:
    assert open_secretbox(FIRST_KEY, NONCE, BOX) == PLAIN
    for at in (0, 16, len(BOX) - 1):
        changed = bytes(one ^ (index == at) for index, one in enumerate(BOX))
        with pytest.raises(SecretBoxError):
            open_secretbox(FIRST_KEY, NONCE, changed)
    for wrong in ((b"", NONCE, BOX), (FIRST_KEY, b"", BOX), (FIRST_KEY, NONCE, b"short")):
        with pytest.raises(SecretBoxError, match="wrong size"):
            open_secretbox(*wrong)


def sigstore(**changes: Any) -> bytes:
    """The shape of a key of cosign, with a box that opens to nothing useful."""
    parameters = {"N": 1024, "r": 8, "p": 1, **changes.pop("params", {})}
    body: dict[str, Any] = {
        "kdf": {"name": "scrypt", "params": parameters, "salt": base64.b64encode(b"salt").decode()},
        "cipher": {"name": "nacl/secretbox", "nonce": base64.b64encode(NONCE).decode()},
        "ciphertext": base64.b64encode(BOX).decode(),
        **changes,
    }
    text = base64.b64encode(json.dumps(body).encode()).decode()
    kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
    return f"-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n".encode()


def test_a_key_of_cosign_is_decrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = CURVE.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    def opened(derived: bytes, nonce: bytes, box: bytes) -> bytes:
        assert derived == hashlib.scrypt(b"word", salt=b"salt", n=1024, r=8, p=1, dklen=32)
        assert (nonce, box) == (NONCE, BOX)
        return inner

    monkeypatch.setattr("kymatui.ocm.private_keys.open_secretbox", opened)
    assert pem(read_private_key(sigstore(), lambda: b"word")) == pem(CURVE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "cannot be decrypted with this password"),
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
