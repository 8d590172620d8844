"""What a deletion displays before it is accepted: the request, the plan, and the plan of what an edit uninstalls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import GitChanges
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of, format_count
from kymatui.domain.ownership import ObjectOwnership, OwnedObject
from kymatui.engine.apply.planner import missing_rights_error
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy, ModuleCRHandling, NextStep
from kymatui.engine.deletion.managed_deletion import DeletionConsent, require_cascade, require_known
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

_CASCADE = "--cascade deletes them too"
_UNKNOWN = "--accept-unknown assumes that no such objects exist"


class DeletionRequest(Struct, frozen=True):
    """One module to delete.

    backup       where what is deleted is saved first, None saves nothing
    delete_crds  the CRDs of a chart's folder crds/ go, too, as far as nothing else uses them
    """

    module: str
    namespace: str = ""
    handling: ModuleCRHandling = ModuleCRHandling.LET
    cascade: bool = False
    accept_unknown: bool = False
    backup: Path | None = None
    timeout: float = 300.0
    delete_crds: bool = False


class DeletionPlan(Struct, frozen=True):
    """What was displayed of one deletion, and what was requested: a screen adds the consent to it later."""

    request: DeletionRequest
    state: DeletionState

    @property
    def module(self) -> str:
        return self.request.module

    @property
    def next_step(self) -> NextStep:
        return self.state.next_step(accept_unknown=self.request.accept_unknown)

    @property
    def git(self) -> GitChanges:
        return self.state.git

    @property
    def is_gone(self) -> bool:
        """Return whether nothing of it is left to delete."""
        return self.next_step is NextStep.GONE

    @property
    def refusal(self) -> RefusedError | None:
        """Return what the request lacks, None if it can be accepted; computed from the request and never stored."""
        if self.is_gone:
            return None
        try:
            refuse(self.state, self.request)
            refuse_missing_rights(self.state)
        except RefusedError as error:
            return error
        return None

    @property
    def refusal_with_option(self) -> RefusedError | None:
        """Return what the request lacks, with the option that allows it where there is one."""
        error = self.refusal
        if error is None or self.state.refusal or self.is_forbidden:
            return error
        return RefusedError(str(error), hint=_UNKNOWN if self.state.remaining.unknown else _CASCADE)

    @property
    def is_forbidden(self) -> bool:
        """Return whether the user lacks permissions, and no option lets the deletion continue."""
        return bool(self.state.missing)


def refuse_missing_rights(state: DeletionState) -> None:
    """Raise RefusedError where the user lacks a permission that the deletion needs."""
    if state.missing:
        raise missing_rights_error(f"{state.module} cannot be deleted", state.missing, "delete", state.module)


def refuse(state: DeletionState, request: DeletionRequest) -> None:
    """Raise RefusedError where the next turn needs more than was asked for."""
    if state.refusal and state.managed_by is not ManagedBy.NOBODY:
        raise RefusedError(state.refusal, unchanged=True)
    refuse_protected(state)
    default = state.default if state.handling is ModuleCRHandling.IGNORE else None
    kept = (managed for managed in state.remaining.theirs if managed.ownership is ObjectOwnership.KEPT_BY_USER)
    asked = (
        state.remaining.theirs
        if state.managed_by is ManagedBy.DIRECT
        else tuple(managed for managed in (*state.theirs, *kept) if managed != default)
    )
    blocking = [
        managed for managed in asked if managed.deleted_at is None
    ]  # what goes already is waited for without a yes
    cascade = request.cascade or state.handling is ModuleCRHandling.UNMANAGE
    consent = DeletionConsent(state.accepted, cascade, request.accept_unknown)
    require_known(state.remaining, state.module, consent)
    require_cascade(blocking, state.module, consent)


def refuse_protected(state: DeletionState) -> None:
    """Raise RefusedError where the server would refuse to delete an object, before anything else is deleted."""
    if state.handling is ModuleCRHandling.UNMANAGE:
        return
    protected = [managed for managed in state.deleted_objects if managed.protection and managed.deleted_at is None]
    if protected:
        names = first_of((f"{managed.ref}: {managed.protection}" for managed in protected), 3, "; ")
        raise RefusedError(
            f"{state.module} cannot be deleted: {names}",
            hint="remove the annotation if the object may be deleted, then run the command again",
        )


class Uninstall(Struct, frozen=True):
    """One module that an edit uninstalls, with the plan of its deletion; `failure` says why there is none."""

    request: DeletionRequest
    plan: DeletionPlan | None = None
    failure: str = ""

    @property
    def module(self) -> str:
        return self.request.module

    @property
    def state(self) -> DeletionState | None:
        return self.plan.state if self.plan is not None else None

    @property
    def git(self) -> GitChanges:
        return self.plan.git if self.plan is not None else ()

    @property
    def blocking(self) -> tuple[OwnedObject, ...]:
        """Return what has to be gone before lifecycle-manager removes the module."""
        return tuple(managed.owned for managed in self.state.theirs) if self.state is not None else ()

    @property
    def saved(self) -> bool:
        """Return whether a backup is written for it."""
        state = self.state
        return self.request.backup is not None and state is not None and bool(state.remaining.instances)

    @property
    def refusal(self) -> RefusedError | None:
        """Return why the edit is not made, with the option that allows it; None where it is."""
        if self.plan is None:
            if self.request.accept_unknown:
                return None
            words = f"{self.module} cannot be checked for objects that block its deletion: {self.failure}"
            return RefusedError(words, hint=_UNKNOWN)
        return self.plan.refusal_with_option


def without_backup(plan: DeletionPlan) -> Uninstall:
    """Return the plan of a deletion that has saved its objects already, for the edit that is its next step."""
    request = replace(plan.request, backup=None)
    return Uninstall(request, replace(plan, request=request))


def with_deleted(error: KymatuiError, gone: Sequence[ObjectRef]) -> KymatuiError:
    """Return an error with what was deleted before it: a PartlyDoneError, unless a person cancelled."""
    if not gone:
        return error
    ended = error
    if not isinstance(error, (PartlyDoneError, CancelledError)):
        deleted = f"{format_count(len(gone), 'object')} already deleted"
        ended = PartlyDoneError(f"{error}; {deleted}", hint=error.hint or "run the command again to continue")
    elif isinstance(error, CancelledError) and not error.gone:
        deleted = f"{format_count(len(gone), 'object')} already deleted"
        ended = CancelledError(f"{error}; {deleted}", hint=error.hint, progress=error.progress)
    ended.gone = tuple(dict.fromkeys((*gone, *error.gone)))
    return ended
