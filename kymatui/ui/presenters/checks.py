"""State checks rule by rule: what was looked for, what was found, and how the state came out of it."""

from __future__ import annotations

from kymatui.domain.linting import lint_rules
from kymatui.domain.lists import RowFact
from kymatui.domain.paths import Look, LookKind, PathLook
from kymatui.domain.rows import Checked, Row
from kymatui.domain.statechecks import Decision, Evaluation, Mode, RuleOutcome, RuleResult
from kymatui.domain.wording import source_words
from kymatui.ui.presenters.catalog import TONES
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.facts import Fact
from kymatui.ui.widgets.row_list import Cell
from kymatui.ui.widgets.row_list import Row as Line

COLUMNS = (
    Column("number", "#", 3),
    Column("path", "PATH", 20, flex=2),
    Column("want", "WANT", 12, flex=1),
    Column("got", "GOT", 14, flex=1),
    Column("result", "RESULT", 11),
    Column("maps", "MAPS TO", 10),
    Column("group", "GROUP", 16, priority=1),
)

_RESULT_TONES = {
    RuleResult.MATCH: "ready",
    RuleResult.NO_MATCH: "",
    RuleResult.SKIPPED: "muted",
    RuleResult.ERROR: "error",
    RuleResult.NOT_REACHED: "muted",
}

DECISIONS = {
    Decision.GATE: "the manager is not ready, so no rule was looked at",
    Decision.NO_RESOURCE: "the module has no default resource",
    Decision.RESOURCE_MISSING: "the resource should be there and is not",
    Decision.RESOURCE_GONE: "the resource is gone, while the module is being deleted",
}


_MODES = {Mode.KLM: "lifecycle-manager evaluated it", Mode.STRICT: "its documentation says"}


def headline(module: Row, checked: Checked | None, mode: Mode) -> list[Fact]:
    """The state, who decided it, and where the two modes part."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None:
        return [Fact("Result", nothing_to_check(module), "muted")]
    facts = [
        Fact("Result", str(evaluation.state), TONES[evaluation.state]),
        Fact("decided by", f"{source_words(evaluation.source)}; {decision_words(evaluation)}"),
        Fact("mode", _mode(checked, mode)),
    ]
    if checked is not None:
        facts.insert(0, Fact("Resource", plain(str(checked.resource))))
    return facts


def nothing_to_check(module: Row) -> str:
    """Say that the module has no CR, or why these are not known."""
    why = module.unknown.get(RowFact.CHECKS)
    return "nothing to check: the module has no CR" if why is None else plain(f"module CRs: {why}")


def decision_words(evaluation: Evaluation) -> str:
    """Why this state and no other."""
    if evaluation.decision is Decision.GROUP:
        return f"all evaluated rules for {evaluation.state} match"
    words = DECISIONS.get(evaluation.decision, str(evaluation.decision))
    return plain(f"{words}: {evaluation.message}" if evaluation.message else words)


def _mode(checked: Checked | None, mode: Mode) -> str:
    if checked is None or not checked.differs:
        return f"{mode}, as {_MODES[mode]}"
    other = checked.strict if mode is Mode.KLM else checked.klm
    return f"{mode}, as {_MODES[mode]}; the other comes to {other.state}"


def _evaluation(module: Row, checked: Checked | None, mode: Mode) -> Evaluation | None:
    if checked is None:
        return module.evaluation
    return checked.klm if mode is Mode.KLM else checked.strict


def rule_lines(module: Row, checked: Checked | None, mode: Mode) -> list[Line]:
    """One line a rule; the group that decided is marked."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None:
        return []
    return [_line(number, outcome, evaluation) for number, outcome in enumerate(evaluation.rules, 1)]


def order_facts(module: Row, checked: Checked | None, mode: Mode) -> list[Fact]:
    """In which order the groups are asked, and the gate before them."""
    evaluation = _evaluation(module, checked, mode)
    if evaluation is None or not evaluation.rules:
        return []
    facts = [Fact("order", "Error, Ready, Warning, Deleting; the first group that is true decides, else Processing")]
    ready = module.readiness
    if ready is not None:
        facts.append(Fact("gate", plain(f"the manager before the rules: {ready.words}"), TONES[ready.state]))
    if any(not outcome.klm_reads for outcome in evaluation.rules):
        facts.append(Fact("*", "lifecycle-manager splits a path at its dots and would not read this one so", "warning"))
    if any(outcome.result is RuleResult.SKIPPED for outcome in evaluation.rules):
        facts.append(Fact("skipped", "a path that is not there does not count in its group", "muted"))
    return facts


def _line(number: int, outcome: RuleOutcome, evaluation: Evaluation) -> Line:
    rule = outcome.rule
    cells = {
        "number": Cell(str(number), "muted"),
        "path": Cell(plain(rule.path) + ("" if outcome.klm_reads else " *")),
        "want": Cell(plain(rule.value)),
        "got": Cell(*found_words(outcome.look)),
        "result": Cell(str(outcome.result), _RESULT_TONES[outcome.result]),
        "maps": Cell(plain(rule.mapped_state)),
        "group": Cell(*_group(rule.mapped_state, evaluation)),
    }
    return Line(str(number), cells)


def _group(state: str, evaluation: Evaluation) -> tuple[str, str]:
    value = next((group.value for group in evaluation.groups if group.state == state), None)
    if value is None:
        return "not evaluated", "muted"
    decides = evaluation.decision is Decision.GROUP and state == str(evaluation.state)
    return ("true ← decides", "accent") if value and decides else (str(value).lower(), "" if value else "muted")


def found_words(look: Look) -> tuple[str, str]:
    """No such path, no string, an empty string and a value are four different answers."""
    if look.kind is LookKind.VALUE:
        return plain(look.text), ""
    if look.kind is LookKind.EMPTY:
        return '""  (empty)', ""
    if look.kind is LookKind.NOT_TEXT:
        return plain(f"{look.type} {look.text}".strip()), "error"
    return f"({look.kind})", "muted"


def try_words(look: PathLook) -> Fact:
    """The answer to a path that is being typed."""
    text, tone = found_words(look.extended)
    if look.extended.kind is LookKind.MISSING and look.extended.at:
        text = f"no such path: it ends behind {plain(look.extended.at)}"
    if not look.klm_reads:
        text += "   * lifecycle-manager splits at dots and would not read it so"
    return Fact("found", text, tone or "ready")


def lint_lines(module: Row) -> list[str]:
    """Doubts about the rules of the module's template."""
    template = module.resolution.template
    return [plain(str(finding)) for finding in lint_rules(template.rules)] if template is not None else []
