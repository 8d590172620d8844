"""Sessions for the web and registries, with deadlines for whole answers (see `deadlines`)."""

from __future__ import annotations

import threading
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from kymatui.adapters.http.deadlines import time_answers

if TYPE_CHECKING:
    from requests import PreparedRequest, Session


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
