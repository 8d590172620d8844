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
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from kymatui.helm import load_yaml
from kymatui.ocm import ALGORITHMS, Keys, SignatureError, check_content, read_descriptor, verify
from tests.ocm.components import (
    NOW,
    certificate,
    component,
    key,
    pem,
    public_pem,
    raw_signature,
    resource,
    signed,
)

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
