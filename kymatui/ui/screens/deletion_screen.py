"""Guided deletion of one module: the stages on the left, the remaining objects on the right.

The screen stores only the user's choices. It reads the cluster after every change, so that you can leave it and open
it again, here or on another machine. The next steps are displayed as a plan and run as a job.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.jobs import Job
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.flows.deletion_reader import PAUSE, DeletionChoices, DeletionReader
from kymatui.ui.flows.flow_app import flow_app, why_no_plan
from kymatui.ui.navigation.history import ScreenStep, object_step
from kymatui.ui.presenters.plans import deletion_stages as words
from kymatui.ui.presenters.plans.job_rows import background_job_line
from kymatui.ui.terminal.plain_widgets import Box, Static, VerticalScroll, tone_lines, with_tone
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import TargetLine


class DeletionScreen(FramedScreen):
    """Stepper, table of remaining objects, and notes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "go_on", "Review plan", id="delete.go-on"),
        Binding("f", "finalizer", "Remove finalizer…", id="delete.finalizer"),
        Binding("l", "open('logs')", "Logs of the manager", show=False, id="delete.logs"),
        Binding("w", "choose('way')", "Next option", id="delete.way"),
        Binding("b", "choose('backup')", "Turn backup on or off", id="delete.backup"),
        Binding("r", "choose('crds')", "Keep or delete the chart's CRDs", show=False, id="delete.crds"),
        Binding("ctrl+x", "cancel_job", "Cancel job", id="delete.cancel"),
        Binding(
            "u", "choose('unknown')", "Assume that unlisted kinds have no objects", show=False, id="delete.unknown"
        ),
    ]

    WRITES: ClassVar[frozenset[str]] = frozenset({"finalizer"})
    LEADING_KEYS: ClassVar[frozenset[str]] = frozenset({"go_on", "finalizer", "cancel_job"})
    name_in_help: ClassVar[str] = "Deletion"

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        self.reader = DeletionReader(module)
        self.choices = DeletionChoices(module)

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("delete", self.module)

    @property
    def next_step(self) -> NextStep | None:
        """Return the next step; None before the first reading."""
        state = self.reader.state
        return state.next_step(accept_unknown=self.choices.accept_unknown) if state is not None else None

    def body(self) -> ComposeResult:
        yield TargetLine()
        with Box(id="departing"):
            yield Static("", id="stations")
            with Box(id="departing-right"):
                yield Static("", id="departing-title")
                yield LiveTable(words.COLUMNS, id="left-over")
        with VerticalScroll(id="departing-notes", can_focus=False):
            yield Static("", id="departing-words")

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.main_widget())
        self.set_interval(PAUSE / 2, self._read_again)
        self._draw()

    def show_catalog(self, *, at_once: bool = False) -> None:
        self.reader.request(at_once=at_once)
        self._read_again()

    def _read_again(self) -> None:
        can_read = self.is_current and self.frame.is_whole and self.kymatui.catalog is not None
        if can_read and self.reader.begin(busy=self._job is not None):
            self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        await self.reader.read(flow_app(self), self.choices)
        if self.frame.is_whole:
            self._draw()

    # display

    def _draw(self) -> None:
        state, error, target = self.reader.state, self.reader.error, self.kymatui.view.target
        self.query_one(TargetLine).show_targets(*((target,) if target is not None else ()))
        title = self.query_one("#departing-title", Static)
        if state is None:
            loading = f"loading the objects that {self.module} manages…"
            text = f"cannot read the cluster: {error}" if error else loading
            title.update(with_tone(sanitize(text), "error" if error else "muted"))
        else:
            accept_unknown = self.choices.accept_unknown
            title.update(with_tone(*words.remaining_title(state, accept_unknown=accept_unknown), bold=True))
            stages = words.stage_lines(state, accept_unknown=accept_unknown, begun=self.reader.begun)
            self.query_one("#stations", Static).update(tone_lines(stages))
            self.main_widget().show(words.deletion_rows(state, self.kymatui.clock()))
            self._show_notes()
        self.refresh_bindings()

    @on(RowTable.Highlighted)
    def _show_notes(self) -> None:
        state, job = self.reader.state, self._job
        if state is None:
            return
        notes = words.deletion_notes(state, accept_unknown=self.choices.accept_unknown)
        if self.reader.error:
            notes.insert(0, (f"the data is out of date: {sanitize(self.reader.error)}", "error"))
        if job is not None:
            notes.insert(0, (sanitize(background_job_line(job, self.kymatui.clock())), "processing"))
        notes += words.full_row_text(state, self.main_widget().cursor_key)
        if self.next_step is not NextStep.GONE:
            notes.append(words.backup_line(self.choices.keeps_backup))
            notes += words.crd_line(state, self.choices.delete_crds)
        self.query_one("#departing-words", Static).update(tone_lines(notes))

    @property
    def _job(self) -> Job | None:
        return flow_app(self).jobs.own_job(self.module)

    # user input

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        state = self.reader.state
        if (action, *parameters) == ("choose", "unknown") and (state is None or not state.remaining.unknown):
            return False  # there is nothing to assume
        return super().check_action(action, parameters)

    def why_off(self, action: str, choice: object = "") -> str:
        state, step = self.reader.state, self.next_step
        if action == "go_on":
            if step is None:
                return "still loading"
            if self._job is not None:
                return "a job is running"
            return "already deleted" if step is NextStep.GONE else why_no_plan(self.kymatui)
        if action == "cancel_job":
            return "" if self._job is not None else "no job is running"
        if action == "finalizer":
            is_stuck = state is not None and (state.is_held or bool(state.stuck))
            return why_no_plan(self.kymatui) if is_stuck else "no finalizers block it"
        if action == "choose":
            if flow_app(self).jobs.busy:  # a name that is typed early would change what the next plan deletes
                return "the plan is loading"
            return words.why_no_choice(state, step, choice)
        return super().why_off(action, choice)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        """Open the object of the line; deletion has its own key."""
        ref = words.deletion_subject(self.reader.state, event.key) if self.reader.state is not None else None
        if ref is not None:
            self.kymatui.ways.open(object_step(ref))

    def action_go_on(self) -> None:
        from kymatui.ui.flows.deletion import delete_module

        if self.reader.state is not None:
            flow_app(self).jobs.run_flow(self._and_look(delete_module(flow_app(self), self.choices)))

    def action_finalizer(self) -> None:
        from kymatui.ui.flows.deletion import remove_one_finalizer

        flow_app(self).jobs.run_flow(self._and_look(remove_one_finalizer(flow_app(self), self.module)))

    async def _and_look(self, flow: Coroutine[Any, Any, None]) -> None:
        """Read the deletion again after a flow that changes it."""
        await flow
        self.show_catalog(at_once=True)

    def action_cancel_job(self) -> None:
        from kymatui.ui.screens.jobs_screen import cancel_job

        if self._job is not None:
            flow_app(self).jobs.run_flow(cancel_job(flow_app(self), self._job))

    def action_choose(self, what: str) -> None:
        """Choose the next option ("way"), or switch "backup", "crds", or whether "unknown" kinds have no objects."""
        state, chosen = self.reader.state, self.choices
        if what == "backup":
            self.choices = replace(chosen, keeps_backup=not chosen.keeps_backup)
        elif what == "unknown":
            self.choices = replace(chosen, accept_unknown=not chosen.accept_unknown)
        elif what == "crds":
            self.choices = replace(chosen, delete_crds=not chosen.delete_crds)
            self.show_catalog(at_once=True)
        elif state is not None:
            self.choices = replace(chosen, handling=words.next_way(state, chosen.handling))
            self.show_catalog(at_once=True)
            return
        self._draw()
