"""Keys (the user's own among them), certificates and signatures in PEM, and the check of certificate chains."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_der_public_key, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError
from msgspec import Struct
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from kymatui.json_input import read_json
from kymatui.ocm.errors import PrivateKeyError, SignatureError

PEM_MEDIA_TYPE: Final = "application/x-pem-file"
LONGEST_CHAIN: Final = 7  # certificates between signer and root; limits the search in untrusted certificates
SMALLEST_RSA: Final = 2048  # bits; keys of 1,024 bits have been within reach of many for years
SMALLEST_CURVE: Final = 256  # bits
UNREADABLE: Final = (
    *(ValueError, TypeError, LookupError, OverflowError, RecursionError, UnsupportedAlgorithm),
    *(x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
)
"""What reading a hostile certificate may raise."""
MOST_BLOCKS: Final = 32  # keys and certificates of one file or signature

_BLOCK: Final = re.compile(
    r"-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\r?\n"
    r"((?:[A-Za-z0-9-][^\n:]*:[^\n]*\n)*)(?:\r?\n)?"
    r"([A-Za-z0-9+/=\s]*?)-----END \1-----"
)
_SEPARATOR: Final = re.compile(r"[/;+](?=[A-Z]+=)")  # ocm writes and reads names with any of them
E = TypeVar("E", bound=x509.ExtensionType)
_USES: Final = (ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)


class PemSection(Struct, frozen=True):
    """One block of a PEM text."""

    type: str
    headers: dict[str, str]
    content: bytes


class PemSignature(Struct, frozen=True):
    """A signature with its certificates, the signer's first; `algorithm` may be ""."""

    raw: bytes
    algorithm: str
    certificates: tuple[x509.Certificate, ...]


def read_sections(text: bytes | str) -> list[PemSection]:
    """Return the blocks of a PEM text; other text is ignored. Raises SignatureError."""
    plain = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    sections: list[PemSection] = []
    for match in _BLOCK.finditer(plain):
        headers = dict(part.split(":", 1) for part in match[2].splitlines() if ":" in part)
        try:
            content = base64.b64decode("".join(match[3].split()), validate=True)
        except binascii.Error as error:
            raise SignatureError(f"a PEM block {match[1]} is not base64") from error
        sections.append(PemSection(match[1], {key.strip(): value.strip() for key, value in headers.items()}, content))
        if len(sections) > MOST_BLOCKS:
            raise SignatureError(f"there are more than {MOST_BLOCKS} PEM blocks")
    return sections


def read_pem_signature(text: str, what: str) -> PemSignature:
    """Read a SIGNATURE block and CERTIFICATE blocks. Raises SignatureError."""
    sections = read_sections(text)
    signature = next((section for section in sections if section.type == "SIGNATURE"), None)
    if signature is None:
        raise SignatureError(f"{what} has no PEM block SIGNATURE")
    return PemSignature(
        signature.content,
        signature.headers.get("Signature Algorithm", ""),
        tuple(read_certificate(section) for section in sections if section.type == "CERTIFICATE"),
    )


def read_key(text: bytes | str) -> tuple[RSAPublicKey, tuple[x509.Certificate, ...]]:
    """Read a public RSA key (PKIX, PKCS #1), or certificates, the key's first. Raises SignatureError."""
    key, certificates = read_public_key(text)
    return _rsa(key), certificates


def read_public_key(text: bytes | str) -> tuple[object, tuple[x509.Certificate, ...]]:
    """Read a public key of any kind, with its certificates if it is given as one. Raises SignatureError."""
    sections = read_sections(text)
    if not sections:
        raise SignatureError("the public key is not PEM", hint="it must begin with -----BEGIN PUBLIC KEY-----")
    if sections[0].type == "CERTIFICATE":
        certificates = tuple(read_certificate(section) for section in sections if section.type == "CERTIFICATE")
        try:
            return certificates[0].public_key(), certificates
        except UNREADABLE as error:
            raise SignatureError(f"the key of the certificate cannot be read: {type(error).__name__}") from None
    if "PRIVATE" in sections[0].type:
        raise SignatureError("this is a private key; a public key is needed", hint="openssl pkey -pubout -in KEY")
    try:
        return load_der_public_key(sections[0].content), ()
    except UNREADABLE as error:
        raise SignatureError(f"the public key cannot be read: {type(error).__name__}") from None


def read_certificates(text: bytes | str) -> tuple[x509.Certificate, ...]:
    """Read the certificates of a PEM text, none if it has none. Raises SignatureError."""
    return tuple(read_certificate(section) for section in read_sections(text) if section.type == "CERTIFICATE")


def is_self_signed(certificate: x509.Certificate) -> bool:
    return certificate.subject == certificate.issuer


def _rsa(key: object) -> RSAPublicKey:
    if not isinstance(key, RSAPublicKey):
        raise SignatureError("the public key is not an RSA key", hint="components are signed with RSA")
    require_strong(key)
    return key


def require_strong(key: object) -> None:
    """Raise SignatureError for a key that can be broken; signatures by it prove nothing."""
    if isinstance(key, RSAPublicKey) and key.key_size < SMALLEST_RSA:
        raise SignatureError(f"the RSA key has {key.key_size} bits; at least {SMALLEST_RSA} are required")
    if isinstance(key, EllipticCurvePublicKey) and key.key_size < SMALLEST_CURVE:
        raise SignatureError(f"the curve of the key has {key.key_size} bits; at least {SMALLEST_CURVE} are required")


def read_certificate(block: PemSection) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(block.content)
    except UNREADABLE as error:
        raise SignatureError(f"a certificate cannot be read: {type(error).__name__}") from None


def chained_key(
    chain: Sequence[x509.Certificate],
    roots: bytes | str,
    now: datetime,
    what: str,
    *,
    issuer: str = "",
    named_issuer: str = "",
) -> RSAPublicKey:
    """Return the key of the first certificate if a chain leads to a trusted root.

      issuer  the required name of the certificate
      told    the name in the signature: the certificate's subject or issuer

    Raises SignatureError.
    """
    if not chain:
        raise SignatureError(f"{what} has no certificates", hint="use a public key instead")
    trusted = read_certificates(roots)
    if not trusted:
        raise SignatureError(
            f"{what} has certificates, but no trusted root is given", hint="give the root certificates as PEM"
        )
    leaf = chain[0]
    _check_leaf(leaf, what)
    if not _leads_to_root(leaf, chain[1:], trusted, now):
        raise SignatureError(
            f"{what}: no chain of valid certificates leads from {leaf.subject.rfc4514_string()} to a trusted root"
        )
    if issuer and not names_match(issuer, leaf.subject):
        raise SignatureError(f"{what}: the certificate was issued to {leaf.subject.rfc4514_string()}, not to {issuer}")
    if named_issuer and not (names_match(named_issuer, leaf.subject) or names_match(named_issuer, leaf.issuer)):
        raise SignatureError(
            f"{what} names the issuer {named_issuer}, but its certificate was issued to {leaf.subject.rfc4514_string()}"
        )
    return _rsa(leaf.public_key())


def _check_leaf(leaf: x509.Certificate, what: str) -> None:
    usage = _extension(leaf, x509.KeyUsage)
    if usage is not None and not usage.digital_signature:
        raise SignatureError(f"{what}: its certificate is not for signatures")
    extended = _extension(leaf, x509.ExtendedKeyUsage)
    if extended is not None and not any(identifier in extended for identifier in _USES):
        raise SignatureError(f"{what}: its certificate is not for signing code")


def _leads_to_root(
    leaf: x509.Certificate, others: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], now: datetime
) -> bool:
    """Return whether valid CA certificates lead to a root; the profile of web servers does not apply to signers."""
    authority = (
        ExtensionPolicy.permit_all()
        .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
        .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _check_authority)
    )
    policy = (
        PolicyBuilder()
        .store(Store(list(roots)))
        .time(now)
        .max_chain_depth(LONGEST_CHAIN)
        .extension_policies(ca_policy=authority, ee_policy=ExtensionPolicy.permit_all())
    )
    try:
        policy.build_client_verifier().verify(leaf, list(others))
    except (VerificationError, *UNREADABLE):
        return False
    return True


def _check_authority(_policy: object, _certificate: x509.Certificate, usage: x509.KeyUsage | None) -> None:
    if usage is not None and not usage.key_cert_sign:
        raise ValueError("the certificate is not for signing certificates")


def _extension(certificate: x509.Certificate, kind: type[E]) -> E | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except UNREADABLE as error:
        raise SignatureError(f"a certificate cannot be read: {type(error).__name__}") from None


def names_match(expected: str, name: x509.Name) -> bool:
    """Return whether a name has all wanted parts ("CN=acme,O=example"; one word is a common name)."""
    try:
        asked = x509.Name.from_rfc4514_string(_SEPARATOR.sub(",", expected) if "=" in expected else f"CN={expected}")
    except UNREADABLE:  # a pattern that is no distinguished name matches no certificate
        return False
    return set(_attributes(asked)) <= set(_attributes(name))


def _attributes(name: x509.Name) -> Iterable[tuple[str, str]]:
    return ((attribute.oid.dotted_string, str(attribute.value)) for attribute in name)


PrivateKey: TypeAlias = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey
AskPassword: TypeAlias = Callable[[], bytes]

SIGSTORE_TYPES: Final = ("ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY")
LARGEST_COST: Final = 1 << 20  # of scrypt; cosign uses 2**16 with r=8, which is 64 MiB of memory
LARGEST_MEMORY: Final = 1 << 30  # bytes for scrypt, so that the file of a key cannot use up the machine's memory


def read_private_key(text: bytes, password: AskPassword) -> PrivateKey:
    """Read the first private key of a PEM text; `password` is called only if it is encrypted.

    Raises PrivateKeyError.
    """
    section = next((block for block in read_sections(text) if "PRIVATE KEY" in block.type), None)
    if section is None:
        raise PrivateKeyError(
            "this is not a private key in PEM", hint="it must begin with -----BEGIN … PRIVATE KEY-----"
        )
    key = _sigstore_key(section, password) if section.type in SIGSTORE_TYPES else _pem_key(text, section, password)
    if not isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey):
        raise PrivateKeyError("private keys of this kind are not supported", hint="use RSA, elliptic curves or Ed25519")
    if isinstance(key, RSAPrivateKey) and key.key_size < SMALLEST_RSA:
        raise PrivateKeyError(f"the RSA key has {key.key_size} bits; at least {SMALLEST_RSA} are required")
    return key


def _pem_key(text: bytes, section: PemSection, password: AskPassword) -> object:
    encrypted = section.type == "ENCRYPTED PRIVATE KEY" or "ENCRYPTED" in section.headers.get("Proc-Type", "")
    try:
        return load_pem_private_key(text, password() if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "cannot be decrypted with this password" if encrypted else "cannot be read"
        raise PrivateKeyError(f"the private key {what}") from None


def _sigstore_key(section: PemSection, password: AskPassword) -> object:
    """Decrypt a key of cosign: JSON with scrypt's parameters and a secretbox around PKCS #8."""
    box = _Box(section.content)
    secret = password()
    try:
        plain = SecretBox(box.derive(secret)).decrypt(box.content, box.nonce)
    except (CryptoError, ValueError, TypeError):
        raise PrivateKeyError("the private key cannot be decrypted with this password") from None
    try:
        return load_der_private_key(plain, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise PrivateKeyError("the private key cannot be read") from None


class _Box:
    """The JSON of an encrypted key; its numbers are limited, because they decide about memory and time."""

    def __init__(self, text: bytes) -> None:
        try:
            body = read_json(text)
            kdf, cipher = body["kdf"], body["cipher"]
            names = (kdf["name"], cipher["name"])
            self._n, self._r, self._p = (_number(kdf["params"], name) for name in ("N", "r", "p"))
            self._salt = base64.b64decode(kdf["salt"], validate=True)
            self.nonce = base64.b64decode(cipher["nonce"], validate=True)
            self.content = base64.b64decode(body["ciphertext"], validate=True)
        except (ValueError, KeyError, TypeError, binascii.Error):
            raise PrivateKeyError("the encrypted private key cannot be read") from None
        if names != ("scrypt", "nacl/secretbox"):
            raise PrivateKeyError("the encryption of this private key is not supported")
        memory_bytes = 128 * self._n * self._r * self._p
        if self._n & (self._n - 1) or not 1 < self._n <= LARGEST_COST or memory_bytes > LARGEST_MEMORY:
            raise PrivateKeyError("the encryption of this private key has parameters that are not allowed")

    def derive(self, password: bytes) -> bytes:
        memory_bytes = 2 * 128 * self._n * self._r * self._p
        return hashlib.scrypt(password, salt=self._salt, n=self._n, r=self._r, p=self._p, maxmem=memory_bytes, dklen=32)


def _number(parameters: Any, name: str) -> int:
    value = parameters[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(name)
    return value
