"""Jobs as rows and texts."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.jobs import Job, JobState, JobStep, StepState
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.lists.columns import SIGNS, Cell, Column
from kymatui.moments import format_duration
from kymatui.ui.viewmodels.display_text import clock_time
from kymatui.ui.viewmodels.row_list import Row

QUIET = 300.0
"""Seconds without any change after which a job that waits says whom to look after."""

COLUMNS = (
    Column("number", "#", 6, right=True, falls=True),
    Column("job", "JOB", 24, flex=2),
    Column("state", "STATE", 13),
    Column("progress", "PROGRESS", 15, priority=2),
    Column("step", "STEP", 14, flex=1, priority=3),
    Column("elapsed", "TIME", 5, priority=1, right=True),
    Column("waits", "WAITING FOR", 20, flex=3, wraps=True),
)
LOG_COLUMNS = (
    Column("time", "UTC", 8),
    Column("what", "WHAT", 50, flex=3, wraps=True),
    Column("about", "OBJECT", 24, flex=1, priority=1),
)

TONES = {
    JobState.QUEUED: "muted",
    JobState.RUNNING: "processing",
    JobState.STOPPING: "deleting",
    JobState.DONE: "ready",
    JobState.PARTLY: "warning",
    JobState.FAILED: "error",
    JobState.REFUSED: "warning",
    JobState.CANCELLED: "unmanaged",
}
_STEP_TONES = {
    StepState.AHEAD: "muted",
    StepState.RUNNING: "processing",
    StepState.DONE: "ready",
    StepState.FAILED: "error",
    StepState.LEFT: "unmanaged",
}
_BAR = 10  # cells of a progress bar: one for each 10 percent


def progress_bar(share: float) -> str:
    """Return a bar such as `██████░░░░  60%`."""
    full = int(share * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {int(share * 100):3d}%"


def job_rows(jobs: Iterable[Job], now: float) -> list[Row]:
    """Return the jobs, newest first; ended jobs are dimmed."""
    return [_row(job, now) for job in reversed(tuple(jobs))]


def _row(job: Job, now: float) -> Row:
    tone = TONES[job.state]
    cells = {
        "number": Cell(str(job.number), "muted", order=job.number),
        "job": Cell(sanitize(job.title), "strong"),
        "state": Cell(f"{SIGNS[tone]} {job.state.value}", tone),
        "progress": Cell("" if job.state is JobState.QUEUED else progress_bar(job.share), tone, order=job.share),
        "step": Cell(sanitize(format_steps(job)), "muted"),
        "elapsed": Cell(format_duration(job.elapsed(now)), "muted", order=job.elapsed(now)),
        "waits": Cell(
            sanitize(_waits(job, now)), "warning" if stalled_hint(job, now) else "accent" if job.waits_for else ""
        ),
    }
    return Row(str(job.number), cells)


INTERRUPTED = "interrupted "
"""The prefix of the keys of interrupted jobs in the table."""


def interrupted_rows(records: Iterable[JobRecord], now: float) -> list[Row]:
    """Return the interrupted jobs of earlier runs, newest first."""
    return [_interrupted_row(record, now) for record in records]


def _interrupted_row(record: JobRecord, now: float) -> Row:
    cells = {
        "number": Cell(record.number, "muted", order=-1),
        "job": Cell(sanitize(record.title), "strong"),
        "state": Cell(f"{SIGNS['warning']} interrupted", "warning"),
        "progress": Cell(""),
        "step": Cell(record.state_words, "muted"),
        "elapsed": Cell(format_duration(max(0.0, now - record.began)), "muted", order=now - record.began),
        "waits": Cell(sanitize(interrupted_line(record)), "warning"),
    }
    return Row(f"{INTERRUPTED}{record.number}", cells)


def interrupted_line(record: JobRecord) -> str:
    """Return how much an interrupted job has done, and what continues it."""
    return f"{record.counts}; r resumes it" if record.counts else "r resumes it"


def format_steps(job: Job) -> str:
    """Return the progress as `4/8 wait until gone`, "" without steps."""
    step = job.step
    if not job.steps:
        return ""
    if step is None:
        return f"{job.steps_done}/{len(job.steps)}"
    return f"{job.steps.index(step) + 1}/{len(job.steps)} {step.title}"


def job_status_line(job: Job) -> str:
    """Return what the job waits for and who must act, else its current step, else its result."""
    if not job.waits_for:
        count = f"{job.done}/{job.total} " if job.total and not job.is_over else ""
        return f"{count}{job.message}"
    return f"{job.actor.value}: {job.waits_for}" if job.actor.value else job.waits_for


def background_job_line(job: Job, now: float) -> str:
    """Return the line of a background job: its action, its duration, and the keys to open or stop it."""
    doing = f"waiting for {job_status_line(job)}" if job.waits_for else job_status_line(job) or job.state.value
    quiet = stalled_hint(job, now)
    since = f", {format_duration(job.elapsed(now))} so far" if job.began else ""
    more = f"; {quiet}" if quiet else ""
    line = f"#{job.number} {job.title}: {doing}{since}{more}"
    return f"{line} (continues in the background; J opens it, ctrl-x stops it)"


def _waits(job: Job, now: float) -> str:
    quiet = stalled_hint(job, now)
    return f"{quiet} ({job_status_line(job)})" if quiet else job_status_line(job)


def stalled_hint(job: Job, now: float) -> str:
    """Return which component to check when a job has waited for minutes without progress, else ""."""
    past = now - (job.log[-1].time if job.log else job.began)
    if job.state is not JobState.RUNNING or not job.waits_for or past < QUIET:
        return ""
    if job.actor is Actor.YOU:
        return f"no progress for {format_duration(past)}: action needed"
    check = f": check that {job.actor.value} is running" if job.actor.value else ""
    return f"no progress for {format_duration(past)}{check}"


def step_lines(job: Job, now: float) -> Iterator[tuple[str, str]]:
    """Yield one line per step with its tone."""
    for number, step in enumerate(job.steps, 1):
        tone = _STEP_TONES[step.state]
        yield f"{SIGNS[tone]} {number} {sanitize(step.title)}{_duration(step, now)}", tone


def _duration(step: JobStep, now: float) -> str:
    return f"   {format_duration((step.ended or now) - step.began)}" if step.began else ""


def log_rows(job: Job) -> list[Row]:
    """Return the log in its order."""
    rows = []
    for number, line in enumerate(job.log, job.dropped):
        moment = clock_time(line.time)
        cells = {
            "time": Cell(moment, "muted"),
            "what": Cell(sanitize(line.message)),
            "about": Cell(sanitize(line.about), "muted"),
        }
        rows.append(Row(str(number), cells))
    return rows


def log_text(job: Job) -> str:
    """Return the log as a file: one line per entry, with the time in UTC."""
    lines = [f"# #{job.number} {job.title}: {job.state.value}"]
    lines += [f"# {format_count(job.dropped, 'earlier line')} dropped"] if job.dropped else []
    for line in job.log:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(line.time))
        lines.append(" ".join(filter(None, (moment, line.message, line.about and f"({line.about})"))))
    return "".join(f"{sanitize(line)}\n" for line in lines)


def log_name(job: Job) -> str:
    """Return a file name such as `job-2-upgrade-keda-1.5.0.log`."""
    title = "-".join(re.findall(r"[A-Za-z0-9._]+", job.title))[:60]
    return f"job-{job.number}-{title}.log"


def format_ending(job: Job) -> str:
    """Return the result for a notification."""
    line = f"#{job.number} {job.title}: {job.message or job.state.value}"
    return f"{line.removesuffix('.')}. {job.hint}" if job.hint else line


def cancel_consequences(job: Job) -> str:
    """Return the consequences of cancelling the job."""
    if job.state is JobState.QUEUED:
        return "The job has not started. No changes made."
    step = f"step `{format_steps(job)}`" if job.step is not None else "the current request"
    return f"kymatui stops after {step}. {job.stays[:1].upper()}{job.stays[1:]}."
