"""Guided deletion of one module: the stages on the left, the remaining objects on the right.

The screen stores only the user's choices. It reads the cluster after every change, so that you can leave it and open
it again, here or on another machine. The next steps are displayed as a plan and run as a job.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.engine.deletion.deletion_state import DeletionState, ModuleCRHandling, NextStep
from kymatui.errors import KymatuiError
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.flows.flow_app import flow_app
from kymatui.ui.navigation.history import ScreenStep, object_step
from kymatui.ui.presenters.plans import deletion_stages as words
from kymatui.ui.presenters.plans.job_rows import background_job_line
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.target_line import TargetLine
from kymatui.ui.widgets.tone_styles import with_tone

if TYPE_CHECKING:
    from kymatui.domain.plans.jobs import Job

_PAUSE = 1.0  # seconds between two readings during changes: each lists all objects that the module manages
_WAITING = 10.0  # seconds while nothing changes here, but other clients may delete blocking objects


class DeletionScreen(FramedScreen):
    """Stepper, table of remaining objects, and notes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,ctrl+d", "go_on", "Review plan", id="delete.go-on"),
        Binding("f", "finalizer", "Finalizers…", id="delete.finalizer"),
        Binding("l", "open('logs')", "Logs of the manager", show=False, id="delete.logs"),
        Binding("w", "way", "Next option", id="delete.way"),
        Binding("b", "backup", "Backup on or off", id="delete.backup"),
        Binding("ctrl+x", "cancel_job", "Cancel job", id="delete.cancel"),
        Binding("u", "unknown", "Assume that unlisted kinds have no objects", show=False, id="delete.unknown"),
    ]

    WRITES: ClassVar[frozenset[str]] = frozenset({"finalizer"})
    LEADING_KEYS: ClassVar[frozenset[str]] = frozenset({"go_on", "finalizer", "cancel_job"})
    name_in_help: ClassVar[str] = "Deletion"

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        self.seen: DeletionState | None = None
        self.way = ModuleCRHandling.LET
        self.keeps_backup = True
        self.accept_unknown = False
        self._error = ""
        self._looking = False
        self._wanted = True
        self._looked_at = float("-inf")

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("delete", self.module)

    @property
    def turn(self) -> NextStep | None:
        """Return the next step; None before the first reading."""
        return self.seen.turn(accept_unknown=self.accept_unknown) if self.seen is not None else None

    def body(self) -> ComposeResult:
        yield TargetLine()
        with Container(id="departing"):
            yield Static("", id="stations")
            with Container(id="departing-right"):
                yield Static("", id="departing-title")
                yield LiveTable(words.COLUMNS, id="left-over")
        with VerticalScroll(id="departing-notes", can_focus=False):
            yield Static("", id="departing-words")

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def on_mount(self) -> None:
        super().on_mount()
        self.main_widget().focus()
        self.set_interval(_PAUSE / 2, self._look)
        self._draw()

    # reading

    def show_catalog(self) -> None:
        self._wanted = True
        self._look()

    def look_again(self) -> None:
        """Read the deletion now, whatever the last reading's age."""
        self._wanted, self._looked_at = True, float("-inf")
        self._look()

    def _look(self) -> None:
        if self._is_due and self.frame.is_whole and self.kymatui.catalog is not None:
            self._looking, self._wanted = True, False
            self.run_worker(self._look_aside(), exit_on_error=False)

    @property
    def _is_due(self) -> bool:
        """Return whether a new reading is due; False without changes or blocking objects."""
        if self._looking or not self.is_current:
            return False
        waits = self.seen is not None and bool(self.seen.theirs)
        past = time.monotonic() - self._looked_at
        return past >= _PAUSE if self._wanted or self._job else waits and past >= _WAITING

    async def _look_aside(self) -> None:
        from kymatui.ui.flows.deletion import delete_action

        app = flow_app(self)
        try:
            departing = delete_action(app)
            way = self.way
            self.seen = await app.desk.aside(lambda: departing.look(self.module, way=way))
            self._error = ""
        except KymatuiError as error:
            self._error = str(error)
        finally:
            self._looking, self._looked_at = False, time.monotonic()
        if self.frame.is_whole:
            self._draw()

    # display

    def _draw(self) -> None:
        seen, target = self.seen, self.kymatui.view.target
        self.query_one(TargetLine).show_targets(*((target,) if target is not None else ()))
        if seen is None:
            text = (
                f"cannot read the cluster: {self._error}"
                if self._error
                else f"loading the objects that {self.module} manages…"
            )
            self.query_one("#departing-title", Static).update(
                with_tone(sanitize(text), "error" if self._error else "muted")
            )
            self.refresh_bindings()
            return
        lines = words.stage_lines(seen, accept_unknown=self.accept_unknown)
        self.query_one("#stations", Static).update(Content("\n").join([with_tone(line, tone) for line, tone in lines]))
        self.query_one("#departing-title", Static).update(self._title(seen))
        self.main_widget().show(words.deletion_rows(seen, self.kymatui.clock()))
        self.query_one("#departing-words", Static).update(self._notes(seen))
        self.refresh_bindings()

    def _title(self, seen: DeletionState) -> Content:
        count = len(seen.theirs)
        left = f"{format_count(count, 'managed object')} still {'exists' if count == 1 else 'exist'}"
        text = left if count else "no managed objects remain"
        if seen.remaining.unknown and not self.accept_unknown:
            text += f", and {format_count(len(seen.remaining.unknown), 'kind')} cannot be listed"
        return with_tone(text, "warning" if count or seen.remaining.unknown else "ready", bold=True)

    def _notes(self, seen: DeletionState) -> Content:
        said = words.deletion_notes(seen, accept_unknown=self.accept_unknown)
        if self._error:
            said.insert(0, (f"the data is out of date: {sanitize(self._error)}", "error"))
        job = self._job
        if job:
            said.insert(0, (job, "processing"))
        said += words.full_row_text(seen, self.main_widget().cursor_key)
        if self.turn is not NextStep.GONE:
            said.append(
                (f"b backup: {'on, deleted objects are saved as YAML first' if self.keeps_backup else 'off'}", "muted")
            )
        return Content("\n").join([with_tone(line, tone) for line, tone in said])

    @property
    def _job(self) -> str:
        """Return the line of the module's active job, "" without a job."""
        job = self._own_job
        return sanitize(background_job_line(job, self.kymatui.clock())) if job is not None else ""

    @property
    def _own_job(self) -> Job | None:
        return flow_app(self).desk.own_job(self.module)

    # user input

    def why_off(self, action: str) -> str:
        turn = self.turn
        if action == "go_on":
            if turn is None:
                return "still loading"
            return "a job is running" if self._job else "already deleted" if turn is NextStep.GONE else ""
        if action == "cancel_job":
            return "" if self._own_job is not None else "no job is running"
        if action == "backup" and turn is NextStep.GONE:
            return "already deleted"
        if action == "way" and (self.seen is None or not self._has_ways):
            return "no other option"
        if action == "unknown" and (self.seen is None or not self.seen.remaining.unknown):
            return "all kinds can be listed"
        if action == "finalizer" and (self.seen is None or not self.seen.stuck):
            return "no finalizers block it"
        return super().why_off(action)

    @property
    def _has_ways(self) -> bool:
        from kymatui.composition.sessions.deletion_port import deletion_options

        return self.seen is not None and len(list(deletion_options(self.seen))) > 1

    @on(RowTable.Highlighted)
    def _tell(self) -> None:
        if self.seen is not None:
            self.query_one("#departing-words", Static).update(self._notes(self.seen))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        """Open the object of the line; deletion has its own key."""
        ref = words.deletion_subject(self.seen, event.key) if self.seen is not None else None
        if ref is not None:
            self.kymatui.ways.open(object_step(ref))

    def action_go_on(self) -> None:
        from kymatui.ui.flows.deletion import DeletionChoices, delete_module

        if self.seen is not None:
            choices = DeletionChoices(self.module, self.way, self.accept_unknown, self.keeps_backup)
            flow_app(self).desk.flow(self._and_look(delete_module(flow_app(self), choices)))

    async def _and_look(self, flow: Coroutine[Any, Any, None]) -> None:
        """Read the deletion again after a flow that changes it."""
        await flow
        self.look_again()

    def action_way(self) -> None:
        from kymatui.composition.sessions.deletion_port import deletion_options

        if self.seen is not None:
            offered = list(deletion_options(self.seen))
            place = offered.index(self.way) if self.way in offered else -1
            self.way = offered[(place + 1) % len(offered)]
            self.look_again()

    def action_cancel_job(self) -> None:
        from kymatui.ui.screens.jobs_screen import cancel_job

        if self._own_job is not None:
            flow_app(self).desk.flow(cancel_job(flow_app(self), self._own_job))

    def action_backup(self) -> None:
        self.keeps_backup = not self.keeps_backup
        self._draw()

    def action_unknown(self) -> None:
        self.accept_unknown = not self.accept_unknown
        self._draw()

    def action_finalizer(self) -> None:
        from kymatui.ui.flows.deletion import remove_one_finalizer

        flow_app(self).desk.flow(self._and_look(remove_one_finalizer(flow_app(self), self.module)))
