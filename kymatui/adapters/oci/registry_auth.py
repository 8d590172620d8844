"""Authentication at registries: Basic, and Bearer tokens that are cached per scope."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from kymatui.adapters.http.web_session import WEB, is_same_origin, origin_of, parts_of
from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.errors import RegistryError

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
