"""Our client against Debian's docker-registry, where that is installed: plain, with a password, and with TLS."""

from __future__ import annotations

import base64
import datetime
import http.server
import ipaddress
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.image_manifest import IMAGE_INDEX, IMAGE_MANIFEST, ImageManifest, digest_of
from kymatui.adapters.oci.registry import Registry
from kymatui.errors import RegistryError

pytestmark = pytest.mark.skipif(shutil.which("docker-registry") is None, reason="docker-registry is not installed")


@contextmanager
def registry(tmp_path: Path, http: str = "", auth: str = "") -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = tmp_path / "config.yml"
    config.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {tmp_path / 'data'}}}\n"
        f"  delete: {{enabled: true}}\nhttp:\n  addr: 127.0.0.1:{port}\n{http}{auth}"
    )
    process = subprocess.Popen(
        ["docker-registry", "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("docker-registry did not start")


def push(client: Registry, where: str, layer: bytes = b"hello", **more: object) -> ImageManifest:
    config = client.push_blob(where, b"{}", "application/vnd.oci.empty.v1+json")
    content = client.push_blob(where, layer, "text/plain")
    body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": config.to_json(), "layers": [content.to_json()]}
    client.push_manifest(where, json.dumps({**body, **more}).encode(), IMAGE_MANIFEST)
    return client.fetch_manifest(where)


def test_what_is_pushed_comes_back_byte_for_byte(tmp_path: Path) -> None:
    with registry(tmp_path) as host:
        client = Registry(insecure=True)
        pushed = push(client, f"{host}/modules/istio:1.0")
        assert b"".join(client.read_blob(pushed.reference, pushed.layers[0])) == b"hello"
        again = client.fetch_manifest(f"{host}/modules/istio@{pushed.digest}")
        assert again.raw == pushed.raw
        push(client, f"{host}/modules/istio:1.1")
        assert sorted(client.tags(f"{host}/modules/istio")) == ["1.0", "1.1"]


def test_an_index_is_pushed_and_walked(tmp_path: Path) -> None:
    with registry(tmp_path) as host:
        client = Registry(insecure=True)
        image = push(client, f"{host}/a:1")
        entry = {"mediaType": IMAGE_MANIFEST, "digest": image.digest, "size": len(image.raw)}
        raw = json.dumps({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": [entry]}).encode()
        client.push_manifest(f"{host}/a:all", raw, IMAGE_INDEX)
        index = client.fetch_manifest(f"{host}/a:all")
        assert index.manifests
        assert [one.digest for one in index.manifests] == [image.digest]


def test_referrers_are_kept_under_the_fallback_tag(tmp_path: Path) -> None:
    with registry(tmp_path) as host:
        client = Registry(insecure=True)
        image = push(client, f"{host}/a:1")
        subject = {"mediaType": IMAGE_MANIFEST, "digest": image.digest, "size": len(image.raw)}
        for number in range(2):
            push(client, f"{host}/a:sig{number}", subject=subject, artifactType=f"application/x{number}")
        assert len(client.referrers(f"{host}/a", image.digest)) == 2
        (found,) = client.referrers(f"{host}/a", image.digest, "application/x1")
        assert found.digest == client.fetch_manifest(f"{host}/a:sig1").digest


def test_a_blob_that_was_changed_in_the_store_is_refused(tmp_path: Path) -> None:
    with registry(tmp_path) as host:
        client = Registry(insecure=True)
        image = push(client, f"{host}/a:1")
        stored = next((tmp_path / "data").rglob(f"{digest_of(b'hello').removeprefix('sha256:')}/data"))
        stored.write_bytes(b"hellO")
        with pytest.raises(RegistryError, match="has the digest sha256:"):
            list(client.read_blob(image.reference, image.layers[0]))


def test_an_unknown_tag_is_named_with_the_registrys_words(tmp_path: Path) -> None:
    with registry(tmp_path) as host, pytest.raises(RegistryError, match=r"a:nope: HTTP 404: MANIFEST_UNKNOWN"):
        Registry(insecure=True).fetch_manifest(f"{host}/a:nope")


def test_a_refused_connection_is_told_at_once() -> None:
    with pytest.raises(RegistryError, match=r"cannot reach 127\.0\.0\.1:9: Connection refused"):
        Registry(insecure=True).fetch_manifest("127.0.0.1:9/a:1")


def test_a_password_is_asked_for_and_used_for_every_repository(tmp_path: Path) -> None:
    bcrypt = pytest.importorskip("bcrypt")
    (tmp_path / "htpasswd").write_text(f"ann:{bcrypt.hashpw(b's3cret', bcrypt.gensalt(5)).decode()}\n")
    auth = f"auth:\n  htpasswd: {{realm: test, path: {tmp_path / 'htpasswd'}}}\n"
    with registry(tmp_path, auth=auth) as host:
        client = Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "s3cret"))
        push(client, f"{host}/a:1")
        push(client, f"{host}/b:1")
        with pytest.raises(RegistryError, match="rejected the credentials") as refused:
            Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "wrong")).tags(f"{host}/a")
        assert "docker login" in refused.value.hint
        assert "wrong" not in str(refused.value)
        with pytest.raises(RegistryError, match="requires credentials, but none are configured, for"):
            Registry(insecure=True, credentials=lambda registry: None).tags(f"{host}/a")


