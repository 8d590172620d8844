"""Bearer tokens: fixed ones of the sandbox, and service account tokens from TokenRequest."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.object_store import ObjectStore

ISSUER = "https://kubernetes.default.svc.cluster.local"
AUTHENTICATED = "system:authenticated"
ADMIN = RequestUser("admin", ("system:masters", AUTHENTICATED), "admin")
VIEWER = RequestUser("viewer", ("viewers", AUTHENTICATED), "viewer")

State = Literal["unknown", "expired"]


def service_account_user(
    namespace: str, name: str, uid: str = "", extra: dict[str, list[str]] | None = None
) -> RequestUser:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return RequestUser(f"system:serviceaccount:{namespace}:{name}", groups, uid, extra or {})


class Tokens(Struct):
    """Finds the user of a token and signs tokens; the key lives as long as the process."""

    store: ObjectStore
    clock: SandboxClock
    fixed: dict[str, RequestUser] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def user_of(self, token: str) -> RequestUser | None:
        """Return None for a token that is wrong, expired, revoked, or of a deleted service account."""
        if token in self.revoked:
            return None
        for known, user in self.fixed.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                return user
        claims = self.claims_of(token)
        return self._service_account(claims) if claims else None

    def claims_of(self, token: str) -> dict[str, Any] | None:
        """Return the claims of an unexpired token that this server signed, else None."""
        parts = token.split(".")
        if len(parts) != 3 or not hmac.compare_digest(self._signature(f"{parts[0]}.{parts[1]}"), parts[2]):
            return None
        claims: dict[str, Any] = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return claims if claims["exp"] > self.clock.now() else None

    def _service_account(self, claims: dict[str, Any]) -> RequestUser | None:
        known = claims["kubernetes.io"]
        namespace, account = known["namespace"], known["serviceaccount"]
        stored = self.store.get("serviceaccounts", namespace, account["name"])
        if stored is None or stored.uid != account["uid"]:
            return None
        bound = known.get("pod") or known.get("secret")
        if bound is not None:
            holder = self.store.get("pods" if "pod" in known else "secrets", namespace, bound["name"])
            if holder is None or holder.uid != bound["uid"]:
                return None
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        if "pod" in known:
            extra["authentication.kubernetes.io/pod-name"] = [bound["name"]]
            extra["authentication.kubernetes.io/pod-uid"] = [bound["uid"]]
        return service_account_user(namespace, account["name"], account["uid"], extra)

    def sign(
        self, namespace: str, name: str, uid: str, *, audiences: list[str], seconds: int, bound: dict[str, Any]
    ) -> tuple[str, float]:
        """Return a service account token and its expiry in Unix seconds.

        `bound` is {"pod": {"name", "uid"}} or {}.
        """
        now = int(self.clock.now())
        claims = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": secrets.token_hex(16),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}, **bound},
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        text = _encode({"alg": "HS256", "typ": "JWT"}) + "." + _encode(claims)
        return f"{text}.{self._signature(text)}", float(now + seconds)

    def _signature(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()
