"""Signatures of digests checked against trusted keys and certificates; all that needs `cryptography` to verify one."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from msgspec import Struct

from kymatui.ocm.descriptors import Signature
from kymatui.ocm.errors import SignatureError
from kymatui.ocm.normalisation import HASHES
from kymatui.ocm.pem import (
    PEM_MEDIA_TYPE,
    UNREADABLE,
    chained_key,
    is_self_signed,
    names_match,
    read_key,
    read_pem_signature,
)

PKCS1: Final = "RSASSA-PKCS1-V1_5"
PSS: Final = "RSASSA-PSS"
MEDIA_TYPES: Final = {"application/vnd.ocm.signature.rsa": PKCS1, "application/vnd.ocm.signature.rsa.pss": PSS}


class TrustedKeys(Struct, frozen=True):
    """Keys in PEM, the name that is required of them, or that of a certificate by default, and the time."""

    public_key: bytes | str
    roots: bytes | str
    issuer: str
    common_name: str
    now: datetime

    @property
    def certified_name(self) -> str:
        return self.issuer or self.common_name


def check_signature(signature: Signature, trust: TrustedKeys, what: str) -> None:
    """Check the signature of a digest that was compared before. Raises SignatureError; `what` names it in the error."""
    try:
        key, raw, algorithm = _key(signature, trust, what)
    except UNREADABLE:  # of a certificate, whose parts are read when they are asked for
        raise SignatureError(f"{what} cannot be checked: a key or a certificate of it is malformed") from None
    hashed = hashes.SHA512() if HASHES[signature.digest.hash_algorithm] == "sha512" else hashes.SHA256()
    scheme = padding.PKCS1v15() if algorithm == PKCS1 else padding.PSS(padding.MGF1(hashed), padding.PSS.AUTO)
    try:
        key.verify(raw, bytes.fromhex(signature.digest.value), scheme, Prehashed(hashed))
    except (InvalidSignature, ValueError) as error:
        raise SignatureError(
            f"{what} was not made with this key", hint="check the key and the publisher of the component"
        ) from error


def _key(signature: Signature, trust: TrustedKeys, what: str) -> tuple[RSAPublicKey, bytes, str]:
    """Return the verification key, the signature's bytes, and its algorithm."""
    if signature.media_type == PEM_MEDIA_TYPE:
        pem_signature = read_pem_signature(signature.value, what)
        algorithm = _algorithm(signature, pem_signature.algorithm, what)
        if trust.public_key:
            return _given_key(signature, trust, what), pem_signature.raw, algorithm
        key = chained_key(
            pem_signature.certificates,
            trust.roots,
            trust.now,
            what,
            issuer=trust.certified_name,
            named_issuer=signature.issuer,
        )
        return key, pem_signature.raw, algorithm
    algorithm = _algorithm(signature, MEDIA_TYPES.get(signature.media_type, ""), what)
    if signature.media_type not in MEDIA_TYPES:
        raise SignatureError(f"{what}: its media type {signature.media_type!r} is unknown")
    try:
        raw = bytes.fromhex(signature.value)
    except ValueError as error:
        raise SignatureError(f"{what} is not hexadecimal") from error
    return _given_key(signature, trust, what), raw, algorithm


def _algorithm(signature: Signature, actual: str, what: str) -> str:
    """Return the algorithm; value and signature must name the same one.

    Old tools wrote the media type of PKCS #1 for both algorithms.
    """
    algorithm = signature.algorithm or actual
    if algorithm not in (PKCS1, PSS):
        raise SignatureError(f"{what}: {algorithm!r} is not a supported algorithm", hint=f"{PKCS1} or {PSS}")
    contradicts = actual not in ("", algorithm) and not (actual == PKCS1 and signature.media_type != PEM_MEDIA_TYPE)
    if contradicts:
        raise SignatureError(f"{what} names the algorithm {algorithm}, but uses {actual}")
    return algorithm


def _given_key(signature: Signature, trust: TrustedKeys, what: str) -> RSAPublicKey:
    """Return the trusted key. A certificate needs a chain to a trusted root, unless it is self-signed."""
    if not trust.public_key:
        raise SignatureError(f"{what} needs a public key", hint="use the public key of the component's publisher")
    key, certificates = read_key(trust.public_key)
    if not certificates:
        if trust.issuer:
            raise SignatureError(f"{what}: a plain key has no name, but the issuer {trust.issuer!r} is required")
        return key
    if trust.roots or not is_self_signed(certificates[0]):
        return chained_key(
            certificates, trust.roots, trust.now, what, issuer=trust.certified_name, named_issuer=signature.issuer
        )
    subject = certificates[0].subject
    for issuer in (trust.issuer, signature.issuer):
        if issuer and not names_match(issuer, subject):
            raise SignatureError(f"{what}: the certificate was issued to {subject.rfc4514_string()}, not to {issuer}")
    return key
