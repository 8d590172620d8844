"""What an edit of the Kyma uninstalls: planned as a deletion is, and prepared like one before the edit is made.

Disabling a module, removing a label or moving to another channel may all have lifecycle-manager delete a module. Where
users' objects are left it waits for them without an end: they are displayed, and deleted first, or the edit is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kymatui.actions.delete import DeletionPlan, DeletionRequest, Watching, plan_deletions, prepare_deletion
from kymatui.actions.ports import DeletionPort
from kymatui.domain.effects import Effect
from kymatui.domain.refs import ObjectRef
from kymatui.engine.departing import Departure
from kymatui.engine.running import Progress
from kymatui.errors import CancelledError, KymatuiError, RefusedError

_CASCADE = "delete them first, or use --cascade to delete them too"
_UNKNOWN = "--accept-unknown assumes that nothing is left"


@dataclass(frozen=True, slots=True)
class Consent:
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


@dataclass(frozen=True, slots=True)
class Uninstall:
    """One module that an edit uninstalls, with the plan of its deletion; `failure` says why there is none."""

    request: DeletionRequest
    plan: DeletionPlan | None = None
    failure: str = ""

    @property
    def module(self) -> str:
        return self.request.module

    @property
    def seen(self) -> Departure | None:
        return self.plan.seen if self.plan is not None else None

    @property
    def blocking(self) -> tuple[ObjectRef, ...]:
        """What has to be gone before lifecycle-manager removes the module."""
        return tuple(one.ref for one in self.seen.theirs) if self.seen is not None else ()

    @property
    def saved(self) -> bool:
        """Whether a backup is written for it."""
        seen = self.seen
        return self.request.backup is not None and seen is not None and bool(seen.remaining.instances)

    @property
    def refusal(self) -> RefusedError | None:
        """Why the edit is not made, with the option that allows it; None where it is."""
        if self.plan is None:
            if self.request.accept_unknown:
                return None
            words = f"{self.module} cannot be checked for objects that block its deletion: {self.failure}"
            return RefusedError(words, hint=_UNKNOWN)
        found = self.plan.refusal
        if found is None or self.plan.seen.refusal:
            return found
        return RefusedError(str(found), hint=_UNKNOWN if self.plan.seen.remaining.unknown else _CASCADE)


def plan_uninstall(port: DeletionPort, request: DeletionRequest) -> Uninstall:
    """Read what the module still manages; what cannot be read is a failure of its own. Nothing is written."""
    try:
        (plan,) = plan_deletions(port, [request])
    except CancelledError:
        raise
    except KymatuiError as error:
        return Uninstall(request, failure=str(error))
    return Uninstall(request, plan)


def refuse_unplanned(effects: Iterable[Effect], planned: Sequence[Uninstall]) -> None:
    """Raise RefusedError where an edit uninstalls a module that no accepted plan displayed."""
    known = {one.module for one in planned}
    missing = [effect.module for effect in effects if effect.uninstalls and effect.module not in known]
    if missing:
        raise RefusedError(
            f"{', '.join(missing)} would be uninstalled, which the plan did not display; no changes made"
        )


def prepare_uninstalls(
    port: DeletionPort,
    planned: Sequence[Uninstall],
    tell: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> None:
    """Check every module once more, save what goes, and delete what would block it; then the edit may be made.

    Raises RefusedError before anything is deleted where more is there than the plans displayed, PartlyDoneError where
    something does not go.
    """
    for one in planned:
        if one.refusal is not None:
            raise one.refusal
    for one in planned:
        if one.plan is not None:
            prepare_deletion(port, one.plan, Watching(tell, cancel), is_rehearsal=True)
    for one in planned:
        if one.plan is not None:
            prepare_deletion(port, one.plan, Watching(tell, cancel))


def unsaved(plan: DeletionPlan) -> Uninstall:
    """Return the plan of a deletion that has saved its objects already, for the edit that is its next step."""
    request = replace(plan.request, backup=None)
    return Uninstall(request, replace(plan, request=request))
