"""Registry credentials: docker's and podman's files, the credential helpers they name, pull Secrets."""

from __future__ import annotations

import base64
import binascii
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import RegistryError
from kymatui.json_input import read_json
from kymatui.structs import repr_without

HELPER_TIMEOUT = 30.0  # seconds; a helper may ask a keychain or a login server
_MEND = "fix the file, or set DOCKER_CONFIG to another folder"
_HELPER_NAME = re.compile(r"[A-Za-z0-9._-]+")
_DOCKER_HUB = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")


class RegistryCredentials(Struct, frozen=True):
    """User and password, or an identity token for a token service; `repr` hides the secrets."""

    username: str = ""
    password: str = ""
    identity_token: str = ""

    __repr__ = repr_without("password", "identity_token")

    @property
    def basic(self) -> str:
        """Return the value of an `Authorization` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class DockerCredentials:
    """Finds credentials as docker and podman do. Files are read once; helpers run at each lookup."""

    def __init__(self, files: tuple[Path, ...] | None = None, run: Callable[[str, str], str] | None = None) -> None:
        self._files = config_files(os.environ) if files is None else files
        self._run = run or _ask_helper
        self._configs: list[tuple[Path, dict[str, Any]]] | None = None

    def find(self, registry: str) -> RegistryCredentials | None:
        """Return the credentials for a registry (`host[:port]`), None if no file has any."""
        for path, config in self._loaded():
            credentials = self._in_config(path, config, registry)
            if credentials is not None:
                return credentials
        return None

    def _loaded(self) -> list[tuple[Path, dict[str, Any]]]:
        if self._configs is None:
            self._configs = [(path, _read(path)) for path in self._files if path.is_file()]
        return self._configs

    def _in_config(self, path: Path, config: Mapping[str, Any], registry: str) -> RegistryCredentials | None:
        helpers = _mapping(config, "credHelpers")
        for key in _keys(registry):
            helper = helpers.get(key)
            if isinstance(helper, str) and helper:
                return self._from_helper(path, helper, key)
        auths = _mapping(config, "auths")
        for key in _keys(registry):
            entry = auths.get(key)
            if isinstance(entry, dict) and entry:
                return _from_entry(path, key, entry)
        store = config.get("credsStore")
        if isinstance(store, str) and store:
            keys = [key for key in _keys(registry) if key in auths] or [registry]
            return self._from_helper(path, store, keys[0])
        return None

    def _from_helper(self, path: Path, helper: str, key: str) -> RegistryCredentials | None:
        if not _HELPER_NAME.fullmatch(helper):
            raise RegistryError(f"{path}: {helper!r} is not a valid name of a credential helper")
        answer = self._run(f"docker-credential-{helper}", key)
        if not answer:
            return None
        try:
            document = read_json(answer)
            user, secret = str(document["Username"]), str(document["Secret"])
        except (ValueError, KeyError, TypeError):
            raise RegistryError(f"docker-credential-{helper} did not return JSON for {key}") from None
        if user == "<token>":
            return RegistryCredentials(identity_token=secret)
        return RegistryCredentials(user, secret)


class SecretCredentials:
    """Credentials from pull Secrets (kubernetes.io/dockerconfigjson and the older dockercfg).

    A credential helper that a Secret names is never run.
    """

    def __init__(self, secrets: Iterable[Mapping[str, Any]]) -> None:
        """Read the Secrets as returned by the API server. Raise RegistryError for one without credentials."""
        self._auths = [(_secret_name(secret), _secret_auths(secret)) for secret in secrets]
        if not self._auths:
            raise RegistryError("no Secret with credentials was found", hint="check the labels of the selector")

    def find(self, registry: str) -> RegistryCredentials | None:
        """Return the credentials for a registry from the first Secret that has them."""
        for name, auths in self._auths:
            for key in _keys(registry):
                entry = auths.get(key)
                if isinstance(entry, dict) and entry:
                    return _from_entry(Path(f"Secret {name}"), key, entry)
        return None


def _secret_name(secret: Mapping[str, Any]) -> str:
    metadata = _mapping(secret, "metadata")
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}".lstrip("/")


def _secret_auths(secret: Mapping[str, Any]) -> dict[str, Any]:
    data = _mapping(secret, "data")
    name = _secret_name(secret)
    try:
        if isinstance(data.get(".dockerconfigjson"), str):
            return _mapping(read_json(base64.b64decode(data[".dockerconfigjson"])), "auths")
        if isinstance(data.get(".dockercfg"), str):
            return _mapping({"auths": read_json(base64.b64decode(data[".dockercfg"]))}, "auths")
    except (ValueError, AttributeError) as error:
        raise RegistryError(f"Secret {name} has no readable credentials") from error
    raise RegistryError(
        f"Secret {name} has no .dockerconfigjson", hint="use a Secret of type kubernetes.io/dockerconfigjson"
    )


def config_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the credential files; the first with an entry for the registry wins."""
    home = Path(environment.get("HOME") or Path.home())
    docker = Path(environment["DOCKER_CONFIG"]) if environment.get("DOCKER_CONFIG") else home / ".docker"
    files = [docker / "config.json"]
    if environment.get("REGISTRY_AUTH_FILE"):
        files.insert(0, Path(environment["REGISTRY_AUTH_FILE"]))
    if environment.get("XDG_RUNTIME_DIR"):
        files.append(Path(environment["XDG_RUNTIME_DIR"]) / "containers" / "auth.json")
    configuration = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return (*files, configuration / "containers" / "auth.json", configuration / "helm" / "registry" / "config.json")


