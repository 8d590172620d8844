"""Signatures of components: RSA over the digest of the normal form, with a key or certificate chain.

A signature covers names, versions, signed labels and digests of resources, but not their location. So content that
is fetched for a verified component is compared with its digest (`check_content`).
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from kymatui.first_use import dataclass
from kymatui.ocm.descriptors import ComponentDescriptor, ComponentResource, Signature
from kymatui.ocm.errors import DescriptorError, SignatureError
from kymatui.ocm.normalisation import HASHES, digest_of
from kymatui.ocm.pem import (
    PEM_MEDIA_TYPE,
    chained_key,
    is_self_signed,
    names_match,
    read_key,
    read_pem_signature,
)

PKCS1: Final = "RSASSA-PKCS1-V1_5"
PSS: Final = "RSASSA-PSS"
MEDIA_TYPES: Final = {
    "application/vnd.ocm.signature.rsa": PKCS1,
    "application/vnd.ocm.signature.rsa.pss": PSS,
}
BLOB_DIGEST: Final = "genericBlobDigest/v1"
ARTIFACT_DIGEST: Final = "ociArtifactDigest/v1"


@dataclass(frozen=True, slots=True)
class Keys:
    """The trusted keys in PEM: `public_key` (PKIX, PKCS#1 or a certificate), or `roots` of certificates."""

    public_key: bytes | str = b""
    roots: bytes | str = b""


def verify(
    descriptor: ComponentDescriptor, keys: Keys, *, name: str = "", issuer: str = "", now: datetime | None = None
) -> Signature:
    """Verify a signature and return it: the named one, or the only one.

      issuer  required distinguished name of the certificate ("CN=acme,O=…"); default: the requested signature's name
              as the common name, as ocm has it
      now     time for the validity of certificates

    Raises SignatureError if it is missing, does not match, or is not by a trusted key.
    """
    signature = _chosen(descriptor, name)
    what = f"signature {signature.name!r} of {descriptor.name}:{descriptor.version}"
    _check_digest(descriptor, signature, what)
    trust = _Trust(keys, issuer, name if name and not issuer else "", now or datetime.now(UTC))
    _check_signature(signature, trust, what)
    return signature


def check_content(resource: ComponentResource, content: bytes) -> None:
    """Compare a resource's content with the signed digest. Raises SignatureError.

    For an OCI artifact, the content is its manifest.
    """
    digest = resource.digest
    if digest is None or digest.is_excluded:
        raise SignatureError(f"resource {resource.name} has no signed digest", hint="it was not used")
    name = HASHES.get(digest.hash_algorithm)
    if name is None or digest.normalisation_algorithm not in (BLOB_DIGEST, ARTIFACT_DIGEST):
        raise SignatureError(
            f"resource {resource.name}: {digest.hash_algorithm} by {digest.normalisation_algorithm} cannot be checked"
        )
    found = hashlib.new(name, content).hexdigest()
    if not hmac.compare_digest(found, digest.value.lower()):
        raise SignatureError(
            f"resource {resource.name} has {digest.hash_algorithm} {found}, but {digest.value} was signed",
            hint="it was changed after signing; it was not used",
        )


def _chosen(descriptor: ComponentDescriptor, name: str) -> Signature:
    where = f"{descriptor.name}:{descriptor.version}"
    named = [one for one in descriptor.signatures if not name or one.name == name]
    if not named:
        there = ", ".join(one.name for one in descriptor.signatures) or "no signature"
        raise SignatureError(f"{where} has no signature {name!r}" if name else f"{where} is not signed", hint=there)
    if len(named) > 1:
        names = ", ".join(dict.fromkeys(one.name for one in named))
        raise SignatureError(
            f"{where} has {len(named)} signatures{f' {name!r}' if name else ''}",
            hint=f"choose the one to verify with --signature: {names}",
        )
    return named[0]


def _check_digest(descriptor: ComponentDescriptor, signature: Signature, what: str) -> None:
    digest = signature.digest
    try:
        found = digest_of(descriptor, digest.normalisation_algorithm, digest.hash_algorithm)
    except DescriptorError as error:
        raise SignatureError(f"{what} cannot be checked: {error}", hint=error.hint) from error
    if not hmac.compare_digest(found, digest.value.lower()):
        raise SignatureError(
            f"{what} is for the digest {digest.value}, but the descriptor has {found}",
            hint="the descriptor was changed after signing; it was not used",
        )


@dataclass(frozen=True, slots=True)
class _Trust:
    """Keys, the name that is required of them, or that of a certificate by default, and the time."""

    keys: Keys
    issuer: str
    common_name: str
    now: datetime

    @property
    def certified_name(self) -> str:
        return self.issuer or self.common_name


def _check_signature(signature: Signature, trust: _Trust, what: str) -> None:
    key, raw, algorithm = _key(signature, trust, what)
    hashed = hashes.SHA512() if HASHES[signature.digest.hash_algorithm] == "sha512" else hashes.SHA256()
    scheme = padding.PKCS1v15() if algorithm == PKCS1 else padding.PSS(padding.MGF1(hashed), padding.PSS.AUTO)
    try:
        key.verify(raw, bytes.fromhex(signature.digest.value), scheme, Prehashed(hashed))
    except (InvalidSignature, ValueError) as error:
        raise SignatureError(
            f"{what} was not made with this key", hint="check the key and the publisher of the component"
        ) from error


def _key(signature: Signature, trust: _Trust, what: str) -> tuple[RSAPublicKey, bytes, str]:
    """Return the verification key, the signature's bytes, and its algorithm."""
    if signature.media_type == PEM_MEDIA_TYPE:
        found = read_pem_signature(signature.value, what)
        algorithm = _algorithm(signature, found.algorithm, what)
        if trust.keys.public_key:
            return _given_key(signature, trust, what), found.raw, algorithm
        key = chained_key(
            found.certificates, trust.keys.roots, trust.now, what, issuer=trust.certified_name, told=signature.issuer
        )
        return key, found.raw, algorithm
    algorithm = _algorithm(signature, MEDIA_TYPES.get(signature.media_type, ""), what)
    if signature.media_type not in MEDIA_TYPES:
        raise SignatureError(f"{what}: its media type {signature.media_type!r} is unknown")
    try:
        raw = bytes.fromhex(signature.value)
    except ValueError as error:
        raise SignatureError(f"{what} is not hexadecimal") from error
    return _given_key(signature, trust, what), raw, algorithm


def _algorithm(signature: Signature, told: str, what: str) -> str:
    """Return the algorithm; value and signature must name the same one.

    Old tools wrote the media type of PKCS #1 for both algorithms.
    """
    algorithm = signature.algorithm or told
    if algorithm not in (PKCS1, PSS):
        raise SignatureError(f"{what}: {algorithm!r} is not a supported algorithm", hint=f"{PKCS1} or {PSS}")
    contradicts = told not in ("", algorithm) and not (told == PKCS1 and signature.media_type != PEM_MEDIA_TYPE)
    if contradicts:
        raise SignatureError(f"{what} names the algorithm {algorithm}, but uses {told}")
    return algorithm


def _given_key(signature: Signature, trust: _Trust, what: str) -> RSAPublicKey:
    """Return the trusted key. A certificate needs a chain to a trusted root, unless it is self-signed."""
    if not trust.keys.public_key:
        raise SignatureError(f"{what} needs a public key", hint="use the public key of the component's publisher")
    key, certificates = read_key(trust.keys.public_key)
    if not certificates:
        if trust.issuer:
            raise SignatureError(f"{what}: a plain key has no name, but the issuer {trust.issuer!r} is required")
        return key
    if trust.keys.roots or not is_self_signed(certificates[0]):
        return chained_key(
            certificates, trust.keys.roots, trust.now, what, issuer=trust.certified_name, told=signature.issuer
        )
    subject = certificates[0].subject
    for wanted in (trust.issuer, signature.issuer):
        if wanted and not names_match(wanted, subject):
            raise SignatureError(f"{what}: the certificate was issued to {subject.rfc4514_string()}, not to {wanted}")
    return key
