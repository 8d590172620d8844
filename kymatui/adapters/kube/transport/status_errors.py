"""Mapping of HTTP answers and socket errors to the errors of `kymatui.errors`.

The message holds the server's own reason (it knows the user, the verb, the resource and the namespace); the hint says
what to do.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from kymatui.adapters.http.response_body import BodyError, OversizedError
from kymatui.adapters.http.web_session import ProxyServer, causes_of, last_cause, proxy_failure
from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.errors import (
    ClusterError,
    ConfigurationError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OversizedAnswerError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)
from kymatui.patterns import deferred

_BY_STATUS: Mapping[int, type[ClusterError]] = {
    400: InvalidError,
    403: ForbiddenError,
    404: NotFoundError,
    405: InvalidError,
    406: InvalidError,
    409: ConflictError,
    410: ExpiredError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
}

_REFUSED_WITH_500 = ("failed to create typed patch object", "failed to convert new object")
"""Server-side apply says so of a manifest with fields that its kind has not, or of other types: it never will do."""

_LONGEST = 4096
"""Characters of a server's message: an admission webhook may answer with megabytes, which logs and statuses repeat."""

_UNREADABLE = "check that the server is the cluster's API server; kymatui does not read such an answer"


class SentRequest(Struct, frozen=True):
    """The request of an error message: method, path, server and user, which the server does not repeat.

    With `from_secret`, the credentials come from a Secret that `context` names, not from the user's kubeconfig.
    """

    method: str
    path: str
    server: str
    context: str = ""
    user: str = ""
    proof: str = ""
    token_expiry: float | None = None
    from_secret: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def error_of_response(asked: SentRequest, status: int, headers: Mapping[str, str], body: bytes) -> ClusterError:
    """Return the error of an HTTP answer with a status of 300 or above."""
    document = status_object(body)
    if document is None:
        return _foreign(asked, status, headers, body)
    return error_of_status(asked, status, document, headers)


def error_of_status(
    asked: SentRequest, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> ClusterError:
    """Return the error of a Status object, from an answer or a watch."""
    reason = str(document.get("reason") or "")
    message = cut_text(str(document.get("message") or reason or f"HTTP status {status}"), _LONGEST)
    more: dict[str, Any] = {"status": status, "reason": reason, "body": document}
    if status == 401:
        return UnauthorizedError(_unauthorized(asked), hint=_login_hint(asked), **more)
    if status == 429:
        after = retry_after(headers or {}, document)
        hint = f"the server asks to wait {after:.0f} s" if after else "the server is busy; try again later"
        return ThrottledError(f"{asked.server}: {message}", retry_after=after, hint=hint, **more)
    if status == 500 and message.startswith(_REFUSED_WITH_500):
        return InvalidError(message, hint="the manifest does not fit the kind's schema", **more)
    if status >= 500 or (status not in _BY_STATUS and status < 400):
        return ServerError(f"{asked} failed at {asked.server}: {message}", hint=_server_hint(message), **more)
    kind = _BY_STATUS.get(status, InvalidError)
    return kind(message, hint=_hint(kind, asked, message, reason), **more)


def status_object(body: bytes) -> Mapping[str, Any] | None:
    """Return the Status object of a body, None for other content."""

    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # proxies answer with HTML or plain text
        return None
    return document if isinstance(document, dict) and document.get("kind") == "Status" else None


def retry_after(headers: Mapping[str, str], document: Mapping[str, Any] | None = None) -> float:
    """Return the seconds to wait, from the header or the Status object; 0 if neither says."""
    details = (document or {}).get("details")
    for value in (headers.get("Retry-After"), details.get("retryAfterSeconds") if isinstance(details, dict) else None):
        try:
            seconds = float(value) if value is not None else 0.0
        except (TypeError, ValueError):  # an HTTP date, which API servers do not send
            continue
        if 0 < seconds < 86400:
            return seconds
    return 0.0


def _unauthorized(asked: SentRequest) -> str:
    who = f" of user {asked.user!r}" if asked.user else ""
    name = asked.context if asked.from_secret else f"context {asked.context!r}"
    where = f" in {name}" if asked.context else ""
    return f"{asked.server} does not accept the credentials{who}{where} ({asked.proof or 'unknown kind'})"


def _login_hint(asked: SentRequest) -> str:
    if asked.from_secret:
        return "create the access Secret again: its credentials are expired, revoked or for another cluster"
    if asked.token_expiry is not None and asked.token_expiry < time.time():
        ended = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(asked.token_expiry))
        return f"the token expired at {ended}; log in again"
    return "log in again, or get a new kubeconfig: the credentials are expired, revoked or for another cluster"


