"""Connections to the web and to registries whose answers end by their deadlines (see `deadlines`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kymatui.adapters.http.deadlines import time_answers
from kymatui.adapters.http.requests_import import load_requests

if TYPE_CHECKING:
    from requests import Session


def open_web_session() -> Session:
    """A session that keeps to the deadlines of the thread that uses it."""
    load_requests()
    import requests

    session = requests.Session()
    bound_session(session)
    return session


def bound_session(session: Session) -> None:
    """The same for a session that a library made. It follows no redirect, and leaves the bodies of redirects unread:
    requests reads them whole, and unpacks them, even where it is told not to follow.
    """
    session.get_redirect_target = lambda response: None  # type: ignore[method-assign, assignment]
    for scheme in ("https://", "http://"):
        session.mount(scheme, _adapter()())


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
