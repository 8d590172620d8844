"""What is drawn, derived, encrypted and signed."""

from __future__ import annotations

import re

import bcrypt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.functions.crypto.certificates import gen_private_key
from tests.helm.functions.expressions import NOON, evaluate, failure, render, repeatable


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("randAlphaNum 40", r"[0-9A-Za-z]{40}"),
        ("randAlpha 40", r"[A-Za-z]{40}"),
        ("randNumeric 40", r"[0-9]{40}"),
        ("randAscii 40", r"[ -~]{40}"),
        ("randAlpha 0", ""),
        ("randAlpha -1", ""),
        ("randBytes 5 | b64dec | len", "[0-9]+"),
        ("randInt 5 7", "[56]"),
        ("uuidv4", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ('shuffle "aaa"', "aaa"),
    ],
)
def test_what_is_drawn_has_its_shape_and_comes_from_the_caller(expression: str, shape: str) -> None:
    first = evaluate(expression, environment=repeatable(7))
    assert re.fullmatch(shape, first)
    assert evaluate(expression, environment=repeatable(7)) == first


def test_other_dice_give_other_texts() -> None:
    assert evaluate("randAlphaNum 20", environment=repeatable(1)) != evaluate(
        "randAlphaNum 20", environment=repeatable(2)
    )


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("randInt 5 5", "invalid argument to Intn"),
        ("randBytes -1", "runtime error: makeslice: len out of range"),
        ('decryptAES "k" "!"', "illegal base64 data at input byte 0"),
        ('decryptAES "k" "aGVsbG8="', "runtime error: slice bounds out of range [:16] with capacity 6"),
        ('genSelfSignedCert "a" (list "x") nil 1', "error parsing ip: x"),
        ('genSelfSignedCert "a" nil (list 5) 1', "error processing alternate dns name: 5 is not a string"),
        ('genCAWithKey "a" 1 ""', "parsing private key: no PEM data in input"),
        ('buildCustomCert "*" ""', "unable to decode base64 certificate"),
        ('buildCustomCert "YQ==" "YQ=="', "unable to decode certificate"),
    ],
)
def test_errors(expression: str, text: str) -> None:
    assert failure(expression) == text


def test_no_random_text_grows_without_bound() -> None:
    for function in ("randAlphaNum", "randAscii", "randBytes"):
        assert "the limit is" in failure(f"{function} 99999999")


def test_bcrypt_and_htpasswd() -> None:
    assert bcrypt.checkpw(b"secret", evaluate('bcrypt "secret"').encode())
    user, _, hashed = evaluate('htpasswd "joe" "secret"').partition(":")
    assert user == "joe"
    assert hashed.startswith("$2a$10$")
    assert bcrypt.checkpw(b"secret", hashed.encode())
    assert evaluate('htpasswd "a:b" "c"') == "invalid username: a:b"
    assert "password length exceeds 72 bytes" in evaluate('bcrypt (repeat 73 "x")')


def test_a_derived_password_is_always_the_same() -> None:
    assert evaluate('derivePassword 1 "long" "password" "user" "example.com"') == "ZedaFaxcZaso9*"
    assert evaluate('derivePassword 1 "nope" "p" "u" "s"') == "cannot find password template nope"


def test_aes_comes_back() -> None:
    assert evaluate('decryptAES "key" (encryptAES "key" "plain text")') == "plain text"
    assert evaluate('encryptAES "key" ""') == ""


@pytest.mark.parametrize(
    ("kind", "label", "type_"),
    [("ecdsa", "EC", ec.EllipticCurvePrivateKey), ("ed25519", "", ed25519.Ed25519PrivateKey)],
)
def test_private_keys(kind: str, label: str, type_: type) -> None:
    text = gen_private_key(kind)
    assert text.startswith(f"-----BEGIN {label + ' ' if label else ''}PRIVATE KEY-----\n")
    assert isinstance(load_pem_private_key(text.encode(), None), type_)


def test_an_unknown_kind_of_key_is_answered() -> None:
    assert gen_private_key("x") == "Unknown type x"


def certificate(expression: str) -> tuple[x509.Certificate, str]:
    cert, key = render("{{ $c := " + expression + " }}{{ $c.Cert }}|{{ $c.Key }}").split("|")
    return x509.load_pem_x509_certificate(cert.encode()), key


def test_an_authority_signs() -> None:
    text = render(
        '{{ $ca := genCA "root" 365 }}{{ $c := genSignedCert "leaf" (list "10.0.0.1") (list "a.b") 30 $ca }}'
        "{{ $ca.Cert }}|{{ $c.Cert }}|{{ $c.Key }}"
    )
    root, leaf, key = text.split("|")
    authority, signed = (x509.load_pem_x509_certificate(part.encode()) for part in (root, leaf))
    signed.verify_directly_issued_by(authority)
    assert load_pem_private_key(key.encode(), None).public_key() == signed.public_key()
    assert signed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "leaf"
    names = signed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.b"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]
    assert (signed.not_valid_after_utc - signed.not_valid_before_utc).days == 30
    assert signed.not_valid_before_utc == NOON.replace(microsecond=0)


def test_an_authority_says_that_it_is_one() -> None:
    cert, key = certificate('genCA "root" 1')
    basic = cert.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = cert.extensions.get_extension_for_class(x509.KeyUsage)
    extended = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, None)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.digital_signature) == (True, True, True)
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    assert key.startswith("-----BEGIN RSA PRIVATE KEY-----\n")


@pytest.mark.parametrize("kind", ["ecdsa", "ed25519"])
def test_a_certificate_for_a_key_that_is_given(kind: str) -> None:
    cert, key = certificate(f'genSelfSignedCertWithKey "me" nil (list "h") 5 (genPrivateKey "{kind}")')
    assert cert.subject == cert.issuer
    cert.verify_directly_issued_by(cert)
    assert load_pem_private_key(key.encode(), None).public_key() == cert.public_key()


def test_a_certificate_may_have_a_long_name_or_none_and_live_as_long_as_go_counts() -> None:
    long, _ = certificate('genSelfSignedCertWithKey (repeat 80 "n") nil nil 9000 (genPrivateKey "ecdsa")')
    none, _ = certificate('genSelfSignedCertWithKey "" (list "::ffff:1.2.3.4") nil 99999999 (genPrivateKey "ecdsa")')
    assert (long.not_valid_after_utc - long.not_valid_before_utc).days == 9000
    assert none.subject == x509.Name([])
    names = none.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.critical  # it says all that there is about whose it is
    assert [str(address) for address in names.value.get_values_for_type(x509.IPAddress)] == ["1.2.3.4"]
    assert none.not_valid_after_utc.year < 2300
    assert "end before it begins" in failure('genCA "x" -1')


def test_a_custom_certificate_is_passed_on() -> None:
    result = render(
        '{{ $c := genCAWithKey "x" 1 (genPrivateKey "ecdsa") }}'
        "{{ $b := buildCustomCert (b64enc $c.Cert) (b64enc $c.Key) }}{{ eq $b.Cert $c.Cert }} {{ typeOf $b }}"
    )
    assert result == "true sprig.certificate"


def test_nobody_looks_at_the_network_or_the_process_unasked() -> None:
    assert evaluate('getHostByName "localhost"') == ""
    assert (
        evaluate('getHostByName "h"', environment=repeatable(resolve=lambda name: f"10.0.0.1 {name}")) == "10.0.0.1 h"
    )
    assert "env" not in FUNCTIONS
    assert "expandenv" not in FUNCTIONS
