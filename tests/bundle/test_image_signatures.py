"""`bundle sign --cosign` and `bundle verify --cosign` on a registry over real sockets."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.errors import RegistryError
from kymatui.ocm import SignatureError
from kymatui.ocm.pem import PrivateKey
from kymatui.publishing.image_signatures import SignatureForm, legacy_tag, sign_image, verify_image
from tests.ocm.components import key
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)

FORMS = list(SignatureForm)


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def public(private: PrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


CURVE = ec.generate_private_key(ec.SECP256R1())
KEYS: dict[str, PrivateKey] = {
    "P-256": CURVE,
    "P-384": ec.generate_private_key(ec.SECP384R1()),
    "P-521": ec.generate_private_key(ec.SECP521R1()),
    "RSA": key(0),
}
KEY, OTHER = KEYS["P-256"], ec.generate_private_key(ec.SECP256R1())


def push(host: str, tag: str = "1", text: str = "one", repository: str = "img") -> str:
    store = RegistryArtifacts(insecure=[host])
    store.push_blob(f"{host}/{repository}", b"{}")
    config = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(b"{}"), "size": 2}
    body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config, "layers": [], "annotations": {"t": text}}
    return store.push_manifest(f"{host}/{repository}", tag, json.dumps(body).encode(), IMAGE_MANIFEST)


def sign(host: str, form: SignatureForm, private: PrivateKey = KEY, tag: str = "1") -> Any:
    return sign_image(RegistryArtifacts(insecure=[host]), (f"{host}/img", tag), private, form=form)


def check(host: str, private: PrivateKey = KEY, tag: str = "1", repository: str = "img") -> Any:
    return verify_image(RegistryArtifacts(insecure=[host]), (f"{host}/{repository}", tag), public(private))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KEYS)
def test_what_was_signed_is_verified_with_the_same_key_only(kind: str, form: SignatureForm, host: str) -> None:
    digest = push(host)
    assert sign(host, form, KEYS[kind]).digest == digest
    found = check(host, KEYS[kind])
    assert (found.digest, found.form, found.signatures) == (digest, form, 1)
    with pytest.raises(SignatureError, match="has no signature by this key: the signature was not made with this key"):
        check(host, OTHER)


@pytest.mark.parametrize("form", FORMS)
def test_another_image_under_the_tag_is_not_signed(form: SignatureForm, host: str) -> None:
    push(host)
    sign(host, form)
    push(host, text="two")
    with pytest.raises(SignatureError, match="is not signed"):
        check(host)


@pytest.mark.parametrize("form", FORMS)
def test_several_signatures_stand_beside_each_other(form: SignatureForm, host: str) -> None:
    push(host)
    for private in (OTHER, KEY):
        sign(host, form, private)
    assert check(host, OTHER).signatures == 1
    assert check(host).signatures == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KEYS)
def test_signing_again_with_the_same_key_changes_nothing(kind: str, form: SignatureForm, host: str) -> None:
    """Elliptic curves give another signature each time, so equal bytes are no measure."""
    store, digest = RegistryArtifacts(insecure=[host]), push(host)
    first = sign(host, form, KEYS[kind])
    stored = (store.tags(f"{host}/img"), store.referrers(f"{host}/img", digest))
    again = sign(host, form, KEYS[kind])
    assert (first.is_new, again.is_new) == (True, False)
    assert again.signature == first.signature
    assert (store.tags(f"{host}/img"), store.referrers(f"{host}/img", digest)) == stored
    assert check(host, KEYS[kind]).signatures == 1
    assert sign(host, form, OTHER).is_new
    assert sign(host, form, KEYS[kind]).is_new is False  # beside one of another key, too
    other = next(one for one in FORMS if one is not form)
    assert sign(host, other, KEYS[kind]).is_new  # the other form is another place


def test_an_index_is_signed_as_it_is(host: str) -> None:
    store, digest = RegistryArtifacts(insecure=[host]), push(host)
    entry = {"mediaType": IMAGE_MANIFEST, "digest": digest, "size": 1}
    body = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [entry]}
    index = store.push_manifest(f"{host}/img", "all", json.dumps(body).encode(), IMAGE_INDEX)
    for form in FORMS:
        sign(host, form, tag="all")
    assert check(host, tag="all").digest == index
    with pytest.raises(SignatureError, match="is not signed"):
        check(host)


def hang(host: str, digest: str, bundle: dict[str, Any]) -> None:
    """Store a bundle as a referrer of an image, whatever it says."""
    store, repository = RegistryArtifacts(insecure=[host]), f"{host}/img"
    content = json.dumps(bundle).encode()
    kind = "application/vnd.dev.sigstore.bundle.v0.3+json"
    for one in (content, b"{}"):
        store.push_blob(repository, one)
    body = {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "artifactType": kind,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(b"{}"), "size": 2},
        "layers": [{"mediaType": kind, "digest": digest_of(content), "size": len(content)}],
        "subject": {"mediaType": IMAGE_MANIFEST, "digest": digest, "size": 1},
    }
    raw = json.dumps(body).encode()
    store.push_manifest(repository, digest_of(raw), raw, IMAGE_MANIFEST)


def bundle(payload: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A bundle that is signed, for any payload."""
    content, kind = json.dumps(payload).encode(), changes.pop("payloadType", "application/vnd.in-toto+json")
    signed = f"DSSEv1 {len(kind)} {kind} {len(content)} ".encode() + content
    signature = base64.b64encode(CURVE.sign(signed, ec.ECDSA(SHA256()))).decode()
    envelope = {
        "payload": base64.b64encode(content).decode(),
        "payloadType": kind,
        "signatures": [{"sig": signature}] * changes.pop("times", 1),
    }
    made = {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": "x"}},
        "dsseEnvelope": envelope,
    }
    return {**made, **changes}


