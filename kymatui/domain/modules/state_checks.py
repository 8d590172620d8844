"""The evaluation of `customStateCheck` and its paths: a module CR's state, with the full explanation.

Mode `klm` equals the last lifecycle-manager with this feature (removed in July 2024): a rule with a missing path is
skipped, a value that is no string is an error, and at least one Ready and one Error rule are required. Mode
`strict` follows its documentation: every rule of a state must match, a missing path does not match, and Ready rules
alone are enough. In both, rules for one state are joined by AND, and the order is Error, Ready, Warning, Deleting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import json_type
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.kyma.states import PRECEDENCE, PRECEDENCE_WORDS, State, StateSource
from kymatui.patterns import deferred


class PathResultKind(StrEnum):
    """The kinds of results of a path."""

    VALUE = "value"
    EMPTY = "empty string"
    MISSING = "no such path"
    NOT_TEXT = "not a string"
    INVALID = "not a path"


class PathResult(Struct, frozen=True):
    """The result of a path; `text` is the string, `type` the JSON type, `at` the part that exists."""

    kind: PathResultKind
    text: str = ""
    type: str = ""
    at: str = ""

    @property
    def found(self) -> bool:
        """Return whether the path leads to a string."""
        return self.kind in (PathResultKind.VALUE, PathResultKind.EMPTY)


class PathEvaluation(Struct, frozen=True):
    """A path evaluated in both syntaxes; `klm_reads` tells whether both mean the same."""

    path: str
    klm: PathResult
    extended: PathResult
    klm_reads: bool


PathStep = str | int

_MISSING = object()
_TOKEN = deferred(
    r"\.?\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|(-?[0-9]{1,9}))\s*\]|(?:^|\.)([^.\[\]'\"]+)", re.DOTALL
)


def evaluate_path(path: str, resource: object) -> PathEvaluation:
    """Evaluate a path in both syntaxes; never raises."""
    steps = extended_steps(path)
    extended = PathResult(PathResultKind.INVALID) if steps is None else _walk(steps, resource)
    return PathEvaluation(path, evaluate_klm_path(path, resource), extended, steps == tuple(path.split(".")))


def evaluate_klm_path(path: str, resource: object) -> PathResult:
    """Return lifecycle-manager's result: Go's `NestedString` with the parts between the dots."""
    value = resource
    walked: list[str] = []
    for part in path.split("."):
        if value is None:
            return PathResult(PathResultKind.MISSING, at=".".join(walked))
        if not isinstance(value, Mapping):
            return PathResult(PathResultKind.NOT_TEXT, type=json_type(value), at=".".join(walked))
        if part not in value:
            return PathResult(PathResultKind.MISSING, at=".".join(walked))
        value = value[part]
        walked.append(part)
    return _found_value(value, path)


def _found_value(value: object, at: str) -> PathResult:
    if not isinstance(value, str):
        return PathResult(PathResultKind.NOT_TEXT, text=_shown(value), type=json_type(value), at=at)
    return PathResult(PathResultKind.VALUE if value else PathResultKind.EMPTY, value, json_type(value), at)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


@lru_cache(maxsize=1024)
def extended_steps(path: str) -> tuple[PathStep, ...] | None:
    """Return the steps of an extended path, None if invalid."""
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    text = text.removeprefix("$").removeprefix(".")
    steps: list[PathStep] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        steps.append(_step(match))
        position = match.end()
    return tuple(steps) or None


def _step(match: re.Match[str]) -> PathStep:
    single, double, index, word = match.groups()
    if index is not None:
        return int(index)
    if word is not None:
        return word
    return re.sub(r"\\(.)", r"\1", single if single is not None else double, flags=re.DOTALL)


def _walk(steps: tuple[PathStep, ...], resource: object) -> PathResult:
    value = resource
    walked = ""
    for step in steps:
        below = _below(value, step)
        if below is _MISSING:
            if value is not None and not isinstance(value, Mapping | list | tuple):
                return PathResult(PathResultKind.NOT_TEXT, type=json_type(value), at=walked)
            return PathResult(PathResultKind.MISSING, at=walked)
        value = below
        walked += f"[{step}]" if isinstance(step, int) else f".{step}" if walked else step
    return PathResult(PathResultKind.MISSING, at=walked) if value is None else _found_value(value, walked)


def _below(value: object, step: PathStep) -> object:
    if isinstance(step, int):
        if isinstance(value, list | tuple) and -len(value) <= step < len(value):
            return value[step]
        return _MISSING
    return value.get(step, _MISSING) if isinstance(value, Mapping) else _MISSING


STATE_PATH = "status.state"
WARNING_AFTER = 300.0  # seconds that a CR may have no state, as in lifecycle-manager
_SUPPORTED = frozenset({"Ready", "Processing", "Error", "Deleting", "Warning"})
BUILT_IN_RULES = tuple(StateCheckRule(STATE_PATH, word, word) for word in ("Ready", "Error", "Deleting", "Warning"))


class CheckMode(StrEnum):
    """The modes of evaluation."""

    KLM = "klm"
    STRICT = "strict"


class RuleResult(StrEnum):
    """The results of one rule."""

    MATCH = "match"
    NO_MATCH = "no match"
    SKIPPED = "skipped"  # the path is missing, which mode klm ignores
    ERROR = "error"  # the value is no string, which ends the evaluation in mode klm
    NOT_REACHED = "not reached"  # an earlier rule ended the evaluation


class StateDecision(StrEnum):
    """The step of the evaluation that decided the state."""

    GATE = "gate"  # the manager is not ready, and no rule was evaluated
    NO_RESOURCE = "no resource"  # the module has no default CR
    RESOURCE_MISSING = "resource missing"  # the default CR is expected and missing
    RESOURCE_GONE = "resource gone"  # the CR is gone while the module is being deleted
    INCOMPLETE = "incomplete rules"  # no Ready rule, or no Error rule
    NOT_A_STRING = "not a string"
    UNSUPPORTED = "unsupported state"  # status.state has a word that lifecycle-manager does not know
    NOTHING_FOUND = "nothing found"  # no rule's path exists
    GROUP = "group"  # all rules of a state are true
    DEFAULT = "default"  # no group is true: Processing


DECISIONS: Final[Mapping[StateDecision, str]] = {
    StateDecision.GATE: "the module's manager is not ready, so no rule was evaluated",
    StateDecision.NO_RESOURCE: "the module has no default CR",
    StateDecision.RESOURCE_MISSING: "the module CR is missing",
    StateDecision.RESOURCE_GONE: "the module CR is deleted; the module is being deleted",
    StateDecision.INCOMPLETE: "a Ready rule or an Error rule is missing",
    StateDecision.NOT_A_STRING: "a value is not a string",
    StateDecision.UNSUPPORTED: "lifecycle-manager does not know this state",
    StateDecision.NOTHING_FOUND: "no rule found a value",
    StateDecision.DEFAULT: "no group of rules is true",
}
"""The decisions in words; that of a GROUP names its state."""


class RuleOutcome(Struct, frozen=True):
    """One rule with its result; `klm_reads` is False if lifecycle-manager reads the path differently."""

    rule: StateCheckRule
    value: PathResult
    result: RuleResult
    klm_reads: bool


class RuleGroup(Struct, frozen=True):
    """The rules for one state, joined by AND; `value` is None if none was evaluated."""

    state: str
    value: bool | None


class Evaluation(Struct, frozen=True):
    """A state and its explanation; `rules` is empty if no rule was evaluated."""

    mode: CheckMode
    state: State
    source: StateSource
    decision: StateDecision
    rules: tuple[RuleOutcome, ...] = ()
    groups: tuple[RuleGroup, ...] = ()
    message: str = ""

    @property
    def explanation(self) -> str:
        """Return what decided the state, in words."""
        return DECISIONS.get(self.decision, f"all evaluated rules for {self.state} match")

    @property
    def matched(self) -> int:
        """Return the number of matching rules."""
        return sum(outcome.result is RuleResult.MATCH for outcome in self.rules)


class CheckInput(Struct, frozen=True):
    """The input of an evaluation; `resource` is None if it does not exist.

    `expected` is False if the module has no default CR; `age` in seconds is the Manifest's, else the CR's; `gate`
    is False if a manager Deployment exists and is not ready.
    """

    resource: Mapping[str, Any] | None
    expected: bool = True
    deleting: bool = False
    gate: bool = True
    age: float = 0.0


def evaluate(rules: Sequence[StateCheckRule], subject: CheckInput, mode: CheckMode = CheckMode.KLM) -> Evaluation:
    """Return the state by the rules; without rules, by `status.state`."""
    source = StateSource.RULES if rules else StateSource.STATUS
    if not subject.gate:
        message = "module operator deployment is not ready"
        return Evaluation(mode, State.PROCESSING, StateSource.MANAGER, StateDecision.GATE, message=message)
    if not subject.expected:
        return Evaluation(mode, State.READY, StateSource.MANAGER, StateDecision.NO_RESOURCE)
    if subject.resource is None:
        if subject.deleting:
            return Evaluation(mode, State.DELETING, source, StateDecision.RESOURCE_GONE)
        return Evaluation(mode, State.ERROR, source, StateDecision.RESOURCE_MISSING, message="failed to fetch resource")
    if rules and mode is CheckMode.KLM and not {State.READY, State.ERROR} <= {rule.mapped_state for rule in rules}:
        message = "required Ready and Error state mapping are missing"
        outcomes = tuple(_outcome(rule, subject.resource, mode) for rule in rules)
        unreached = tuple(RuleOutcome(o.rule, o.value, RuleResult.NOT_REACHED, o.klm_reads) for o in outcomes)
        return Evaluation(mode, State.ERROR, source, StateDecision.INCOMPLETE, unreached, message=message)
    return _evaluate(rules, subject, mode, source)


def _outcome(rule: StateCheckRule, resource: Mapping[str, Any], mode: CheckMode) -> RuleOutcome:
    evaluation = evaluate_path(rule.path, resource)
    path_result = evaluation.klm if mode is CheckMode.KLM else evaluation.extended
    if path_result.kind is PathResultKind.MISSING or path_result.kind is PathResultKind.INVALID:
        result = RuleResult.SKIPPED if mode is CheckMode.KLM else RuleResult.NO_MATCH
    elif not path_result.found:
        result = RuleResult.ERROR if mode is CheckMode.KLM else RuleResult.NO_MATCH
    else:
        result = RuleResult.MATCH if path_result.text == rule.value else RuleResult.NO_MATCH
    return RuleOutcome(rule, path_result, result, evaluation.klm_reads)


def _evaluate(rules: Sequence[StateCheckRule], subject: CheckInput, mode: CheckMode, source: StateSource) -> Evaluation:
    outcomes: list[RuleOutcome] = []
    ended: Evaluation | None = None
    for rule in rules or BUILT_IN_RULES:
        outcome = _outcome(rule, subject.resource or {}, mode)
        if ended is not None:
            outcome = RuleOutcome(outcome.rule, outcome.value, RuleResult.NOT_REACHED, outcome.klm_reads)
        elif outcome.result is RuleResult.ERROR:
            message = f"the value at {rule.path} is {outcome.value.type}, expected a string"
            ended = Evaluation(mode, State.ERROR, source, StateDecision.NOT_A_STRING, message=message)
        elif not rules and outcome.value.found and outcome.value.text not in _SUPPORTED:
            ended = Evaluation(
                mode, State.WARNING, source, StateDecision.UNSUPPORTED, message="module CR state not support"
            )
        outcomes.append(outcome)
    if ended is not None:
        return Evaluation(mode, ended.state, source, ended.decision, tuple(outcomes), (), ended.message)
    return _joined(outcomes, bool(rules), subject, mode, source)


def _joined(
    outcomes: list[RuleOutcome], custom: bool, subject: CheckInput, mode: CheckMode, source: StateSource
) -> Evaluation:
    groups = _groups(outcomes)
    if not any(outcome.value.found for outcome in outcomes):
        state = State.WARNING if subject.age > WARNING_AFTER else State.PROCESSING
        more = " or given customStateCheck.jsonPath is not exists" if custom else ""
        message = f"module CR state not found{more}"
        return Evaluation(mode, state, source, StateDecision.NOTHING_FOUND, tuple(outcomes), groups, message)
    true = {group.state for group in groups if group.value}
    for state in PRECEDENCE:
        if state in true:
            return Evaluation(mode, state, source, StateDecision.GROUP, tuple(outcomes), groups)
    return Evaluation(mode, State.PROCESSING, source, StateDecision.DEFAULT, tuple(outcomes), groups)


def _groups(outcomes: list[RuleOutcome]) -> tuple[RuleGroup, ...]:
    """Return the groups in order of precedence; states without precedence come last."""
    values: dict[str, bool | None] = {}
    for outcome in outcomes:
        before = values.get(outcome.rule.mapped_state)
        if outcome.result is RuleResult.SKIPPED:
            values[outcome.rule.mapped_state] = before
        else:
            matched = outcome.result is RuleResult.MATCH
            values[outcome.rule.mapped_state] = matched if before is None else before and matched
    decisive = [state.value for state in PRECEDENCE if state in values]
    return tuple(RuleGroup(state, values[state]) for state in (*decisive, *sorted(values.keys() - set(decisive))))


# Lint of a template's `customStateCheck`, without any resource.


class LintKind(StrEnum):
    """The kinds of lint findings."""

    NO_READY = "no rule maps to Ready"
    NO_ERROR = "no rule maps to Error"
    UNKNOWN_STATE = "is not a state"
    NO_EFFECT = "has no effect"
    NOT_PLAIN = "lifecycle-manager reads the path differently"
    NOT_A_PATH = "is not a path"
    SAME_PATH = "two values for one path can never both match"
    DUPLICATE = "the rule appears twice"


class LintFinding(Struct, frozen=True):
    """One lint finding; `index` is the rule's, None if it concerns all rules."""

    kind: LintKind
    index: int | None = None
    subject: str = ""

    @property
    def harmless(self) -> bool:
        """Return whether the rules mean the same without this rule."""
        return self.kind in (LintKind.NO_EFFECT, LintKind.DUPLICATE)

    def __str__(self) -> str:
        where = f"customStateCheck[{self.index}]" if self.index is not None else "customStateCheck"
        return f"{where}: {f'{self.subject!r}: ' if self.subject else ''}{self.kind.value}"


