"""What an edit of the Kyma uninstalls: planned as a deletion is, and prepared like one before the edit is made.

Disabling a module, removing a label or moving to another channel may all have lifecycle-manager delete a module. Where
users' objects are left it waits for them without an end: they are displayed, and deleted first, or the edit is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from kymatui.actions.delete import RunControls, plan_deletions, prepare_deletion
from kymatui.actions.plans import DeletionRequest, Uninstall, with_deleted
from kymatui.actions.ports import DeletionPort
from kymatui.domain.catalog.effects import Effect
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.engine.jobs.run import Progress
from kymatui.errors import CancelledError, KymatuiError, RefusedError


class UninstallConsent(Struct, frozen=True):
    """What a person allows beforehand.

    cascade         objects that users created, and the module manages, are deleted
    accept_unknown  what cannot be listed counts as none
    saves           what is deleted is saved first
    backup          in this file; None for a new file of each module
    """

    cascade: bool = False
    accept_unknown: bool = False
    saves: bool = True
    backup: Path | None = None


def plan_uninstall(port: DeletionPort, request: DeletionRequest) -> Uninstall:
    """Read what the module still manages; what cannot be read is a failure of its own. Nothing is written."""
    try:
        (plan,) = plan_deletions(port, [request], edits_kyma=False)
    except CancelledError:
        raise
    except KymatuiError as error:
        return Uninstall(request, failure=str(error))
    return Uninstall(request, plan)


def refuse_unplanned(effects: Iterable[Effect], planned: Sequence[Uninstall]) -> None:
    """Raise RefusedError where an edit uninstalls a module that no accepted plan displayed."""
    known = {uninstall.module for uninstall in planned}
    missing = [effect.module for effect in effects if effect.uninstalls and effect.module not in known]
    if missing:
        raise RefusedError(
            f"{', '.join(missing)} would be uninstalled, which the plan did not display; no changes made"
        )


def prepare_uninstalls(
    port: DeletionPort,
    planned: Sequence[Uninstall],
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    journal: Journal = NO_JOURNAL,
) -> tuple[ObjectRef, ...]:
    """Check every module once more, save what goes, and delete what would block it; then the edit may be made.

    Return what was deleted. Raises RefusedError before anything is deleted where more is there than the plans
    displayed, PartlyDoneError where something does not go.
    """
    for uninstall in planned:
        if uninstall.refusal is not None:
            raise uninstall.refusal
    for uninstall in planned:
        if uninstall.plan is not None:
            prepare_deletion(port, uninstall.plan, RunControls(progress, cancel), is_rehearsal=True)
    gone: list[ObjectRef] = []
    for uninstall in planned:
        if uninstall.plan is not None:
            try:
                gone += prepare_deletion(port, uninstall.plan, RunControls(progress, cancel, journal=journal))
            except KymatuiError as error:
                raise with_deleted(error, gone) from error
    return tuple(gone)
