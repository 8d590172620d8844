"""The sandbox's own certificate authority, since clients send bearer tokens only over TLS."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

VALID = timedelta(days=365)
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class ServingCertificate(Struct, frozen=True):
    """PEM texts: `authority` for kubeconfigs, the other two for the server."""

    authority: bytes
    certificate: bytes
    key: bytes


def make_serving_certificate() -> ServingCertificate:
    """Return a new authority with a certificate for this machine and the service `kubernetes`."""
    now = datetime.now(UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key, now)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _builder("kymatui-sandbox", authority.subject, key.public_key(), now)
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    signed = (
        certificate.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(certificates=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return ServingCertificate(
        authority.public_bytes(serialization.Encoding.PEM),
        signed.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kymatui-sandbox-ca")])
    return (
        _builder("kymatui-sandbox-ca", name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(name: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks of clients may be slow
        .not_valid_after(now + VALID)
    )


def _usage(*, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )
