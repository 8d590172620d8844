"""Generated certificates: X.509 with the fields that Go's crypto/x509 sets for Sprig."""

from __future__ import annotations

import base64
import ipaddress
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from kymatui.helm.functions.declaring import hold_list
from kymatui.helm.functions.text.encoding import CorruptInputError, decode_base64
from kymatui.helm.govalues.budget import check_budget, within_deadline
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.text import from_bytes, runes, to_bytes
from kymatui.helm.govalues.types import FunctionError, Object, wrap_integer
from kymatui.helm.language.environment import Environment

_LONGEST_NAME: Final = 64
NAMES: Final = 10_000
"""Names, and addresses, of one certificate."""


class Certificate(Object, Struct, frozen=True):
    """sprig.certificate: a certificate and its key, both in PEM."""

    cert: str
    key: str

    go_type: ClassVar[str] = "sprig.certificate"
    go_kind: ClassVar[str] = "struct"
    go_fields: ClassVar[tuple[str, ...]] = ("Cert", "Key")

    def read_field(self, name: str) -> Any:
        return {"Cert": self.cert, "Key": self.key}[name]


class _CertificateRequest(Struct, frozen=True):
    name: str
    days: int
    addresses: Sequence[str] = ()
    hosts: Sequence[str] = ()
    authority: bool = False


def gen_ca(environment: Environment, name: str, days: int) -> Certificate:
    return _self_signed(environment, _CertificateRequest(name, days, authority=True), _new_key())


def gen_ca_with_key(environment: Environment, name: str, days: int, key: str) -> Certificate:
    return _self_signed(environment, _CertificateRequest(name, days, authority=True), _given_key(key))


def gen_self_signed(environment: Environment, name: str, addresses: Any, hosts: Any, days: int) -> Certificate:
    return _self_signed(environment, _read_request(name, addresses, hosts, days), _new_key())


def gen_self_signed_with_key(
    environment: Environment, name: str, addresses: Any, hosts: Any, days: int, key: str
) -> Certificate:
    own = _given_key(key)
    return _self_signed(environment, _read_request(name, addresses, hosts, days), own)


def gen_signed(
    environment: Environment, name: str, addresses: Any, hosts: Any, days: int, authority: Certificate
) -> Certificate:
    own = _new_key()
    issuer, signer = _authority(authority)
    return _signed(environment, _read_request(name, addresses, hosts, days), own, issuer, signer)


def gen_signed_with_key(
    environment: Environment, name: str, addresses: Any, hosts: Any, days: int, authority: Certificate, key: str
) -> Certificate:
    own = _given_key(key)
    issuer, signer = _authority(authority)
    return _signed(environment, _read_request(name, addresses, hosts, days), own, issuer, signer)


def build_custom_cert(cert: str, key: str) -> Certificate:
    """Return a given Base64 certificate and key."""
    cert_text = _decoded(cert, "unable to decode base64 certificate")
    key_text = _decoded(key, "unable to decode base64 private key")
    _read_certificate(cert_text, "decodedCert")
    _read_signer(key_text)
    return Certificate(cert_text, key_text)


def _decoded(text: str, complaint: str) -> str:
    try:
        return from_bytes(decode_base64(text))
    except CorruptInputError as error:
        raise FunctionError(complaint) from error


def _new_key() -> PrivateKey:
    return within_deadline(rsa.generate_private_key, 65537, 2048)


def _given_key(text: str) -> PrivateKey:
    try:
        return read_key(text)
    except PemKeyError as error:
        raise FunctionError(f"parsing private key: {error}") from error


def _authority(authority: Certificate) -> tuple[x509.Certificate, PrivateKey]:
    return _read_certificate(authority.cert, "decodedSignerCert"), _read_signer(authority.key)


def _read_certificate(text: str, name: str) -> x509.Certificate:
    block = decode_pem(text)
    if block is None:
        raise FunctionError("unable to decode certificate")
    try:
        return x509.load_der_x509_certificate(block.data)
    except ValueError as error:
        raise FunctionError(f"error parsing certificate: {name}.Bytes: x509: malformed certificate") from error


def _read_signer(text: str) -> PrivateKey:
    try:
        return read_key(text)
    except PemKeyError as error:
        raise FunctionError(f"error parsing private key: {error}") from error


def _read_request(name: str, addresses: Any, hosts: Any, days: int) -> _CertificateRequest:
    return _CertificateRequest(name, days, _addresses(addresses), _hosts(hosts))


