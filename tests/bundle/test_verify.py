"""`bundle sign` and `bundle verify` on a registry over real sockets: what a signature covers, and what it does not."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.errors import OutdatedError, RefusedError, RegistryError
from kymatui.ocm import ALGORITHMS, Keys, SignatureError
from kymatui.publishing.sign import SignedComponent, SignRequest, VerifyRequest, sign_component, verify_component
from tests.bundle.components import (
    MANIFEST,
    NAME,
    NOTE,
    VERSION,
    document,
    edited,
    key_files,
    local,
    location,
    put,
    stored,
)
from tests.ocm.components import certificate, key, pem, public_pem
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


@pytest.fixture
def host(served: Served) -> str:
    return served.registry.address


def run(host: str, action: str, *more: str, name: str = NAME, version: str = VERSION) -> int:
    return main(["bundle", action, f"{host}/p//{name}:{version}", "--insecure-registry", host, *more])


def check(host: str, *, number: int = 0, name: str = NAME, version: str = VERSION, **more: Any) -> Any:
    request = VerifyRequest(location(host, name, version), Keys(public_key=public_pem(number)), **more)
    return verify_component(RegistryArtifacts(insecure=[host]), request)


def add(host: str, name: str = "acme", *, number: int = 0, component: str = NAME, **more: Any) -> SignedComponent:
    request = SignRequest(location(host, component), name, **more)
    return sign_component(RegistryArtifacts(insecure=[host]), request, key(number))


@pytest.mark.parametrize("normalisation", ALGORITHMS)
@pytest.mark.parametrize("algorithm", ["RSASSA-PKCS1-V1_5", "RSASSA-PSS"])
@pytest.mark.parametrize("hashed", ["SHA-256", "SHA-512"])
def test_what_the_command_signs_it_verifies(
    normalisation: str, algorithm: str, hashed: str, host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = key_files(tmp_path)
    before = put(host, document())
    words = ["--signature", "acme", "--private-key", private, "--algorithm", algorithm, "--hash", hashed]
    assert run(host, "sign", *words, "--normalisation", normalisation) == 0
    signed = stored(host).digest
    assert run(host, "sign", *words, "--normalisation", normalisation) == 0
    assert (stored(host).digest, "unchanged " in capsys.readouterr().out) == (signed, True)
    assert run(host, "verify", "--public-key", public) == 0
    out = capsys.readouterr().out
    assert f"verified  signature acme ({algorithm}, {normalisation})" in out
    assert "verified  2 resources against signed digests" in out
    after = stored(host)
    assert after.layers == before.layers
    assert {**after.document, "signatures": []} == {**before.document, "signatures": []}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["component", "labels", 1, "value"], "b", "is for the digest"),
        (["component", "labels", 1, "signing"], False, "is for the digest"),
        (["component", "provider"], "other", "is for the digest"),
        (["component", "resources", 0, "version"], "9", "is for the digest"),
        (["component", "resources", 0, "digest", "value"], "0" * 64, "is for the digest"),
        (["component", "resources"], [], "is for the digest"),
        (["component", "resources", 0, "access", "localReference"], digest_of(NOTE), "has SHA-256"),
        (["signatures", 0, "signature", "value"], "ab" * 256, "was not made with this key"),
        (["signatures", 0, "signature", "algorithm"], "RSASSA-PSS", "was not made with this key"),
        (["signatures", 0, "digest", "normalisationAlgorithm"], "jsonNormalisation/v1", "is for the digest"),
        (["signatures", 0, "digest", "hashAlgorithm"], "MD5", "cannot be checked"),
        (["signatures", 0, "name"], "other", "has no signature 'acme'"),
        (["signatures"], [], "has no signature 'acme'"),
    ],
)
def test_a_change_of_what_was_signed_is_noticed(path: list[Any], value: Any, message: str, host: str) -> None:
    put(host, document())
    add(host)
    check(host, signatures=("acme",))
    edited(host, *path, value=value)
    with pytest.raises(SignatureError, match=message):
        check(host, signatures=("acme",))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["component", "labels", 0, "value"], {"a": [1, None, "x"]}),
        (["component", "repositoryContexts"], [{"type": "OCIRegistry", "baseUrl": "https://elsewhere.example"}]),
        (["component", "resources", 0, "access", "mediaType"], "application/other"),
        (["component", "resources", 0, "digest"], None),
    ],
)
def test_what_no_signature_covers_may_change(path: list[Any], value: Any, host: str) -> None:
    """A digest that is left out is computed from the content again, as ocm does."""
    put(host, document())
    add(host)
    edited(host, *path, value=value)
    assert [one.name for one in check(host).signatures] == ["acme"]


TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff\ufffe\uffff"), max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    label=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    normalisation=st.sampled_from(sorted(ALGORITHMS)),
)
def test_any_value_of_a_signed_label_survives_signing_and_storing(label: Any, normalisation: str, host: str) -> None:
    put(host, document(labels=[{"name": "acme.org/x", "value": label, "signing": True}]))
    add(host, normalisation=normalisation)
    assert len(check(host).signatures) == 1
    assert stored(host).descriptor.label("acme.org/x") == label


def test_all_signatures_have_to_be_good_unless_one_is_named(host: str) -> None:
    put(host, document())
    add(host)
    add(host, "other", number=1)
    with pytest.raises(SignatureError, match=r"'other' .* was not made with this key"):
        check(host)
    assert [one.name for one in check(host, signatures=("acme",)).signatures] == ["acme"]
    assert [one.name for one in check(host, signatures=("other",), number=1).signatures] == ["other"]


def test_a_component_without_signatures_is_refused(host: str) -> None:
    put(host, document())
    with pytest.raises(SignatureError, match="is not signed"):
        check(host)


def test_nothing_is_fetched_for_a_signature_by_another_key(served: Served) -> None:
    host = served.registry.address
    put(host, document())
    add(host)
    served.registry.requests.clear()
    with pytest.raises(SignatureError, match="was not made with this key"):
        check(host, number=1)
    assert not [one for one in served.registry.requests if digest_of(MANIFEST) in str(one)]


def test_referred_components_are_digested_with_their_content(host: str) -> None:
    child = document("acme.org/module/child", resources=[local("note", NOTE)])
    put(host, child, NOTE)
    reference = {"name": "child", "version": VERSION, "componentName": "acme.org/module/child"}
    put(host, document(componentReferences=[reference]))
    add(host)
    found = check(host)
    assert found.content.components == [f"{NAME}:{VERSION}", f"acme.org/module/child:{VERSION}"]
    edited(host, "component", "labels", 0, "value", value="free", name="acme.org/module/child")
    check(host)
    edited(host, "component", "labels", 1, "value", value="changed", name="acme.org/module/child")
    with pytest.raises(SignatureError, match="refers to"):
        check(host)


def test_a_reference_that_leads_back_is_refused(host: str) -> None:
    reference = {"name": "self", "version": VERSION, "componentName": NAME}
    put(host, document(componentReferences=[reference]))
    with pytest.raises(SignatureError, match="refers to itself"):
        add(host)


def test_a_reference_to_nothing_is_refused(host: str) -> None:
    put(host, document(componentReferences=[{"name": "x", "version": "1.0.0", "componentName": "acme.org/x"}]))
    with pytest.raises(RegistryError, match="does not exist"):
        add(host)


def image(host: str, reference: str, digest: str = "") -> dict[str, Any]:
    known = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": digest}
    made = {
        "name": "manager",
        "version": VERSION,
        "type": "ociArtifact",
        "relation": "external",
        "access": {"type": "ociArtifact", "imageReference": f"{host}/{reference}"},
    }
    return {**made, "digest": known} if digest else made


def test_images_are_compared_by_their_manifest_unless_they_are_skipped(host: str) -> None:
    raw = b'{"schemaVersion":2,"config":{"mediaType":"a/b","digest":"%s","size":2},"layers":[]}'
    store = RegistryArtifacts(insecure=[host])
    store.push_blob(f"{host}/img", b"{}")
    raw = raw % digest_of(b"{}").encode()
    digest = store.push_manifest(f"{host}/img", "1", raw, IMAGE_MANIFEST)
    put(host, document(resources=[local("raw-manifest", MANIFEST), image(host, "img:1")]))
    add(host)
    assert stored(host).document["component"]["resources"][1]["digest"]["value"] == digest.partition(":")[2]
    assert not check(host).content.skipped
    store.push_manifest(f"{host}/img", "1", raw.replace(b"a/b", b"a/c"), IMAGE_MANIFEST)
    with pytest.raises(SignatureError, match="resource manager has SHA-256"):
        check(host)
    assert check(host, skip_images=True).content.skipped == [f"{NAME}:{VERSION} manager"]


def test_an_image_that_is_named_by_digest_is_signed_without_access(host: str) -> None:
    """The digest in the reference is that of the manifest, which is the content that is signed."""
    named = image("registry.invalid", f"img:1@sha256:{'a' * 64}")
    put(host, document(resources=[local("raw-manifest", MANIFEST), named]))
    with pytest.raises(
        RegistryError, match=r"manager: image registry\.invalid/img:1@sha256:a+ cannot be read"
    ) as caught:
        add(host)
    assert "--skip-images leaves images out that are named by digest" in caught.value.hint
    signed = add(host, skip_images=True)
    assert signed.content.skipped == [f"{NAME}:{VERSION} manager"]
    digest = stored(host).document["component"]["resources"][1]["digest"]
    assert digest == {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": "a" * 64}
    assert check(host, skip_images=True).signatures
    put(host, document(resources=[local("raw-manifest", MANIFEST), named]))
    with pytest.raises(RegistryError, match="cannot be read"):
        add(host, "sha512", hash_algorithm="SHA-512", skip_images=True)


def test_an_image_without_a_digest_is_never_signed_unseen(host: str) -> None:
    put(host, document(resources=[image(host, "img:1")]))
    with pytest.raises(RegistryError, match="does not exist"):
        add(host, skip_images=True)


def test_content_that_cannot_be_read_is_not_signed(host: str) -> None:
    resource = {**local("x", NOTE), "access": {"type": "s3", "bucket": "b"}}
    put(host, document(resources=[resource]))
    with pytest.raises(SignatureError, match="access s3 cannot be checked"):
        add(host)


def test_more_resources_than_a_module_can_have_are_not_fetched(served: Served) -> None:
    host = served.registry.address
    put(host, document(resources=[local(f"r{at}", NOTE) for at in range(2001)]))
    served.registry.requests.clear()
    with pytest.raises(SignatureError, match="more than 2000 resources"):
        add(host)
    assert len(served.registry.requests) < 10


def test_content_with_another_digest_is_not_signed(host: str) -> None:
    resource = local("x", NOTE)
    resource["digest"]["value"] = "0" * 64
    put(host, document(resources=[resource]))
    with pytest.raises(SignatureError, match="has SHA-256"):
        add(host)


def test_a_name_that_is_used_is_replaced_on_request_only(host: str) -> None:
    put(host, document())
    add(host)
    add(host, "other", number=1)
    with pytest.raises(RefusedError, match="already has a signature 'acme'"):
        add(host, number=1)
    again = add(host)  # such as after a death behind the last request
    assert again.digest == again.former == stored(host).digest
    add(host, number=1, overwrite=True)
    assert len(check(host, number=1).signatures) == 2


def test_a_tag_that_moves_while_signing_is_not_overwritten(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(host, document())
    pushed = RegistryArtifacts.push_blob

    def moved(store: RegistryArtifacts, *args: Any, **more: Any) -> None:
        monkeypatch.setattr(RegistryArtifacts, "push_blob", pushed)
        put(host, document(provider="other"))
        pushed(store, *args, **more)

    monkeypatch.setattr(RegistryArtifacts, "push_blob", moved)
    with pytest.raises(OutdatedError, match="was changed meanwhile"):
        add(host)
    assert stored(host).descriptor.provider == "other"
    assert not stored(host).descriptor.signatures


ROOT = certificate("CN=root", "CN=root", 1, 1, ca=True, days=20000)
MIDDLE = certificate("CN=middle", "CN=root", 2, 1, ca=True, days=20000)
LEAF = certificate("CN=acme,O=example", "CN=middle", 0, 2, days=20000)
OTHER_ROOT = certificate("CN=root", "CN=root", 3, 3, ca=True, days=20000)
OLD_LEAF = certificate("CN=acme,O=example", "CN=middle", 0, 2, days=31)


def by_chain(host: str, root: Any = ROOT, **more: Any) -> Any:
    request = VerifyRequest(location(host), Keys(roots=pem(root)), **more)
    return verify_component(RegistryArtifacts(insecure=[host]), request)


def test_a_chain_in_the_signature_leads_to_a_root(host: str, tmp_path: Path) -> None:
    (tmp_path / "chain.pem").write_text(pem(LEAF, MIDDLE))
    (tmp_path / "root.pem").write_text(pem(ROOT))
    private, _ = key_files(tmp_path)
    put(host, document())
    words = ["--signature", "acme", "--private-key", private, "--algorithm", "RSASSA-PSS"]
    root = ["--ca-cert", str(tmp_path / "root.pem")]
    assert run(host, "sign", *words, "--certificate", str(tmp_path / "chain.pem"), *root) == 0
    assert run(host, "verify", *root, "--signature", "acme", "--issuer", "CN=acme,O=example") == 0
    assert run(host, "verify", "--public-key", str(tmp_path / "chain.pem"), *root) == 0
    by_chain(host, signatures=("acme",))
    by_chain(host, issuer="CN=acme;O=example")
    for wrong in ({"issuer": "CN=acme,O=other"}, {"issuer": "CN=other"}, {"root": OTHER_ROOT}):
        with pytest.raises(SignatureError):
            by_chain(host, **wrong)
    assert run(host, "verify", "--public-key", str(tmp_path / "chain.pem")) == 2, "a certificate needs its root"


def test_the_certificate_must_have_the_name_of_the_signature(host: str) -> None:
    put(host, document())
    add(host, "other", certificates=pem(LEAF, MIDDLE).encode(), roots=pem(ROOT).encode())
    by_chain(host, signatures=("other",), issuer="CN=acme")
    by_chain(host, issuer="CN=acme")
    for names in ((), ("other",)):
        with pytest.raises(SignatureError, match="not to other"):
            by_chain(host, signatures=names)


def test_a_certificate_that_is_not_of_the_key_or_has_expired_is_not_stored(host: str) -> None:
    put(host, document())
    chain, root = pem(LEAF, MIDDLE).encode(), pem(ROOT).encode()
    with pytest.raises(SignatureError, match="belongs to another key"):
        add(host, number=1, certificates=chain, roots=root)
    with pytest.raises(SignatureError, match="no chain of valid certificates"):
        add(host, certificates=pem(OLD_LEAF, MIDDLE).encode(), roots=root)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["verify"], 64, "a key or root certificates are required"),
        (["verify", "--cosign"], 64, "a public key is required"),
        (["verify", "--cosign", "--issuer", "x"], 64, "--cosign verifies with --public-key only"),
        (["verify", "--public-key", "/nowhere"], 1, "/nowhere cannot be read"),
        (["sign", "--private-key", "/nowhere", "--signature", "a"], 1, "/nowhere cannot be read"),
        (["sign", "--private-key", "x"], 64, "a component's signature needs a name"),
        (["sign", "--private-key", "x", "--signature", "a", "--legacy"], 64, "--legacy is an option of --cosign"),
        (["sign", "--private-key", "x", "--signature", "a", "--hash", "MD5"], 64, "MD5"),
        (["sign", "--private-key", "env://NOT_SET_ANYWHERE", "--signature", "a"], 64, "is not set"),
    ],
)
def test_command_lines_that_cannot_work(
    words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", words[0], f"r.example//{NAME}:1.0.0", *words[1:]]) == status
    assert message in capsys.readouterr().err


def test_the_key_itself_is_no_argument_and_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
    words = ["bundle", "sign", f"r.example//{NAME}:1.0.0", "--signature", "a", "--private-key", secret]
    assert main(words) == 64
    found = capsys.readouterr()
    assert "must not be the key itself" in found.err
    assert "c2VjcmV0" not in found.err + found.out


@pytest.mark.parametrize("way", ["file", "environment", "input"])
def test_private_keys_from_a_file_the_environment_and_standard_input(
    way: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = key_files(tmp_path, password=b"pass word")
    text = Path(private).read_bytes()
    monkeypatch.setenv("KYMATUI_KEY_PASSWORD", "pass word")
    monkeypatch.setenv("SIGNING_KEY", text.decode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    place = {"file": private, "environment": "env://SIGNING_KEY", "input": "-"}[way]
    put(host, document())
    assert run(host, "sign", "--signature", "acme", "--private-key", place) == 0
    assert run(host, "verify", "--public-key", public) == 0


def test_the_password_is_asked_for_on_a_terminal_only(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    private, _ = key_files(tmp_path, password=b"right")
    put(host, document())
    words = ["--signature", "acme", "--private-key", private]
    monkeypatch.delenv("KYMATUI_KEY_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(host, "sign", *words) == 64
    assert "set KYMATUI_KEY_PASSWORD" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []

    def wrong(text: str) -> str:
        asked.append(text)
        return "wrong"

    monkeypatch.setattr("getpass.getpass", wrong)
    assert run(host, "sign", *words) == 1
    assert "cannot be decrypted with this password" in capsys.readouterr().err
    monkeypatch.setattr("getpass.getpass", lambda text: "right")
    assert run(host, "sign", *words) == 0
    assert asked == [f"Password of {private}: "]


def test_fields_of_other_signatures_and_of_the_document_stay(host: str) -> None:
    made = document()
    stamp = {"value": "…", "time": "2026-01-01T00:00:00Z"}
    put(host, made)
    add(host)
    edited(host, "signatures", 0, "timestamp", value=stamp)
    edited(host, "component", "x-other", value={"a": 1})
    add(host, "other", number=1)
    found = yaml.safe_load(yaml.safe_dump(dict(stored(host).document)))
    assert found["signatures"][0]["timestamp"] == stamp
    assert found["component"]["x-other"] == {"a": 1}
