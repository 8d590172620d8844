"""OIDC tokens that are over are refreshed at their issuer, and the new ones are kept."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.connection import connect
from kymatui.errors import ConfigurationError
from tests.adapters.clusters import Exchange, serving
from tests.adapters.kube.secure import Authority, base64_of, secure_serving
from tests.adapters.kube.test_credentials import jwt

OLD, NEW = jwt({"exp": 5}), jwt({"exp": 4102444800})


def write(folder: Path, issuer: str, **more: str) -> Path:
    settings = {
        "client-id": "kymatui",
        "client-secret": "hush",
        "id-token": OLD,
        "idp-issuer-url": issuer,
        "refresh-token": "once",
        **more,
    }
    document: dict[str, Any] = {
        "clusters": [{"name": "c", "cluster": {"server": "https://a.example"}}],
        "users": [
            {"name": "other", "user": {"token": "kept"}},
            {"name": "u", "user": {"auth-provider": {"name": "oidc", "config": settings}}},
        ],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = folder / "config"
    file.write_text(json.dumps(document))
    return file


def test_a_refreshed_token_is_used_and_written_back(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def issuer(exchange: Exchange) -> None:
        if exchange.path.endswith("openid-configuration"):
            host = exchange.headers["Host"]
            exchange.json({"token_endpoint": f"http://{host}/token"})
        else:
            asked.append(exchange.body)
            exchange.json({"id_token": NEW, "refresh_token": "twice", "access_token": "a", "token_type": "Bearer"})

    with serving(issuer) as address:
        file = write(tmp_path, address)
        credential = connect(str(file)).credentials.present()
    assert dict(credential.headers)["Authorization"] == f"Bearer {NEW}"
    assert b"refresh_token=once" in asked[0]
    import yaml

    kept = yaml.safe_load(file.read_text())
    assert kept["users"][1]["user"]["auth-provider"]["config"]["refresh-token"] == "twice"
    assert kept["users"][0] == {"name": "other", "user": {"token": "kept"}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_kubeconfig_that_cannot_be_replaced_leaves_no_file_with_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a link is replaced where it is: between file systems nothing can be moved."""
    (home := tmp_path / "home").mkdir()
    (disk := tmp_path / "disk").mkdir()
    moved: list[tuple[str, str]] = []

    def replace(source: str | Path, target: str | Path) -> None:
        moved.append((str(Path(source).parent), str(target)))
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def issuer(exchange: Exchange) -> None:
        host = exchange.headers["Host"]
        body = {"id_token": NEW, "refresh_token": "twice", "access_token": "a", "token_type": "Bearer"}
        is_about = exchange.path.endswith("openid-configuration")
        exchange.json({"token_endpoint": f"http://{host}/token"} if is_about else body)

    with serving(issuer) as address:
        file = write(disk, address)
        link = home / "config"
        link.symlink_to(file)
        monkeypatch.setattr("os.replace", replace)
        with pytest.raises(ConfigurationError, match="cannot be written"):
            connect(str(link)).credentials.present()
    assert moved == [(str(disk), str(file))]
    assert [path.name for path in (*home.iterdir(), *disk.iterdir())] == ["config", "config"]


def test_an_issuer_that_is_not_there_is_said(tmp_path: Path) -> None:
    with serving(lambda exchange: exchange.drop()) as address:
        pass
    with pytest.raises(ConfigurationError, match="OIDC"):
        connect(str(write(tmp_path, address))).credentials.present()


@pytest.mark.parametrize("status", [404, 500])
def test_an_issuer_that_refuses_is_said(tmp_path: Path, status: int) -> None:
    with serving(lambda exchange: exchange.answer(status, b"no")) as address, pytest.raises(ConfigurationError):
        connect(str(write(tmp_path, address))).credentials.present()


