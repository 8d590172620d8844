"""Signatures of components: RSA over the digest of the normal form, with a key or certificate chain.

A signature covers names, versions, signed labels and digests of resources, but not their location. So content that
is fetched for a verified component is compared with its digest (`check_content`).
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from kymatui.ocm.descriptors import ComponentDescriptor, ComponentResource, Signature
from kymatui.ocm.errors import DescriptorError, SignatureError
from kymatui.ocm.normalisation import HASHES, digest_of

BLOB_DIGEST: Final = "genericBlobDigest/v1"
ARTIFACT_DIGEST: Final = "ociArtifactDigest/v1"


class Keys(Struct, frozen=True):
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
    from kymatui.ocm.signature_check import TrustedKeys, check_signature  # loads cryptography

    signature = _chosen(descriptor, name)
    what = f"signature {signature.name!r} of {descriptor.name}:{descriptor.version}"
    _check_digest(descriptor, signature, what)
    common_name = name if name and not issuer else ""
    trust = TrustedKeys(keys.public_key, keys.roots, issuer, common_name, now or datetime.now(UTC))
    check_signature(signature, trust, what)
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
    actual = hashlib.new(name, content).hexdigest()
    if not is_equal_digest(actual, digest.value):
        raise SignatureError(
            f"resource {resource.name} has {digest.hash_algorithm} {actual}, but {digest.value} was signed",
            hint="it was changed after signing; it was not used",
        )


def is_equal_digest(actual: str, signed: str) -> bool:
    """Return whether two digests in hexadecimal are equal; `signed` may be any text."""
    return hmac.compare_digest(actual.encode(), signed.lower().encode("utf-8", "surrogatepass"))


def _chosen(descriptor: ComponentDescriptor, name: str) -> Signature:
    where = f"{descriptor.name}:{descriptor.version}"
    named = [signature for signature in descriptor.signatures if not name or signature.name == name]
    if not named:
        signature_names = ", ".join(signature.name for signature in descriptor.signatures) or "no signature"
        raise SignatureError(
            f"{where} has no signature {name!r}" if name else f"{where} is not signed", hint=signature_names
        )
    if len(named) > 1:
        names = ", ".join(dict.fromkeys(signature.name for signature in named))
        raise SignatureError(
            f"{where} has {len(named)} signatures{f' {name!r}' if name else ''}",
            hint=f"choose the one to verify with --signature: {names}",
        )
    return named[0]


def _check_digest(descriptor: ComponentDescriptor, signature: Signature, what: str) -> None:
    digest = signature.digest
    try:
        actual = digest_of(descriptor, digest.normalisation_algorithm, digest.hash_algorithm)
    except DescriptorError as error:
        raise SignatureError(f"{what} cannot be checked: {error}", hint=error.hint) from error
    if not is_equal_digest(actual, digest.value):
        raise SignatureError(
            f"{what} is for the digest {digest.value}, but the descriptor has {actual}",
            hint="the descriptor was changed after signing; it was not used",
        )
