"""Sessions for the web and registries: safe URLs, deadlines for whole answers (see `deadlines`)."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from kymatui.adapters.http.deadlines import time_answers
from kymatui.errors import RegistryError

if TYPE_CHECKING:
    from requests import PreparedRequest, Session


MOST_REDIRECTS: Final = 5  # of one request; more are treated as a loop
WEB: Final = ("http", "https")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_PORTS: Final = {"http": 80, "https": 443}
_NONE: Final = SplitResult("", "", "", "", "")


def parts_of(address: str) -> SplitResult:
    """Return the parts of a URL, all empty if it is malformed.

    Backslashes and control characters are malformed: `https://a\\@b/` is host b for the standard library and host a
    for urllib3, which connects.
    """
    try:
        return _NONE if _AMBIGUOUS.search(address) else urlsplit(address)
    except ValueError:
        return _NONE


def redact_url(source: str) -> str:
    """Return the source without user and password, for display."""
    try:
        parts = urlsplit(source) if "://" in source else None
    except ValueError:  # malformed, but a password may still stand before the @
        return source.rpartition("@")[2]
    if parts is None or "@" not in parts.netloc:
        return source
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def next_address(where: str, address: str, location: str) -> str:
    """Return the target of a redirect or link. Raise RegistryError if it leaves TLS or HTTP."""
    try:
        target = "" if _AMBIGUOUS.search(location) else urljoin(address, location)
    except ValueError:
        target = ""
    parts = parts_of(target)
    if not parts.netloc:
        raise RegistryError(f"{where} redirects to {redact_url(location)[:200]!r}, which is not a valid address")
    if parts.scheme not in WEB or (parts.scheme == "http" and parts_of(address).scheme == "https"):
        raise RegistryError(f"{where} redirects to an address without TLS: {redact_url(target)}")
    return target


def is_same_origin(address: str, other: str) -> bool:
    """Return whether scheme, host and port are equal, so that credentials of one may go to the other."""
    origin = origin_of(address)
    return origin is not None and origin == origin_of(other)


def origin_of(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a web address, None if it has none."""
    parts = parts_of(address)
    try:
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in WEB or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port


def open_web_session() -> Session:
    """Return a session under the deadlines of the calling thread."""
    load_requests()
    import requests

    session = requests.Session()
    bound_session(session)
    return session


def bound_session(session: Session) -> None:
    """Apply deadlines to a session that a library made, and disable its redirects and cookies.

    requests reads and decompresses the whole body of a redirect, even with `allow_redirects=False`. A cookie may be a
    login, and has no port: it would go to another server of the same host.
    """
    session.get_redirect_target = lambda response: None  # type: ignore[method-assign, assignment]
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    session.auth = _add_login
    for scheme in ("https://", "http://"):
        session.mount(scheme, _adapter()())


def _add_login(request: PreparedRequest) -> PreparedRequest:
    """Add the login of the address, if it has one.

    Without a function here, requests replaces every Authorization by the login that ~/.netrc has for the host.
    """
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user or password else request


@lru_cache(maxsize=1)
def _adapter() -> Any:
    from requests.adapters import HTTPAdapter

    class TimedAdapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options)
            time_answers(self.poolmanager)

        def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
            known = proxy in self.proxy_manager
            manager = super().proxy_manager_for(proxy, **options)
            if not known:
                time_answers(manager)
            return manager

    return TimedAdapter


_LOCK = threading.Lock()


def load_requests() -> None:
    """Import `requests`. Call this before the import of any library that imports it."""
    with _LOCK:
        import requests  # noqa: F401
