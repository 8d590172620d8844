"""The verbs: plan, apply, check, delete, reconcile. Synchronous; the outside world is reached through ports.

`install`, `check` and `uninstall` are the library's front door, see `kymatui.engine.library`. They are loaded when they
are asked for: who needs the ports alone waits for nothing else.
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
