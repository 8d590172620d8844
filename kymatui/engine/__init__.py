"""The engine: plan, apply, check, delete and reconcile; synchronous, and behind ports.

`install`, `check` and `uninstall` are the library's entry points, see `kymatui.engine.library`. They are imported
on first access, so that users of the ports alone start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kymatui.engine.library import EngineOptions as Options
    from kymatui.engine.library import check, install, rollback, uninstall

__all__ = ["Options", "check", "install", "rollback", "uninstall"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kymatui.engine import library

    return getattr(library, "EngineOptions" if name == "Options" else name)
