"""Regular expressions that are compiled on first use.

A command runs for a tenth of a second and needs few of the patterns in the modules that it loads; one takes up to 4 ms.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _DeferredPattern:
    """A proxy for a compiled pattern; it looks up each method once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, attribute)
        return attribute


def deferred(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return `re.compile(pattern, flags)`, compiled on first use; an invalid pattern fails then."""
    return cast("re.Pattern[str]", _DeferredPattern(pattern, flags))
