"""A lock around the import of `requests`.

Two threads that import it at the same time from different modules (the package, or one of its modules first, as the
OAuth library within the Kubernetes client does) see each other's unfinished modules and fail with an ImportError.
"""

from __future__ import annotations

import threading

_LOCK = threading.Lock()


def load_requests() -> None:
    """Import `requests`. Call this before the import of any library that imports it."""
    with _LOCK:
        import requests  # noqa: F401
