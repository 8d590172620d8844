"""Adapters, engine, sandbox and domain put together, for the front ends.

Nothing of an adapter is imported before it is used: the first paint of the screen waits for no Kubernetes client, and
commands without a cluster for nothing of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kymatui.wiring.options import SessionOptions
    from kymatui.wiring.sessions import CatalogSession, open_session

_HOMES: Final = {
    "CatalogSession": "sessions",
    "SessionOptions": "options",
    "open_session": "sessions",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


__all__ = ["CatalogSession", "SessionOptions", "open_session"]
