"""All jobs of this run, and one job with its steps and log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.jobs import Job, format_job_counts
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.flows.flow_app import FlowApp, flow_app, why_no_plan
from kymatui.ui.flows.job_controller import read_interrupted
from kymatui.ui.flows.resume import resume_record
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.plans import job_rows as words
from kymatui.ui.terminal.plain_widgets import Static, with_tone
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine, TargetLine


async def cancel_job(app: FlowApp, job: Job) -> None:
    """Cancel a job once the user confirms its consequences."""
    question = ConfirmScreen(f"Cancel {job.title}?", words.cancel_consequences(job), targets=app.jobs.targets(job))
    if await app.push_screen_wait(question):
        app.jobs.cancel(job.number)


class JobListing(ListScreen):
    """Base of both screens: the current job can be cancelled or planned again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+x", "cancel_job", "Cancel job", id="jobs.cancel"),
        Binding("r", "again", "Plan again", id="jobs.again"),
    ]

    LEADING_KEYS: ClassVar[frozenset[str]] = frozenset({"cancel_job", "again"})

    @property
    def job(self) -> Job | None:
        """Return the job that the keys apply to."""
        raise AssertionError(f"{type(self).__name__} has no job")

    def show_target(self) -> None:
        """Display the cluster that the job writes to; without a job the displayed cluster."""
        job, here = self.job, self.kymatui.view.target
        targets = flow_app(self).jobs.targets(job) if job is not None else ()
        self.query_one(TargetLine).show_targets(*(targets or ((here,) if here is not None else ())))

    @property
    def interrupted(self) -> JobRecord | None:
        """Return the interrupted job of an earlier run that the keys apply to."""
        return None

    def why_off(self, action: str, choice: object = "") -> str:
        job = self.job if self.frame.is_whole else None
        if action == "cancel_job":
            return "no job selected" if job is None else "already finished" if job.is_over else ""
        if action == "again":
            if self.frame.is_whole and self.interrupted is not None:
                return why_no_plan(self.kymatui)
            is_known = job is not None and flow_app(self).jobs.again(job.number) is not None
            return why_no_plan(self.kymatui) if is_known else "cannot be planned again"
        return super().why_off(action, choice)

    def action_cancel_job(self) -> None:
        if (job := self.job) is not None:
            flow_app(self).jobs.run_flow(cancel_job(flow_app(self), job))

    def action_again(self) -> None:
        if (record := self.interrupted) is not None:
            flow_app(self).jobs.run_flow(resume_record(flow_app(self), record))
            return
        again = flow_app(self).jobs.again(self.job.number) if self.job is not None else None
        if again is not None:
            flow_app(self).jobs.run_flow(again())

    def commands(self) -> Sequence[ScreenCommand]:
        return (ScreenCommand("cancel", "cancel the job", lambda _: self.action_cancel_job()),)


