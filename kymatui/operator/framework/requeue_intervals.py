"""The seconds until the next reconciliation of an unchanged object, by its state."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kyma.states import State


class RequeueIntervals(Struct, frozen=True):
    """Seconds by state, with lifecycle-manager's defaults.

    soon     until the next step of a reconciliation that has several
    backoff  until a failure is retried
    """

    success: float = 300.0
    busy: float = 5.0
    warning: float = 30.0
    error: float = 2.0
    soon: float = 0.2
    backoff: Backoff = Backoff(0.5, 30.0)

    @classmethod
    def every(cls, seconds: float) -> RequeueIntervals:
        """Return the same interval for all states; a retry takes at most twice as long."""
        return cls(seconds, seconds, seconds, seconds, min(0.2, seconds), Backoff(min(0.5, seconds), 2 * seconds))

    def with_interval(self, state: str, seconds: float) -> RequeueIntervals:
        """Return these intervals with another one for "success", "busy", "warning" or "error"."""
        return replace(self, **{state: seconds})

    def of(self, state: str) -> float:
        """Return the seconds for an object in this state; Unmanaged and unknown states count as success."""
        by_state = {
            State.ERROR: self.error,
            State.WARNING: self.warning,
            State.PROCESSING: self.busy,
            State.DELETING: self.busy,
        }
        return next((seconds for known, seconds in by_state.items() if known == state), self.success)
