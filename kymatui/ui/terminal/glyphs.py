"""Signs of states. A word always follows; `ascii_filter` translates the signs where needed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "ready": "●",
        "processing": "◐",
        "warning": "▲",
        "error": "✖",
        "deleting": "◌",
        "unmanaged": "○",
        "muted": "·",
    }
)
