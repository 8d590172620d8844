"""Adapters, engine, sandbox and domain put together, for the front ends.

Nothing of an adapter is imported before it is used: the first paint of the screen waits for no Kubernetes client.
"""

from kymatui.wiring.options import SessionOptions, read_only_wanted
from kymatui.wiring.sessions import CatalogSession, open_session

__all__ = ["CatalogSession", "SessionOptions", "open_session", "read_only_wanted"]
