"""A story: steps that each wait for a state of the cluster and then change it.

Situations of the sample world develop as on a real cluster: first an installation, then a change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import SandboxClock, Timer
from kymatui.sandbox.apimachinery.statuses import StatusError

log = logging.getLogger(__name__)
LOOK_SECONDS = 0.2
FIRST_LOOK_SECONDS = 0.025
"""The first pause between two checks, doubled up to `LOOK_SECONDS`: until the first step, nothing is on the screen."""
PATIENCE_SECONDS = 120.0


class StoryStep(Struct, frozen=True, dict=True):
    """One step; `do` runs once, when `when` becomes true."""

    name: str
    when: Callable[[], bool]
    do: Callable[[], None]


class Story:
    """Runs its chapters (ordered lists of steps) in parallel; `done` after the last step."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._chapters: list[list[StoryStep]] = []
        self._ends: list[list[StoryStep]] = []
        self._timer: Timer | None = None
        self._end = 0.0
        self._pause = FIRST_LOOK_SECONDS

    def add(self, *steps: StoryStep) -> None:
        self._chapters.append(list(steps))

    def end_with(self, step: StoryStep) -> None:
        """Add a step after the end of all chapters."""
        self._ends.append([step])

    def begin(self) -> None:
        self._end = self._clock.now() + PATIENCE_SECONDS
        self._poll()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def done(self) -> bool:
        return not any(self._chapters) and not any(self._ends)

    @property
    def given_up(self) -> bool:
        """Return whether the story timed out."""
        return not self.done and self._end > 0 and self._clock.now() > self._end

    @property
    def waiting_for(self) -> list[str]:
        """Return the names of the next steps."""
        return [steps[0].name for steps in (*self._chapters, *self._ends) if steps]

    def _poll(self) -> None:
        self._timer = None
        for steps in self._chapters:
            self._advance(steps)
        if not any(self._chapters):
            for steps in self._ends:
                self._advance(steps)
        if self.done:
            return
        if self._clock.now() > self._end:
            log.warning("the sample world is not complete: %s", ", ".join(self.waiting_for))
            return
        self._timer = self._clock.call_later(self._pause, self._poll)
        self._pause = min(2 * self._pause, LOOK_SECONDS)

    @staticmethod
    def _advance(steps: list[StoryStep]) -> None:
        while steps and steps[0].when():
            try:
                steps[0].do()
            except (LookupError, StatusError) as error:
                log.debug("%s: %s", steps[0].name, error)
                return
            steps.pop(0)
