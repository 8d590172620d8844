"""OIDC tokens that are over are refreshed at their issuer, and the new ones are kept."""

from __future__ import annotations

import errno
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.connection import connect
from kymatui.errors import ConfigurationError
from tests.adapters.clusters import Exchange, serving
from tests.adapters.kube.test_credentials import jwt

OLD, NEW = jwt({"exp": 5}), jwt({"exp": 4102444800})


def write(folder: Path, issuer: str) -> Path:
    settings = {
        "client-id": "kymatui",
        "client-secret": "hush",
        "id-token": OLD,
        "idp-issuer-url": issuer,
        "refresh-token": "once",
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


def test_a_refreshed_token_is_used_and_written_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")  # the issuer of this test has no certificate
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
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
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