def _keys(registry: str) -> Iterator[str]:
    """Yield the keys that a file may use for a registry."""
    hub = registry in _DOCKER_HUB
    for name in _DOCKER_HUB if hub else (registry,):
        yield name
        if "://" not in name:
            yield f"https://{name}"
            yield f"https://{name}/v1/"
            yield f"https://{name}/v2/"
            yield f"http://{name}"


def _mapping(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = config.get(key)
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        config = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RegistryError(f"{path} cannot be read: {error_reason(error)}", hint=_MEND) from error
    if not isinstance(config, dict):
        raise RegistryError(f"{path} is not a JSON object", hint=_MEND)
    return config


def _from_entry(path: Path, key: str, entry: Mapping[str, Any]) -> RegistryCredentials:
    token = str(entry.get("identitytoken") or "")
    if entry.get("auth"):
        try:
            user, _, password = base64.b64decode(str(entry["auth"]), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise RegistryError(f"{path}: the entry of {key} is not base64 of user:password") from None
        return RegistryCredentials(user, password.rstrip("\0"), token)
    return RegistryCredentials(str(entry.get("username") or ""), str(entry.get("password") or ""), token)


def _ask_helper(program: str, key: str) -> str:
    """Run `program get` with the registry on its standard input; return "" if it has no entry.

    The helper gets no terminal, because a prompt would garble the screen.
    """
    try:
        done = subprocess.run(  # noqa: S603 (the name is checked; it comes from the user's own docker configuration)
            [program, "get"], input=key, capture_output=True, text=True, timeout=HELPER_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise RegistryError(
            f"{program} is not installed", hint="install it, or remove it from the docker configuration"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "its answer is not text" if isinstance(error, UnicodeDecodeError) else error_reason(error)
        raise RegistryError(
            f"{program} cannot be used: {reason}", hint="repair it, or remove it from the docker configuration"
        ) from None
    except subprocess.TimeoutExpired:
        raise RegistryError(f"{program} did not answer within {HELPER_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        output = (done.stdout + done.stderr).strip()
        if "credentials not found" in output:
            return ""
        raise RegistryError(f"{program} failed for {key} (exit {done.returncode}): {output[:200]}")
    return done.stdout
