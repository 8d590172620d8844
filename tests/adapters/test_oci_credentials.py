"""Credentials are found where docker, podman and helm keep them, and never printed."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.oci.docker_credentials import (
    DockerCredentials,
    RegistryCredentials,
    SecretCredentials,
    config_files,
)
from kymatui.errors import RegistryError
from kymatui.helm import load_yaml

AUTH = base64.b64encode(b"ann:s3cret:x").decode()


def store(tmp_path: Path, config: Any, helpers: dict[tuple[str, str], str] | None = None) -> DockerCredentials:
    path = tmp_path / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return DockerCredentials(
        (tmp_path / "absent.json", path), lambda program, key: (helpers or {}).get((program, key), "")
    )


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"auth": AUTH}, RegistryCredentials("ann", "s3cret:x")),
        ({"username": "ann", "password": "pw"}, RegistryCredentials("ann", "pw")),
        ({"auth": AUTH, "identitytoken": "tok"}, RegistryCredentials("ann", "s3cret:x", "tok")),
    ],
)
def test_an_entry_of_auths(tmp_path: Path, entry: dict[str, str], wanted: RegistryCredentials) -> None:
    assert store(tmp_path, {"auths": {"r.io": entry}}).find("r.io") == wanted


@pytest.mark.parametrize("key", ["r.io", "https://r.io", "https://r.io/v2/", "http://r.io"])
def test_a_registry_may_stand_there_as_a_url(tmp_path: Path, key: str) -> None:
    assert store(tmp_path, {"auths": {key: {"auth": AUTH}}}).find("r.io") is not None


def test_docker_hub_has_one_entry_for_all_its_names(tmp_path: Path) -> None:
    found = store(tmp_path, {"auths": {"https://index.docker.io/v1/": {"auth": AUTH}}})
    assert found.find("registry-1.docker.io") == found.find("docker.io") == RegistryCredentials("ann", "s3cret:x")


def test_a_helper_of_the_registry_comes_before_the_store_and_the_file(tmp_path: Path) -> None:
    config = {"auths": {"r.io": {"auth": AUTH}}, "credHelpers": {"r.io": "cloud"}, "credsStore": "desktop"}
    answers = {("docker-credential-cloud", "r.io"): json.dumps({"Username": "bob", "Secret": "pw"})}
    assert store(tmp_path, config, answers).find("r.io") == RegistryCredentials("bob", "pw")


def test_a_token_user_of_a_helper_is_an_identity_token(tmp_path: Path) -> None:
    answers = {("docker-credential-desktop", "r.io"): json.dumps({"Username": "<token>", "Secret": "tok"})}
    assert store(tmp_path, {"credsStore": "desktop"}, answers).find("r.io") == RegistryCredentials(identity_token="tok")


def test_unknown_registries_have_none(tmp_path: Path) -> None:
    assert store(tmp_path, {"auths": {"other.io": {"auth": AUTH}}, "credsStore": "desktop"}).find("r.io") is None


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ("{", "cannot be read"),
        ("[]", "not a JSON object"),
        ({"auths": {"r.io": {"auth": "%%%"}}}, "not base64"),
        ({"credHelpers": {"r.io": "../evil"}}, "not a valid name of a credential helper"),
    ],
)
def test_a_broken_file_is_named_with_the_reason(tmp_path: Path, config: Any, names: str) -> None:
    with pytest.raises(RegistryError, match=names):
        store(tmp_path, config).find("r.io")


def test_a_helper_that_is_not_installed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"credHelpers": {"r.io": "kymatui-test-absent"}}))
    with pytest.raises(RegistryError, match="docker-credential-kymatui-test-absent is not installed"):
        DockerCredentials((path,)).find("r.io")


@pytest.mark.parametrize(
    ("mode", "content"), [(0o755, b"MZ\x90"), (0o644, b"#!/bin/sh\n"), (0o755, b"#!/bin/sh\nprintf '\\377'\n")]
)
def test_a_helper_that_cannot_be_used_is_named(
    tmp_path: Path, mode: int, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "docker-credential-desktop.exe"
    helper.write_bytes(content)
    helper.chmod(mode)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"credsStore": "desktop.exe"}))
    with pytest.raises(RegistryError, match=r"docker-credential-desktop\.exe cannot be used") as caught:
        DockerCredentials((path,)).find("r.io")
    assert "docker configuration" in caught.value.hint


def test_docker_config_moves_the_file() -> None:
    files = config_files({"DOCKER_CONFIG": "/elsewhere", "HOME": "/home/ann"})
    assert files[0] == Path("/elsewhere/config.json")
    assert Path("/home/ann/.config/containers/auth.json") in files


def test_secrets_are_not_in_the_representation() -> None:
    assert "s3cret" not in repr(RegistryCredentials("ann", "s3cret", "tok"))
    assert "tok" not in repr(RegistryCredentials("ann", "s3cret", "tok"))


def pull_secret(name: str, body: Any, key: str = ".dockerconfigjson") -> dict[str, Any]:
    text = body if isinstance(body, str) else base64.b64encode(json.dumps(body).encode()).decode()
    return {"metadata": {"name": name, "namespace": "kcp-system"}, "data": {key: text}}


def test_credentials_out_of_secrets_of_a_cluster() -> None:
    found = SecretCredentials(
        [
            pull_secret("one", {"auths": {"r.io": {"auth": AUTH}}}),
            pull_secret(
                "two", {"r.io": {"username": "bob"}, "old.io": {"username": "bob", "password": "pw"}}, ".dockercfg"
            ),
        ]
    )
    assert found.find("r.io") == RegistryCredentials("ann", "s3cret:x")
    assert found.find("old.io") == RegistryCredentials("bob", "pw")
    assert found.find("other.io") is None


def test_a_helper_that_a_secret_names_is_never_run() -> None:
    found = SecretCredentials([pull_secret("one", {"credHelpers": {"r.io": "evil"}, "credsStore": "evil"})])
    assert found.find("r.io") is None


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        ([], "no Secret with credentials"),
        ([{"metadata": {"name": "x"}, "data": {"config": "AAAA"}}], r"Secret x has no \.dockerconfigjson"),
        ([pull_secret("x", "%%%")], "Secret kcp-system/x has no readable credentials"),
        ([pull_secret("x", base64.b64encode(b"[]").decode())], "has no readable credentials"),
    ],
)
def test_secrets_without_credentials_are_named(secrets: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(RegistryError, match=words):
        SecretCredentials(secrets)


def test_the_registry_secret_of_the_lifecycle_manager(shared: Path) -> None:
    secret = load_yaml((shared / "kyma" / "secrets" / "registry-auth-secret.yaml").read_bytes())
    assert SecretCredentials([secret]).find("unknown.io") is None
