"""What journals say of jobs: what each has done, which were interrupted, and what of them is left. Reads no file.

A job was interrupted if its process is dead, or if it began to change something and did not come to its end: stopped
by a person, at a time limit, by an error. It leaves the list when it is done, or when a later job on the same cluster
has taken up the same modules.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName
from kymatui.domain.plans.jobs import RUNTIMES, JobState
from kymatui.engine.jobs.identity import is_dead
from kymatui.engine.jobs.job_progress import JobProgress, merge_progress
from kymatui.engine.jobs.journal import JOB_STEP, JobHeading, JournalEntry, JournalMark

MODULE_STEP: Final = "module"
"""The step of one module in a job on several: those that are done are not continued."""
RUNTIME_STEP: Final = "edit runtime"
"""The step of one runtime, or of one context, in a job on a fleet."""


class JobRecord(Struct, frozen=True):
    """One job as its journal says it.

    number  what a person types to continue it
    began   of its last run, in Unix seconds; `run` is the identity of that run
    state   how the last run ended, None if no end is written
    steps   the last line of each step
    """

    number: str
    heading: JobHeading
    began: float
    run: str
    state: JobState | None = None
    steps: tuple[JournalEntry, ...] = ()

    @property
    def title(self) -> str:
        """Return the job in words: "delete api-gateway"."""
        return self.heading.title or " ".join((self.heading.kind, *self.heading.modules))

    @property
    def cluster(self) -> ClusterName:
        return self.heading.cluster_name

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return what the job is about: its modules, else its kind; a later job on the same replaces it."""
        return self.heading.modules or (self.heading.kind,)

    @property
    def state_words(self) -> str:
        """Return how the last run ended."""
        return _STATE_WORDS.get(self.state, "failed") if self.state is not None else "killed"

    @property
    def done(self) -> tuple[JournalEntry, ...]:
        """Return the completed steps, without those of whole modules."""
        return tuple(step for step in self.steps if step.mark is JournalMark.DONE and step.what != MODULE_STEP)

    @property
    def unfinished(self) -> tuple[JournalEntry, ...]:
        """Return the steps that began and have no result, or failed."""
        return tuple(step for step in self.steps if step.mark is not JournalMark.DONE and step.what != MODULE_STEP)

    @property
    def counts(self) -> str:
        """Return how much of it the journal has as done: "3 deletion requested, 1 unknown"."""
        return ", ".join(filter(None, (part.counts for part in job_progress(self.heading, self.steps))))

    @property
    def completed(self) -> frozenset[str]:
        """Return the modules of which nothing is left."""
        return frozenset(s.on for s in self.steps if s.what == MODULE_STEP and s.mark is JournalMark.DONE)

    @property
    def is_fleet(self) -> bool:
        """Return whether it edits several runtimes of a control plane, or several contexts."""
        return RUNTIMES in self.heading.options

    @property
    def is_on_contexts(self) -> bool:
        return self.is_fleet and _is_on_contexts(self.heading)

    def describe(self, steps: Iterable[JournalEntry]) -> list[str]:
        """Return steps for people: "edit context prod-eu", "delete APIRule shop/orders"."""
        is_renamed = self.is_on_contexts
        return [
            f"edit context {split_name(step.on)[1]}"
            if is_renamed and step.what == RUNTIME_STEP
            else f"{step.what} {step.on}".strip()
            for step in steps
        ]

    @property
    def resume_command(self) -> str:
        """Return the command that continues it; the control plane of a runtime is known by its identity."""
        command, runtime = f"kymatui resume {self.number}", self.cluster.runtime if self.cluster.control else ""
        if self.is_on_contexts:
            return f"{command} --contexts"
        remote = f" --remote {runtime.rpartition('/')[2]}" if runtime else ""
        return f"{command} --context {shlex.quote(self.cluster.name.removesuffix(f'/{runtime}'))}{remote}"

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Return the runtimes of a fleet's job that are not done, as `CampaignStep` names them."""
        done = {s.on for s in self.steps if s.what == RUNTIME_STEP and s.mark is JournalMark.DONE}
        return tuple(runtime for runtime in fleet_of(self.heading) if runtime not in done)

    @property
    def is_running(self) -> bool:
        """Return whether its process may still work on it."""
        return self.state is None and not is_dead(self.run)

    @property
    def is_done(self) -> bool:
        return self.state is JobState.DONE

    @property
    def is_interrupted(self) -> bool:
        """Return whether it was interrupted; one that ended before it changed anything was not."""
        if self.state is None:
            return is_dead(self.run)
        return not self.is_done and bool(self.steps)


_STEP_WORDS: Final = {
    "delete": ("Requested to delete", "", ""),
    "create": ("Created", "", ""),
    "change": ("Changed", "", ""),
    "edit": ("Edited", "", ""),
    RUNTIME_STEP: ("Changed", "", "Not changed"),
    "remove finalizer": ("Finalizer removed", "", ""),
}
_STATE_WORDS: Final = {JobState.CANCELLED: "stopped", JobState.PARTLY: "partly done"}


