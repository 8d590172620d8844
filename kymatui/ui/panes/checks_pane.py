"""State checks rule by rule, with an input that evaluates a path as you type it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.catalog.rows import CheckedResource, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.modules.state_checks import CheckMode, evaluate_path
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.lists.module import RULE_COLUMNS
from kymatui.ui.base.screen_keys import key_for
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.module import state_check_lines
from kymatui.ui.terminal.plain_widgets import Input
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class ChecksPane(Pane):
    """Tab with the checks of one module CR at a time."""

    TITLE: ClassVar[str] = "checks"

    TABLE_OPENS: ClassVar[bool] = False

    LISTS_OBJECTS: ClassVar[bool] = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "mode", "Switch klm/strict", id="module.mode"),
        Binding("full_stop", "other", "Next module CR", show=False, id="module.other-resource"),
        Binding("enter", "try_rule", "Evaluate this path", id="module.try-rule"),
        Binding("p", "try_path", "Evaluate a path", id="module.try", priority=True),
        Binding("escape", "leave_path", "Leave the path field", show=False, id="module.leave-path"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._mode = CheckMode.KLM
        self._number = 0
        self._row: ModuleRow | None = None

    def compose(self) -> ComposeResult:
        yield Facts(id="headline")
        yield LiveTable(RULE_COLUMNS, id="rules", opens=self.TABLE_OPENS)
        yield Facts(id="order")
        yield Input(placeholder="path to evaluate, such as status.state", id="path", classes="typing", compact=True)
        yield Facts(id="found")

    def target(self) -> Widget:
        return self.query_one("#rules")

    @property
    def note(self) -> str:
        count = len(self._row.checked) if self._row is not None else 0
        if count < 2:
            return ""
        return f"{key_for(self.screen, 'module.other-resource')}: module CR {self._number % count + 1} of {count}"

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        del snapshot
        self._row = row
        checked = self._checked()
        facts = state_check_lines.headline(row, checked, self._mode)
        facts += [Fact("lint", line, "warning") for line in state_check_lines.lint_lines(row)]
        self.query_one("#headline", Facts).show(facts)
        self.query_one("#rules", LiveTable).show(state_check_lines.rule_lines(row, checked, self._mode))
        self.query_one("#order", Facts).show(state_check_lines.order_facts(row, checked, self._mode))
        self._evaluate_path(self.query_one("#path", Input).value)
        self.post_message(self.Noted())

    def _checked(self) -> CheckedResource | None:
        row = self._row
        return row.checked[self._number % len(row.checked)] if row is not None and row.checked else None

    def action_mode(self) -> None:
        """Switch between lifecycle-manager's actual evaluation and the documented one."""
        self._mode = CheckMode.STRICT if self._mode is CheckMode.KLM else CheckMode.KLM
        self._redraw()

    def action_other(self) -> None:
        self._number += 1
        self._redraw()

    def _redraw(self) -> None:
        snapshot = self.kymatui.view.snapshot
        if self._row is not None and snapshot is not None:
            self.draw(self._row, snapshot)

    def entry(self) -> ObjectRef | None:
        """Return the object that the rules apply to."""
        checked = self._checked()
        return checked.resource if checked is not None else None

    def entry_path(self) -> str:
        key = self.query_one("#rules", LiveTable).cursor_key
        if self._row is None or key is None:
            return ""
        return state_check_lines.rule_path(key, self._row, self._checked(), self._mode)

    @on(RowTable.Chosen)
    def action_try_rule(self) -> None:
        """Copy the path of the rule into the input, to evaluate and change it."""
        if path := self.entry_path():
            self.query_one("#path", Input).value = path
            self.action_try_path()

    # typed path

    def action_try_path(self) -> None:
        self.screen.set_focus(self.query_one("#path", Input))

    def action_leave_path(self) -> None:
        self.screen.set_focus(self.target())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        if action == "try_rule":
            return self._row is not None and bool(self.query_one("#rules", LiveTable).rows)
        typing = self.screen.focused is not None and self.screen.focused.id == "path"
        if action == "leave_path":
            return typing
        return None if action == "other" and (self._row is None or len(self._row.checked) < 2) else True

    @on(Input.Changed, "#path")
    def _path_typed(self, event: Input.Changed) -> None:
        self._evaluate_path(event.value)

    @on(Input.Submitted, "#path")
    def _path_done(self) -> None:
        self.screen.set_focus(self.target())

    def _evaluate_path(self, path: str) -> None:
        checked = self._checked()
        body = self.kymatui.view.locations.find(checked.resource) if checked is not None else None
        facts = []
        if path:
            nothing = Fact("found", "no module CR to evaluate", "muted")
            facts = [state_check_lines.format_trial(evaluate_path(path, body)) if body is not None else nothing]
        self.query_one("#found", Facts).show(facts)
