"""Loads `requests` once for all threads.

Two threads that import it at the same time by different ways (the package, or one of its modules first, as the library
for OAuth within the Kubernetes client does) see each other's unfinished modules and end in an ImportError.
"""

from __future__ import annotations

import threading

_LOCK = threading.Lock()


def load_requests() -> None:
    """To be called before anything is imported that imports `requests`."""
    with _LOCK:
        import requests  # noqa: F401
