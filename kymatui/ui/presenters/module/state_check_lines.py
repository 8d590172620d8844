"""State checks rule by rule: the path, the value, and how the state follows from it."""

from __future__ import annotations

from kymatui.domain.catalog.rows import CheckedResource, ModuleRow
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.modules.state_checks import (
    CheckMode,
    Evaluation,
    PathEvaluation,
    PathResultKind,
    RuleOutcome,
    RuleResult,
    lint_rules,
)
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.versions.messages import source_words
from kymatui.lists.catalog_cells import TONES
from kymatui.lists.columns import cells_of
from kymatui.lists.module import RULE_COLUMNS, RuleEntry, path_cell
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.viewmodels.row_list import Row as Line

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
