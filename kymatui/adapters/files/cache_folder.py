"""Where kymatui keeps what can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """A folder within the platform's for caches; None for a user without a home.

    On Linux the XDG specification itself tells, so that a short command need not load a library for it.
    """
    if str(sys.platform) == "linux":
        given = os.environ.get("XDG_CACHE_HOME", "")
        base = given if os.path.isabs(given) else os.path.expanduser("~/.cache")
        return Path(base, "kymatui", name) if os.path.isabs(base) else None
    from platformdirs import user_cache_path

    return user_cache_path("kymatui", appauthor=False) / name
