"""Regular expressions that are compiled when they are first used.

A command that renders one chart and ends asks few of the engine's patterns, and compiling all of them takes a tenth of
its time.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Deferred:
    """Stands for a compiled pattern; each of its methods is looked up once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def deferred(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(pattern, flags)`, later; what is no pattern fails at its first use."""
    return cast("re.Pattern[str]", _Deferred(pattern, flags))