def _addresses(values: Any) -> list[str]:
    texts = []
    hold_list(len(values or ()), "the list of addresses", NAMES)
    for value in values or ():
        if not isinstance(value, str):
            raise FunctionError(f"error parsing ip: {format_value(value)} is not a string")
        try:
            ipaddress.ip_address(value)
        except ValueError as error:
            raise FunctionError(f"error parsing ip: {value}") from error
        if "%" in value:
            raise FunctionError(f"error parsing ip: {value}")
        texts.append(value)
    return texts


def _hosts(values: Any) -> list[str]:
    hold_list(len(values or ()), "the list of names", NAMES)
    for value in values or ():
        if not isinstance(value, str):
            raise FunctionError(f"error processing alternate dns name: {format_value(value)} is not a string")
        if not value.isascii():
            raise FunctionError(f'error creating certificate: x509: "{value}" cannot be encoded as an IA5String')
    return list(values or ())


def _self_signed(environment: Environment, request: _CertificateRequest, key: PrivateKey) -> Certificate:
    return _signed(environment, request, key, None, key)


def _signed(
    environment: Environment,
    request: _CertificateRequest,
    key: PrivateKey,
    issuer: x509.Certificate | None,
    signer: PrivateKey,
) -> Certificate:
    subject = _name(request.name)
    start = environment.now().astimezone(UTC).replace(microsecond=0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(int.from_bytes(environment.random(16)) or 1)
        .not_valid_before(start)
        .not_valid_after(_end(start, request.days))
    )
    for extension, critical in _extensions(request, key, issuer):
        builder = builder.add_extension(extension, critical)
    try:
        certificate = builder.sign(_signing_key(signer), _digest(signer))
    except ValueError as error:
        raise FunctionError(f"error creating certificate: x509: {error}") from error
    return Certificate(encode_pem("CERTIFICATE", certificate.public_bytes(serialization.Encoding.DER)), write_key(key))


def _signing_key(key: PrivateKey) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey:
    if isinstance(key, dsa.DSAPrivateKey):
        raise FunctionError(
            "error creating certificate: x509: certificate private key does not implement crypto.Signer"
        )
    return key


def _digest(key: PrivateKey) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.key_size > 256:
        return hashes.SHA384() if key.curve.key_size <= 384 else hashes.SHA512()
    return hashes.SHA256()


def _name(common_name: str) -> x509.Name:
    """Return the name; Go omits an empty one, and accepts names longer than X.520 allows."""
    if not common_name:
        return x509.Name([])
    if len(common_name) > _LONGEST_NAME:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cryptography warns and continues
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, runes(common_name), _validate=False)])
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, runes(common_name), _validate=False)])


def _end(start: datetime, days: int) -> datetime:
    """Return the expiry; Go's Duration holds 292 years and overflows beyond."""
    nanoseconds = wrap_integer(days * 86_400_000_000_000)
    if nanoseconds < 0:
        # cryptography refuses to create a certificate that was never valid; Go does not.
        raise FunctionError("error creating certificate: the certificate would end before it begins")
    return start + timedelta(microseconds=nanoseconds // 1000)


def _extensions(
    request: _CertificateRequest, key: PrivateKey, issuer: x509.Certificate | None
) -> list[tuple[x509.ExtensionType, bool]]:
    """Return the extensions in the order in which Go writes them."""
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (_key_usage(request.authority), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False),
        (x509.BasicConstraints(ca=request.authority, path_length=None), True),
    ]
    if request.authority:
        extensions.append((x509.SubjectKeyIdentifier(_key_identifier(key)), False))
    identifier = _issuer_identifier(issuer)
    if identifier:
        extensions.append((x509.AuthorityKeyIdentifier(identifier, None, None), False))
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in request.hosts]
    names += [x509.IPAddress(_address(address)) for address in request.addresses]
    if names:
        extensions.append((x509.SubjectAlternativeName(names), not request.name))
    return extensions


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address; an IPv4-mapped IPv6 address is an IPv4 address."""
    address = ipaddress.ip_address(text)
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _key_usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=authority,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_identifier(key: PrivateKey) -> bytes:
    """Return the first 160 bits of the public key's SHA-256 (RFC 7093, method 1), as Go since 1.25."""
    digest = hashes.Hash(hashes.SHA256())
    digest.update(_public_bits(key))
    return digest.finalize()[:20]


def _public_bits(key: PrivateKey) -> bytes:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
    if isinstance(public, ec.EllipticCurvePublicKey):
        return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    if isinstance(public, ed25519.Ed25519PublicKey):
        return public.public_bytes_raw()
    raise FunctionError("error creating certificate: x509: only RSA, ECDSA and Ed25519 public keys supported")


