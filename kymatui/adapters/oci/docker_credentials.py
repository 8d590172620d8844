"""Registry credentials: docker's and podman's files, the credential helpers they name, pull Secrets.

Authentication at registries: Basic, and Bearer tokens that are cached per scope.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from kymatui.adapters.http.web_session import WEB, is_same_origin, origin_of, parts_of
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


_Origin = tuple[str, str, int] | None
FindCredentials = Callable[[str], RegistryCredentials | None]
Ask = Callable[..., Any]

_SCHEME = re.compile(r"[\s,]*([A-Za-z][A-Za-z0-9_-]*)(?=[\s,]|$)[\s,]*")
_PARAMETER = re.compile(r'\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*,?')
_REPOSITORY = re.compile(r"/v2/(?P<name>.+)/(?:blobs|manifests|tags|referrers)/")


class Challenge(Struct, frozen=True):
    """One scheme of a `WWW-Authenticate` header with its parameters (RFC 9110 11.6.1)."""

    scheme: str
    parameters: Mapping[str, str]


def parse_challenges(header: str) -> list[Challenge]:
    """Return every challenge of a header, in order; other text is skipped."""
    challenges: list[Challenge] = []
    position = 0
    while position < len(header):
        scheme = _SCHEME.match(header, position)
        if not scheme:
            break
        position = scheme.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(header, position):
            value = parameter[2] if parameter[2] is not None else parameter[3]
            parameters[parameter[1].lower()] = re.sub(r"\\(.)", r"\1", value)
            position = parameter.end()
        challenges.append(Challenge(scheme[1].lower(), parameters))
    return challenges


def scope_of(method: str, url: str) -> str:
    """Return the token scope that a request needs, "" if it concerns no repository.

    Mounting a blob also needs to read the repository that has it.
    """
    parts = urlsplit(url)
    match = _REPOSITORY.search(parts.path)
    if not match:
        return ""
    actions = {"GET": "pull", "HEAD": "pull", "DELETE": "delete"}.get(method, "pull,push")
    mounted = [f"repository:{name}:pull" for name in parse_qs(parts.query).get("from", []) if method == "POST"]
    return " ".join([f"repository:{match['name']}:{actions}", *mounted])


class _Token(Struct, frozen=True):
    header: str
    expires: float


class Authenticator:
    """Remembers the authentication of each origin; a token serves only the scope it was issued for.

    `find` returns the credentials of a registry (`host[:port]`), `ask` sends a request to a token server.
    """

    def __init__(self, find: FindCredentials, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._ask = ask
        self._clock = clock
        self._basic: dict[_Origin, str] = {}
        self._tokens: dict[tuple[_Origin, str], _Token] = {}

    def header(self, url: str, scope: str) -> str | None:
        """Return the header that worked before, None before the first challenge."""
        now, origin = self._clock(), origin_of(url)
        for (issuer, granted), token in tuple(self._tokens.items()):
            if issuer == origin and (scope == granted or scope in granted.split(" ")) and token.expires > now:
                return token.header
        return self._basic.get(origin)

    def answer(self, url: str, scope: str, challenge_header: str) -> str | None:
        """Return a new `Authorization` after a 401 of the registry itself, None if no credentials fit."""
        for challenge in parse_challenges(challenge_header):
            if challenge.scheme == "bearer":
                credentials = self._find(parts_of(url).netloc)
                token = _token(self._ask, self._clock, url, scope, challenge, credentials)
                self._tokens[origin_of(url), scope] = token
                return token.header
            if challenge.scheme == "basic":
                return self._answer_basic(url)
        return None

    def _answer_basic(self, url: str) -> str | None:
        credentials, origin = self._find(parts_of(url).netloc), origin_of(url)
        if credentials is None or not credentials.username:
            return None
        if self._basic.get(origin) == credentials.basic:
            return None  # the registry refused these already
        self._basic[origin] = credentials.basic
        return credentials.basic


def anonymous_token(ask: Ask, url: str, challenge_header: str) -> str | None:
    """Return an `Authorization` with a token that the server itself issues without credentials, None if it does not.

    A token server of another origin may trust this machine's network and give tokens that are not the server's to have.
    """
    for challenge in parse_challenges(challenge_header):
        if challenge.scheme == "bearer" and is_same_origin(url, challenge.parameters.get("realm", "")):
            return _token(ask, time.monotonic, url, scope_of("GET", url), challenge, None).header
    return None


def _token(
    ask: Ask,
    clock: Callable[[], float],
    url: str,
    scope: str,
    challenge: Challenge,
    credentials: RegistryCredentials | None,
) -> _Token:
    parts, realm = parts_of(url), challenge.parameters.get("realm", "")
    if parts_of(realm).scheme not in WEB or (parts.scheme == "https" and not realm.startswith("https://")):
        raise RegistryError(
            f"{parts.netloc} names {realm!r} as its token server, which is not a safe address",
            hint="the token server must have an https:// address",
        )
    service = challenge.parameters.get("service", "")
    scopes = list(dict.fromkeys(f"{scope} {challenge.parameters.get('scope', '')}".split()))
    if credentials is not None and credentials.identity_token:
        data = {"grant_type": "refresh_token", "refresh_token": credentials.identity_token, "service": service}
        answer = ask("POST", realm, data={**data, "scope": " ".join(scopes), "client_id": "kymatui"})
    else:
        headers = {"Authorization": credentials.basic} if credentials and credentials.username else {}
        query = [("service", service)] if service else []
        answer = ask("GET", realm, params=[*query, *(("scope", name) for name in scopes)], headers=headers)
    return _read_token(parts.netloc, realm, answer, clock())


def _read_token(registry: str, realm: str, answer: Any, now: float) -> _Token:
    if answer.status_code in (401, 403):
        raise RegistryError(
            f"{parts_of(realm).netloc} refused a token for {registry} (HTTP {answer.status_code})",
            hint=f"run `docker login {registry}`, or check the password",
        )
    try:
        body = answer.json() if answer.status_code == 200 else {}
        token = str(body.get("token") or body["access_token"])
        if not (token.isascii() and token.isprintable()):
            raise ValueError("no header can hold the token")
        lasts = float(body.get("expires_in") or 60)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise RegistryError(f"{realm} did not return a token (HTTP {answer.status_code})") from None
    return _Token(f"Bearer {token}", now + max(lasts - 10, 5))
