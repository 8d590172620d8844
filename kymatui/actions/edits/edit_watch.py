"""The wait for what edits of the Kyma set off, side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kymatui.domain.kyma.problems import Actor, action_of
from kymatui.engine.jobs.job_progress import EDIT_WORDS, JobProgress
from kymatui.engine.jobs.run import USER_ACTION_SECONDS
from kymatui.errors import CancelledError

if TYPE_CHECKING:
    from kymatui.domain.kyma_edit.edit_progress import EditProgress
    from kymatui.domain.kyma_edit.module_edit import EditProposal

_YOURS_BEFORE: Final = 3.0  # instead of USER_ACTION_SECONDS, where this run edited nothing
_LOOK = 1.0  # seconds between two stages where nothing changes, so that a deadline and a cancel are noticed


class StartedEdit(Struct, frozen=True):
    """An edit that is followed; `generation` is the Kyma's after it, 0 where this run did not make it."""

    proposal: EditProposal
    generation: int = 0


class EditOutcome(Struct, frozen=True):
    """The last stage of an edit, and why it has not come to its end; "" where it has."""

    stage: EditProgress
    failed: str = ""


class EditWatch:
    """One wait for what several edits set off; `edited` names them in order, and whether this run made them."""

    def __init__(
        self,
        stages: Sequence[Callable[[], EditProgress]],
        edited: Mapping[str, bool],
        changed: threading.Event,
        timeout: float,
        progress: Callable[[int, EditProgress], None],
        cancel: threading.Event | None,
        silent: Callable[[], str],
        *,
        unattended: bool,
    ) -> None:
        self._stages, self._names, self._edited = stages, tuple(edited), tuple(edited.values())
        self._changed, self._timeout, self._progress, self._cancel = changed, timeout, progress, cancel
        self._silent, self._unattended = silent, unattended
        self._last: list[EditProgress | None] = [None] * len(stages)
        self._yours: list[float | None] = [None] * len(stages)
        """Since when only a person can take it further."""

    def ends(self) -> list[EditOutcome]:
        deadline = time.monotonic() + self._timeout
        ended: dict[int, EditOutcome] = {}
        while True:
            self._changed.clear()
            is_over = time.monotonic() >= deadline
            for at in range(len(self._stages)):
                if at not in ended and (outcome := self._poll(at, is_over=is_over)) is not None:
                    ended[at] = outcome
            if len(ended) == len(self._stages):
                return [ended[at] for at in range(len(self._stages))]
            if self._cancel is not None and self._cancel.is_set():
                summary = "the Kyma is edited" if any(self._edited) else "no changes made"
                raise CancelledError(f"{summary}; stopped waiting for its effect", progress=(self._stopped(ended),))
            self._changed.wait(min(_LOOK, max(0.0, deadline - time.monotonic())))

    def _stopped(self, ended: Mapping[int, EditOutcome]) -> JobProgress:
        """Return which effects came to their end, and what the others wait for."""
        done = tuple(name for at, name in enumerate(self._names) if at in ended and not ended[at].failed)
        others = ((name, self._last[at]) for at, name in enumerate(self._names) if name not in done)
        return JobProgress(EDIT_WORDS, done, tuple((name, last.message if last else "") for name, last in others))

    def _poll(self, at: int, *, is_over: bool) -> EditOutcome | None:
        """Return how it ended, None where it is still waited for."""
        now = self._stages[at]()
        if now != self._last[at]:
            self._progress(at, now)
            self._last[at] = now
        summary = "the Kyma is edited" if self._edited[at] else "no changes made"
        if now.finished:
            return EditOutcome(now, f"{summary}; {now.message}" if now.held else "")
        if now.lost:
            return EditOutcome(now, f"{summary}; {now.message}")
        if self._is_yours(at, now):
            return EditOutcome(now, f"{summary}; action needed: {action_of(now.message)}")
        if is_over:
            waited = f"not finished within {round(self._timeout, 1):g} s" if self._timeout > 0 else "not waited for"
            return EditOutcome(now, f"{summary}; {waited}: {self._silent() or now.message}")
        return None

    def _is_yours(self, at: int, now: EditProgress) -> bool:
        """Return whether only a person can take it further, and has been the only one for a while."""
        if now.actor is not Actor.YOU or not self._unattended:
            self._yours[at] = None
            return False
        since = self._yours[at] = self._yours[at] or time.monotonic()
        return time.monotonic() - since >= (USER_ACTION_SECONDS if self._edited[at] else _YOURS_BEFORE)