def statement(digest: str, **changes: Any) -> dict[str, Any]:
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest.partition(":")[2]}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "more", "message"),
    [
        ({}, {}, ""),
        ({"subject": [{"digest": {"sha256": "0" * 64}}]}, {}, "the signature is for sha256:0000"),
        ({"subject": []}, {}, "the signature is for nothing"),
        ({"subject": "x"}, {}, "the signature is for nothing"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, {}, "the statement is not a signature"),
        ({"_type": "x"}, {}, "the statement is not a signature"),
        ({}, {"payloadType": "text/plain"}, "the payload has the type 'text/plain'"),
        ({}, {"times": 0}, "exactly one signature"),
        ({}, {"times": 2}, "exactly one signature"),
        ({}, {"mediaType": "x"}, "unknown media type 'x'"),
        ({}, {"verificationMaterial": {"certificate": {}}}, "was not signed with a key"),
        ({}, {"dsseEnvelope": None}, "has no dsseEnvelope"),
        ({}, {"dsseEnvelope": {"payload": "%"}}, "is not base64"),
    ],
)
def test_bundles_say_yes_only_to_what_they_sign(
    changes: dict[str, Any], more: dict[str, Any], message: str, host: str
) -> None:
    digest = push(host)
    hang(host, digest, bundle(statement(digest, **changes), **more))
    if not message:
        assert check(host).signatures == 1
        return
    with pytest.raises(SignatureError, match=message):
        check(host)


@pytest.mark.parametrize("wrong", ["digest", "annotation", "type", "signature"])
def test_legacy_signatures_say_yes_only_to_what_they_sign(wrong: str, host: str) -> None:
    store, digest = RegistryArtifacts(insecure=[host]), push(host)
    other = push(host, "2", "two")
    if wrong == "digest":
        sign(host, SignatureForm.LEGACY, tag="2")
        raw, media_type = store.manifest(f"{host}/img", legacy_tag(other)) or (b"", "")
        store.push_manifest(f"{host}/img", legacy_tag(digest), raw, media_type)
    else:
        sign(host, SignatureForm.LEGACY)
        raw, media_type = store.manifest(f"{host}/img", legacy_tag(digest)) or (b"", "")
        body = json.loads(raw)
        layer = body["layers"][0]
        if wrong == "annotation":
            layer["annotations"] = {}
        elif wrong == "signature":
            name = "dev.cosignproject.cosign/signature"
            layer["annotations"][name] = base64.b64encode(b"0" * 70).decode()
        else:
            layer["mediaType"] = "text/plain"
        store.push_manifest(f"{host}/img", legacy_tag(digest), json.dumps(body).encode(), media_type)
    with pytest.raises(SignatureError):
        check(host)


def test_an_image_that_does_not_exist_is_neither_signed_nor_verified(host: str) -> None:
    with pytest.raises(RegistryError, match="does not exist"):
        check(host)
    with pytest.raises(RegistryError, match="does not exist"):
        sign(host, SignatureForm.BUNDLE)


def test_keys_that_are_no_keys_for_images(host: str) -> None:
    push(host)
    with pytest.raises(Exception, match="cannot be signed with Ed25519"):
        sign(host, SignatureForm.BUNDLE, ed25519.Ed25519PrivateKey.generate())
    with pytest.raises(SignatureError, match="is not PEM"):
        verify_image(RegistryArtifacts(insecure=[host]), (f"{host}/img", "1"), b"x")


@pytest.mark.parametrize("legacy", [False, True])
def test_the_commands(legacy: bool, host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    private, given = tmp_path / "c.key", tmp_path / "c.pub"
    private.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    given.write_bytes(public(KEY))
    digest = push(host)
    image = [f"{host}/img:1", "--insecure-registry", host]
    words = ["bundle", "sign", "--cosign", *image, "--private-key", str(private), *(["--legacy"] if legacy else [])]
    assert main(words) == 0
    assert main(["bundle", "verify", "--cosign", *image, "--public-key", str(given)]) == 0
    form = "legacy" if legacy else "bundle"
    out = capsys.readouterr().out.splitlines()
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines() == [f"unchanged {host}/img@{digest} ({form})", out[1]]
    assert out[0] == f"signed    {host}/img@{digest} ({form})"
    assert out[2:] == [f"verified  1 signature ({form})", f"digest    {host}/img@{digest}"]
    push(host, text="two")
    assert main(["bundle", "verify", "--cosign", *image, "--public-key", str(given)]) == 2