def lint_rules(rules: Sequence[StateCheckRule]) -> tuple[LintFinding, ...]:
    """Return every lint finding of a set of rules."""
    if not rules:
        return ()
    findings = []
    mapped = {rule.mapped_state for rule in rules}
    if "Ready" not in mapped:
        findings.append(LintFinding(LintKind.NO_READY))
    if "Error" not in mapped:
        findings.append(LintFinding(LintKind.NO_ERROR))
    known: dict[tuple[str, str], str] = {}
    for index, rule in enumerate(rules):
        findings += _lint_rule(index, rule)
        earlier = known.setdefault((rule.mapped_state, rule.path), rule.value)
        if earlier != rule.value:
            findings.append(LintFinding(LintKind.SAME_PATH, index, rule.path))
        elif rule in rules[:index]:
            findings.append(LintFinding(LintKind.DUPLICATE, index, rule.path))
    return tuple(findings)


def _lint_rule(index: int, rule: StateCheckRule) -> list[LintFinding]:
    findings = []
    if rule.mapped_state == "Processing":
        findings.append(LintFinding(LintKind.NO_EFFECT, index, rule.mapped_state))
    elif rule.mapped_state not in PRECEDENCE_WORDS:
        findings.append(LintFinding(LintKind.UNKNOWN_STATE, index, rule.mapped_state))
    steps = extended_steps(rule.path)
    if steps is None:
        findings.append(LintFinding(LintKind.NOT_A_PATH, index, rule.path))
    elif steps != tuple(rule.path.split(".")):
        findings.append(LintFinding(LintKind.NOT_PLAIN, index, rule.path))
    return findings


class SignatureStatus(StrEnum):
    """The signatures of one component version, as far as its descriptor tells."""

    VALID = "valid"  # every signature was verified with the configured key
    SIGNED = "signed"  # it has signatures, and no key is configured
    UNSIGNED = "unsigned"
    INVALID = "invalid"  # a signature that is not by the configured key, or for another descriptor
    LOADING = "loading"  # the registry was asked
    UNKNOWN = "unknown"  # the descriptor could not be read; `why` says why


class ModuleSignature(Struct, frozen=True):
    """The signatures of one component version by name; `why` explains statuses that need an explanation."""

    status: SignatureStatus
    names: tuple[str, ...] = ()
    why: str = ""
    component: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON of `kymatui catalog --signed`."""
        return {
            "status": self.status.value,
            "names": list(self.names),
            "component": self.component or None,
            "reason": self.why or None,
        }

    def __str__(self) -> str:
        names = f" by {', '.join(self.names)}" if self.names else ""
        return f"{self.status}{names}{f': {self.why}' if self.why else ''}"
