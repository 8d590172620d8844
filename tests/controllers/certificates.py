"""Certificates as cert-manager makes them for runtimes: an authority, and what it issues."""

from __future__ import annotations

import urllib.parse
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Issued:
    """A certificate with its key."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate, self.key = certificate, key
        self.pem = certificate.public_bytes(serialization.Encoding.PEM).decode()

    def forwarded(self, quote: str = '"') -> str:
        """The header as a gateway writes it."""
        return f'By=spiffe://x;Hash=abc;Cert={quote}{urllib.parse.quote(self.pem, safe="")}{quote};Subject="CN=x"'

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write certificate and key; return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_text(self.pem)
        form, no = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        key.write_bytes(self.key.private_bytes(serialization.Encoding.PEM, form, no))
        return certificate, key


def issue(name: str, by: Issued | None = None, *, days: float = 10, started: float = 1) -> Issued:
    """A certificate with this common name, valid from `started` days ago for `days`; of its own without `by`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    start = datetime.now(UTC) - timedelta(days=started)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by is not None else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(by.key if by is not None else key, hashes.SHA256())
    )
    return Issued(built, key)