def test_tokens_are_asked_for_by_scope_so_that_one_client_pushes_to_several_repositories(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    with token_server(certificate, key) as (realm, asked):
        token = f"{{realm: '{realm}', service: test, issuer: tests, rootcertbundle: {certificate}}}"
        with registry(tmp_path, auth=f"auth:\n  token: {token}\n") as host:
            client = Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "s3cret"))
            for repository in ("a", "b"):
                pushed = push(client, f"{host}/{repository}:1")
                assert b"".join(client.read_blob(pushed.reference, pushed.layers[0])) == b"hello"
            assert {"repository:a:pull", "repository:a:pull,push", "repository:b:pull,push"} <= set(asked)
            assert len(asked) == len(set(asked))
            with pytest.raises(RegistryError, match="refused a token"):
                Registry(insecure=True, credentials=lambda registry: RegistryCredentials("ann", "wrong")).tags(
                    f"{host}/a"
                )


@contextmanager
def token_server(certificate: Path, key: Path) -> Iterator[tuple[str, list[str]]]:
    """Gives signed tokens for what is asked to who has the password; tells which scopes were asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scopes = parse_qs(urlsplit(self.path).query).get("scope", [])
            good = self.headers.get("Authorization") == RegistryCredentials("ann", "s3cret").basic
            body = json.dumps({"token": _token(certificate, key, scopes), "expires_in": 300}).encode() if good else b""
            asked.extend(scopes if good else [])
            self.send_response(200 if good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            del words

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token", asked
    finally:
        server.shutdown()
        server.server_close()


def _token(certificate: Path, key: Path, scopes: list[str]) -> str:
    """A JSON Web Token with the certificate that belongs to the key which signs it."""
    chain = x509.load_pem_x509_certificate(certificate.read_bytes()).public_bytes(serialization.Encoding.DER)
    now = int(time.time())
    access = []
    for scope in scopes:
        kind, name, actions = scope.split(":")
        access.append({"type": kind, "name": name, "actions": actions.split(",")})
    header = {"typ": "JWT", "alg": "ES256", "x5c": [base64.b64encode(chain).decode()]}
    claims = {"iss": "tests", "aud": "test", "sub": "ann", "nbf": now - 60, "exp": now + 300, "access": access}
    text = ".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    r, s = decode_dss_signature(private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_tls_needs_the_authority_that_signed_it(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    http = f"  tls: {{certificate: {certificate}, key: {key}}}\n"
    with registry(tmp_path, http=http) as host:
        push(Registry(ca=str(certificate)), f"{host}/a:1")
        with pytest.raises(RegistryError, match="no TLS connection"):
            Registry().tags(f"{host}/a")


def _certificate(tmp_path: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(*encoding))
    return paths
