"""The summary of a plan: how many objects it creates, changes and deletes, and modules that it installs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

NO_CHANGES: Final = "no changes"
_PHRASES: Final = {
    "create": ("to create", "to create"),
    "install": ("module to install", "modules to install"),
    "change": ("to change", "to change"),
    "delete": ("to delete", "to delete"),
    "uninstall": ("module to uninstall", "modules to uninstall"),
    "keep": ("to keep", "to keep"),
    "conflict": ("conflict", "conflicts"),
    "blocked": ("blocked", "blocked"),
    "refused": ("refused", "refused"),
    "same": ("unchanged", "unchanged"),
}
"""What each action reads, for one object and for several, in the order of the summary."""


def summarize_actions(actions: Iterable[str]) -> str:
    """Return a summary such as `2 to create, 1 to change, 1 to delete`; zero counts are left out."""
    return ", ".join(part for _, part in summary_parts(actions)) or NO_CHANGES


def summary_parts(actions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each action of a plan with its part of the summary."""
    found = Counter(actions)
    return tuple(
        (action, f"{found[action]} {one if found[action] == 1 else many}")
        for action, (one, many) in _PHRASES.items()
        if found[action]
    )
