"""The folder for caches."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """Return a folder below the platform's cache folder; None for a user without a home.

    On Linux the XDG variables are read here, so that a short command does not import platformdirs.
    """
    if str(sys.platform) == "linux":
        given = os.environ.get("XDG_CACHE_HOME", "")
        base = given if os.path.isabs(given) else os.path.expanduser("~/.cache")
        return Path(base, "kymatui", name) if os.path.isabs(base) else None
    from platformdirs import user_cache_path

    return user_cache_path("kymatui", appauthor=False) / name
