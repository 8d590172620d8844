"""Readings of a running deletion: one at a time, not too often, and again while something changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kymatui.engine.deletion.deletion_state import DeletionState, ModuleCRHandling, NextStep
from kymatui.engine.deletion.uninstall_plan import DeletionScope
from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.actions.edits.session_deletions import SessionDeletions
    from kymatui.ui.flows.flow_app import FlowApp

PAUSE: Final = 1.0
"""Seconds between two readings during changes: each lists all objects that the module manages."""
_WAITING: Final = 10.0
"""Seconds while nothing changes here, but other clients may delete blocking objects."""


def delete_action(app: FlowApp) -> SessionDeletions:
    """Return the deletions of the displayed cluster.

    Raises ConfigurationError before it is connected.
    """
    from kymatui.sessions.deletions import deletions_of

    return deletions_of(app.writing_session)


class DeletionChoices(Struct, frozen=True):
    """Choices of the user for the deletion of one module."""

    module: str
    handling: ModuleCRHandling = ModuleCRHandling.LET
    accept_unknown: bool = False
    keeps_backup: bool = True
    delete_crds: bool = False


class DeletionReader:
    """Reader of one module's deletion.

    seen   the last reading, None before the first
    begun  the first reading with what was to delete: the stages that are done are displayed as they were in it
    error  why the last reading failed, "" if it did not; `state` is then out of date
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self.state: DeletionState | None = None
        self.begun: DeletionState | None = None
        self.error = ""
        self._reading = False
        self._wanted = True
        self._read_at = float("-inf")

    def request(self, *, at_once: bool = False) -> None:
        """Request a reading; `at_once` whatever the last one's age."""
        self._wanted = True
        if at_once:
            self._read_at = float("-inf")

    def begin(self, *, busy: bool) -> bool:
        """Return whether a reading is due, and mark it as begun; `busy` while a job changes the module."""
        waits = self.state is not None and bool(self.state.theirs)
        past = time.monotonic() - self._read_at
        due = past >= PAUSE if self._wanted or busy else waits and past >= _WAITING
        if self._reading or not due:
            return False
        self._reading, self._wanted = True, False
        return True

    async def read(self, app: FlowApp, choices: DeletionChoices) -> None:
        """Read the deletion in a thread, after `begin`."""
        handling, scope = choices.handling, DeletionScope(choices.delete_crds)
        try:
            deletions = delete_action(app)
            self.state = await app.jobs.in_thread(
                lambda: deletions.read_state(self._module, handling=handling, scope=scope)
            )
            self.error = ""
            self._remember(self.state)
        except KymatuiError as error:
            self.error = str(error)
        finally:
            self._reading, self._read_at = False, time.monotonic()

    def _remember(self, state: DeletionState) -> None:
        if state.next_step() is not NextStep.GONE and (self.begun is None or (state.theirs and not self.begun.theirs)):
            self.begun = state