def issuer_of(token: Callable[[Exchange], None], **about: object) -> Callable[[Exchange], None]:
    """Return an issuer with a token endpoint; `about` is what else its discovery document has."""

    def respond(exchange: Exchange) -> None:
        if exchange.path.endswith("openid-configuration"):
            exchange.json({"token_endpoint": f"http://{exchange.headers['Host']}/token?p=x", **about})
        else:
            token(exchange)

    return respond


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("part", ["discovery", "token"])
def test_no_redirect_of_an_issuer_is_followed(tmp_path: Path, part: str, status: int) -> None:
    """The official client follows them, and sends refresh token and secret of the client along."""
    seen: list[str] = []

    def other(exchange: Exchange) -> None:
        seen.append(f"{exchange.path} {exchange.headers} {exchange.body!r}")
        exchange.json({"token_endpoint": f"http://{exchange.headers['Host']}/token", "id_token": NEW})

    with serving(other) as elsewhere:

        def redirect(exchange: Exchange) -> None:
            exchange.answer(status, b"", {"Location": f"{elsewhere}{exchange.path}"})

        with serving(redirect if part == "discovery" else issuer_of(redirect)) as address:
            file = write(tmp_path, address)
            with pytest.raises(ConfigurationError, match=f"answered HTTP {status}"):
                connect(str(file)).credentials.present()
    assert seen == []


@pytest.mark.parametrize(
    "endpoint", ["http://issuer.example/token", "http://127.0.0.1@issuer.example/", "file:///x", ""]
)
def test_nothing_is_sent_without_tls_to_another_machine(tmp_path: Path, endpoint: str) -> None:
    about = issuer_of(lambda exchange: exchange.json({}), token_endpoint=endpoint)
    with serving(about) as address, pytest.raises(ConfigurationError, match="has an address without TLS"):
        connect(str(write(tmp_path, address))).credentials.present()
    with pytest.raises(ConfigurationError, match="has an address without TLS"):
        connect(str(write(tmp_path, "http://issuer.example"))).credentials.present()


def test_an_issuer_is_trusted_by_its_authority_alone(tmp_path: Path) -> None:
    """Without an authority, the official client reads the discovery document from any server."""
    authority = Authority()
    with secure_serving(authority, tmp_path) as server:
        address = f"https://{server.address}"
        with pytest.raises(ConfigurationError, match="CERTIFICATE_VERIFY_FAILED"):
            connect(str(write(tmp_path, address))).credentials.present()
        assert server.seen == []
        trusted = {"idp-certificate-authority-data": base64_of(authority.pem)[0]}
        with pytest.raises(ConfigurationError, match="has an address without TLS: ''"):  # it names no endpoint
            connect(str(write(tmp_path, address, **trusted))).credentials.present()
    assert [one.path for one in server.seen] == ["/.well-known/openid-configuration"]


@pytest.mark.parametrize(
    ("secret", "methods", "basic", "form"),
    [
        ("hush", None, "kymatui:hush", "grant_type=refresh_token&refresh_token=once"),
        ("hush", ["client_secret_basic", "client_secret_post"], "kymatui:hush", ""),
        ("hush", ["client_secret_post"], "", "&client_id=kymatui&client_secret=hush"),
        ("a b:c", None, "kymatui:a+b%3Ac", ""),
        ("", None, "", "&client_id=kymatui"),
    ],
)
def test_a_client_identifies_itself_as_the_issuer_supports_it(
    tmp_path: Path, secret: str, methods: list[str] | None, basic: str, form: str
) -> None:
    asked: list[tuple[str, str]] = []

    def token(exchange: Exchange) -> None:
        asked.append((exchange.headers.get("Authorization") or "", exchange.body.decode()))
        exchange.json({"id_token": NEW})

    about = {} if methods is None else {"token_endpoint_auth_methods_supported": methods}
    with serving(issuer_of(token, **about)) as address:
        file = write(tmp_path, address, **{"client-secret": secret})
        connect(str(file)).credentials.present()
    (header, body) = asked[0]
    assert header == (f"Basic {base64_of(basic)[0]}" if basic else "")
    assert body.endswith(form)
    assert "refresh-token: once" in file.read_text()  # the issuer keeps it


def test_an_issuer_that_answers_without_end_is_left(tmp_path: Path) -> None:
    large = issuer_of(lambda exchange: exchange.answer(200, b" " * 1_000_000))
    with serving(large) as address, pytest.raises(ConfigurationError, match="is larger than 256 KiB"):
        connect(str(write(tmp_path, address))).credentials.present()


def test_an_error_of_the_issuer_names_its_code_and_no_secret(tmp_path: Path) -> None:
    refused = issuer_of(lambda exchange: exchange.json({"error": "invalid_grant"}, 400))
    with serving(refused) as address, pytest.raises(ConfigurationError, match="HTTP 400 invalid_grant") as caught:
        connect(str(write(tmp_path, address))).credentials.present()
    assert "hush" not in str(caught.value) + caught.value.hint
    assert "once" not in str(caught.value)