class JobsScreen(JobListing):
    """Table of jobs, newest first, and of the interrupted jobs of earlier runs."""

    KIND = "jobs"
    name_in_help: ClassVar[str] = "Jobs"

    @property
    def job(self) -> Job | None:
        key = self.main_widget().cursor_key
        is_own = key is not None and not key.startswith(words.INTERRUPTED)
        return flow_app(self).jobs.find(int(key)) if key is not None and is_own else None

    @property
    def interrupted(self) -> JobRecord | None:
        number = (self.main_widget().cursor_key or "").removeprefix(words.INTERRUPTED)
        return next((record for record in flow_app(self).jobs.interrupted if record.number == number), None)

    def body(self) -> ComposeResult:
        yield TargetLine()
        yield Static("", id="job-counts")
        yield LiveTable(words.COLUMNS, id="jobs", sort=SortOrder("number", descending=True))
        yield Static(Content("No jobs since kymatui started."), id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def on_screen_resume(self) -> None:
        """Read the journals again: other processes write them as well."""
        app = flow_app(self)
        app.jobs.run_beside(read_interrupted(app, app.jobs))

    def show_catalog(self) -> None:
        if not self.query(StatusLine):
            return
        jobs, interrupted, now = flow_app(self).jobs.all, flow_app(self).jobs.interrupted, self.kymatui.clock()
        counts = [format_job_counts(jobs), *([f"{len(interrupted)} interrupted"] if interrupted else [])]
        self.query_one("#job-counts", Static).update(with_tone("  ".join(filter(None, counts)), "muted"))
        self.main_widget().show([*words.job_rows(jobs, now), *words.interrupted_rows(interrupted, now)])
        self.set_class(flow_app(self).jobs.is_read and not (jobs or interrupted), "-empty")
        self._show_words()

    @on(RowTable.Highlighted)
    def _show_words(self) -> None:
        """Display the whole text that the table may clip."""
        self.show_target()
        job, record = self.job, self.interrupted
        if record is not None:
            text = (
                f"{record.number} {record.title}: interrupted ({record.state_words}). {words.interrupted_line(record)}"
            )
            self.query_one(StatusLine).show(with_tone(sanitize(text), "warning"))
            self.refresh_bindings()
            return
        text = (
            f"#{job.number} {job.title}: {'waiting for ' * bool(job.waits_for)}"
            f"{words.job_status_line(job)} {self._advice(job)}"
            if job is not None
            else ""
        )
        self.query_one(StatusLine).show(
            with_tone(sanitize(text.strip()), words.TONES[job.state] if job is not None else "")
        )
        self.refresh_bindings()

    def _advice(self, job: Job) -> str:
        return words.stalled_hint(job, self.kymatui.clock()) or job.hint

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        if event.key.startswith(words.INTERRUPTED):
            self.action_again()
            return
        self.kymatui.ways.open(ScreenStep("job", event.key))


class JobScreen(JobListing):
    """One job: its steps above, its log below."""

    name_in_help: ClassVar[str] = "Job"

    def __init__(self, number: str) -> None:
        super().__init__()
        self._number = number

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("job", self._number)

    @property
    def job(self) -> Job | None:
        return flow_app(self).jobs.find(int(self._number))

    def body(self) -> ComposeResult:
        yield TargetLine()
        yield Static("", id="job-head")
        yield Static("", id="job-steps")
        yield LiveTable(words.LOG_COLUMNS, id="job-log", opens=False)
        yield StatusLine(id="reason")

    def exports(self) -> Mapping[str, Callable[[], str]]:
        job = self.job
        log = {"log": partial(words.log_text, job)} if job is not None else {}
        return {**log, **super().exports()}

    async def action_save(self) -> None:
        """Save the whole log to a file named after the job."""
        job = self.job
        if job is not None:
            await self.command_line.open_command(f"save {words.log_name(job)}")

    def show_catalog(self) -> None:
        job = self.job
        if not self.query(LiveTable) or job is None:
            return
        self.show_target()
        now, table = self.kymatui.clock(), self.main_widget()
        tone = words.TONES[job.state]
        head = [with_tone(f"#{job.number} {sanitize(job.title)}", "", bold=True), Content("   ")]
        head += [with_tone(f"{job.state.value}   {words.progress_bar(job.share)}", tone)]
        waits = "waiting for " if job.waits_for else ""
        head += [with_tone(f"\n{waits}{sanitize(words.job_status_line(job))}", "accent" if job.waits_for else tone)]
        hint, quiet = job.hint, words.stalled_hint(job, now)
        head += [with_tone(f"\n{sanitize(quiet or hint)}", "warning" if quiet else "muted")] if quiet or hint else []
        self.query_one("#job-head", Static).update(Content.assemble(*head))
        lines = [with_tone(line, tone) for line, tone in words.step_lines(job, now)]
        self.query_one("#job-steps", Static).update(Content("\n").join(lines))
        at_end = table.cursor_key is None or table.cursor_key == (table.rows[-1].key if table.rows else None)
        table.show(words.log_rows(job))
        if at_end:  # a cursor on an earlier line stays there
            table.action_edge(1)
        self._show_line()
        self.refresh_bindings()

    @on(RowTable.Highlighted)
    def _show_line(self) -> None:
        """Display the whole log line, which the table may clip."""
        job, key = self.job, self.main_widget().cursor_key
        if job is not None and key is not None and 0 <= (index := int(key) - job.dropped) < len(job.log):
            line = job.log[index]
            about = f" ({line.about})" if line.about else ""
            self.query_one(StatusLine).show(with_tone(sanitize(f"{line.message}{about}"), ""))
