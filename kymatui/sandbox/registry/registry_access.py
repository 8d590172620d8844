"""Registry access: basic authentication, or bearer tokens from the registry's token endpoint.

The token protocol is that of the distribution project: a 401 names realm, service and scope; the client requests a
token from the realm with its password (or anonymously). The token grants the allowed part of the requested scope.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from kymatui.sandbox.registry.registry_routes import RegistryRefusal

ALL_ACTIONS = frozenset({"pull", "push", "delete"})
PULL_ONLY = frozenset({"pull"})


class Scheme(StrEnum):
    OPEN = "open"
    BASIC = "basic"
    BEARER = "bearer"


class TokenScope(Struct, frozen=True, dict=True):
    """One scope: `type:name:action,action`, such as `repository:modules/keda:pull,push`."""

    type: str
    name: str
    actions: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> TokenScope | None:
        """Return None for text that is no scope; the token endpoint ignores it."""
        kind, _, rest = text.partition(":")
        name, _, actions = rest.rpartition(":")
        if not kind or not name or not actions:
            return None
        return cls(kind, name, frozenset(a for a in actions.split(",") if a))

    def __str__(self) -> str:
        order = [a for a in ("pull", "push", "delete", "*") if a in self.actions]
        return f"{self.type}:{self.name}:{','.join(order)}"


def repository_scope(name: str, *actions: str) -> TokenScope:
    return TokenScope("repository", name, frozenset(actions))


CATALOG_SCOPE = TokenScope("registry", "catalog", frozenset({"*"}))


class RegistryUser(Struct, frozen=True, dict=True):
    """A user of the registry; `repositories` are fnmatch patterns, `actions` those allowed in them."""

    password: str
    actions: frozenset[str] = ALL_ACTIONS
    repositories: tuple[str, ...] = ("*",)

    def allows(self, scope: TokenScope) -> frozenset[str]:
        """Return the actions of a scope that this user has."""
        if scope.type == "registry":
            return scope.actions if scope.name == "catalog" else frozenset()
        if scope.type != "repository" or not any(fnmatch.fnmatchcase(scope.name, p) for p in self.repositories):
            return frozenset()
        granted = ALL_ACTIONS if "*" in scope.actions else scope.actions
        return granted & self.actions


class _Token(Struct, dict=True):
    granted: dict[tuple[str, str], frozenset[str]]
    expires: float


ANONYMOUS = RegistryUser("", actions=PULL_ONLY)
LOCKED_OUT = RegistryUser("", actions=frozenset(), repositories=())


class RegistryAccess(Struct, dict=True):
    """The access rules of one registry; `OPEN` allows everything to everyone."""

    scheme: Scheme = Scheme.OPEN
    users: Mapping[str, RegistryUser] = field(default_factory=dict)
    anonymous_pull: bool = False
    service: str = "sandbox-registry"
    token_seconds: int = 300
    now: Callable[[], float] = time.monotonic
    _tokens: dict[str, _Token] = field(default_factory=dict)

    # -- the token endpoint

    def issue(self, user: RegistryUser, scopes: Iterable[TokenScope]) -> str:
        """Return a token with the allowed part of `scopes`, possibly none, as the protocol requires."""
        granted: dict[tuple[str, str], frozenset[str]] = {}
        for scope in scopes:
            allowed = user.allows(scope)
            if allowed:
                key = (scope.type, scope.name)
                granted[key] = granted.get(key, frozenset()) | allowed
        self._forget_expired()
        token = secrets.token_urlsafe(24)
        self._tokens[token] = _Token(granted, self.now() + self.token_seconds)
        return token

    def authenticate(self, authorization: str | None) -> RegistryUser:
        """Return the user of a Basic header, anonymous without one. Raise UNAUTHORIZED for a wrong password."""
        if not authorization:
            return ANONYMOUS if self.anonymous_pull else LOCKED_OUT
        user = self._basic_user(authorization)
        if user is None:
            raise self._unauthorized(None)
        return user

    def password_matches(self, name: str, password: str) -> RegistryUser | None:
        user = self.users.get(name)
        if user is None or not hmac.compare_digest(user.password.encode(), password.encode()):
            return None
        return user

    # -- requests

    def require(self, authorization: str | None, scope: TokenScope | None, realm: str) -> None:
        """Raise UNAUTHORIZED with the challenge, or DENIED if the user lacks the permission.

        `scope` None requires only a known user (`GET /v2/`).
        """
        if self.scheme is Scheme.OPEN:
            return
        if self.scheme is Scheme.BASIC:
            self._require_basic(authorization, scope)
        else:
            self._require_bearer(authorization, scope, realm)

    def may(self, authorization: str | None, scope: TokenScope, realm: str) -> bool:
        try:
            self.require(authorization, scope, realm)
        except RegistryRefusal:
            return False
        return True

    def _require_basic(self, authorization: str | None, scope: TokenScope | None) -> None:
        if authorization is None and self.anonymous_pull and scope is not None and scope.actions <= PULL_ONLY:
            return
        user = self._basic_user(authorization) if authorization else None
        if user is None:
            raise self._unauthorized(scope)
        if scope is not None and not scope.actions <= user.allows(scope):
            raise RegistryRefusal("DENIED", "requested access to the resource is denied", detail=str(scope))

    def _require_bearer(self, authorization: str | None, scope: TokenScope | None, realm: str) -> None:
        kind, _, value = (authorization or "").partition(" ")
        token = self._tokens.get(value.strip()) if kind.lower() == "bearer" else None
        if token is None or token.expires <= self.now():
            raise self._challenge(scope, realm, "invalid_token" if authorization else "")
        if scope is None:
            return
        if not scope.actions <= token.granted.get((scope.type, scope.name), frozenset()):
            raise self._challenge(scope, realm, "insufficient_scope")

    def _basic_user(self, authorization: str) -> RegistryUser | None:
        kind, _, value = authorization.partition(" ")
        if kind.lower() != "basic":
            return None
        try:
            name, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return self.password_matches(name, password)

    def _unauthorized(self, scope: TokenScope | None) -> RegistryRefusal:
        challenge = f'Basic realm="{self.service}"'
        detail = str(scope) if scope else None
        return RegistryRefusal(
            "UNAUTHORIZED", "authentication required", detail=detail, headers={"WWW-Authenticate": challenge}
        )

    def _challenge(self, scope: TokenScope | None, realm: str, error: str) -> RegistryRefusal:
        parts = [f'realm="{realm}"', f'service="{self.service}"']
        if scope is not None:
            parts.append(f'scope="{scope}"')
        if error:
            parts.append(f'error="{error}"')
        return RegistryRefusal(
            "UNAUTHORIZED",
            "authentication required",
            detail=str(scope) if scope else None,
            headers={"WWW-Authenticate": "Bearer " + ",".join(parts)},
        )

    def _forget_expired(self) -> None:
        now = self.now()
        self._tokens = {name: token for name, token in self._tokens.items() if token.expires > now}
