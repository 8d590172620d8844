"""Announcements of modules that got worse while you look elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.terminal.terminal_notice import write_notice

if TYPE_CHECKING:
    from kymatui.domain.catalog.change_history import ChangeHistory, ModuleChange
    from kymatui.ui.flows.flow_app import FlowApp

_SECONDS: Final = 15.0


class Announcements:
    """Announcer of each worse state, once: in the corner, and by the terminal if you look at another window."""

    def __init__(self, app: FlowApp, *, silent: bool) -> None:
        """Take `silent` for an audit, which notifies no terminal."""
        self._app = app
        self._silent = silent
        self._newest: dict[int, ModuleChange] = {}

    def announce_changes(self, history: ChangeHistory | None) -> None:
        """Announce what got worse since the last look at this history."""
        if history is None or not history.changes:
            return
        from kymatui.domain.catalog.change_history import changes_since, worse_states  # not before the first paint

        fresh = changes_since(history.changes, self._newest.get(id(history)))
        self._newest[id(history)] = history.changes[0]
        for change in worse_states(fresh):
            self._announce(change)

    def _announce(self, change: ModuleChange) -> None:
        from kymatui.domain.kyma.states import State

        app = self._app
        row = app.catalog.row(change.module) if app.catalog is not None else None
        text = sanitize(f"{change.module} is {change.after} (was {change.before})")
        reason = sanitize(row.reason.text) if row is not None else ""
        if not self._is_displayed(change.module):
            severity = "error" if change.after == State.ERROR else "warning"
            app.notify(f"{text}. {reason}".rstrip(". "), severity=severity, timeout=_SECONDS)  # type: ignore[arg-type]
        if not self._silent and not app.app_focus:
            write_notice(app, app.settings.notifications, text)

    def _is_displayed(self, module: str) -> bool:
        """Return whether the screen on top has the module's state: the catalog, or the module itself."""
        shown = self._app.shown
        if shown is None or shown is not self._app.screen:
            return False
        return shown.step.kind == "modules" or shown.step.about == module
