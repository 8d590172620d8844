"""Signatures of images as cosign makes them with keys: simple signing (legacy) and Sigstore bundles (OCI 1.1).

Both sign the digest of the image's manifest, not its name. Certificates, transparency logs and timestamps are not
used: whoever has the private key signs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kymatui.json_input import read_json
from kymatui.ocm.errors import PrivateKeyError, SignatureError
from kymatui.ocm.pem import PrivateKey, read_public_key, require_strong

SIMPLE_SIGNING: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_ANNOTATION: Final = "dev.cosignproject.cosign/signature"
BUNDLE_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
SIGN_PREDICATE: Final = "https://sigstore.dev/cosign/sign/v1"

_BUNDLE_TYPES: Final = (
    BUNDLE_TYPE,
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
)
_SIMPLE_TYPES: Final = ("cosign container image signature", SIGN_PREDICATE)
_STATEMENTS: Final = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
_IN_TOTO: Final = "application/vnd.in-toto+json"

PublicKey: TypeAlias = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


def read_image_key(text: bytes | str) -> PublicKey:
    """Read a public key for images: RSA, elliptic curve or Ed25519. Raises SignatureError."""
    key, _ = read_public_key(text)
    if not isinstance(key, RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey):
        raise SignatureError("public keys of this kind are not supported", hint="use RSA, elliptic curves or Ed25519")
    require_strong(key)
    return key


def verify_simple_signature(payload: bytes, signature: str, digest: str, key: PublicKey) -> None:
    """Verify a legacy signature of the manifest with `digest` ("sha256:…"). Raises SignatureError."""
    if not signature:
        raise SignatureError(f"a layer has no annotation {SIGNATURE_ANNOTATION}")
    _check(key, _decoded(signature, "the signature"), payload)
    critical = _object(_json(payload, "the payload"), "critical")
    if critical.get("type") not in _SIMPLE_TYPES:
        raise SignatureError(f"the payload has the type {critical.get('type')!r}, not that of a signature")
    signed = _object(critical, "image").get("docker-manifest-digest")
    if signed != digest:
        raise SignatureError(f"the signature is for {signed}, not for {digest}")


def verify_bundle(content: bytes, digest: str, key: PublicKey) -> None:
    """Verify a Sigstore bundle with an envelope for the manifest with `digest`. Raises SignatureError."""
    bundle = _json(content, "the bundle")
    if bundle.get("mediaType") not in _BUNDLE_TYPES:
        raise SignatureError(f"the bundle has the unknown media type {bundle.get('mediaType')!r}")
    if not isinstance(_object(bundle, "verificationMaterial").get("publicKey"), dict):
        raise SignatureError("the bundle was not signed with a key", hint="certificates of Fulcio are not supported")
    envelope = _object(bundle, "dsseEnvelope")
    kind, payload = envelope.get("payloadType"), _decoded(envelope.get("payload"), "the payload")
    signatures = envelope.get("signatures")
    if kind != _IN_TOTO:
        raise SignatureError(f"the payload has the type {kind!r}, not {_IN_TOTO}")
    if not isinstance(signatures, list) or len(signatures) != 1 or not isinstance(signatures[0], dict):
        raise SignatureError("the envelope must have exactly one signature")
    _check(key, _decoded(signatures[0].get("sig"), "the signature"), _encoded_for_signing(kind, payload))
    _check_statement(_json(payload, "the statement"), digest)


def _check_statement(statement: dict[str, Any], digest: str) -> None:
    """Refuse another statement: an attestation by the same key (a scan, a provenance) does not approve the image."""
    if statement.get("_type") not in _STATEMENTS or statement.get("predicateType") != SIGN_PREDICATE:
        raise SignatureError(f"the statement is not a signature: {statement.get('predicateType')!r}")
    algorithm, _, value = digest.partition(":")
    listed = statement.get("subject")
    subjects = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    digests = [subject["digest"] for subject in subjects if isinstance(subject.get("digest"), dict)]
    if not any(subject_digest.get(algorithm) == value for subject_digest in digests):
        names = (
            ", ".join(f"{kind}:{text}" for subject_digest in digests for kind, text in subject_digest.items())
            or "nothing"
        )
        raise SignatureError(f"the signature is for {names}, not for {digest}")


def simple_payload(digest: str, reference: str) -> bytes:
    """Return the payload of a legacy signature; `reference` is "host/repository"."""
    critical = {
        "identity": {"docker-reference": reference},
        "image": {"docker-manifest-digest": digest},
        "type": _SIMPLE_TYPES[0],
    }
    return _compact({"critical": critical, "optional": None})


def sign_payload(key: PrivateKey, content: bytes) -> str:
    """Return a signature in base64. Raises PrivateKeyError for kinds of keys that cosign does not use so."""
    if isinstance(key, EllipticCurvePrivateKey):
        return base64.b64encode(key.sign(content, ECDSA(_hash(key.curve.key_size)))).decode()
    if isinstance(key, RSAPrivateKey):
        return base64.b64encode(key.sign(content, PKCS1v15(), hashes.SHA256())).decode()
    raise PrivateKeyError("images cannot be signed with Ed25519 keys", hint="use an elliptic curve or RSA key")


def signed_bundle(key: PrivateKey, digest: str) -> bytes:
    """Return a Sigstore bundle that signs the manifest with `digest`."""
    algorithm, _, value = digest.partition(":")
    statement = {
        "_type": _STATEMENTS[0],
        "subject": [{"digest": {algorithm: value}, "annotations": {}}],
        "predicateType": SIGN_PREDICATE,
        "predicate": {},
    }
    payload = _compact(statement)
    signature = sign_payload(key, _encoded_for_signing(_IN_TOTO, payload))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    hint = base64.b64encode(hashlib.sha256(public).digest()).decode()
    return _compact(
        {
            "mediaType": BUNDLE_TYPE,
            "verificationMaterial": {"publicKey": {"hint": hint}},
            "dsseEnvelope": {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": _IN_TOTO,
                "signatures": [{"sig": signature}],
            },
        }
    )


def _encoded_for_signing(kind: str, payload: bytes) -> bytes:
    """Return the pre-authentication encoding of DSSE."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


