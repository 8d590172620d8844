"""Plan before any write: the change of each object, its difference, and the required consents.

    answer = await app.push_screen_wait(PlanScreen(preview))      # in a flow, see `kymatui.ui.flows.job_controller`
    if answer.is_yes:
        app.jobs.start(JobSpec(…))

Enter asks and y confirms. Where writes are impossible the plan is displayed with Enter disabled and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.actions.roles import role_text
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewAnswer, PreviewVerdict
from kymatui.errors import KymatuiError
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.base.screen_app import ScreenApp, ScreenPart
from kymatui.ui.base.screen_keys import DisabledKeysScreen, action_of
from kymatui.ui.connection.remote_reading import read_remote
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.navigation.key_help import KeyHelp, key_name
from kymatui.ui.terminal.file_saving import as_file_name, save_new_file
from kymatui.ui.terminal.plain_widgets import Box, Horizontal, Input, Static, Vertical, VerticalScroll, with_tone
from kymatui.ui.widgets.plan_widgets import DiffView, PlanTable, Tick, line_columns, plan_notes, plan_summary
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import KeyBar, TargetLine

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget

_CHECK_SECONDS = 0.5  # seconds between two checks of whether the plan is still valid


class PlanScreen(ScreenPart, FirstPaintModal[PreviewAnswer], DisabledKeysScreen[PreviewAnswer]):
    """Plan dialog; it polls `outdated` for the reason why the plan is no longer valid, "" while it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Apply", id="plan.accept", priority=True),
        Binding("n", "change(1)", "Next change", id="plan.next"),
        Binding("N", "change(-1)", "Previous change", show=False, id="plan.before"),
        Binding("o", "only_changes", "Show only changes", id="plan.only-changes"),
        Binding("tab", "pane(1)", "Next pane", id="plan.pane", priority=True),
        Binding("shift+tab", "pane(-1)", "Previous pane", show=False, id="plan.pane-before", priority=True),
        Binding("space", "agree", "Tick", id="plan.agree"),
        Binding("e", "edit", "Change options", id="plan.edit"),
        Binding("ctrl+s", "save", "Save plan", id="plan.save", priority=True),
        Binding("R", "role", "Save Role", show=False, id="plan.role"),
        Binding("question_mark", "help", "Help", id="plan.help", key_display="?"),
        Binding("escape", "cancel", "Back", id="plan.cancel"),
    ]

    AUTO_FOCUS: ClassVar[str | None] = ".typing"  # from the start: the first letters of a name would run keys otherwise

    WRITES: ClassVar[frozenset[str]] = frozenset({"accept"})
    """The actions that lead to a change of a cluster; they are off wherever nothing may be written."""

    def __init__(self, preview: Preview, outdated: Callable[[], str] = str) -> None:
        super().__init__()
        self.preview = preview
        self._outdated = outdated
        self._why_outdated = ""
        self._only_changes = False
        self._asked = False

    @property
    def _targets(self) -> tuple[ClusterTarget, ...]:
        target = self.kymatui.flow_target
        return (target.of_kyma(self.preview.kymas),) if target is not None else ()

    # display

    def compose(self) -> ComposeResult:
        asked = () if self.preview.is_refused else self.preview.consents
        ticks = [entry for entry in asked if not entry.typed]
        typed = [entry for entry in asked if entry.typed]
        with Vertical(id="plan") as box:
            box.border_title = sanitize(self.preview.title)
            yield TargetLine(*self._targets)
            yield Static(plan_summary(self.preview), id="plan-head")
            without = not any(line.diff for line in self.preview.lines)
            with Box(id="plan-panes", classes="-without-diff" if without else ""):
                yield PlanTable(line_columns(self.preview.lines), id="plan-lines")
                yield DiffView(id="plan-diff")
            with VerticalScroll(id="plan-notes", can_focus=False):
                yield Static(plan_notes(self.preview), id="plan-words")
            yield from map(Tick, ticks)
            for consent in typed:
                with Horizontal(classes="plan-ask"):
                    yield Static(sanitize(f"Type {consent.typed} to {consent.message}:"))
                    yield Input(name=consent.id, classes="typing plan-typed", compact=True, select_on_focus=False)
            yield Static("", id="plan-off")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.app.clear_notifications()  # they would cover the warnings of the plan
        self._draw()
        changed = (index for index, line in enumerate(self.preview.lines) if line.mark is not PlannedChange.SAME)
        if (first := next(changed, None)) is not None:  # past the unchanged lines
            self.query_one(PlanTable).move_to(str(first))
            self._show_diff()
        self.set_focus(next(iter(self.query(Input)), self.query_one(PlanTable)))
        self.query_one("#plan-notes").display = bool(plan_notes(self.preview).plain)
        self._check_again()
        self.set_interval(_CHECK_SECONDS, self._check_again)

    def _draw(self) -> None:
        self.query_one(PlanTable).show_lines(self.preview.lines, only_changes=self._only_changes)
        self._show_diff()

    @on(RowTable.Highlighted)
    def _show_diff(self) -> None:
        key = self.query_one(PlanTable).cursor_key
        self.query_one(DiffView).show_line(self.preview.lines[int(key)] if key is not None else None)

    def _check_again(self) -> None:
        """Check whether the plan is still valid and writes are possible."""
        self._why_outdated = self._outdated()
        off = self.why_off("accept")
        asked = next(self.preview.not_agreed(self.ticked, self.typed), None) if self._asked else None
        content = (
            with_tone(sanitize(f"cannot apply: {off}"), "error")
            if off
            else with_tone(sanitize(_asking(asked)), "warning")
        )
        self.query_one("#plan-off", Static).update(content)
        self.query_one("#plan-off").display = bool(content.plain)
        self.refresh_bindings()

    def why_off(self, action: str, choice: object = "") -> str:
        """Return why an action is disabled now; "" where it is enabled."""
        if action == "accept":
            if self.kymatui.read_only:
                return self.kymatui.why_read_only
            if self.preview.is_refused:
                return "plan refused; no changes made"
            if self.preview.missing:
                return "permissions missing; no changes made"
            if self._why_outdated:
                again = "; press e to plan again" if self.preview.editable else "; press esc and plan again"
                return f"{self._why_outdated}{again}"
            return self.kymatui.why_no_writes
        if action == "edit" and not self.preview.editable:
            return "no options"
        if action == "agree" and not self.query(Tick):
            return "no box to tick"
        if action == "role" and not self.preview.missing:
            return "no permission is missing"
        if action == "save" and self.preview.document is None:
            return "cannot save this plan"
        return ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        if not self.is_mounted:  # keys that came before there is something to read
            return False
        return None if self.why_off(action) else True

    # user input

    @property
    def typed(self) -> dict[str, str]:
        """Return the typed texts by consent id."""
        return {str(field.name): field.value for field in self.query(Input)}

    @property
    def ticked(self) -> frozenset[str]:
        return frozenset(tick.consent.id for tick in self.query(Tick) if tick.agreed)

    @work
    async def action_accept(self) -> None:
        for consent in self.preview.not_agreed(self.ticked, self.typed):
            self._ask_for(consent)
            return
        destroys = any(line.mark is PlannedChange.DELETE for line in self.preview.lines)
        question = ConfirmScreen(self.preview.question, self.preview.summary, alarming=destroys, targets=self._targets)
        if await self.app.push_screen_wait(question) and not self.why_off("accept"):
            self.dismiss(PreviewAnswer(PreviewVerdict.ACCEPTED, frozenset(entry.id for entry in self.preview.consents)))

    def _ask_for(self, consent: Consent) -> None:
        if consent.typed:
            self.set_focus(next(field for field in self.query(Input) if field.name == consent.id))
        else:
            self.set_focus(next(tick for tick in self.query(Tick) if tick.consent.id == consent.id))
        self._asked = True
        self._check_again()

    def action_agree(self) -> None:
        """Tick the box under the cursor, else the next unticked box; untick the last once all are ticked.

        The focus moves to a field that misses its text: letters that follow are typed, and run no key.
        """
        ticks, focused = list(self.query(Tick)), self.focused
        tick = (
            focused
            if isinstance(focused, Tick)
            else next((candidate for candidate in ticks if not candidate.agreed), ticks[-1])
        )
        tick.toggle()
        missing = {consent.id for consent in self.preview.not_agreed(self.ticked, self.typed) if consent.typed}
        self.set_focus(next((field for field in self.query(Input) if field.name in missing), tick))
        self._check_again()

    def action_change(self, by: int) -> None:
        """Move the cursor to the next changed line."""
        table = self.query_one(PlanTable)
        changed = [row.key for row in table.rows if self.preview.lines[int(row.key)].mark is not PlannedChange.SAME]
        if not changed:
            return
        here = int(table.cursor_key or 0)
        ahead = [key for key in changed if (int(key) - here) * by > 0]
        line_number = (
            (min(ahead, key=int) if by > 0 else max(ahead, key=int)) if ahead else changed[0 if by > 0 else -1]
        )
        table.move_to(line_number)

    def action_only_changes(self) -> None:
        self._only_changes = not self._only_changes
        self._draw()

    def action_pane(self, by: int) -> None:
        panes = list(self._panes())
        index = panes.index(self.focused) if self.focused in panes else -by
        self.set_focus(panes[(index + by) % len(panes)])

    def _panes(self) -> Iterator[PlanTable | DiffView | Tick | Input]:
        yield self.query_one(PlanTable)
        yield self.query_one(DiffView)
        yield from self.query(Tick)
        yield from self.query(Input)

    def action_edit(self) -> None:
        self.dismiss(PreviewAnswer(PreviewVerdict.EDITED))

    def action_cancel(self) -> None:
        self.dismiss(PreviewAnswer(PreviewVerdict.CANCELLED))

    def action_save(self) -> None:
        assert self.preview.document is not None
        _save(self.kymatui, self.preview.file_name, self.preview.document)

    @work
    async def action_role(self) -> None:
        """Show and save the Role with what is missing, for an administrator to apply."""
        session = self.kymatui.view.writing
        if session is None:
            return
        try:
            text = await read_remote(lambda: role_text(session.cluster, self.preview.missing, self.preview.title))
        except KymatuiError as error:
            self.kymatui.problem(str(error))
            return
        self.query_one(DiffView).show(text)
        _save(self.kymatui, f"role-{self.preview.title}.yaml", text.encode())

    def action_help(self) -> None:
        from kymatui.ui.base.help_screen import HelpScreen

        keys = [
            KeyHelp(
                "Plan",
                key_name(key),
                active.binding.description,
                self.why_off(*action_of(active.binding)),
                active.binding.id,
            )
            for key, active in self.active_bindings.items()
            if active.binding.id and active.binding.description and not active.binding.system
        ]
        self.app.push_screen(HelpScreen("Keys › plan", keys))


def _save(app: ScreenApp, name: str, content: bytes) -> None:
    try:
        app.notify(f"saved {save_new_file(as_file_name(name), content)}")
    except ValueError as error:
        app.problem(str(error))


def _asking(consent: Consent | None) -> str:
    """Return the text of the next missing consent."""
    if consent is None:
        return ""
    return f"Type {consent.typed} first" if consent.typed else "Tick the box first (space)"
