"""The signs in front of states. A word always follows; where there is only ASCII, `ascii` translates them."""

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
