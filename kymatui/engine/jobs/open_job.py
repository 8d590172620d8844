"""A job that is running: its journal from the accepted plan to the end, and what a stop of it says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName
from kymatui.domain.plans.jobs import JobState, end_state
from kymatui.engine.jobs.job_progress import JobProgress, stopped_error
from kymatui.engine.jobs.job_records import MODULE_STEP, job_progress
from kymatui.engine.jobs.journal import JobHeading, Journal, JournalMark
from kymatui.errors import CancelledError, KymatuiError, StoppedError

_MODULES: Final = ("Done", "", "Not started")


class OpenJob:
    """One run of a job."""

    def __init__(
        self,
        number: str,
        journal: Journal,
        heading: JobHeading,
        others: Callable[[ClusterName], bool],
        *,
        is_resumed: bool = False,
    ) -> None:
        """Begin the job; `others` returns whether further jobs on a cluster were interrupted."""
        self.number, self.journal = number, journal
        self._heading, self._others, self._is_resumed = heading, others, is_resumed
        self._started = list[str]()
        self._completed = list[JobProgress]()
        journal.begin(heading)

    def identify(self, cluster: ClusterName) -> None:
        """Write which cluster the job is on, once that is known."""
        self._heading = msgspec.structs.replace(
            self._heading, cluster=cluster.name, identity=cluster.identity, control=cluster.control
        )
        self.journal.begin(self._heading)

    def start(self, module: str) -> None:
        """Note that a module of several is begun: those that are not are left at a stop."""
        self._started.append(module)

    def complete(self, module: str, progress: JobProgress | None = None) -> None:
        """Write that nothing is left of a module; `progress` is what was done."""
        self.journal.write(JournalMark.DONE, MODULE_STEP, module)
        self._completed += [progress] if progress is not None else []

    def end(self, error: BaseException | None) -> None:
        """Write how it ended."""
        state = _state(error)
        self.journal.end(JournalMark.DONE if state is JobState.DONE else JournalMark.FAILED, state.value)

    @contextlib.contextmanager
    def recorded(self) -> Iterator[OpenJob]:
        """Run the job; write its end whatever ends it. Raise CancelledError with its progress if a person stops it."""
        try:
            yield self
        except BaseException as error:
            self.end(error)
            if isinstance(error, CancelledError):
                raise self.stopped(error) from error
            raise
        self.end(None)

    def stopped(self, error: CancelledError) -> StoppedError:
        """Return the error of its stop; without a progress that the cluster was asked for, as the journal has it."""
        steps, resume = self.journal.steps, ""
        if steps or self._is_resumed:
            has_others = self._others(self._heading.cluster_name)
            resume = f"kymatui resume {self.number}" if has_others else "kymatui resume"
            resume += "" if self._heading.cluster_name.differs_from(ALL_CONTEXTS) else " --contexts"
        here = error.progress or job_progress(self._heading, steps)
        remaining = tuple(name for name in self._heading.modules if self._started and name not in self._started)
        parts = (*self._completed, *here, JobProgress(_MODULES, remaining=remaining))
        stopped = stopped_error(parts, resume, at_once=error.is_at_once)
        stopped.gone, stopped.exit_code = error.gone, error.exit_code
        return stopped


def _state(error: BaseException | None) -> JobState:
    if error is None:
        return JobState.DONE
    return end_state(error) if isinstance(error, KymatuiError) else JobState.CANCELLED
