"""Descriptors as tests need them, and keys and certificates that are made once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from kymatui.ocm import digest_of, read_descriptor

NOW = datetime(2026, 1, 1, tzinfo=UTC)
V2 = {"schemaVersion": "v2"}


def component(**fields: Any) -> dict[str, Any]:
    return {"meta": V2, "component": {"name": "acme.org/c", "version": "1.0.0", "provider": "acme", **fields}}


def resource(name: str = "r", **fields: Any) -> dict[str, Any]:
    access = {"type": "localBlob", "localReference": "sha256:" + "0" * 64, "mediaType": "application/x-tar"}
    return {"name": name, "version": "1.0.0", "type": "yaml", "relation": "local", "access": access, **fields}


@cache
def key(number: int = 0) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(number: int = 0, *, pkcs1: bool = False) -> bytes:
    form = serialization.PublicFormat.PKCS1 if pkcs1 else serialization.PublicFormat.SubjectPublicKeyInfo
    return key(number).public_key().public_bytes(serialization.Encoding.PEM, form)


def raw_signature(digest: str, algorithm: str, hashed: hashes.HashAlgorithm, number: int = 0) -> bytes:
    pss = padding.PSS(padding.MGF1(hashed), padding.PSS.MAX_LENGTH)
    scheme = pss if algorithm == "RSASSA-PSS" else padding.PKCS1v15()
    return key(number).sign(bytes.fromhex(digest), scheme, Prehashed(hashed))


def signed(
    document: dict[str, Any],
    *,
    algorithm: str = "RSASSA-PKCS1-V1_5",
    normalisation: str = "jsonNormalisation/v3",
    hash_algorithm: str = "SHA-256",
    name: str = "acme",
    number: int = 0,
    media_type: str = "",
    value: str = "",
    issuer: str = "",
) -> dict[str, Any]:
    """The document with one more signature."""
    digest = digest_of(read_descriptor(document), normalisation, hash_algorithm)
    hashed = hashes.SHA512() if hash_algorithm.endswith("512") else hashes.SHA256()
    plain = "application/vnd.ocm.signature.rsa" + (".pss" if algorithm == "RSASSA-PSS" else "")
    entry = {
        "name": name,
        "digest": {"hashAlgorithm": hash_algorithm, "normalisationAlgorithm": normalisation, "value": digest},
        "signature": {
            "algorithm": algorithm,
            "mediaType": media_type or plain,
            "value": value or raw_signature(digest, algorithm, hashed, number).hex(),
            "issuer": issuer,
        },
    }
    return {**document, "signatures": [*document.get("signatures", []), entry]}


@cache
def certificate(
    subject: str,
    issuer: str,
    number: int,
    issuer_number: int,
    *,
    ca: bool = False,
    path_length: int | None = None,
    days: int = 365,
    uses: tuple[x509.ObjectIdentifier, ...] = (),
) -> x509.Certificate:
    """A certificate of key `number`, issued with key `issuer_number`."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name.from_rfc4514_string(subject))
        .issuer_name(x509.Name.from_rfc4514_string(issuer))
        .public_key(key(number).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=30))
        .not_valid_after(NOW - timedelta(days=30) + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca, path_length), critical=True)
    )
    if uses:
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return builder.sign(key(issuer_number), hashes.SHA256())


def pem(*certificates: x509.Certificate) -> str:
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in certificates)
