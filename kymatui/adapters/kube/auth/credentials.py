"""Credentials: the `user` of a kubeconfig as headers and client certificate, renewed when they expire.

The order is client-go's: a token file, a token, basic authentication, then a plugin or an OIDC provider; a client
certificate goes with any of them. Impersonation headers are added here because the official client drops them.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from kymatui.adapters.kube.auth.endpoint import (
    ClientCertificate,
    Endpoint,
    entry_error,
    jwt_expiry,
    read_file,
    read_pem,
)
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.engine.cluster.logins import LOGINS
from kymatui.errors import ConfigurationError, KymatuiError

if TYPE_CHECKING:
    from kymatui.adapters.kube.auth.exec_plugin import ExecCredential

Headers = tuple[tuple[str, str], ...]
_TOKEN_FILE_PERIOD = 60.0  # the kubelet rotates projected tokens on disk; client-go rereads them once a minute
_FAILURE_SECONDS = 5.0  # for which a failed login is not repeated: dozens of watches ask for it at the same time
_EARLY = 10.0, 0.1  # seconds before its end, or share of its life, that a credential is not used: requests take time
_LAST = 1.0, 0.01  # the same, that it is not used even if there is no other
_AHEAD = 60.0, 0.2  # the same, that it is renewed while requests still use it
_PAUSE = 20.0  # seconds between two renewals ahead, after one that failed


class Credential(Struct, frozen=True):
    """Headers and client certificate of a request; `expires` in Unix seconds. `repr` shows no secret."""

    headers: Headers = ()
    certificate: ClientCertificate | None = None
    expires: float | None = None

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.headers)
        return f"Credential(headers=[{names}], certificate={self.certificate is not None}, expires={self.expires})"


class CredentialSource:
    """Returns the current credential and renews it. Threads may share it; only one renews at a time."""

    def __init__(
        self, make: Callable[[], Credential], *, name: str = "", kind: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self.name = name
        self.kind = kind
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._present: Credential | None = None
        self._since = 0.0
        self._renewal: threading.Thread | None = None
        self._renewed_at = -_PAUSE
        self._is_requested = False
        self._failure: tuple[float, KymatuiError] | None = None

    def retry(self) -> None:
        """Log in again at the next request, also if the last login has just failed; a person asks for it."""
        self._failure, self._is_requested = None, True

    def present(self) -> Credential:
        """Return the current credential, renewed if it expired.

        One that ends soon is renewed in a thread, and used meanwhile: a person may take minutes to log in. It is used
        to its end if the renewal takes that long, or fails.
        """
        while True:
            with self._lock:
                known, renewal = self._present, self._renewal
                if known is not None and not self._ends_within(known, _EARLY):
                    self._renew_ahead(known)
                    return known
                is_renewing = renewal is not None and renewal.is_alive()
                is_valid = known is not None and not self._ends_within(known, _LAST)
                if known is not None and is_valid and is_renewing:
                    return known
                if renewal is None or not is_renewing:
                    try:
                        return self._replaced()
                    except KymatuiError:
                        if known is None or not is_valid:
                            raise
                        return known
            renewal.join()

    def renewed(self, refused_one: Credential) -> Credential | None:
        """Return a credential that differs from the one refused with 401, None if there is no other."""
        renewal = self._renewal
        if renewal is not None and self._present is refused_one:
            renewal.join()
        with self._lock:
            fresh = self._replaced() if self._present is refused_one else self._present
        if fresh is None or (fresh.headers, fresh.certificate) == (refused_one.headers, refused_one.certificate):
            return None
        return fresh

    def _replaced(self) -> Credential:
        """Set and return a new credential; the lock is held."""
        self._present = self._made()
        self._since = self._clock()
        return self._present

    def _renew_ahead(self, known: Credential) -> None:
        """Start to renew a credential that ends soon; the lock is held."""
        if self._renewal is not None and self._renewal.is_alive():
            return
        if not self._ends_within(known, _AHEAD) or time.monotonic() - self._renewed_at < _PAUSE:
            return
        self._renewed_at = time.monotonic()
        self._renewal = threading.Thread(target=self._renew, args=(known,), name="renewal", daemon=True)
        self._renewal.start()

    def _renew(self, known: Credential) -> None:
        with contextlib.suppress(KymatuiError):  # the request that finds it expired reports why
            with LOGINS.renewal():
                fresh = self._make()
            with self._lock:
                if self._present is known:
                    self._present, self._since = fresh, self._clock()

    def _made(self) -> Credential:
        """Return a new credential. Raise the error of the last login that failed a moment ago."""
        failure = self._failure
        if failure is not None and time.monotonic() - failure[0] < _FAILURE_SECONDS:
            raise copy.copy(failure[1])
        is_renewal, self._is_requested = self._present is not None and not self._is_requested, False
        try:
            with LOGINS.renewal() if is_renewal else contextlib.nullcontext():
                return self._make()
        except KymatuiError as error:
            self._failure = time.monotonic(), copy.copy(error)
            raise

    def _ends_within(self, known: Credential, limit: tuple[float, float]) -> bool:
        """Return whether the present credential ends within the seconds, or the share of its life if that is shorter.

        Its life begins with this answer of the plugin: one that gives a credential from its own cache runs few times
        more up to the end, and not for each request.
        """
        if known.expires is None:
            return False
        seconds, share = limit
        return known.expires - self._clock() <= min(seconds, (known.expires - self._since) * share)


def read_user(user: KubeconfigEntry | None, endpoint: Endpoint, cluster: KubeconfigEntry) -> Callable[[], Credential]:
    """Check a kubeconfig user and return the function that makes its credential.

    Plugins run and token files are read only when that function is called.
    """
    if user is None:
        return Credential
    body, impersonation = user.body, impersonation_headers(user)
    certificate = _certificate(user)
    _check_methods(user)

    def make() -> Credential:
        credential = _authorization(user, endpoint, cluster)
        return Credential(
            (*credential.headers, *impersonation), credential.certificate or certificate, credential.expires
        )

    if body.get("auth-provider") is not None and "exec" in body:
        raise entry_error(user, "user", "it has both an exec plugin and an auth-provider; keep one")
    return make


def authentication_kind(user: KubeconfigEntry | None) -> str:
    """Return the authentication method of a user, in words for messages."""
    body: Mapping[str, Any] = user.body if user is not None else {}
    plan = body.get("exec")
    words = (
        ("token", "a token"),
        ("tokenFile", "a token file"),
        ("username", "a password"),
        ("exec", f"the plugin {plan.get('command')}" if isinstance(plan, Mapping) else "a plugin"),
        ("auth-provider", "an auth-provider"),
        ("client-certificate", "a client certificate"),
        ("client-certificate-data", "a client certificate"),
    )
    return next((word for key, word in words if body.get(key)), "no credentials")


def impersonation_headers(user: KubeconfigEntry) -> Headers:
    """Return the impersonation headers of `as`, `as-uid`, `as-groups` and `as-user-extra`."""
    body = user.body
    name, uid = body.get("as") or "", body.get("as-uid") or ""
    groups, extra = body.get("as-groups") or [], body.get("as-user-extra") or {}
    if not name and (uid or groups or extra):
        raise entry_error(user, "user", "it impersonates a uid, groups or extra without a user (as)")
    if not isinstance(groups, list) or not isinstance(extra, Mapping):
        raise entry_error(user, "user", "its as-groups is not a list, or its as-user-extra is not an object of lists")
    if not name:
        return ()
    headers = [("Impersonate-User", str(name))]
    if uid:
        headers.append(("Impersonate-Uid", str(uid)))
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        # A header name cannot hold every character of a key; the API server decodes percent signs.
        header = "Impersonate-Extra-" + quote(str(key).lower(), safe="!#$&'*+-.^_`|~")
        headers += [(header, str(value)) for value in (values if isinstance(values, list) else [values])]
    for header, value in headers:
        if not value.isprintable():
            raise entry_error(user, "user", f"its {header} contains a character that no HTTP header can hold")
    return tuple((header, value.encode().decode("latin-1")) for header, value in headers)  # UTF-8, as from Go clients


def _check_methods(user: KubeconfigEntry) -> None:
    body = user.body
    if (body.get("token") or body.get("tokenFile")) and body.get("username"):
        raise entry_error(user, "user", "it has both a token and a password; keep one")


def _certificate(user: KubeconfigEntry) -> ClientCertificate | None:
    chain, key = read_pem(user, "user", "client-certificate"), read_pem(user, "user", "client-key")
    if chain and not key:
        raise entry_error(user, "user", "it has a client-certificate without client-key")
    if key and not chain:
        raise entry_error(user, "user", "it has a client-key without client-certificate")
    return ClientCertificate(chain, key) if chain else None


def _authorization(user: KubeconfigEntry, endpoint: Endpoint, cluster: KubeconfigEntry) -> Credential:
    body = user.body
    token = str(body.get("token") or "").strip()
    if path := body.get("tokenFile"):
        return bearer_credential(_token_in(user, str(path), token), time.time() + _TOKEN_FILE_PERIOD)
    if token:
        return bearer_credential(token)
    if name := body.get("username"):
        secret = base64.b64encode(f"{name}:{body.get('password') or ''}".encode()).decode()
        return Credential((("Authorization", f"Basic {secret}"),))
    if body.get("exec") is not None:
        from kymatui.adapters.kube.auth.exec_plugin import run_plugin

        return _issued(run_plugin(user, endpoint, cluster))
    if body.get("auth-provider") is not None:
        from kymatui.adapters.kube.auth.oidc import provider_token

        return bearer_credential(*provider_token(user))
    return Credential()


def _token_in(user: KubeconfigEntry, path: str, otherwise: str) -> str:
    """Return the token in the file, or `otherwise` (the kubeconfig's own token) if the file has none."""
    try:
        token = read_file(user, "user", "tokenFile", path).strip()
    except ConfigurationError:
        if otherwise:
            return otherwise
        raise
    if not token and not otherwise:
        raise entry_error(user, "user", f"its tokenFile {path} is empty")
    return token or otherwise


def bearer_credential(token: str, expires: float | None = None) -> Credential:
    """Return a credential of a token. Raise ConfigurationError for one that no header can hold; it is not quoted."""
    return Credential(_bearer(token), None, expires)


def _bearer(token: str) -> Headers:
    stripped = token.strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise ConfigurationError(
            "the bearer token contains a line break or another character that no HTTP header can hold",
            hint="check the token in the kubeconfig, its file, or what the credential plugin prints",
        )
    return (("Authorization", f"Bearer {stripped}"),)


def _issued(answer: ExecCredential) -> Credential:
    headers = _bearer(answer.token) if answer.token else ()
    certificate = ClientCertificate(answer.certificate, answer.key) if answer.certificate and answer.key else None
    return Credential(headers, certificate, answer.expires)


def token_expiry(credential: Credential) -> float | None:
    """Return the `exp` of a JWT bearer token in Unix seconds, None for other credentials.

    For messages only: the signature is not verified.
    """
    for name, value in credential.headers:
        if name == "Authorization" and value.startswith("Bearer ") and value.count(".") == 2:
            return jwt_expiry(value.removeprefix("Bearer "))
    return None
