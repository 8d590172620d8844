"""State checks rule by rule, with an input that evaluates a path as you type it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.catalog.rows import CheckedResource, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.modules.state_checks import (
    CheckMode,
    Evaluation,
    PathEvaluation,
    PathResultKind,
    RuleOutcome,
    RuleResult,
    evaluate_path,
    lint_rules,
)
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.messages import source_words
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import cells_of
from kymatui.lists.module import RULE_COLUMNS, RuleEntry, path_cell
from kymatui.ui.base.screen_keys import key_for
from kymatui.ui.panes.pane import Pane
from kymatui.ui.terminal.plain_widgets import Input
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.viewmodels.row_list import Row as Line
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
        facts = headline(row, checked, self._mode)
        facts += [Fact("lint", line, "warning") for line in lint_lines(row)]
        self.query_one("#headline", Facts).show(facts)
        self.query_one("#rules", LiveTable).show(rule_lines(row, checked, self._mode))
        self.query_one("#order", Facts).show(order_facts(row, checked, self._mode))
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
        return rule_path(key, self._row, self._checked(), self._mode)

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
            facts = [format_trial(evaluate_path(path, body)) if body is not None else nothing]
        self.query_one("#found", Facts).show(facts)


_MODES = {CheckMode.KLM: "lifecycle-manager evaluates it", CheckMode.STRICT: "its documentation says"}


def headline(module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> list[Fact]:
    """Return the state, the source that decided it, and the difference between the two modes."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None:
        return [Fact("Result", why_no_checks(module), "muted")]
    facts = [
        Fact("Result", str(evaluation.state), TONES[evaluation.state]),
        Fact("decided by", f"{source_words(evaluation.source)}; {format_decision(evaluation)}"),
        Fact("mode", _mode(module, checked, mode)),
    ]
    if checked is not None:
        facts.insert(0, Fact("Resource", sanitize(str(checked.resource))))
    return facts


def why_no_checks(module: ModuleRow) -> str:
    """Return that the module has no CR, or why its CRs are unknown."""
    why = module.unknown.get(RowFact.CHECKS)
    return "nothing to check: the module has no CR" if why is None else sanitize(f"module CRs: {why}")


def format_decision(evaluation: Evaluation) -> str:
    """Return the reason of this state."""
    return sanitize(f"{evaluation.explanation}: {evaluation.message}" if evaluation.message else evaluation.explanation)


def _mode(module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> str:
    evaluator = with_keeper(_MODES[mode], module.keeper)
    if checked is None or not checked.differs:
        return f"{mode}, as {evaluator}"
    other = checked.strict if mode is CheckMode.KLM else checked.klm
    return f"{mode}, as {evaluator}; the other mode gives {other.state}"


def _evaluation(module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> Evaluation | None:
    if checked is None:
        return module.evaluation
    return checked.klm if mode is CheckMode.KLM else checked.strict


def rule_lines(module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> list[Line]:
    """Return one line per rule; the deciding group is marked."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None:
        return []
    return [_line(number, outcome, evaluation) for number, outcome in enumerate(evaluation.rules, 1)]


def rule_path(key: str, module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> str:
    """Return the path of the rule of a line, as the template writes it; "" for no line."""
    evaluation = _evaluation(module, checked, mode)
    paths = {str(number): rule.rule.path for number, rule in enumerate(evaluation.rules, 1)} if evaluation else {}
    return paths.get(key, "")


def order_facts(module: ModuleRow, checked: CheckedResource | None, mode: CheckMode) -> list[Fact]:
    """Return the order in which the groups are evaluated, and the gate before them."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None or not evaluation.rules:
        return []
    facts = [Fact("order", "Error, Ready, Warning, Deleting; the first group that is true decides, else Processing")]
    ready = module.readiness
    if ready is not None:
        facts.append(
            Fact("gate", sanitize(f"the module's manager is checked first: {ready.message}"), TONES[ready.state])
        )
    if any(not outcome.klm_reads for outcome in evaluation.rules):
        facts.append(Fact("*", "paths are split at dots, so this path is read differently", "warning"))
    if any(outcome.result is RuleResult.SKIPPED for outcome in evaluation.rules):
        facts.append(Fact("skipped", "a rule whose path is missing does not count in its group", "muted"))
    return facts


def _line(number: int, outcome: RuleOutcome, evaluation: Evaluation) -> Line:
    return Line(str(number), cells_of(RULE_COLUMNS, RuleEntry(number, outcome, evaluation)))


def format_trial(evaluation: PathEvaluation) -> Fact:
    """Return the result of a path while you type it."""
    cell = path_cell(evaluation.extended)
    text = cell.text
    if evaluation.extended.kind is PathResultKind.MISSING and evaluation.extended.at:
        text = f"not found: {sanitize(evaluation.extended.at)} has no such field"
    if not evaluation.klm_reads:
        text += "   * paths are split at dots, so this path is read differently"
    return Fact("found", text, cell.tone or "ready")


def lint_lines(module: ModuleRow) -> list[str]:
    """Return the warnings about the rules of the module's template."""
    template = module.shown
    return [sanitize(str(finding)) for finding in lint_rules(template.rules)] if template is not None else []