def _hint(kind: type[ClusterError], asked: SentRequest, message: str, reason: str) -> str:
    if kind is ForbiddenError:
        return _rights_hint(asked, message)
    if kind is ConflictError:
        return {
            "AlreadyExists": "choose another name, or change the existing object",
            "Conflict": "another client changed the object; try again",
        }.get(reason, "")
    if kind is ExpiredError:
        return "the list is too old to continue; list again"
    if kind is NotFoundError and "could not find the requested resource" in message:
        return f"the server does not serve {asked.path}"
    return ""


_ANONYMOUS = 'User "system:anonymous"'
_FORBIDDEN = deferred(r'cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?:.* in the namespace "([^"]+)")?')


def _rights_hint(asked: SentRequest, message: str) -> str:
    if _ANONYMOUS in message and not asked.from_secret:
        return "the request had no credentials: set a user in the context, or use another context"
    match = _FORBIDDEN.search(message)
    if match is None:
        return "ask the cluster's administrator for the right, or use another context"
    verb, resource, group, namespace = match.groups()
    name = f"{resource}.{group}" if group else resource
    scope = f" -n {namespace}" if namespace else " --all-namespaces"
    if asked.from_secret:
        return f"{asked.context} needs an account that may {verb} {name}{scope}"
    context = f" --context {asked.context}" if asked.context else ""
    return f"ask for the right; `kubectl{context} auth can-i {verb} {name}{scope}` checks it"


def _server_hint(message: str) -> str:
    if "etcd" in message or "webhook" not in message:
        return "the server failed; try again, and check its logs"
    return "an admission webhook failed: check that its service is running"


def _foreign(asked: SentRequest, status: int, headers: Mapping[str, str], body: bytes) -> ClusterError:
    """Return the error of an answer without a Status object: from a proxy, a login page or another server."""
    kind = headers.get("Content-Type", "").partition(";")[0].strip() or "no content type"
    text = _plain(body)
    if "HTTP request to an HTTPS server" in text:
        return UnreachableError(
            f"{asked.server} uses HTTPS, but the request was HTTP",
            hint="use https:// for the server in the kubeconfig",
            status=status,
        )
    if status == 401:
        return UnauthorizedError(_unauthorized(asked), hint=_login_hint(asked), status=status)
    if status == 429:
        return ThrottledError(
            f"{asked.server} is busy: {text or status}", retry_after=retry_after(headers), status=status
        )
    if kind in ("text/plain", "application/json", "no content type") and status >= 400:
        error_class = _BY_STATUS.get(status, ServerError if status >= 500 else InvalidError)
        return error_class(
            f"{asked} failed at {asked.server} with status {status}" + (f": {text}" if text else ""), status=status
        )
    return not_kubernetes(asked, status, headers)


def not_kubernetes(asked: SentRequest, status: int, headers: Mapping[str, str]) -> ServerError:
    """Return the error of an answer that does not come from an API server."""
    kind = headers.get("Content-Type", "").partition(";")[0].strip() or "no content type"
    moved = headers.get("Location", "")
    description = f"status {status}, {kind}" + (f", to {moved[:200]}" if moved else "")
    return ServerError(
        f"{asked.server} did not answer {asked} as a Kubernetes API server ({description})",
        hint="check that the kubeconfig's server is the API server, not a proxy or a login page",
        status=status,
    )


def unreadable(asked: SentRequest, error: BodyError) -> ServerError:
    """Return the error of an answer that is too large or malformed."""
    kind = OversizedAnswerError if isinstance(error, OversizedError) else ServerError
    return kind(f"the answer of {asked.server} to {asked} {error}", hint=_UNREADABLE)


