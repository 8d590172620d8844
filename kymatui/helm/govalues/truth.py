"""Truth as templates have it."""

from __future__ import annotations

from typing import Any


def truth(value: Any) -> bool:
    """text/template's IsTrue: not the zero of its type; structs are always true.

    The classes of `types` answer Python's truth test in the same way, so this is that test under Go's name.
    """
    return bool(value)
