"""Requests to a registry: deadlines, credentials, and retries where they can help."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from msgspec import Struct

from kymatui.adapters.http.deadlines import answered_within
from kymatui.adapters.http.response_body import (
    DOCUMENT_SECONDS,
    LARGEST_DOCUMENT,
    TRANSFER_SECONDS,
    BodyError,
    iter_chunks,
    read_body,
)
from kymatui.adapters.http.web_session import MOST_REDIRECTS, is_same_origin, next_address, parts_of, redact_url
from kymatui.adapters.oci.docker_credentials import Authenticator, FindCredentials, anonymous_token, scope_of
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.errors import CancelledError, RegistryError, RegistryUnreachableError

CONNECT_TIMEOUT = 10.0  # seconds until a registry counts as unreachable
READ_TIMEOUT = 60.0  # seconds between two pieces of an answer
TRIES = 4  # of a request that fails with a passing error, unless its body can be sent only once
LONGEST_PAUSE = 20.0  # seconds between two tries, also if the registry asks for more
_BACKOFF = Backoff(0.5, LONGEST_PAUSE, 0.5, 1.0)
PASSING = frozenset({429, 500, 502, 503, 504})


class DroppedConnectionError(RegistryUnreachableError):
    """The registry closed the connection before its answer was complete."""


class TransportFlags(Struct, frozen=True):
    """Options of the command at hand that change how a registry is accessed, for hints; "" for none."""

    ca: str = "--registry-ca FILE"
    plain: str = "--insecure-registry HOST"

    @property
    def hint(self) -> str:
        """Return what to do about a server that does not speak TLS as expected."""
        options = ((self.ca, "its CA is private"), (self.plain, "it has no TLS"))
        advice = ", or ".join(f"{option} if {reason}" for option, reason in options if option)
        return f"use {advice}" if advice else "check the registry's certificate and its CA"


class _Exchange(Struct, frozen=True):
    """The last answer of a request and the address that gave it.

    is_foreign  the address has another origin than the registry, or a redirect of another origin led to it
    """

    response: Any
    address: str
    is_foreign: bool


class Requester:
    """Sends requests for one `requests.Session`; threads may share it.

    Credentials, tokens and the client certificate go to the registry's own origin (scheme, host and port), and to the
    token server that its own 401 names. Another origin that a redirect, an upload or a further page leads to gets
    none of them; a read is repeated with a token that this origin issues to everybody.
    """

    def __init__(
        self,
        session: Any,
        *,
        verify: bool | str = True,
        certificate: tuple[str, str] | None = None,
        credentials: FindCredentials = lambda registry: None,
        cancelled: threading.Event | None = None,
        pause: Callable[[float], None] | None = None,
        flags: TransportFlags | None = None,
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._verify = verify
        self._certificate = certificate
        self._flags = flags or TransportFlags()
        self._cancelled = cancelled or threading.Event()
        self._pause = pause or self._wait
        self._authenticator = Authenticator(credentials, partial(self._ask, is_foreign=False))

    def send(self, method: str, url: str, *, owner: str = "", **more: Any) -> Any:
        """Send a request; answer one 401 with credentials. Raise RegistryError after a second 401.

        `owner` is the registry's address if the registry named the URL. Return the response for every other status.
        """
        scope = scope_of(method, url)
        is_foreign = bool(owner) and not is_same_origin(url, owner)
        headers = dict(more.pop("headers", None) or {})
        known = None if is_foreign else self._authenticator.header(url, scope)
        if known:
            headers["Authorization"] = known
        exchange = self._patiently(method, url, is_foreign=is_foreign, headers=headers, **more)
        if exchange.response.status_code == 401 and not exchange.is_foreign:
            answer = self._authenticator.answer(url, scope, _challenge(exchange))
            if answer is not None:
                answered = {**headers, "Authorization": answer}
                exchange = self._patiently(method, url, is_foreign=False, headers=answered, **more)
        if exchange.response.status_code != 401:
            return exchange.response
        challenge = _challenge(exchange)
        if exchange.is_foreign:
            return self._anonymous(method, owner or url, exchange.address, challenge, headers=headers, **more)
        host = parts_of(url).netloc
        hint = f"run `docker login {host}`" if scope else "check the user name and the password"
        has_credentials = self._credentials(host) is not None
        problem = "rejected the credentials" if has_credentials else "requires credentials, but none are configured,"
        raise RegistryError(f"{host} {problem} for {scope or url}", hint=hint)

    def _anonymous(
        self, method: str, owner: str, address: str, challenge: str, *, headers: Mapping[str, str], **more: Any
    ) -> Any:
        """Read an address of another origin with a token that was issued without credentials."""
        more.pop("params", None)  # the first URL had them
        token = (
            anonymous_token(partial(self._ask, is_foreign=True), address, challenge)
            if method in ("GET", "HEAD")
            else None
        )
        if token is not None:
            headers = {**headers, "Authorization": token}
            response = self._patiently(method, address, is_foreign=True, headers=headers, **more).response
            if response.status_code != 401:
                return response
            response.close()
        host, other = parts_of(owner).netloc, parts_of(address).netloc
        raise RegistryError(
            f"{host} leads to {other}, which requires credentials; those of {host} are not sent there",
            hint=f"use {other} itself if you trust it",
        )

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError("the transfer was cancelled")

    def _ask(self, method: str, realm: str, **more: Any) -> Any:
        return self._once(method, realm, **more).response

    def _patiently(self, method: str, url: str, **more: Any) -> _Exchange:
        """Retry after 429, 5xx and dropped connections, if the body can be sent a second time."""
        replayable = not hasattr(more.get("data"), "read")
        for attempt in range(1, TRIES + 1):
            is_last = attempt == TRIES or not replayable
            try:
                exchange = self._once(method, url, **more)
            except DroppedConnectionError:  # other errors, such as of TLS, do not pass by waiting
                if is_last:
                    raise
                wait = retry_after(None, attempt)
            else:
                response = exchange.response
                if response.status_code not in PASSING or is_last:
                    return exchange
                wait = retry_after(response.headers.get("Retry-After"), attempt)
                response.close()
            self._pause(wait)
        raise AssertionError("the loop returns")

    def _once(self, method: str, url: str, **more: Any) -> _Exchange:
        import requests
        import urllib3.exceptions as http

        self.check_cancelled()
        more.setdefault("timeout", (CONNECT_TIMEOUT, READ_TIMEOUT))
        reads_body = not more.pop("stream", False)
        more["headers"] = {"Accept-Encoding": "gzip", **(more.get("headers") or {})}
        try:
            with answered_within(DOCUMENT_SECONDS if reads_body and method in ("GET", "HEAD") else TRANSFER_SECONDS):
                exchange = self._follow(method, url, **more)
                if reads_body or exchange.response.status_code >= 300:
                    _read_whole(exchange.response, exchange.address)
                return exchange
        except requests.exceptions.SSLError as error:
            raise RegistryUnreachableError(
                f"no TLS connection to {parts_of(url).netloc}: {innermost_reason(error)}", hint=self._flags.hint
            ) from error
        except (requests.exceptions.RequestException, http.HTTPError, OSError, ValueError) as error:
            dropped = any(isinstance(arg, http.ProtocolError) for arg in (error, *error.args))
            raise (DroppedConnectionError if dropped else RegistryUnreachableError)(
                f"cannot reach {parts_of(url).netloc}: {innermost_reason(error)}",
                hint="check the name, the network and the proxy",
            ) from error

    def _follow(self, method: str, url: str, *, is_foreign: bool, **more: Any) -> _Exchange:
        """Follow redirects of reads and return the last answer.

        Bodies of redirects are not read, because requests would read them without limit.
        """
        address = url
        for _ in range(MOST_REDIRECTS + 1):
            response = self._session.request(
                method,
                address,
                verify=self._verify,
                cert=None if is_foreign else self._certificate,
                stream=True,
                allow_redirects=False,
                **more,
            )
            if method not in ("GET", "HEAD") or not response.is_redirect:
                return _Exchange(response, address, is_foreign)
            response.close()
            former, address = address, next_address(redact_url(url), address, response.headers["Location"])
            more.pop("params", None)  # the first URL had them
            if not is_same_origin(former, address):
                is_foreign = True  # for good: a redirect back to the registry has an address that a stranger chose
                more["headers"] = {key: text for key, text in more["headers"].items() if key != "Authorization"}
        raise RegistryError(f"{redact_url(url)} redirects more than {MOST_REDIRECTS} times")

    def chunks(self, response: Any, what: object) -> Iterator[bytes]:
        """Yield the body of a streamed answer as it arrives. Raise RegistryError if the transfer breaks."""
        import urllib3.exceptions as http

        try:
            for piece in iter_chunks(response.raw):
                self.check_cancelled()
                yield piece
        except BodyError as error:
            raise RegistryError(f"{what}: the answer {error}") from error
        except (http.HTTPError, OSError) as error:
            raise RegistryError(
                f"{what}: the transfer was interrupted", hint="run the command again; no partial content is used"
            ) from error

    def _wait(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            self.check_cancelled()


def _challenge(exchange: _Exchange) -> str:
    """Return the challenge of a 401, and let the connection go."""
    exchange.response.close()
    return exchange.response.headers.get("WWW-Authenticate") or ""


def _read_whole(response: Any, url: str) -> None:
    """Replace the connection by the body, so that `content` reads no more than the limit."""
    import urllib3.exceptions as http

    host = parts_of(url).netloc
    try:
        content = read_body(response.raw, LARGEST_DOCUMENT)
    except BodyError as error:
        response.close()
        raise RegistryError(f"the answer of {host} {error}") from error
    except (http.HTTPError, OSError) as error:
        failure = DroppedConnectionError if isinstance(error, http.ProtocolError) else RegistryError
        raise failure(f"{host}: the transfer was interrupted", hint="check the network and the proxy") from error
    response.raw = io.BytesIO(content)


def retry_after(header: str | None, attempt: int) -> float:
    """Return the seconds to wait: the header's, limited, else those of the backoff."""
    pause = _told_pause(header or "")
    if pause is not None:
        return min(pause, LONGEST_PAUSE)
    return _BACKOFF.delay(attempt)


def _told_pause(header: str) -> float | None:
    """Return the seconds that a header names: a number, or a date (RFC 9110 10.2.3); None if neither."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # "-0000", which is UTC
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


_WRAPPING = re.compile(
    r"^(?:\w*Connection\([^)]*\): |<.*>: )?(?:Failed to establish a new connection: )?|\[Errno -?\d+\] "
)
"""What urllib3 puts around a reason: `HTTPSConnection(host='a', port=443): Failed to establish …: [Errno 111] `."""


def innermost_reason(error: BaseException) -> str:
    """Return the innermost reason of wrapped errors, without the object addresses that urllib3 prints."""
    reason: object = error
    while True:
        deeper = getattr(reason, "reason", None) or next(
            (arg for arg in getattr(reason, "args", ()) if isinstance(arg, BaseException)), None
        )
        if deeper is None or deeper is reason:
            break
        reason = deeper
    return _WRAPPING.sub("", str(reason)) or type(reason).__name__