def _plain(body: bytes) -> str:
    text = re.sub(r"<[^>]*>", " ", body[:4000].decode(errors="replace"))
    return " ".join(text.split())[:300]


def malformed(asked: SentRequest) -> ConfigurationError:
    """Return the error of a request that cannot be written down."""
    return ConfigurationError(f"{asked} cannot be sent: it has a malformed header or address")


def unreachable(
    asked: SentRequest, error: BaseException, timeout: str, proxy: ProxyServer | None = None
) -> UnreachableError:
    """Return the error of a request without an answer; it names the proxy if that is what failed."""
    import urllib3.exceptions as http

    causes = tuple(causes_of(error))
    host = asked.server
    if proxy is not None and (failed := proxy_failure(host, proxy, error, timeout)) is not None:
        return failed
    if tls := [cause for cause in causes if isinstance(cause, ssl.SSLError | ssl.CertificateError)]:
        return _tls(host, tls[0])
    if broken := [cause for cause in causes if getattr(cause, "in_handshake", False)]:
        late = f"did not complete the TLS handshake within {timeout}"
        return UnreachableError(f"{host} {late if isinstance(broken[0], TimeoutError) else _CLOSED}", hint=_BETWEEN)

    def is_one(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if is_one(ConnectionRefusedError):
        message = f"nothing listens at {host} (connection refused)"
        return UnreachableError(message, hint="check that the cluster is running, and the server in the kubeconfig")
    if is_one(socket.gaierror, http.NameResolutionError):
        message = f"the name of {host} cannot be resolved"
        return UnreachableError(message, hint="check the network (VPN, DNS), and the server in the kubeconfig")
    # NewConnectionError is a subclass of ConnectTimeoutError.
    if is_one(http.ConnectTimeoutError) and not is_one(http.NewConnectionError):
        message = f"{host} accepts no connection (tried for {timeout})"
        return UnreachableError(message, hint="check that the cluster is running, and the network (VPN, firewall)")
    if is_one(TimeoutError, http.ReadTimeoutError):
        message = f"{host} did not answer {asked} within {timeout}"
        return UnreachableError(message, hint="check the network (VPN, firewall)")
    message = f"the connection to {host} was lost during {asked}: {last_cause(causes)}"
    return UnreachableError(message, hint="the server may be restarting; try again")


_CLOSED: Final = "closed the connection during the TLS handshake"
_BETWEEN: Final = "check the port of the server in the kubeconfig, and what is between (proxy, VPN, firewall)"
_NAME: Final = "the certificate is for another name: set tls-server-name in the kubeconfig, or fix the server"
_SIGNER: Final = "the kubeconfig's certificate-authority did not sign the server's certificate: get a new kubeconfig"
_PLAIN: Final = "the server uses plain HTTP on this port: use http:// or another port in the kubeconfig"
_REJECTED: Final = "the client certificate is expired, revoked or for another cluster: get a new kubeconfig"
_TLS_FAILURES: Final = (
    ("hostname|ip address mismatch|doesn't match", "", _NAME),
    ("has expired", "", "the server's certificate has expired; renew it"),
    ("self.signed|local issuer", "", _SIGNER),
    ("wrong_version_number|record layer", "", _PLAIN),
    ("protocol_version|unsupported_protocol", "it supports no version of TLS from 1.2 on", "update the server"),
    ("alert_certificate_required", "it requires a client certificate", "get a kubeconfig with client-certificate"),
    ("alert_(bad_|revoked_)?certificate|unknown_ca", "it rejected the client certificate", _REJECTED),
    ("", "", "check certificate-authority and client-certificate in the kubeconfig"),
)
"""Patterns of OpenSSL's reason, the words for it ("" for its own), and the hint; the first that fits counts."""


def _tls(host: str, error: BaseException) -> UnreachableError:
    reason = str(getattr(error, "verify_message", "") or getattr(error, "reason", "") or error)
    lowered = f"{reason} {error}".lower()
    if "eof" in lowered:
        return UnreachableError(f"{host} {_CLOSED}", hint=_BETWEEN)
    _, words, hint = next(row for row in _TLS_FAILURES if re.search(row[0], lowered))
    return UnreachableError(f"no TLS connection to {host}: {words or reason.rstrip('.')}", hint=hint)