def _issuer_identifier(issuer: x509.Certificate | None) -> bytes | None:
    if issuer is None:
        return None
    try:
        return issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except (x509.ExtensionNotFound, ValueError):
        return None


# Private keys as PEM, in Go's formats.


PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | dsa.DSAPrivateKey

_KINDS: Final[dict[str, type]] = {"RSA": rsa.RSAPrivateKey, "EC": ec.EllipticCurvePrivateKey, "DSA": dsa.DSAPrivateKey}
_PEM: Final = re.compile(
    rb"-----BEGIN (?P<label>[^\r\n]*?)-----[ \t]*\r?\n(?P<headers>(?:[^\r\n:]+:[^\r\n]*\r?\n){1,50}\r?\n)?"
    rb"(?P<body>[A-Za-z0-9+/=\s]*?)-----END (?P=label)-----"
)


LARGEST_KEY: Final = 2_500
"""Bytes: RSA keys of 4,096 bits have 2,350. The check of one takes 0.2 seconds, and grows with the fourth power."""


class PemKeyError(ValueError):
    """A PEM text without a key; the message is Go's."""


class PemBlock(Struct, frozen=True):
    """The first block of a PEM text."""

    label: str
    data: bytes


def decode_pem(text: str) -> PemBlock | None:
    """Return pem.Decode: the first valid block."""
    for match in _PEM.finditer(to_bytes(text)):
        try:
            data = base64.b64decode(b"".join(match["body"].split()), validate=True)
        except ValueError:
            continue
        return PemBlock(match["label"].decode("utf-8", "replace"), data)
    return None


def encode_pem(label: str, data: bytes) -> str:
    """Return pem.EncodeToMemory: lines of 64 characters."""
    text = base64.b64encode(data).decode()
    lines = "".join(f"{text[start : start + 64]}\n" for start in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}-----END {label}-----\n"


def write_key(key: PrivateKey) -> str:
    """Return PKCS #1 for RSA, SEC 1 for elliptic curves, OpenSSL's format for DSA, else PKCS #8."""
    labels = {rsa.RSAPrivateKey: "RSA PRIVATE KEY", ec.EllipticCurvePrivateKey: "EC PRIVATE KEY"}
    label = next((label for kind, label in labels.items() if isinstance(key, kind)), "PRIVATE KEY")
    if isinstance(key, dsa.DSAPrivateKey):
        label = "DSA PRIVATE KEY"
    form = (
        serialization.PrivateFormat.PKCS8 if label == "PRIVATE KEY" else serialization.PrivateFormat.TraditionalOpenSSL
    )
    return encode_pem(label, key.private_bytes(serialization.Encoding.DER, form, serialization.NoEncryption()))


def read_key(text: str) -> PrivateKey:
    """Return a private key from PEM. Raise PemKeyError with Sprig's message."""
    block = decode_pem(text)
    if block is None:
        raise PemKeyError("no PEM data in input")
    if block.label != "PRIVATE KEY" and not block.label.endswith(" PRIVATE KEY"):
        raise PemKeyError(f"no private key data in PEM block of type {block.label}")
    kind = block.label.removesuffix("PRIVATE KEY").strip()
    if kind not in ("", "RSA", "EC", "DSA"):
        raise PemKeyError(f"invalid private key type {block.label}")
    what = f"parsing {kind} private key from PEM" if kind else "decoding PEM as PKCS#8"
    if len(block.data) > LARGEST_KEY:
        raise PemKeyError(f"{what}: the key has more than 4096 bits")
    check_budget()
    try:
        key = serialization.load_der_private_key(block.data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise PemKeyError(f"{what}: {error}") from error
    expected = _KINDS.get(kind)
    if isinstance(key, PrivateKey) and (expected is None or isinstance(key, expected)):
        return key
    raise PemKeyError(f"{what}: the key is of another type")


def gen_private_key(kind: str) -> str:
    """Return a new key: RSA 4096, DSA 2048, ECDSA P-256, or Ed25519.

    It uses the system's random source, never the Environment's.
    """
    if kind in ("", "rsa"):
        return write_key(within_deadline(rsa.generate_private_key, 65537, 4096))
    if kind == "dsa":
        return write_key(within_deadline(dsa.generate_private_key, 2048))
    if kind == "ecdsa":
        return write_key(ec.generate_private_key(ec.SECP256R1()))
    if kind == "ed25519":
        return write_key(ed25519.Ed25519PrivateKey.generate())
    return f"Unknown type {kind}"