def read_record(number: str, entries: Iterable[JournalEntry]) -> JobRecord | None:
    """Return what a journal says of its job; None if not even the first line was written."""
    record: JobRecord | None = None
    steps: dict[tuple[str, str], JournalEntry] = {}
    for entry in entries:
        if entry.job is not None:
            record = JobRecord(number, entry.job, entry.time, entry.run)
        elif record is not None and entry.what == JOB_STEP:
            record = replace(record, state=_state(entry))
        elif record is not None:
            steps[entry.what, entry.on] = entry
    return replace(record, steps=tuple(steps.values())) if record is not None else None


def _state(entry: JournalEntry) -> JobState:
    try:
        return JobState(entry.state)
    except ValueError:  # of another version of kymatui
        return JobState.DONE if entry.mark is JournalMark.DONE else JobState.FAILED


def _is_on_contexts(heading: JobHeading) -> bool:
    return not heading.cluster_name.differs_from(ALL_CONTEXTS)


def fleet_of(heading: JobHeading) -> tuple[str, ...]:
    """Return the runtimes of a job on a fleet, () for other jobs."""
    return tuple(unquote(name) for name in heading.options.get(RUNTIMES, "").split(",") if name)


def join_runtimes(names: Iterable[str]) -> str:
    """Return the names as one option of a journal; a context's name may have commas."""
    return ",".join(quote(name, safe="/:@ ") for name in names)


def job_progress(heading: JobHeading, steps: Iterable[JournalEntry]) -> tuple[JobProgress, ...]:
    """Return what a journal knows of a job without the cluster: an accepted deletion may still be under way."""

    def label(name: str) -> str:
        return split_name(name)[1] if _is_on_contexts(heading) else name

    some = [step for step in steps if step.what in _STEP_WORDS]
    parts = [
        JobProgress(
            _STEP_WORDS[step.what],
            done=(label(step.on),) if step.mark is JournalMark.DONE else (),
            unknown=(label(step.on),) if step.mark is not JournalMark.DONE else (),
        )
        for step in some
    ]
    begun = {step.on for step in some if step.what == RUNTIME_STEP}
    if remaining := tuple(label(runtime) for runtime in fleet_of(heading) if runtime not in begun):
        parts.append(JobProgress(_STEP_WORDS[RUNTIME_STEP], remaining=remaining))
    return merge_progress(parts)


def of_cluster(records: Iterable[JobRecord], cluster: ClusterName) -> tuple[JobRecord, ...]:
    """Return the jobs on a cluster."""
    return tuple(record for record in records if not record.cluster.differs_from(cluster))


def interrupted_jobs(records: Iterable[JobRecord]) -> tuple[JobRecord, ...]:
    """Return the interrupted jobs, newest first, each with the modules that no later job has taken up."""
    known = sorted(records, key=lambda record: -record.began)
    return tuple(_interrupted(known))


def _interrupted(newest_first: list[JobRecord]) -> Iterator[JobRecord]:
    for number, record in enumerate(newest_first):
        if not record.is_interrupted:
            continue
        later = [other for other in of_cluster(newest_first[:number], record.cluster) if _replaces(other)]
        if record.is_fleet:
            same = [other.heading for other in later if other.heading.modules == record.heading.modules]
            taken_runtimes = {runtime for heading in same for runtime in fleet_of(heading)}
            runtimes = [runtime for runtime in fleet_of(record.heading) if runtime not in taken_runtimes]
            options = {**record.heading.options, RUNTIMES: join_runtimes(runtimes)}
            rest = replace(record, heading=replace(record.heading, options=options))
            if rest.runtimes:
                yield rest
            continue
        taken = {subject for other in later for subject in other.subjects} | record.completed
        remaining = tuple(subject for subject in record.subjects if subject not in taken)
        if remaining:
            modules = remaining if record.heading.modules else ()
            yield replace(record, heading=replace(record.heading, modules=modules))


def _replaces(record: JobRecord) -> bool:
    return record.is_done or record.state is None or bool(record.steps)


def unfinished_runtimes(
    records: Iterable[JobRecord], kind: str, module: str, options: Mapping[str, str]
) -> frozenset[str]:
    """Return the runtimes whose last edit of a module is this one, and has not come to its end."""
    last: dict[str, tuple[bool, JournalMark]] = {}
    for record in sorted(records, key=lambda entry: entry.began):
        heading = record.heading
        if heading.modules != (module,) or not record.is_fleet:
            continue
        is_same = heading.kind == kind and _edit_of(heading.options) == _edit_of(options)
        for step in record.steps:
            if step.what == RUNTIME_STEP:
                last[step.on] = (is_same, step.mark)
    return frozenset(name for name, (is_same, mark) in last.items() if is_same and mark is not JournalMark.DONE)


def _edit_of(options: Mapping[str, str]) -> tuple[str, str]:
    return options.get("channel", ""), options.get("policy", "")