def _check(key: PublicKey, signature: bytes, content: bytes) -> None:
    for hashed in _hashes(key):
        try:
            if isinstance(key, RSAPublicKey):
                key.verify(signature, content, PKCS1v15(), hashed)
            elif isinstance(key, EllipticCurvePublicKey):
                key.verify(signature, content, ECDSA(hashed))
            else:
                key.verify(signature, content)
            return
        except InvalidSignature:  # cosign may have used the next hash
            continue
    raise SignatureError("the signature was not made with this key, or its content was changed")


def _hashes(key: PublicKey) -> Sequence[hashes.HashAlgorithm]:
    """Return the hashes that cosign may have used: of the curve's size, or SHA-256."""
    if isinstance(key, EllipticCurvePublicKey) and key.curve.key_size > 256:
        return (_hash(key.curve.key_size), hashes.SHA256())
    return (hashes.SHA256(),)


def _hash(bits: int) -> hashes.HashAlgorithm:
    return hashes.SHA256() if bits <= 256 else hashes.SHA384() if bits <= 384 else hashes.SHA512()


def _json(text: bytes, what: str) -> dict[str, Any]:
    try:
        document = read_json(text)
    except ValueError:
        raise SignatureError(f"{what} is not JSON") from None
    if not isinstance(document, dict):
        raise SignatureError(f"{what} is not a JSON object")
    return document


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if not isinstance(value, dict):
        raise SignatureError(f"the signature has no {name}")
    return value


def _decoded(text: object, what: str) -> bytes:
    if not isinstance(text, str) or not text:
        raise SignatureError(f"{what} is missing")
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise SignatureError(f"{what} is not base64") from None


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
