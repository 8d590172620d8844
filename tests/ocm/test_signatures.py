"""Signatures: which are good, and what is refused of all the others."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from kymatui.helm import load_yaml
from kymatui.ocm import (
    ALGORITHMS,
    DescriptorError,
    Keys,
    SignatureError,
    check_content,
    digest_of,
    read_descriptor,
    verify,
)
from kymatui.ocm.cosign_signatures import read_image_key
from tests.ocm.components import NOW, certificate, component, key, pem, public_pem, raw_signature, resource, signed

KEYS = Keys(public_key=public_pem())
DOCUMENT = component(resources=[resource(labels=[{"name": "l", "value": "v", "signing": True}])])


@pytest.mark.parametrize("normalisation", ALGORITHMS)
@pytest.mark.parametrize("algorithm", ["RSASSA-PKCS1-V1_5", "RSASSA-PSS"])
@pytest.mark.parametrize("hash_algorithm", ["SHA-256", "SHA-512", "sha256"])
def test_good_signatures(normalisation: str, algorithm: str, hash_algorithm: str) -> None:
    document = signed(DOCUMENT, normalisation=normalisation, algorithm=algorithm, hash_algorithm=hash_algorithm)
    assert verify(read_descriptor(document), KEYS).name == "acme"


def test_keys_in_either_format_and_as_certificates() -> None:
    descriptor = read_descriptor(signed(DOCUMENT))
    verify(descriptor, Keys(public_key=public_pem(pkcs1=True)))
    verify(descriptor, Keys(public_key=public_pem().decode()))
    verify(descriptor, Keys(public_key=pem(certificate("CN=acme", "CN=acme", 0, 0))))


def changed(document: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return made


SIGNED = signed(DOCUMENT)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (changed(SIGNED, "component", "version", value="1.0.1"), "is for the digest"),
        (changed(SIGNED, "component", "resources", 0, "labels", 0, "value", value="w"), "is for the digest"),
        (changed(SIGNED, "signatures", 0, "digest", "value", value="ab" * 32), "is for the digest"),
        (changed(SIGNED, "signatures", 0, "digest", "hashAlgorithm", value="MD5"), "cannot be checked: 'MD5'"),
        (changed(SIGNED, "signatures", 0, "digest", "normalisationAlgorithm", value="x/v1"), "cannot be checked"),
        (changed(SIGNED, "signatures", 0, "signature", "value", value="00" * 256), "was not made with this key"),
        (changed(SIGNED, "signatures", 0, "signature", "value", value="00"), "was not made with this key"),
        (changed(SIGNED, "signatures", 0, "signature", "value", value="xyz"), "is not hexadecimal"),
        (
            changed(SIGNED, "signatures", 0, "signature", "algorithm", value="sigstore"),
            "'sigstore' is not a supported algorithm",
        ),
        (changed(SIGNED, "signatures", 0, "signature", "mediaType", value="a/b"), "'a/b' is unknown"),
        (changed(SIGNED, "signatures", 0, "signature", "algorithm", value="RSASSA-PSS"), "was not made with this key"),
        (changed(SIGNED, "signatures", value=[]), "is not signed"),
        (signed(SIGNED, name="other"), "has 2 signatures"),
    ],
)
def test_signatures_that_are_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(SignatureError, match=words):
        verify(read_descriptor(document), KEYS)


def test_another_key_is_refused() -> None:
    with pytest.raises(SignatureError, match="was not made with this key"):
        verify(read_descriptor(SIGNED), Keys(public_key=public_pem(1)))


def test_a_signature_is_chosen_by_name() -> None:
    descriptor = read_descriptor(signed(SIGNED, name="other", number=1))
    assert verify(descriptor, KEYS, name="acme").name == "acme"
    assert verify(descriptor, Keys(public_key=public_pem(1)), name="other").name == "other"
    with pytest.raises(SignatureError, match="no signature 'third'") as caught:
        verify(descriptor, KEYS, name="third")
    assert caught.value.hint == "acme, other"


def elliptic() -> bytes:
    made = ec.generate_private_key(ec.SECP256R1())
    return made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"", "needs a public key"),
        (b"not a key", "is not PEM"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"),
        (b"-----BEGIN PUBLIC KEY-----\nA\n-----END PUBLIC KEY-----\n", "not base64"),
        (key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "this is a private key"),
        (elliptic(), "is not an RSA key"),
    ],
    ids=["none", "no PEM", "damaged", "not base64", "private", "elliptic"],
)
def test_keys_that_cannot_be_used(given: bytes, words: str) -> None:
    with pytest.raises(SignatureError, match=words):
        verify(read_descriptor(SIGNED), Keys(public_key=given))


ROOT = certificate("CN=root", "CN=root", 1, 1, ca=True)
MIDDLE = certificate("CN=middle", "CN=root", 2, 1, ca=True)
LEAF = certificate("CN=acme,O=example", "CN=middle", 0, 2)


def in_pem(*chain: x509.Certificate, algorithm: str = "RSASSA-PSS", **more: Any) -> dict[str, Any]:
    plain = signed(DOCUMENT, algorithm=algorithm)["signatures"][0]["digest"]["value"]
    raw = base64.encodebytes(raw_signature(plain, algorithm, hashes.SHA256())).decode()
    text = f"-----BEGIN SIGNATURE-----\nSignature Algorithm: {algorithm}\n\n{raw}-----END SIGNATURE-----\n{pem(*chain)}"
    return signed(DOCUMENT, algorithm=algorithm, media_type="application/x-pem-file", value=text, **more)


def test_a_chain_of_certificates_that_leads_to_a_trusted_root() -> None:
    roots = Keys(roots=pem(ROOT))
    for document in (in_pem(LEAF, MIDDLE), in_pem(LEAF, MIDDLE, ROOT), in_pem(LEAF, MIDDLE, issuer="CN=middle")):
        assert verify(read_descriptor(document), roots, now=NOW, issuer="CN=acme").algorithm == "RSASSA-PSS"
    verify(read_descriptor(in_pem(LEAF, MIDDLE, algorithm="RSASSA-PKCS1-V1_5")), roots, now=NOW)
    verify(read_descriptor(in_pem(LEAF)), Keys(roots=pem(MIDDLE)), now=NOW)
    verify(read_descriptor(in_pem(LEAF, MIDDLE)), KEYS, now=NOW)


OTHER_ROOT = certificate("CN=root", "CN=root", 3, 3, ca=True)
NO_CA = certificate("CN=middle", "CN=root", 2, 1)
OLD = certificate("CN=acme", "CN=middle", 0, 2, days=1)
SHORT = certificate("CN=root", "CN=root", 1, 1, ca=True, path_length=0)
SERVER = certificate("CN=acme", "CN=middle", 0, 2, uses=(ExtendedKeyUsageOID.SERVER_AUTH,))
CODE = certificate("CN=acme", "CN=middle", 0, 2, uses=(ExtendedKeyUsageOID.CODE_SIGNING,))
STRANGER = certificate("CN=acme", "CN=middle", 3, 2)


@pytest.mark.parametrize(
    ("chain", "root", "more", "words"),
    [
        ((), ROOT, {}, "has no certificates"),
        ((LEAF, MIDDLE), OTHER_ROOT, {}, "no chain of valid certificates"),
        ((LEAF,), ROOT, {}, "no chain of valid certificates"),
        ((LEAF, NO_CA), ROOT, {}, "no chain of valid certificates"),
        ((LEAF, OTHER_ROOT), ROOT, {}, "no chain of valid certificates"),
        ((OLD, MIDDLE), ROOT, {}, "no chain of valid certificates"),
        ((LEAF, MIDDLE), SHORT, {}, "no chain of valid certificates"),
        ((SERVER, MIDDLE), ROOT, {}, "is not for signing code"),
        ((STRANGER, MIDDLE), ROOT, {}, "was not made with this key"),
        ((LEAF, MIDDLE), ROOT, {"issuer": "CN=else"}, "not to CN=else"),
    ],
)
def test_chains_that_are_refused(
    chain: tuple[x509.Certificate, ...], root: x509.Certificate, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(SignatureError, match=words):
        verify(read_descriptor(in_pem(*chain)), Keys(roots=pem(root)), now=NOW, **more)


def test_certificates_without_a_trusted_root_and_in_another_year_are_refused() -> None:
    descriptor = read_descriptor(in_pem(CODE, MIDDLE))
    verify(descriptor, Keys(roots=pem(ROOT)), now=NOW)
    with pytest.raises(SignatureError, match="no trusted root is given"):
        verify(descriptor, Keys(), now=NOW)
    with pytest.raises(SignatureError, match="no chain of valid"):
        verify(descriptor, Keys(roots=pem(ROOT)), now=NOW + timedelta(days=1000))


def test_a_name_that_the_signature_tells_has_to_be_that_of_its_certificate() -> None:
    with pytest.raises(SignatureError, match="names the issuer CN=else"):
        verify(read_descriptor(in_pem(LEAF, MIDDLE, issuer="CN=else")), Keys(roots=pem(ROOT)), now=NOW)


def test_a_name_cannot_be_asked_of_a_plain_key() -> None:
    with pytest.raises(SignatureError, match="a plain key has no name"):
        verify(read_descriptor(SIGNED), KEYS, issuer="CN=acme")


def test_the_signature_of_a_real_kyma_module(shared: Path) -> None:
    history = shared / "kyma" / "history"
    descriptor = read_descriptor(load_yaml((history / "klm_remote-component-descriptor-signed.yaml").read_bytes()))
    secret = load_yaml((history / "klm_public-key-secret.yaml").read_bytes())
    assert verify(descriptor, Keys(public_key=base64.b64decode(secret["data"]["key"]))).name == "kyma-module-signature"


def with_digest(value: str, **more: str) -> Any:
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": value, **more}
    return read_descriptor(component(resources=[resource(digest=digest)])).resources[0]


def test_content_is_compared_with_what_was_signed() -> None:
    check_content(with_digest(hashlib.sha256(b"x").hexdigest()), b"x")
    sha512 = with_digest(hashlib.sha512(b"x").hexdigest(), hashAlgorithm="SHA-512")
    check_content(sha512, b"x")
    with pytest.raises(SignatureError, match=re.escape("resource r has SHA-256")):
        check_content(with_digest(hashlib.sha256(b"x").hexdigest()), b"y")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (read_descriptor(DOCUMENT).resources[0], "has no signed digest"),
        (
            with_digest("NO-DIGEST", hashAlgorithm="NO-DIGEST", normalisationAlgorithm="EXCLUDE-FROM-SIGNATURE"),
            "has no signed digest",
        ),
        (with_digest("ab", normalisationAlgorithm="odd/v1"), "cannot be checked"),
    ],
)
def test_content_that_was_not_signed_is_not_used(found: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=words):
        check_content(found, b"x")


def test_the_hint_names_the_signatures_to_choose_from() -> None:
    with pytest.raises(SignatureError, match="has 2 signatures") as found:
        verify(read_descriptor(signed(SIGNED, name="other")), KEYS)
    assert found.value.hint.startswith("choose the one to verify with --signature: ")
    assert found.value.hint.endswith("other")


# what is hostile


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("normalisation", ALGORITHMS)
@pytest.mark.parametrize(
    "value", [10**400, -(10**400), deep(3000), [deep(150)] * 2, float("inf"), float("nan"), {"a": {1, 2}}], ids=range(7)
)
def test_a_value_that_json_lacks_is_refused_in_signed_labels(normalisation: str, value: Any) -> None:
    document = signed(DOCUMENT, normalisation=normalisation)
    document["component"] = {**document["component"], "labels": [{"name": "x", "value": value, "signing": True}]}
    with pytest.raises((SignatureError, DescriptorError)) as caught:
        verify(read_descriptor(document), KEYS)
    assert len(str(caught.value)) <= 600


@pytest.mark.parametrize("digest", ["\u00e9", "\ud800", "\u0130" * 1_000_000, "", "0" * 63, " " + "0" * 64, "\0"])
def test_a_digest_of_any_text_is_refused(digest: str) -> None:
    document = changed(signed(DOCUMENT), "signatures", 0, "digest", "value", value=digest)
    with pytest.raises(SignatureError, match="is for the digest") as caught:
        verify(read_descriptor(document), KEYS)
    assert len(str(caught.value)) <= 600
    content = read_descriptor(component(resources=[resource(digest=blob_digest(digest))])).resources[0]
    with pytest.raises(SignatureError, match="resource r has SHA-256"):
        check_content(content, b"content")


def blob_digest(value: str) -> dict[str, str]:
    return {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": value}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9Z", "9999-12-31T23:00:00-14:00"])
def test_a_time_beyond_the_calendar_is_refused(moment: str) -> None:
    with pytest.raises(DescriptorError, match="is not in the years 1 to 9999"):
        digest_of(read_descriptor(component(creationTime=moment)), "jsonNormalisation/v3")


def test_many_resources_of_one_name_take_no_time_for_each_pair() -> None:
    """What is quadratic runs into the time limit of the test."""
    resources = [resource(extraIdentity={"n": str(number // 2)}, version=f"1.0.{number}") for number in range(30_000)]
    assert digest_of(read_descriptor(component(resources=resources)), "jsonNormalisation/v2")


# the private half of a key of 512 bits
MODULUS = int(
    "c2a397087420cf0968d361f243cfe6f4b22ba4c49bd3908332c29275cf0fd1ed"
    "b6bbd076bfd7e53125f15c0227d488f7602fb82da543ca1797fb3dab2f9f3dc1",
    16,
)
EXPONENT = int(
    "4f8f993c2e63fedd44c92b3f6172c9607ab81658fbad66640acab81d89ef588a"
    "d15c68783c5cc6462a5d99b35872f918d1f4ae47d53e62345d426f2538d4a425",
    16,
)
PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")  # of a SHA-256 in PKCS #1


def weak_signature(digest: str) -> str:
    size = (MODULUS.bit_length() + 7) // 8
    content = PREFIX + bytes.fromhex(digest)
    padded = b"\0\1" + b"\xff" * (size - len(content) - 3) + b"\0" + content
    return pow(int.from_bytes(padded, "big"), EXPONENT, MODULUS).to_bytes(size, "big").hex()


def test_a_signature_by_a_short_key_proves_nothing() -> None:
    digest = signed(DOCUMENT)["signatures"][0]["digest"]["value"]
    document = signed(DOCUMENT, value=weak_signature(digest))
    weak = rsa.RSAPublicNumbers(65537, MODULUS).public_key()
    given = weak.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(SignatureError, match="the RSA key has 512 bits; at least 2048 are required"):
        verify(read_descriptor(document), Keys(public_key=given))
    with pytest.raises(SignatureError, match="has 512 bits"):
        read_image_key(given)


def made_certificate(
    subject: str, issuer: str, key: Any, issuer_key: Any, usage: x509.KeyUsage | None = None
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name.from_rfc4514_string(subject))
        .issuer_name(x509.Name.from_rfc4514_string(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.BasicConstraints(True, None), critical=True)
    )
    if usage:
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.mark.parametrize("bits", [1024, 2047])
def test_a_short_key_of_any_kind_is_refused(bits: int) -> None:
    short = rsa.generate_private_key(65537, bits)
    given = short.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for public_key in (given, pem(made_certificate("CN=acme", "CN=acme", short, short))):
        with pytest.raises(SignatureError, match=f"has {bits} bits"):
            verify(read_descriptor(SIGNED), Keys(public_key=public_key))


def test_a_chain_through_a_short_key_or_an_old_hash_proves_nothing() -> None:
    short = rsa.generate_private_key(65537, 1024)
    middle = made_certificate("CN=middle", "CN=root", short, key(1))
    leaf = made_certificate("CN=acme", "CN=middle", key(0), short)
    with pytest.raises(SignatureError, match="no chain of valid certificates"):
        verify(read_descriptor(in_pem(leaf, middle)), Keys(roots=pem(ROOT)), now=NOW)


def test_an_authority_that_may_not_sign_certificates_proves_nothing() -> None:
    usage = dict.fromkeys(("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"), True)
    others = dict.fromkeys(("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False)
    root = made_certificate("CN=root", "CN=root", key(1), key(1), usage=x509.KeyUsage(**usage, **others))
    leaf = made_certificate("CN=acme", "CN=root", key(0), key(1))
    with pytest.raises(SignatureError, match="no chain of valid certificates"):
        verify(read_descriptor(in_pem(leaf)), Keys(roots=pem(root)), now=NOW)


def test_a_short_curve_is_refused_for_images() -> None:
    short = ec.generate_private_key(ec.SECP224R1())
    given = short.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(SignatureError, match="the curve of the key has 224 bits; at least 256 are required"):
        read_image_key(given)


def test_certificates_that_issue_each_other_are_not_searched_without_end() -> None:
    """Without a bound, 31 of them take more checks than there are seconds in a century."""
    crowd = [made_certificate("CN=x", "CN=x", key(3), key(3)) for _ in range(30)]
    leaf = made_certificate("CN=x", "CN=x", key(0), key(3))
    with pytest.raises(SignatureError, match="no chain of valid certificates"):
        verify(read_descriptor(in_pem(leaf, *crowd)), Keys(roots=pem(ROOT)), now=NOW)


def test_a_damaged_certificate_is_refused() -> None:
    whole = LEAF.public_bytes(Encoding.DER)
    for place in range(0, len(whole), 7):
        damaged = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        block = base64.encodebytes(damaged).decode()
        document = in_pem(LEAF, MIDDLE)
        signature = document["signatures"][0]["signature"]
        signature["value"] = signature["value"].replace(
            pem(LEAF), f"-----BEGIN CERTIFICATE-----\n{block}-----END CERTIFICATE-----\n"
        )
        with pytest.raises(SignatureError):
            verify(read_descriptor(document), Keys(roots=pem(ROOT)), now=NOW)
