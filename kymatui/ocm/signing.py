"""New signatures of components: RSA over the digest of the normal form, as ocm makes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.serialization import Encoding

from kymatui.ocm.descriptors import ComponentDescriptor, Digest, Signature
from kymatui.ocm.errors import PrivateKeyError, SignatureError
from kymatui.ocm.normalisation import HASHES, digest_of
from kymatui.ocm.pem import PEM_MEDIA_TYPE, PrivateKey, chained_key, read_certificates
from kymatui.ocm.signature_check import MEDIA_TYPES, PKCS1, PSS

SIGNATURE_ALGORITHMS: Final = (PKCS1, PSS)
HASH_ALGORITHMS: Final = ("SHA-256", "SHA-512")
_LINE: Final = 64  # of PEM (RFC 7468)


def sign(
    descriptor: ComponentDescriptor,
    key: PrivateKey,
    name: str,
    *,
    algorithm: str = PKCS1,
    hash_algorithm: str = "SHA-256",
    normalisation: str = "jsonNormalisation/v3",
    certificates: bytes | str = b"",
    roots: bytes | str = b"",
    issuer: str = "",
    now: datetime | None = None,
) -> Signature:
    """Return a signature of a descriptor whose resources have their digests.

      certificates  of the key in PEM, its own first; they become part of the signature and must lead to `roots`
      issuer        required distinguished name of the certificate

    Raises PrivateKeyError, SignatureError for certificates, and DescriptorError.
    """
    if not isinstance(key, RSAPrivateKey):
        raise PrivateKeyError("components are signed with RSA keys; this is another kind", hint="use an RSA key")
    if algorithm not in SIGNATURE_ALGORITHMS:
        raise SignatureError(f"{algorithm!r} is not a supported algorithm", hint=f"{PKCS1} or {PSS}")
    chain = read_certificates(certificates)
    if chain:
        _check_chain(chain, key, roots, issuer, now or datetime.now(UTC))
    digest = Digest(hash_algorithm, normalisation, digest_of(descriptor, normalisation, hash_algorithm))
    raw = _signed(key, algorithm, digest)
    if chain:
        return Signature(name, digest, algorithm, _pem(raw, algorithm, chain), PEM_MEDIA_TYPE, _issuer(chain[0]))
    plain = next(kind for kind, used in MEDIA_TYPES.items() if used == algorithm)
    return Signature(name, digest, algorithm, raw.hex(), plain)


def signature_entry(signature: Signature) -> dict[str, Any]:
    """Return a signature as an entry of a descriptor's `signatures`."""
    signed = {"algorithm": signature.algorithm, "mediaType": signature.media_type, "value": signature.value}
    return {
        "name": signature.name,
        "digest": digest_entry(signature.digest),
        "signature": {**signed, **({"issuer": signature.issuer} if signature.issuer else {})},
    }


def digest_entry(digest: Digest) -> dict[str, str]:
    """Return a digest as an entry of a descriptor."""
    return {
        "hashAlgorithm": digest.hash_algorithm,
        "normalisationAlgorithm": digest.normalisation_algorithm,
        "value": digest.value,
    }


def _check_chain(
    chain: Sequence[x509.Certificate], key: RSAPrivateKey, roots: bytes | str, issuer: str, now: datetime
) -> None:
    leaf_key: RSAPublicKey = chained_key(chain, roots, now, "the certificate", issuer=issuer)
    if leaf_key.public_numbers() != key.public_key().public_numbers():
        raise SignatureError(
            "the certificate belongs to another key", hint="give the certificate of the private key first"
        )


def _signed(key: RSAPrivateKey, algorithm: str, digest: Digest) -> bytes:
    hashed = hashes.SHA512() if HASHES[digest.hash_algorithm] == "sha512" else hashes.SHA256()
    scheme = padding.PKCS1v15() if algorithm == PKCS1 else padding.PSS(padding.MGF1(hashed), padding.PSS.MAX_LENGTH)
    return key.sign(bytes.fromhex(digest.value), scheme, Prehashed(hashed))


def _pem(raw: bytes, algorithm: str, chain: Sequence[x509.Certificate]) -> str:
    text = base64.b64encode(raw).decode()
    lines = "\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))
    head = f"-----BEGIN SIGNATURE-----\nSignature Algorithm: {algorithm}\n\n{lines}\n-----END SIGNATURE-----\n"
    return head + "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in chain)


def _issuer(certificate: x509.Certificate) -> str:
    """Return the name as ocm writes it: the common name first ("CN=signer,O=acme,C=DE")."""
    return certificate.subject.rfc4514_string()
